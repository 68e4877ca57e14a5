"""Check result: a finding of a diagnostic check, with its level and its fix."""

from dataclasses import dataclass
from enum import StrEnum


class CheckLevel(StrEnum):
    """Severity; only a problem makes `doctor` fail."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One finding about one subject, with its remedy when something is wrong."""

    subject: str
    level: CheckLevel
    message: str
    remedy: str | None = None

    def __str__(self) -> str:
        """Return one line, ending with the remedy."""
        line = f"{self.level:<6} {self.subject}: {self.message}"
        return line if self.remedy is None else f"{line} -> {self.remedy}"


def ok(subject: str, message: str) -> CheckResult:
    """Return a finding that everything is in order."""
    return CheckResult(subject, CheckLevel.OK, message)


def notice(subject: str, message: str, remedy: str) -> CheckResult:
    """Return a finding that may be intended."""
    return CheckResult(subject, CheckLevel.NOTE, message, remedy)


def problem(subject: str, message: str, remedy: str) -> CheckResult:
    """Return a finding that has to be fixed."""
    return CheckResult(subject, CheckLevel.WRONG, message, remedy)
