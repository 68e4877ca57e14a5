"""Which code does nobody call?

Vulture reads the project twice: once without the tests, since code that only a test calls
is dead in the product; once with them, for the helpers of tests and benchmarks themselves.
What a framework calls by name or decorator stands in `[tool.vulture]` of pyproject.toml;
attributes that a page's template reads are used.
Fields of data classes are data, not code, so unused variables are left to review.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import vulture
from jinja2 import Environment, nodes

ROOT = Path(__file__).parents[1]
KINDS = frozenset({"class", "function", "import", "method", "property", "unreachable_code"})


def unused(root: Path, folders: list[str], reported: list[str]) -> list[str]:
    """Return a line for each unused piece of code in `reported`, read among `folders`."""
    settings: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    chosen = settings["tool"]["vulture"]
    reader = vulture.Vulture(
        ignore_names=chosen["ignore_names"], ignore_decorators=chosen["ignore_decorators"]
    )
    paths = [str(root / folder) for folder in folders if (root / folder).exists()]
    reader.used_names.update(name for path in paths for name in _template_names(Path(path)))
    reader.scavenge(paths, exclude=[str(root / pattern) for pattern in chosen["exclude"]])
    wanted = [root / folder for folder in reported]
    return [
        f"{item.filename.relative_to(root)}:{item.first_lineno}: {item.message}"
        for item in reader.get_unused_code(min_confidence=60)
        if item.typ in KINDS and any(folder in item.filename.parents for folder in wanted)
    ]


def _template_names(folder: Path) -> set[str]:
    """Return the attributes that the templates below `folder` read."""
    syntax = Environment(autoescape=True)
    return {
        attribute.attr
        for template in folder.rglob("templates/**/*.html")
        for attribute in syntax.parse(template.read_text("utf-8")).find_all(nodes.Getattr)
    }


def main() -> int:
    """Print what is unused; return 1 when there is something."""
    product = ["src", "benchmarks", "tools", "hatch_build.py"]
    found = unused(ROOT, product, ["src"])
    found += unused(ROOT, [*product, "tests"], ["benchmarks", "tools", "tests"])
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
