"""Continuous integration: a few failed tests run again, alone, and are named."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.project import ROOT

# It is `make`: the first run of the tests fails those of `first`, the second those of
# `second`, and it notes each call.
MAKE = """#!/bin/sh
echo "$*" >> calls
[ "$1" = test ] || exit 0
mkdir -p .pytest_cache/v/cache
run=first
case "$*" in *--last-failed*) run=second ;; esac
cp "$run" .pytest_cache/v/cache/lastfailed
[ "$(cat "$run")" = "{}" ]
"""
RULE = "tests/a.py::test_a[x-1]"


@pytest.mark.parametrize(
    ("first", "second", "status", "flaky", "runs"),
    [
        ([], [], 0, [], 1),
        ([RULE], [], 0, [RULE], 2),
        (["a", "b", "c"], [], 0, ["a", "b", "c"], 2),
        ([RULE], [RULE], 1, [], 2),
        (["a", "b", "c", "d"], [], 1, [], 1),
    ],
    ids=["none", "one flaky", "three flaky", "one broken", "four at once"],
)
def test_at_most_three_failed_tests_run_again_and_the_last_lines_name_them(
    tmp_path: Path,
    first: list[str],
    second: list[str],
    status: int,
    flaky: list[str],
    runs: int,
) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    for name, failed in (("first", first), ("second", second)):
        text = json.dumps(dict.fromkeys(failed, True), indent=2)
        (tmp_path / name).write_text(text)
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin" / "make"
    make.write_text(MAKE)
    make.chmod(0o755)

    done = subprocess.run(
        [tmp_path / ".ci" / "run"],
        env={"PATH": f"{make.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    named = done.stdout.splitlines()
    calls = (tmp_path / "calls").read_text().splitlines()
    assert done.returncode == status, done.stderr
    assert named == (["Flaky, failed at first and passed alone:", *flaky] if flaky else [])
    assert len([one for one in calls if one.startswith("test")]) == runs
