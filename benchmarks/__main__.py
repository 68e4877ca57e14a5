"""`python -m benchmarks [name ...]`: quality, then speed, in one table; or the named."""

from __future__ import annotations

import sys

from benchmarks.quality.measure import PARTS
from benchmarks.quality.measure import measure as measure_quality
from benchmarks.report import Report
from benchmarks.speed.measure import NAMES
from benchmarks.speed.measure import measure as measure_speed


def main(names: list[str]) -> int:
    """Print the figures; return 1 when one misses its target, 2 when a name is unknown."""
    unknown = [name for name in names if name not in PARTS and name not in NAMES]
    if unknown:
        print(f"no figure {', '.join(unknown)}; there are {', '.join((*PARTS, *NAMES))}")
        return 2
    report = Report()
    quality = [name for name in names if name in PARTS]
    speed = [name for name in names if name in NAMES]
    if quality or not names:
        measure_quality(report, quality)
    if speed or not names:
        measure_speed(report, speed)
    return 0 if report.finish() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
