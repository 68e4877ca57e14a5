"""Is every dependency declared, used and explained?"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from importlib.metadata import packages_distributions

from tests.support.project import ROOT, modules, pyproject

BY_NAME = {
    "fastapi-offline": "the files of Swagger UI are read out of it",
    "httptools": "uvicorn is told to parse with it",
    "tzdata": "zoneinfo reads it where the system has no time zones",
}
THROUGH_ANOTHER = {
    "mcp-types": "mcp is made of it and decides its version",
    "pydantic-core": "pydantic decides its version",
    "starlette": "fastapi is made of it and decides its version",
}


def plain(requirement: str) -> str:
    """Return the name in a requirement, as package indexes compare names."""
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    project = pyproject()["project"]
    on_request = project["optional-dependencies"]["onnx"]
    return {plain(line) for line in [*project["dependencies"], *on_request]}


def requirements() -> list[str]:
    project = pyproject()["project"]
    extras = project["optional-dependencies"].values()
    return sorted({*project["dependencies"], *itertools.chain.from_iterable(extras)})


def imported() -> set[str]:
    """Return the distributions that the package imports, at any depth of its code."""
    names: set[str] = set()
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    foreign = names - sys.stdlib_module_names - {"productrecs"}
    owners = packages_distributions()
    return {plain(owners.get(name, [name])[0]) for name in foreign}


def explained() -> list[str]:
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    return [
        name + range_
        for name, range_ in re.findall(r"^\| `([^`]+)` \| `([^`]+)`", page, re.M)
    ]


def test_every_import_is_a_declared_dependency() -> None:
    assert imported() - declared() <= THROUGH_ANOTHER.keys()


def test_every_dependency_is_used() -> None:
    assert declared() - imported() == BY_NAME.keys()


def test_every_dependency_is_explained_once_with_its_range() -> None:
    assert sorted(explained()) == sorted(requirements())


def test_every_dependency_has_a_range_that_ends() -> None:
    endless = [line for line in requirements() if ">=" not in line or ",<" not in line]

    # Time zones are data, dated by the year: there is no breaking release of them.
    assert [plain(line) for line in endless] == ["tzdata"]
