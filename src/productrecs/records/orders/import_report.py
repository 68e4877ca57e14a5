"""Import report: progress, and the imported and skipped rows of a file."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from productrecs.core.clock import written_date_to_iso
from productrecs.core.ids import StoreId
from productrecs.records.orders.repository import ImportMark, PurchaseRepository
from productrecs.storage.database import Database
from productrecs.storage.store_log import StoreLog

MAX_ERRORS: Final = 100
"""The most errors that are listed; all are counted."""


@dataclass(frozen=True, slots=True)
class RowError:
    """The reason for a skipped row; rows are numbered as in a spreadsheet from 1."""

    row: int
    message: str


@dataclass(slots=True)
class RowReport:
    """The row counts of one file, and up to `max_errors` of its errors."""

    rows: int = 0
    rows_skipped: int = 0
    errors: list[RowError] = field(default_factory=list)
    max_errors: int = MAX_ERRORS

    def skipped(self, row: int, message: str) -> None:
        """Count a skipped row."""
        self.rows_skipped += 1
        if len(self.errors) < self.max_errors:
            self.errors.append(RowError(row, message))


MAX_UNDATED: Final = 10
"""How many rows with an unreadable time are listed."""


@dataclass(slots=True)
class HistoryReport(RowReport):
    """The result of an import: `lines_imported` are new, `lines_updated` were changed.

    `rows_undated` had no readable time; `undated` lists the first of those with a text.
    `not_bought` counts the rows of orders that are not purchases, such as cancelled ones,
    by the order's status. All other rows repeated stored data.
    """

    lines_imported: int = 0
    lines_updated: int = 0
    rows_undated: int = 0
    undated: list[RowError] = field(default_factory=list)
    not_bought: dict[str, int] = field(default_factory=dict)

    def add_undated(self, row: int, text: str) -> None:
        """Count a row with the unreadable time `text`."""
        self.rows_undated += 1
        if text and len(self.undated) < MAX_UNDATED:
            self.undated.append(RowError(row, f"{text[:40]!r} {_time_words(text)}"))

    def add_not_purchased(self, status: str) -> None:
        """Count a row of an order that is not a purchase."""
        self.not_bought[status] = self.not_bought.get(status, 0) + 1


def _time_words(text: str) -> str:
    if written_date_to_iso(text, day_first=True) is None:
        return "is not a readable date or time"
    return "may have the day or the month first, and no other row of the file shows which"


class ImportProgress(Protocol):
    """Stores the progress of one import in the transaction of the given log."""

    def start(self) -> ImportMark:
        """Return the progress so far; empty for a new import."""

    def record(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:
        """Store the progress with the lines of this transaction."""

    def finish(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:
        """Store that the whole file is imported."""


@dataclass(frozen=True)
class FileImportProgress:
    """Progress by file digest: the same file resumes where its import was interrupted.

    The progress is deleted after a complete import: the next upload of the file is new,
    and overwrites later changes.
    """

    database: Database
    store_id: StoreId
    digest: str
    submitted_ms: int

    def start(self) -> ImportMark:
        """Return this file's progress, and the time of its first upload."""
        with self.database.reading() as connection:
            repository = PurchaseRepository(connection, self.store_id)
            found = repository.import_mark(self.digest)
        return found or ImportMark(self.digest, self.submitted_ms)

    def record(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:  # noqa: ARG002 - only `finish` uses it
        """Store the mark."""
        PurchaseRepository(log.transaction, self.store_id).set_import_mark(mark)

    def finish(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:  # noqa: ARG002 - the caller reports it
        """Delete the progress of the file."""
        PurchaseRepository(log.transaction, self.store_id).delete_import_mark(mark.digest)
