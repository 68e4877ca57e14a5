"""File sizes: a module of the package holds at most 600 lines.

A longer one is named in `ALLOWED` with its reason, or it is divided.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CEILING = 600
ALLOWED: dict[str, str] = {}  # path: why it is better whole


def too_long(root: Path) -> list[tuple[str, int]]:
    """Return (path, lines) of each module over the ceiling, longest first."""
    sizes = [
        (path.relative_to(root).as_posix(), len(path.read_text("utf-8").splitlines()))
        for path in (root / "src").rglob("*.py")
        if "migrations/versions" not in path.as_posix()
    ]
    over = [
        (name, lines) for name, lines in sizes if lines > CEILING and name not in ALLOWED
    ]
    return sorted(over, key=lambda entry: -entry[1])


def main() -> int:
    """Print each file that is too long; return 1 when there is one."""
    found = too_long(ROOT)
    for name, lines in found:
        print(f"{name}: {lines} lines, at most {CEILING}; divide it")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
