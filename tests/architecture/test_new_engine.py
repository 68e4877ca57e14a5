"""New engine: what it takes to add one, and that a forgotten part stops the start.

The source is copied once; each test changes files of the copy, and starts a process.
"""

import contextlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source, which tests change for a while."""
    source = tmp_path_factory.mktemp("source") / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("*.webp", "*.png"))
    return source


@contextlib.contextmanager
def changed(source: Path, *changes: Change) -> Iterator[None]:
    """Make these changes, and take them back afterwards."""
    before: dict[Path, str | None] = {}
    for path, old, new in changes:
        file = source / "productrecs" / path
        text = file.read_text() if old else ""
        before.setdefault(file, text if old else None)
        assert old in text
        file.write_text(text.replace(old, new) if old else new)
    yield
    for file, was in before.items():
        if was is None:
            file.unlink()
        else:
            file.write_text(was)


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
    source: Path, change: Change, said: str
) -> None:
    with changed(source, change):
        ran = run(source, START)

    assert ran.returncode != 0
    assert said in ran.stderr


def test_an_engine_of_four_files_is_trained_served_explained_and_evaluated(
    source: Path,
) -> None:
    assert len({change.path for change in ADDED}) + IMPORT_CONTRACT <= 5

    trials = []
    for changes in (ADDED, ()):
        with changed(source, *changes):
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
