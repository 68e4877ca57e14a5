"""New engine: what it takes to add one, and that a forgotten part stops the start.

The source is copied, files are changed in the copy, and a process of its own starts.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.bought_next import BoughtNextEngine

ROOT = Path(__file__).parents[2]
REGISTRY = "engines/registry.py"
GUIDE = "features/guides/pages/recommendations.md"
ENGINE = "engines/bought_next.py"
IMPORT = "from productrecs.engines.bought_together import BuyEngine\n"
FIRST = "    BUY,\n"
NEW_CLASS = BoughtNextEngine.__name__
START = (
    "from productrecs.application import _check_engine_guides\n"
    "from productrecs.features.recommendations import recommend\n_check_engine_guides()"
)
TRIAL = Path(__file__).with_name("new_engine_trial.py")
RUN_TRIAL = f"import runpy\nrunpy.run_path({str(TRIAL)!r}, run_name='__main__')"


class Change(NamedTuple):
    """A file of the package in which `old` becomes `new`; a new file without `old`."""

    path: str
    old: str
    new: str


ADDED = (
    Change(ENGINE, "", inspect.getsource(sys.modules[BoughtNextEngine.__module__])),
    Change(
        REGISTRY,
        IMPORT,
        f"from productrecs.engines.bought_next import {NEW_CLASS}\n{IMPORT}",
    ),
    Change(REGISTRY, FIRST, f"{FIRST}    {NEW_CLASS}(),\n"),
    Change(GUIDE, "`complementary`", "`complementary` or `bought_next`"),
)
IMPORT_CONTRACT = 1  # the file besides these: the engine's name in `pyproject.toml`


def copied(folder: Path, *changes: Change) -> Path:
    """Return a copy of the source with these changes."""
    source = folder / "src"
    leave = shutil.ignore_patterns("__pycache__", "*.webp", "*.png")
    shutil.copytree(ROOT / "src", source, ignore=leave)
    for path, old, new in changes:
        changed = source / "productrecs" / path
        text = changed.read_text() if old else ""
        assert old in text
        changed.write_text(text.replace(old, new) if old else new)
    return source


def run(source: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Return what a program says that runs with this source."""
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        cwd=source,
        check=False,
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            Change(REGISTRY, FIRST, FIRST + "    BuyEngine(),\n"),
            "two engines have the same name",
        ),
        (
            Change(
                "engines/bought_together.py", 'label: ClassVar = "Bought together"', "pass"
            ),
            "engine BuyEngine: `label` is missing",
        ),
        (Change(GUIDE, "complementary", "other"), "do not mention them: complementary"),
    ],
    ids=["name taken", "no label", "no guide"],
)
def test_a_part_that_is_forgotten_stops_the_start(
    tmp_path: Path, change: Change, said: str
) -> None:
    ran = run(copied(tmp_path, change), START)

    assert ran.returncode != 0
    assert said in ran.stderr


def test_an_engine_of_four_files_is_trained_served_explained_and_evaluated(
    tmp_path: Path,
) -> None:
    assert len({change.path for change in ADDED}) + IMPORT_CONTRACT <= 5

    trials = []
    for name, changes in (("with", ADDED), ("without", ())):
        source = copied(tmp_path / name, *changes)
        ran = run(source, f"{START}\n{RUN_TRIAL}")
        assert ran.returncode == 0, ran.stderr
        trials.append(json.loads(ran.stdout))
    added, removed = trials

    assert ["pot", "bought_next"] in added["served"]
    assert added["reasons"]["pot"] == ["Bought in the next order by 120 customers"]
    assert "bought_next.items" in added["fitted_once"]  # nothing was bought since
    assert added["recalls"]["bought_next"] > 0
    assert "bought_next" not in json.dumps(removed)
    assert removed["names"] == [one for one in added["names"] if one != "bought_next"]
