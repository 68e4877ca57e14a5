"""Upload repository: SQL of uploaded order files and of the dashboard's file imports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
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
from productrecs.records.uploads.file_import import (
    OPEN,
    OPEN_LIMIT,
    FileImport,
    ImportOptions,
    ImportStatus,
    ItemImportProgress,
    NewFileImport,
    TooManyImportsError,
)
from productrecs.records.uploads.order_upload import (
    NewOrderUpload,
    OrderUpload,
    OrderUploadStatus,
    TooManyUploadsError,
)
from productrecs.storage.jobs.job_queue import JobQueue, NewJob
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    LockedStoreLog,
    lock_existing_head,
)
from productrecs.storage.sql.store_repository import StoreRepository
from productrecs.storage.sql.tables import file_imports, uploads

_UNFINISHED: Final = (OrderUploadStatus.QUEUED, OrderUploadStatus.RUNNING)


class OrderUploadRepository(StoreRepository):
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

    def begin(self, upload_id: str) -> None:
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


def submit_upload(log: LockedStoreLog, queue: JobQueue, new: NewOrderUpload) -> None:
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


_COLUMNS: Final = file_imports.c
_LISTED: Final = [
    column for column in _COLUMNS if column.name not in {"preview", "rejects"}
]


class FileImportRepository(StoreRepository):
    """One store's file imports, inside one transaction; never commits."""

    def add(self, new: NewFileImport, status: ImportStatus = ImportStatus.CHECKING) -> None:
        """Store a new import, by default for its dry run.

        Raises:
            StoreDeletedError: when the store has been deleted.
            TooManyImportsError: when it has too many unfinished ones.
        """
        lock_existing_head(self._connection, self._store_id)
        if status in OPEN:
            self._check_limit()
        last = sa.select(sa.func.coalesce(sa.func.max(_COLUMNS.number), 0)).where(
            _COLUMNS.store_id == self._store_id
        )
        self._insert_row(
            file_imports,
            import_id=new.import_id,
            number=int(self._connection.execute(last).scalar_one()) + 1,
            status=status,
            file_name=new.file_name,
            size=new.size,
            sent_by=new.sent_by,
            submitted_at=new.submitted_ms,
            choices=json.dumps(asdict(new.choices)),
            progress=0.0,
            attempts=0,
            preview="{}",
            result="{}",
            rejects="",
        )

    def find(self, import_id: str) -> FileImport | None:
        """Return an import of this store."""
        query = sa.select(file_imports).where(
            self._own_rows(file_imports, import_id=import_id)
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _to_file_import(row)

    def latest(self, limit: int) -> list[FileImport]:
        """Return the latest imports without their previews, newest first."""
        query = (
            sa.select(*_LISTED)
            .where(_COLUMNS.store_id == self._store_id)
            .order_by(_COLUMNS.number.desc())
            .limit(limit)
        )
        return [_to_file_import(row) for row in self._connection.execute(query).mappings()]

    def choices_for_headings(self, digest: str, kind: str) -> ImportOptions | None:
        """Return the choices of the last import of a file with these headings.

        `kind` is `orders`, `items` or, for either, empty.
        """
        query = (
            sa.select(_COLUMNS.choices)
            .where(
                _COLUMNS.store_id == self._store_id,
                _COLUMNS.status == ImportStatus.DONE,
                _COLUMNS.result.contains(f'"headings": "{digest}"'),
            )
            .order_by(_COLUMNS.number.desc())
        )
        for text in self._connection.execute(query).scalars():
            choices = ImportOptions(**json.loads(text))
            if kind in {"", choices.kind}:
                return choices
        return None

    def oldest_in_status(self, *statuses: ImportStatus) -> FileImport | None:
        """Return the oldest import in one of these states."""
        query = (
            sa.select(*_LISTED)
            .where(_COLUMNS.store_id == self._store_id, _COLUMNS.status.in_(statuses))
            .order_by(_COLUMNS.number)
            .limit(1)
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _to_file_import(row)

    def rejects(self, import_id: str) -> str | None:
        """Return the CSV of the rejected rows."""
        query = sa.select(_COLUMNS.rejects).where(
            self._own_rows(file_imports, import_id=import_id)
        )
        found = self._connection.execute(query).scalar()
        return None if found is None else str(found)

    def change_status(
        self,
        import_id: str,
        before: Sequence[ImportStatus],
        after: ImportStatus,
        **values: object,
    ) -> bool:
        """Change an import's status; False, without changes, if it is in another state."""
        values = {name: _to_column_value(value) for name, value in values.items()}
        conditions = (_COLUMNS.import_id == import_id, _COLUMNS.status.in_(before))
        return self._update_rows(file_imports, *conditions, status=after, **values) == 1

    def begin_attempt(self, import_id: str) -> None:
        """Count another attempt."""
        self._set(import_id, attempts=_COLUMNS.attempts + 1)

    def cancel_attempt(self, import_id: str) -> None:
        """Do not count the attempt: it failed for a reason other than the file."""
        self._set(import_id, attempts=_COLUMNS.attempts - 1)

    def set_item_progress(self, import_id: str, progress: ItemImportProgress) -> None:
        """Store the progress of a product import; progress resets the attempts."""
        counts = {name: count for name, count in asdict(progress).items() if count}
        self._set(import_id, mark=json.dumps(counts), attempts=1)

    def set_progress(self, import_id: str, share: float) -> None:
        """Store the share that is done, 0 to 1."""
        self._set(import_id, progress=share)

    def delete(self, import_id: str) -> bool:
        """Delete an import that waits for the merchant; False in any other state."""
        key = {"import_id": import_id, "status": ImportStatus.CHECKED}
        return self._delete_rows(file_imports, **key) == 1

    def _check_limit(self) -> None:
        query = sa.select(sa.func.count()).where(
            _COLUMNS.store_id == self._store_id, _COLUMNS.status.in_(OPEN)
        )
        if int(self._connection.execute(query).scalar_one()) >= OPEN_LIMIT:
            message = (
                f"{OPEN_LIMIT} files wait already. Start or discard some of them below, "
                "then send this one again."
            )
            raise TooManyImportsError(message)

    def _set(self, import_id: str, **values: object) -> None:
        self._update_rows(file_imports, _COLUMNS.import_id == import_id, **values)


def stores_with_imports_in(database: Database, *statuses: ImportStatus) -> list[StoreId]:
    """Return the stores with an import in one of these states."""
    query = sa.select(_COLUMNS.store_id).where(_COLUMNS.status.in_(statuses)).distinct()
    with database.reading() as connection:
        return [StoreId(one) for one in connection.execute(query).scalars()]


def files_of_open_imports(connection: sa.Connection) -> set[str]:
    """Return the names of all files, of any store, that an import still needs."""
    query = sa.select(_COLUMNS.import_id).where(_COLUMNS.status.in_(OPEN))
    return set(connection.execute(query).scalars())


def fail_old_imports(
    transaction: sa.Connection, status: ImportStatus, before_ms: int, reason: str
) -> int:
    """Fail the imports that are in a status since `before_ms`; return the number."""
    old = file_imports.update().where(
        _COLUMNS.status == status, _COLUMNS.submitted_at < before_ms
    )
    values = {"status": ImportStatus.FAILED, "preview": "{}"}
    problem = json.dumps({"problem": reason})
    return transaction.execute(old.values(result=problem, **values)).rowcount


def _to_column_value(value: object) -> object:
    if isinstance(value, ImportOptions):
        return json.dumps(asdict(value))
    return json.dumps(value) if isinstance(value, Mapping) else value


def _to_file_import(row: sa.RowMapping) -> FileImport:
    reports: dict[str, Any] = {
        name: json.loads(row[name]) for name in ("preview", "result") if name in row
    }
    return FileImport(
        import_id=row["import_id"],
        status=ImportStatus(row["status"]),
        file_name=row["file_name"],
        size=row["size"],
        sent_by=row["sent_by"],
        submitted_ms=row["submitted_at"],
        ended_ms=row["ended_at"],
        choices=ImportOptions(**json.loads(row["choices"])),
        progress=row["progress"],
        attempts=row["attempts"],
        item_progress=ItemImportProgress(**json.loads(row["mark"] or "{}")),
        **reports,
    )
