"""New engine: a part that is forgotten stops the start.

The source is copied, one file is changed in the copy, and a process of its own starts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REGISTRY = "training/engine_specs.py"
GUIDE = "features/guides/pages/recommendations.md"
FIRST = "ENGINES: Final = (\n"
LINE = """    EngineSpec(
        name="next-number",
        summary="the product with the next number",
        guide=RECOMMENDATIONS,
        weights={"product": 3.0, "cart": 3.0},
    ),
"""
START = (
    "from productrecs.application import _check_engines\n"
    "from productrecs.features.recommendations import recommend\n_check_engines()"
)


def run_with(
    folder: Path, path: str, old: str, new: str
) -> subprocess.CompletedProcess[str]:
    """Return what a start says whose source has a changed file."""
    source = folder / "src"
    leave = shutil.ignore_patterns("__pycache__", "*.webp", "*.png")
    shutil.copytree(ROOT / "src", source, ignore=leave)
    changed = source / "productrecs" / path
    text = changed.read_text()
    assert old in text
    changed.write_text(text.replace(old, new))
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", START],
        capture_output=True,
        text=True,
        env=environment,
        cwd=source,
        check=False,
    )


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        (REGISTRY, FIRST, FIRST + LINE, "no candidate function"),
        (REGISTRY, FIRST, FIRST + LINE.replace("next-number", "buy"), "the same name"),
        (GUIDE, "complementary", "other", "do not mention them: complementary"),
    ],
    ids=["no candidates", "name taken", "no guide"],
)
def test_a_part_that_is_forgotten_stops_the_start(
    tmp_path: Path, path: str, old: str, new: str, said: str
) -> None:
    ran = run_with(tmp_path, path, old, new)

    assert ran.returncode != 0
    assert said in ran.stderr
