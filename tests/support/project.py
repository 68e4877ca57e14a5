"""Project paths and metadata."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
SRC: Final = ROOT / "src"
PACKAGE: Final = SRC / "productrecs"


def pyproject() -> dict[str, Any]:
    """Return pyproject.toml as tables."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def module_paths(pattern: str = "*.py") -> list[str]:
    """Return the path under src of each module of our packages, in order."""
    return [path.relative_to(SRC).as_posix() for path in sorted(SRC.rglob(pattern))]


def modules(pattern: str = "*.py", *, having: str = "") -> Iterator[tuple[str, ast.Module]]:
    """Give each of `module_paths` with its syntax tree.

    Those in whose text `having` matches nothing are left out: parsing takes long.
    """
    for path in module_paths(pattern):
        text = (SRC / path).read_text("utf-8")
        if re.search(having, text):
            yield path, ast.parse(text)
