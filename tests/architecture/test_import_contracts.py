"""Import contracts of pyproject.toml: they hold, and each catches a violation."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT, pyproject

# One file, appended to a copy of the package, that breaks each contract.
BREACHES = {
    "Imports only go down the house": (
        "core/breach.py",
        "import productrecs.storage.sql.database",
    ),
    "Features never import one another": (
        "features/search/__init__.py",
        "import productrecs.features.recommendations",
    ),
    "Tests change placements, orders write events; neither is known below": (
        "records/catalog/breach.py",
        "import productrecs.records.orders",
    ),
    "Registration starts a trial; billing knows no accounts": (
        "tenancy/billing/__init__.py",
        "import productrecs.tenancy.accounts",
    ),
    "Engines are independent mathematics": (
        "engines/demand/__init__.py",
        "import productrecs.engines.copurchase",
    ),
    "The service never imports the demo store": (
        "features/search/breach.py",
        "import demo_store.departments",
    ),
    "No cycles anywhere": ("core/ids.py", "import productrecs.core.errors"),
    "SQL lives in repositories and storage": (
        "records/catalog/breach.py",
        "import sqlalchemy",
    ),
    "Child processes are started in productrecs.processes": (
        "records/catalog/breach.py",
        "import subprocess",
    ),
    "HTTP lives in http and dashboard": ("records/catalog/breach.py", "import fastapi"),
    "Core is the standard library only": ("core/breach.py", "import numpy"),
}
OTHER_HALVES = [
    ("core/errors.py", "import productrecs.core.ids"),
    ("http/breach.py", "import productrecs.worker"),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def verdicts(folder: Path) -> dict[str, str]:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(re.findall(r"^(.+?)\s+(KEPT|BROKEN)\b", done.stdout, re.MULTILINE))


def contract_names() -> set[str]:
    return {one["name"] for one in pyproject()["tool"]["importlinter"]["contracts"]}


def test_every_contract_is_kept(copy: Path) -> None:
    assert verdicts(copy) == dict.fromkeys(contract_names(), "KEPT")


def test_every_contract_catches_its_breach(copy: Path) -> None:
    for place, line in [*BREACHES.values(), *OTHER_HALVES]:
        path = copy / "src" / "productrecs" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as module:
            module.write(f"\n{line}\n")

    assert BREACHES.keys() == contract_names()
    assert verdicts(copy) == dict.fromkeys(contract_names(), "BROKEN")
