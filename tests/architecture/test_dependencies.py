"""Dependencies: each is declared, used and explained."""

import ast
import functools
import itertools
import re
import sys
from importlib.metadata import packages_distributions

import pytest

from tests.support.project import ROOT, modules, pyproject

LOCKS = {"run.txt": (), "models.txt": ("models",), "dev.txt": ("dev", "onnx")}
"""The locks, and which extras each holds beside what the service needs."""

BY_NAME = {
    "fastapi-offline": "the files of Swagger UI are read out of it",
    "httptools": "uvicorn's module of connections, which ours extend, imports it",
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
    extras = project["optional-dependencies"]
    names = ("onnx", "forecast")
    on_request = itertools.chain.from_iterable(extras[name] for name in names)
    return {plain(line) for line in [*project["dependencies"], *on_request]}


def requirements() -> list[str]:
    project = pyproject()["project"]
    extras = project["optional-dependencies"].values()
    return sorted({*project["dependencies"], *itertools.chain.from_iterable(extras)})


@functools.cache
def imported() -> set[str]:
    """Return the distributions that the package imports, at any depth of its code."""
    names: set[str] = set()
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    foreign = names - sys.stdlib_module_names - {"productrecs", "demo_store"}
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


def locked(name: str) -> dict[str, tuple[str, list[str]]]:
    """Return the version and the hashes of each package that a lock names."""
    text = (ROOT / "requirements" / name).read_text("utf-8")
    found = {}
    for entry in text.replace("\\\n", " ").splitlines():
        package, _, rest = entry.partition("==")
        version, *words = rest.split()
        hashes = [word for word in words if word.startswith("--hash=sha256:")]
        found[plain(package)] = (version, hashes)
    return found


def is_within(version: str, requirement: str) -> bool:
    """Return whether a version is in a range of ours: `>=` and perhaps `<`."""
    parts = _parts(version)
    for sign, bound in re.findall(r"(>=|<)([0-9.]+)", requirement):
        if (sign == ">=" and parts < _parts(bound)) or (
            sign == "<" and parts >= _parts(bound)
        ):
            return False
    return True


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]+", version))


@pytest.mark.parametrize("name", LOCKS)
def test_what_is_declared_is_locked_within_its_range_and_by_hash(name: str) -> None:
    project = pyproject()
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [line for extra in LOCKS[name] for line in extras[extra]]
    found = locked(name)

    missing = [line for line in wanted if plain(line) not in found]
    outside = [line for line in wanted if not is_within(found[plain(line)][0], line)]
    assert (missing, outside) == ([], [])
    assert all(hashes for _, hashes in found.values())


def test_developers_have_the_versions_that_the_service_runs_with() -> None:
    run, dev = locked("run.txt"), locked("dev.txt")
    assert {name: one for name, one in run.items() if dev.get(name) != one} == {}


def test_a_lock_names_no_host() -> None:
    for name in LOCKS:
        text = (ROOT / "requirements" / name).read_text("utf-8")
        assert "://" not in text
        assert "index" not in re.findall(r"^--[a-z-]+", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("version", "requirement", "within"),
    [
        ("1.16", "alembic>=1.16,<2", True),
        ("1.9", "alembic>=1.16,<2", False),
        ("2.0", "alembic>=1.16,<2", False),
        ("2026.1", "tzdata>=2025.2", True),
        ("3.51.3.0", "apsw>=3.51.3.0,<4", True),
    ],
)
def test_control_a_version_outside_a_range_is_seen(
    version: str, requirement: str, *, within: bool
) -> None:
    assert is_within(version, requirement) is within
