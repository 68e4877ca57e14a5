"""Import report: progress, and the rows of a file that were read or skipped, and why."""

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
    """Why a row was skipped; rows are numbered as in a spreadsheet, a header is 1."""

    row: int
    message: str


@dataclass(slots=True)
class RowReport:
    """The row counts of one file, and up to `errors_kept` of its errors."""

    rows: int = 0
    rows_skipped: int = 0
    errors: list[RowError] = field(default_factory=list)
    errors_kept: int = MAX_ERRORS

    def skipped(self, row: int, message: str) -> None:
        """Count a row that could not be taken."""
        self.rows_skipped += 1
        if len(self.errors) < self.errors_kept:
            self.errors.append(RowError(row, message))


MAX_UNDATED: Final = 10
"""So many rows are named whose time could not be read."""


@dataclass(slots=True)
class HistoryReport(RowReport):
    """The result of an import: `lines_imported` are new, `lines_updated` were changed.

    `rows_undated` had no time that could be read; `undated` names the first of those that
    had one. `not_bought` counts the rows of orders that are no purchases, such as
    cancelled ones, by the order's status. All other rows repeated stored data.
    """

    lines_imported: int = 0
    lines_updated: int = 0
    rows_undated: int = 0
    undated: list[RowError] = field(default_factory=list)
    not_bought: dict[str, int] = field(default_factory=dict)

    def add_undated(self, row: int, text: str) -> None:
        """Count a row whose time, written as `text`, could not be read."""
        self.rows_undated += 1
        if text and len(self.undated) < MAX_UNDATED:
            self.undated.append(RowError(row, f"{text[:40]!r} {_time_words(text)}"))

    def add_not_purchased(self, status: str) -> None:
        """Count a row of an order that is none."""
        self.not_bought[status] = self.not_bought.get(status, 0) + 1


def _time_words(text: str) -> str:
    if written_date_to_iso(text, day_first=True) is None:
        return "is not a readable date or time"
    return "may have the day or the month first, and no other row of the file shows which"


class ImportProgress(Protocol):
    """Where one import is noted; what it stores is in the transaction of the given log."""

    def begun(self) -> ImportMark:
        """Return how far the import came before; nothing yet for a new one."""

    def note(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:
        """Store how far it came with the lines of this transaction."""

    def finish(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:
        """Store that all of the file is imported."""


@dataclass(frozen=True)
class FileImportProgress:
    """Knows a file by its digest: the same file goes on where it was broken off.

    Once it is imported whole it is forgotten: the next time it comes, it is a re-upload,
    which overwrites what came between.
    """

    database: Database
    store_id: StoreId
    digest: str
    submitted_ms: int

    def begun(self) -> ImportMark:
        """Return how far this file came before, and when it was first handed in."""
        with self.database.reading() as connection:
            repository = PurchaseRepository(connection, self.store_id)
            found = repository.import_mark(self.digest)
        return found or ImportMark(self.digest, self.submitted_ms)

    def note(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:  # noqa: ARG002 - only `finish` uses it
        """Store the mark."""
        PurchaseRepository(log.transaction, self.store_id).set_import_mark(mark)

    def finish(self, log: StoreLog, mark: ImportMark, report: HistoryReport) -> None:  # noqa: ARG002 - the caller reports it
        """Delete the progress of the file."""
        PurchaseRepository(log.transaction, self.store_id).delete_import_mark(mark.digest)
