"""Version of this program, and the revision of its source that it was built from."""

from pathlib import Path
from typing import Final

from productrecs import __version__

_PACKAGE: Final = Path(__file__).parents[1]


def read_revision(package: Path) -> str:
    """Return the first 12 digits of the commit of the program in `package`.

    An installed program has them in the file `revision`, which the build writes; a checkout
    has them in its `.git`. Where neither exists, as in a downloaded folder: "".
    """
    try:
        commit = (package / "revision").read_text("ascii")
    except (OSError, UnicodeDecodeError):
        commit = _checked_out_commit(package.parents[1] / ".git")
    return commit.strip()[:12]


def _checked_out_commit(git: Path) -> str:
    try:
        if git.is_file():  # a work tree: its files are elsewhere
            git = git.parent / git.read_text().removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return head
        branch = head.removeprefix("ref:").strip()
        common = git
        if (git / "commondir").is_file():
            common = git / (git / "commondir").read_text().strip()
        if (common / branch).is_file():
            return (common / branch).read_text()
        packed = (common / "packed-refs").read_text().splitlines()
        return next(line.split()[0] for line in packed if line.endswith(f" {branch}"))
    except (OSError, UnicodeDecodeError, StopIteration):
        return ""


REVISION: Final = read_revision(_PACKAGE)
"""Commit of this program's source, 12 digits; "" if it is unknown."""

PROGRAM_VERSION: Final = f"{__version__} ({REVISION})" if REVISION else __version__
"""Version and revision as people read them: `0.1.0 (020de666d1f2)`."""
