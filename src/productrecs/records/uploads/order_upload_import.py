"""Order upload import: imports a stored file, and resumes after any interruption."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final

from productrecs.core.clock import Clock
from productrecs.core.errors import (
    ProductRecsError,
    StorageBrokenError,
    StorageBusyError,
    StorageError,
    StorageFullError,
)
from productrecs.core.ids import StoreId
from productrecs.records.orders.order_history_import import (
    OrderHistoryImport,
    OrderHistoryImportReport,
    order_import_row_counts,
)
from productrecs.records.purchases.repository import OrderImportProgress
from productrecs.records.uploads.file_import import (
    ImportOptions,
    ImportStatus,
    NewFileImport,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.order_upload import OrderUpload
from productrecs.records.uploads.order_uploads.repository import OrderUploadRepository
from productrecs.records.uploads.undo.undo_import import ImportChangeJournal
from productrecs.records.uploads.upload_folder import UploadFolder
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)

MAX_ATTEMPTS: Final = 10
"""Attempts without progress after which the import fails: the file is at fault."""

_TRANSIENT_ERRORS: Final = (StorageBusyError, StorageFullError, StorageBrokenError)
_INTERRUPTED_MESSAGE: Final = (
    f"the import was interrupted {MAX_ATTEMPTS} times at the same place; the service's "
    "log says why. Send the file again, or split it"
)
_FILE_MISSING_MESSAGE: Final = (
    "the uploaded file is no longer in the data folder (replicas must share that "
    "folder). Send it again"
)


OnShare = Callable[[float, bool], None]


class UploadTakenOverError(ProductRecsError):
    """Another worker has taken over this upload; changes here are discarded."""


@dataclass
class UploadProgressStore:
    """Stores an import's progress in its upload's row, for reports and for resuming.

    If two workers hold the same upload, only one can store a chunk of it.
    """

    upload: OrderUpload
    clock: Clock
    has_moved: bool = False
    _before: OrderImportProgress = field(init=False)

    def start(self) -> OrderImportProgress:
        """Return the upload's progress."""
        upload = self.upload
        self._before = OrderImportProgress(
            upload.upload_id,
            upload.submitted_ms,
            upload.rows_done,
            upload.lines_imported,
            upload.lines_updated,
        )
        return self._before

    def record(
        self,
        log: StoreLogTransaction,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,
    ) -> None:
        """Store the counts."""
        repository = OrderUploadRepository(log.transaction, log.store_id)
        if not repository.record_progress(
            self.upload.upload_id, self._before, progress, report
        ):
            raise _overtaken_error()
        self._before, self.has_moved = progress, True

    def finish(
        self,
        log: StoreLogTransaction,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,
    ) -> None:
        """Store the counts and the final status."""
        repository = OrderUploadRepository(log.transaction, log.store_id)
        if not repository.finish(self.upload.upload_id, progress, report):
            raise _overtaken_error()
        errors = [[one.row, one.message] for one in report.errors]
        result = {
            "kind": "orders",
            "counts": order_import_row_counts(report),
            "errors": errors,
        }
        add_to_import_history(log, self.upload, self.clock(), result)


def add_to_import_history(
    log: StoreLogTransaction, upload: OrderUpload, now_ms: int, result: Mapping[str, Any]
) -> None:
    """Add an upload that has ended to the history of imports, where it can be undone."""
    new = NewFileImport(
        import_id=upload.upload_id,
        file_name=upload.upload_id,
        size=upload.csv_format.size,
        sent_by="API",
        submitted_ms=upload.submitted_ms,
        choices=ImportOptions(kind="orders"),
    )
    status = ImportStatus.FAILED if "problem" in result else ImportStatus.DONE
    repository = FileImportRepository(log.transaction, log.store_id)
    repository.add(new, status)
    repository.change_status(
        upload.upload_id, (status,), status, result=result, ended_at=now_ms
    )


@dataclass(frozen=True)
class OrderUploadImporter:
    """Imports one store's uploads; times without an offset are in `zone`."""

    database: Database
    numbers: ItemNumberCache
    folder: UploadFolder
    store_id: StoreId
    zone: tzinfo
    clock: Clock

    def run_next(self, on_share: OnShare) -> bool:
        """Import the next upload; return False when there was none.

        `on_share` is called regularly with the share that is read, 0 to 1, and whether
        anything was stored by then. If it raises, the import stops and resumes there the
        next time.

        Raises:
            UploadTakenOverError: when another worker has taken the upload over.
            StorageError: when the database failed; the next attempt resumes from there.
        """
        upload = self._begin_next_upload()
        if upload is None:
            return False
        if upload.attempts >= MAX_ATTEMPTS:
            self._fail_and_remove_file(upload, _INTERRUPTED_MESSAGE)
            return True
        try:
            self._import_and_remove_file(upload, on_share)
        except ProductRecsError as error:
            if not isinstance(error, StorageError) or isinstance(error, _TRANSIENT_ERRORS):
                self._cancel_attempt(upload)
            raise
        except FileNotFoundError:
            if not self.folder.path.is_dir():
                raise  # the folder may be mounted again soon
            self._fail_and_remove_file(upload, _FILE_MISSING_MESSAGE)
        return True

    def _begin_next_upload(self) -> OrderUpload | None:
        with self.database.transaction() as transaction:
            repository = OrderUploadRepository(transaction, self.store_id)
            upload = repository.oldest_unfinished()
            if upload is not None:
                repository.begin_attempt(upload.upload_id)
        return upload

    def _import_and_remove_file(self, upload: OrderUpload, on_share: OnShare) -> None:
        journal = UploadProgressStore(upload, self.clock)
        history = OrderHistoryImport(
            self.database,
            self.numbers,
            self.store_id,
            self.zone,
            upload.submitted_ms,
            journal,
            changes=ImportChangeJournal(upload.upload_id),
        )
        read, size = 0, max(1, upload.csv_format.size)

        def on_bytes(count: int) -> None:
            nonlocal read
            read += count
            on_share(min(1.0, read / size), journal.has_moved)

        with self.folder.open(upload.upload_id) as file:
            history.run(file, upload.csv_format, on_bytes)
        self.folder.remove(upload.upload_id)

    def _fail_and_remove_file(self, upload: OrderUpload, message: str) -> None:
        with self.database.transaction() as transaction:
            OrderUploadRepository(transaction, self.store_id).fail(upload, message)
            problem = {"problem": f"{message[:1].upper()}{message[1:]}."}
            log = StoreLogTransaction(self.database, transaction, self.store_id)
            add_to_import_history(log, upload, self.clock(), problem)
        self.folder.remove(upload.upload_id)

    def _cancel_attempt(self, upload: OrderUpload) -> None:
        with (
            contextlib.suppress(StorageError),  # then the attempt counts; others remain
            self.database.transaction() as transaction,
        ):
            OrderUploadRepository(transaction, self.store_id).cancel_attempt(
                upload.upload_id
            )


def _overtaken_error() -> UploadTakenOverError:
    return UploadTakenOverError("another worker is importing this upload")
