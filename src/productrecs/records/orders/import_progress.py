"""Import progress: stored with the imported lines, so that an import resumes exactly."""

from dataclasses import dataclass
from typing import Protocol

from productrecs.core.ids import StoreId
from productrecs.records.orders.repository import ImportMark, PurchaseRepository
from productrecs.records.orders.row_report import HistoryReport
from productrecs.storage.database import Database
from productrecs.storage.store_log import StoreLog


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
