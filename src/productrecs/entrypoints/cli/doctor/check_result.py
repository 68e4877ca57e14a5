"""Check result: the level, the finding and the fix."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is; only what is wrong makes `doctor` fail."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One sentence about one subject, and what to do about it when it is not well."""

    subject: str
    level: Level
    message: str
    remedy: str | None = None

    def __str__(self) -> str:
        """Return one line, ending with the remedy."""
        line = f"{self.level:<6} {self.subject}: {self.message}"
        return line if self.remedy is None else f"{line} -> {self.remedy}"


def ok(subject: str, message: str) -> CheckResult:
    """Return that all is well."""
    return CheckResult(subject, Level.OK, message)


def notice(subject: str, message: str, remedy: str) -> CheckResult:
    """Return something worth knowing that may be as it should."""
    return CheckResult(subject, Level.NOTE, message, remedy)


def problem(subject: str, message: str, remedy: str) -> CheckResult:
    """Return something that must be mended."""
    return CheckResult(subject, Level.WRONG, message, remedy)
