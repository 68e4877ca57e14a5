"""Names that clients rely on: `published_names.txt`, from the last release.

`python -m tests.api.published` adds the names of the present description. It removes none:
a route, parameter, field or header that was published stays.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.openapi import published_names

FILE: Final = Path(__file__).with_name("published_names.txt")


def names() -> set[str]:
    """Return every published name."""
    return set(FILE.read_text("utf-8").splitlines()) if FILE.exists() else set()


def _add_present_names() -> None:
    command = [sys.executable, "-m", "productrecs", "openapi"]
    document = json.loads(subprocess.check_output(command))
    lines = sorted(names() | published_names(document))
    FILE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    _add_present_names()
