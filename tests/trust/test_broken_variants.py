"""Broken variants: each replaces something that the program has, under its present name.

A variant that sets an attribute which nothing reads breaks nothing, and a control that
looks for another trace than its own would pass all the same.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

VARIANTS: Final = sorted((Path(__file__).parent / "broken").glob("*/sitecustomize.py"))


def missing(source: str) -> list[str]:
    """Return the attributes that a variant sets, and that their owner does not have."""
    tree = ast.parse(source)
    imports: list[ast.stmt] = [
        one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(imports, []), "imports", "exec"), names)  # noqa: S102 - ours
    patches = list(attributes_set(tree))
    assert patches, "it replaces nothing"
    return [
        f"{owner}.{attribute}"
        for owner, attribute in patches
        if not hasattr(eval(owner, names), attribute)  # noqa: S307 - ours
    ]


def attributes_set(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield owner and attribute of each patch at the top of a module; loops unrolled."""
    for statement in tree.body:
        if isinstance(statement, ast.For):
            assert isinstance(statement.iter, ast.Tuple)
            owners = [ast.unparse(one) for one in statement.iter.elts]
            inner = ast.Module(statement.body, [])
            patched = [attribute for _, attribute in attributes_set(inner)]
            yield from ((owner, attribute) for owner in owners for attribute in patched)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                assert not isinstance(target, ast.Subscript), "say setattr"
                if isinstance(target, ast.Attribute):
                    yield ast.unparse(target.value), target.attr
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            assert ast.unparse(call.func) == "setattr"
            yield ast.unparse(call.args[0]), ast.literal_eval(call.args[1])


@pytest.mark.parametrize("path", VARIANTS, ids=[path.parent.name for path in VARIANTS])
def test_a_broken_variant_replaces_what_the_program_has(path: Path) -> None:
    assert missing(path.read_text()) == []


@pytest.mark.parametrize(
    "patch",
    [
        "json.gone = 1",
        'setattr(json, "gone", 1)',
        'for _one in (json, json.decoder):\n    setattr(_one, "JSONDecodeErrors", 1)',
    ],
)
def test_a_patch_of_a_name_that_is_gone_is_found(patch: str) -> None:
    assert missing(f"import json\n{patch}\n") != []
