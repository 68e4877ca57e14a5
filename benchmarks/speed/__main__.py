"""`python -m benchmarks.speed [name ...]`: the figures of speed, or the named ones."""

from __future__ import annotations

import sys

from benchmarks.report import Report
from benchmarks.speed.measure import measure


def main(names: list[str]) -> int:
    """Print the figures; return 1 when one misses its target."""
    report = Report()
    measure(report, names)
    return 0 if report.finish() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
