"""Does the code keep the house rules? Every check, two at a time, and which failed.

`make check` calls it. Each line is one check; the whole output of a failed one follows.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent

# Slowest first, so that the two lanes end together.
CHECKS = {
    "types": ("mypy",),
    "import contracts": ("lint-imports", "--no-logo"),
    "dead code": ("python", "tools/dead_code.py"),
    "lint": ("ruff", "check", "--quiet", "."),
    "format": ("ruff", "format", "--check", "--quiet", "."),
    "file sizes": ("python", "tools/file_sizes.py"),
    "widget sizes": ("python", "tools/widget_sizes.py"),
}


@dataclass(frozen=True)
class Outcome:
    """How one check went."""

    name: str
    passed: bool
    seconds: float
    output: str


def run(name: str) -> Outcome:
    """Run one check in the project's folder and print its line."""
    program, *arguments = CHECKS[name]
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - the commands are the constants above
        [BIN / program, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    word = "ok  " if done.returncode == 0 else "FAIL"
    print(f"{word} {name:<17} {seconds:5.1f} s", flush=True)
    return Outcome(name, done.returncode == 0, seconds, done.stdout)


def main() -> int:
    """Return 0 when every check passed, else 1."""
    with ThreadPoolExecutor(max_workers=2) as lanes:
        outcomes = list(lanes.map(run, CHECKS))
    failed = [outcome for outcome in outcomes if not outcome.passed]
    for outcome in failed:
        print(f"\n--- {outcome.name}\n{outcome.output.strip()}")
    if failed:
        print(f"\nFAILED: {', '.join(outcome.name for outcome in failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
