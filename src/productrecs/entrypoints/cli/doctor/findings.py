"""What did a check find?"""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is; only what is wrong makes `doctor` fail."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one subject, and what to do about it when it is not well."""

    subject: str
    level: Level
    message: str
    remedy: str | None = None

    def __str__(self) -> str:
        """Return one line, ending with the remedy."""
        line = f"{self.level:<6} {self.subject}: {self.message}"
        return line if self.remedy is None else f"{line} -> {self.remedy}"


def ok(subject: str, message: str) -> Finding:
    """Return that all is well."""
    return Finding(subject, Level.OK, message)


def note(subject: str, message: str, remedy: str) -> Finding:
    """Return something worth knowing that may be as it should."""
    return Finding(subject, Level.NOTE, message, remedy)


def wrong(subject: str, message: str, remedy: str) -> Finding:
    """Return something that must be mended."""
    return Finding(subject, Level.WRONG, message, remedy)
