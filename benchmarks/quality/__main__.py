"""`python -m benchmarks.quality [name ...]`: the figures of quality, or the named ones."""

from __future__ import annotations

import sys

from benchmarks.quality.measure import measure
from benchmarks.report import Report


def main(names: list[str]) -> int:
    """Print the figures; return 1 when one misses its target."""
    report = Report()
    measure(report, names)
    return 0 if report.finish() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
