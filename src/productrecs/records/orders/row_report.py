"""What became of the rows of a file: how many, and which could not be taken, and why?"""

from dataclasses import dataclass, field
from typing import Final

MOST_ERRORS: Final = 100
"""So many errors are told; all are counted."""


@dataclass(frozen=True, slots=True)
class RowError:
    """Why a row was skipped; rows are numbered as in a spreadsheet, a header is 1."""

    row: int
    message: str


@dataclass(slots=True)
class RowReport:
    """The rows of one file."""

    rows: int = 0
    rows_skipped: int = 0
    errors: list[RowError] = field(default_factory=list)

    def skipped(self, row: int, message: str) -> None:
        """Count a row that could not be taken."""
        self.rows_skipped += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(RowError(row, message))


@dataclass(slots=True)
class HistoryReport(RowReport):
    """What became of a file; `rows` is `lines_imported` + `lines_updated` + `rows_skipped`.

    `rows_undated` of them had no time that could be read.
    """

    lines_imported: int = 0
    lines_updated: int = 0
    rows_undated: int = 0
