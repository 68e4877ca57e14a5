"""How much does a shopper's browser load? Each script of the widgets has a budget.

Counted is what travels: the built script with its styles and what it is told of its store,
which allows assistants in browsers, compressed by gzip. Browsers that read brotli load a
tenth less.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from productrecs.http.routes.public.widget_scripts import LOAD_WEBMCP, script_call

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "src/productrecs/assets/widgets"
TOLD = b'{"key":"pk_%s","answers":["image","looks","analyze"]}' % bytes(range(48, 91))
BUDGETS = {  # bytes; `all` is the three in one; few pages load the last three
    "recs": 10_240,
    "search": 14_000,
    "look": 12_000,
    "all": 18_000,
    "tools": 8_000,
    "webmcp": 4_000,
    "crop": 4_000,
}


def sizes(built: Path) -> dict[str, int]:
    """Return the bytes of each script as they travel, by its name."""
    return {
        path.stem: len(gzip.compress(_as_sent(path.read_bytes()), 9, mtime=0))
        for path in sorted(built.glob("*.js"))
    }


def _as_sent(built: bytes) -> bytes:
    return built.replace(b"(null);\n", script_call(TOLD, LOAD_WEBMCP))


def main() -> int:
    """Print each script's size and what is left; return 1 when one is over its budget."""
    found = sizes(BUILT)
    for name, size in found.items():
        left = BUDGETS[name] - size
        word = f"{left} left" if left >= 0 else f"{-left} over"
        print(f"{name}: {size} bytes of {BUDGETS[name]}, {word}")
    is_whole = found.keys() == BUDGETS.keys()
    return 0 if is_whole and all(found[name] <= BUDGETS[name] for name in found) else 1


if __name__ == "__main__":
    sys.exit(main())
