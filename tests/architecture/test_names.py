"""Names: files, folders and classes say what they are; each folder has a docstring."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.project import ROOT, module_paths, modules
from tools.file_sizes import CEILING, too_long

EMPTY_WORDS = frozenset(
    {
        "utils",
        "util",
        "helpers",
        "helper",
        "common",
        "misc",
        "manager",
        "data",
        "info",
        "tmp",
    }
)
DATED = re.compile(r"20\d\d_\d\d_\d\d_\d{4}_[a-z0-9_]+\.py")


def says_nothing(path: str) -> bool:
    return any(word in EMPTY_WORDS for part in Path(path).parts for word in words(part))


def words(part: str) -> list[str]:
    return part.removesuffix(".py").split("_")


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    tests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")]

    assert [path for path in [*module_paths(), *tests] if says_nothing(path)] == []


@pytest.mark.parametrize("path", ["a/utils.py", "common/a.py", "date_helpers.py"])
def test_a_name_that_says_nothing_is_caught(path: str) -> None:
    assert says_nothing(path)


def test_every_folder_has_a_signboard() -> None:
    bare = [path for path, tree in modules("__init__.py") if not ast.get_docstring(tree)]
    folders = {Path(path).parent for path in module_paths()}
    signed = {Path(path).parent for path in module_paths("__init__.py")}

    assert bare == []
    assert {
        str(folder) for folder in folders - signed if folder.name != "versions"
    } == set()


def test_migrations_are_dated_and_named_for_their_intent() -> None:
    versions = [path for path in module_paths() if "/migrations/versions/" in path]
    names = [Path(path).name for path in versions]

    assert names
    assert [name for name in names if not DATED.fullmatch(name)] == []


def test_a_file_over_the_ceiling_is_caught(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "fits.py").write_text("x = 1\n" * CEILING)
    (tmp_path / "src" / "long.py").write_text("x = 1\n" * (CEILING + 1))

    assert too_long(tmp_path) == [("src/long.py", CEILING + 1)]


def named_twice(classes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the modules of each class name that more than one module defines."""
    homes: dict[str, list[str]] = {}
    for name, path in classes:
        homes.setdefault(name, []).append(path)
    return {name: paths for name, paths in homes.items() if len(set(paths)) > 1}


def test_a_class_name_means_one_thing() -> None:
    classes = [
        (node.name, path)
        for path, tree in modules()
        if "/migrations/versions/" not in path
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]

    assert named_twice(classes) == {}


def test_a_class_name_with_two_meanings_is_caught() -> None:
    classes = [("Step", "a.py"), ("Step", "b.py"), ("Alert", "a.py")]

    assert named_twice(classes) == {"Step": ["a.py", "b.py"]}
