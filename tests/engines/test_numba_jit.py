"""Compiled functions: cached on disk; a cache of another version is discarded."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """
import numba
from typing import NamedTuple
from productrecs.engines.numba_jit import jit_compiled

class {name}(NamedTuple):
    one: float
    two: int

_TYPE = numba.types.NamedTuple((numba.float64, numba.int64), {name})

@jit_compiled(numba.float64(_TYPE))
def total(pair):
    return pair.one + pair.two

print(total({name}(1.0, 2)))
"""


def run(folder: Path, name: str) -> str:
    """Return what the kernel prints, with a class of this name in its signature."""
    source, cache = folder / "kernel.py", folder / "cache"
    source.write_text(KERNEL.format(name=name))
    done = subprocess.run(
        [sys.executable, "-c", "import kernel"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout.strip() or done.stderr


def test_a_cache_that_names_a_class_of_another_version_is_discarded(
    tmp_path: Path,
) -> None:
    assert run(tmp_path, "Pair") == "3.0"
    assert list((tmp_path / "cache").rglob("*.nbi"))

    assert run(tmp_path, "Couple") == "3.0"  # an upgrade renamed the class


@pytest.mark.parametrize("content", [b"", b"no pickle at all"])
def test_a_damaged_cache_is_discarded(tmp_path: Path, content: bytes) -> None:
    assert run(tmp_path, "Pair") == "3.0"
    for index in (tmp_path / "cache").rglob("*.nbi"):
        index.write_bytes(content)

    assert run(tmp_path, "Pair") == "3.0"
