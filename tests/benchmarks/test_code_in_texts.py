"""Code that a text holds, for another process, imports what there is."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def imports_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the modules of this project that a text of code imports, and the names."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return  # prose
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "productrecs"
        ):
            yield from ((node.module or "", alias.name) for alias in node.names)


def missing_in(source: str) -> list[str]:
    """Return the imports in the texts of a module that lead nowhere."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [
        f"{module}: {name}"
        for text in texts
        if "import" in text and "productrecs" in text
        for module, name in imports_in(text)
        if not hasattr(importlib.import_module(module), name)
    ]


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "benchmarks").rglob("*.py")),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_what_a_text_of_a_benchmark_imports_exists(path: Path) -> None:
    assert missing_in(path.read_text("utf-8")) == []


def test_an_import_of_a_name_that_is_gone_is_caught() -> None:
    source = 'CODE = """\nfrom productrecs.core.clock import stopped_clock\n"""'

    assert missing_in(source) == ["productrecs.core.clock: stopped_clock"]
