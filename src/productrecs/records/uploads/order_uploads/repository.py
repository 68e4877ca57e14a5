"""Order upload repository: SQL of the uploads of order files."""

import json
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.csv_reader import CsvFormat
from productrecs.core.ids import StoreId
from productrecs.records.orders.order_history_import import (
    OrderHistoryImportReport,
    SkippedRow,
)
from productrecs.records.purchases.repository import OrderImportProgress
from productrecs.records.uploads.order_upload import (
    NewOrderUpload,
    OrderUpload,
    OrderUploadStatus,
)
from productrecs.records.uploads.upload_folder import TooManyUploadsError
from productrecs.storage.jobs.job_queue import JobQueue, NewJob
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    StoreLogTransaction,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import uploads

_UNFINISHED: Final = (OrderUploadStatus.QUEUED, OrderUploadStatus.RUNNING)


class OrderUploadRepository(StoreScopedRepository):
    """One store's uploads, inside one transaction; never commits."""

    def add(self, new: NewOrderUpload) -> None:
        """Store a new upload at the end of the queue; lock the store's head first."""
        query = sa.select(sa.func.coalesce(sa.func.max(uploads.c.number), 0)).where(
            uploads.c.store_id == self._store_id
        )
        self._insert_row(
            uploads,
            upload_id=new.upload_id,
            number=int(self._connection.execute(query).scalar_one()) + 1,
            status=OrderUploadStatus.QUEUED,
            submitted_at=new.submitted_ms,
            format=_encoded_format(new.csv_format),
            rows=0,
            rows_done=0,
            lines_imported=0,
            lines_updated=0,
            rows_skipped=0,
            rows_undated=0,
            undated="[]",
            errors="[]",
            attempts=0,
        )

    def unfinished_count(self) -> int:
        """Return the number of unfinished uploads."""
        query = sa.select(sa.func.count()).where(
            uploads.c.store_id == self._store_id, uploads.c.status.in_(_UNFINISHED)
        )
        return int(self._connection.execute(query).scalar_one())

    def find(self, upload_id: str) -> OrderUpload | None:
        """Return an upload of this store."""
        query = sa.select(uploads).where(self._own_rows(uploads, upload_id=upload_id))
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _to_upload(row)

    def latest(self, limit: int) -> list[OrderUpload]:
        """Return the latest uploads, newest first."""
        query = (
            sa.select(uploads)
            .where(uploads.c.store_id == self._store_id)
            .order_by(uploads.c.number.desc())
            .limit(limit)
        )
        return [_to_upload(row) for row in self._connection.execute(query).mappings()]

    def oldest_unfinished(self) -> OrderUpload | None:
        """Return the next upload to import: in order, since later ones overwrite it."""
        query = (
            sa.select(uploads)
            .where(uploads.c.store_id == self._store_id, uploads.c.status.in_(_UNFINISHED))
            .order_by(uploads.c.number)
            .limit(1)
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _to_upload(row)

    def begin_attempt(self, upload_id: str) -> None:
        """Count another attempt."""
        values = {"status": OrderUploadStatus.RUNNING, "attempts": uploads.c.attempts + 1}
        self._set(upload_id, values)

    def cancel_attempt(self, upload_id: str) -> None:
        """Do not count the attempt: it failed for a reason other than the file."""
        self._set(upload_id, {"attempts": uploads.c.attempts - 1})

    def record_progress(
        self,
        upload_id: str,
        before: OrderImportProgress,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,
    ) -> bool:
        """Store the import's progress; False, without changes, if another worker has it.

        Another worker has it when the stored progress is beyond `before`.
        """
        values = {"rows_done": progress.rows_done, "attempts": 0, **_report_columns(report)}
        return self._update_if_unchanged(upload_id, before, values)

    def finish(
        self, upload_id: str, before: OrderImportProgress, report: OrderHistoryImportReport
    ) -> bool:
        """Store that it is fully imported; False, without changes, if another has it."""
        values = {"status": OrderUploadStatus.DONE, **_report_columns(report)}
        return self._update_if_unchanged(upload_id, before, values)

    def fail(self, upload: OrderUpload, message: str) -> None:
        """Store the import's final failure and the reason: row 0 is the file itself."""
        errors = [*upload.errors, SkippedRow(0, message)]
        self._set(
            upload.upload_id,
            {"status": OrderUploadStatus.FAILED, "errors": _encode_errors(errors)},
        )

    def _update_if_unchanged(
        self, upload_id: str, before: OrderImportProgress, values: dict[str, Any]
    ) -> bool:
        changed = self._update_rows(
            uploads,
            uploads.c.upload_id == upload_id,
            uploads.c.status == OrderUploadStatus.RUNNING,
            uploads.c.rows_done == before.rows_done,
            uploads.c.lines_imported == before.lines_added,
            **values,
        )
        return changed == 1

    def _set(self, upload_id: str, values: dict[str, Any]) -> None:
        self._update_rows(uploads, uploads.c.upload_id == upload_id, **values)


def stores_with_uploads(database: Database) -> list[StoreId]:
    """Return the stores with an upload to import."""
    query = sa.select(uploads.c.store_id).where(uploads.c.status.in_(_UNFINISHED))
    with database.reading() as connection:
        return [StoreId(one) for one in connection.execute(query.distinct()).scalars()]


def files_needed(connection: sa.Connection) -> set[str]:
    """Return the ids of all uploads, of any store, whose file is still needed."""
    query = sa.select(uploads.c.upload_id).where(uploads.c.status.in_(_UNFINISHED))
    return set(connection.execute(query).scalars())


def _report_columns(report: OrderHistoryImportReport) -> dict[str, Any]:
    return {
        "rows": report.rows,
        "lines_imported": report.lines_imported,
        "lines_updated": report.lines_updated + report.lines_repeated,
        "rows_skipped": report.rows_skipped,
        "errors": _encode_errors(report.errors),
        "rows_undated": report.rows_undated,
        "undated": _encode_errors(report.undated),
    }


def _encode_errors(errors: Sequence[SkippedRow]) -> str:
    return json.dumps([[error.row, error.message] for error in errors])


def _to_upload(row: sa.RowMapping) -> OrderUpload:
    return OrderUpload(
        upload_id=row["upload_id"],
        status=OrderUploadStatus(row["status"]),
        submitted_ms=row["submitted_at"],
        csv_format=_format(row["format"]),
        rows=row["rows"],
        rows_done=row["rows_done"],
        lines_imported=row["lines_imported"],
        lines_updated=row["lines_updated"],
        rows_skipped=row["rows_skipped"],
        errors=tuple(
            SkippedRow(*error_fields) for error_fields in json.loads(row["errors"])
        ),
        rows_undated=row["rows_undated"],
        undated=tuple(
            SkippedRow(*error_fields) for error_fields in json.loads(row["undated"])
        ),
        attempts=row["attempts"],
    )


def _encoded_format(csv_format: CsvFormat) -> str:
    names = CsvFormat.__dataclass_fields__
    values = {name: getattr(csv_format, name) for name in names}
    return json.dumps(values | {"columns": dict(csv_format.columns)})


def _format(text: str) -> CsvFormat:
    values = json.loads(text)
    return CsvFormat(**values | {"columns": MappingProxyType(values["columns"])})


QUEUE_LIMIT: Final = 20
"""The most unfinished uploads of one store."""

JOB: Final = "import-uploads"
"""The job kind that imports one store's uploads in order."""


def submit_upload(log: StoreLogTransaction, queue: JobQueue, new: NewOrderUpload) -> None:
    """Store an upload with the job that will import it.

    Raises:
        TooManyUploadsError: when the store has too many unfinished ones.
        StoreDeletedError: when the store was deleted.
    """
    log.take_seqs(0)  # locks the store's head: uploads are counted and numbered one by one
    repository = OrderUploadRepository(log.transaction, log.store_id)
    check_upload_limit(repository)
    repository.add(new)
    queue.enqueue(log.transaction, NewJob(log.store_id, JOB))


def check_upload_limit(repository: OrderUploadRepository) -> None:
    """Return if one more upload is allowed.

    Raises:
        TooManyUploadsError: when the store has too many unfinished ones.
    """
    if repository.unfinished_count() >= QUEUE_LIMIT:
        message = (
            f"{QUEUE_LIMIT} uploads of this store wait already; send this one again when "
            "GET /orders/upload/{upload_id} shows some of them done"
        )
        raise TooManyUploadsError(message)
