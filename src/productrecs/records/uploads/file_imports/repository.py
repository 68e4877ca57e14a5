"""File import repository: SQL of the store's file imports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
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
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    lock_existing_head,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import file_imports

_COLUMNS: Final = file_imports.c
_LISTED: Final = [
    column for column in _COLUMNS if column.name not in {"preview", "rejects"}
]


class FileImportRepository(StoreScopedRepository):
    """One store's file imports, inside one transaction; never commits."""

    def add(self, new: NewFileImport, status: ImportStatus = ImportStatus.CHECKING) -> None:
        """Store a new import, by default for its dry run.

        Raises:
            StoreDeletedError: when the store has been deleted.
            TooManyImportsError: when it has too many unfinished ones.
        """
        lock_existing_head(self._connection, self._store_id)
        if status in OPEN:
            self._check_open_limit()
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

    def rejected_rows_csv(self, import_id: str) -> str | None:
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

    def set_item_progress_and_reset_attempts(
        self, import_id: str, progress: ItemImportProgress
    ) -> None:
        """Store the progress of a product import; progress resets the attempts."""
        counts = {name: count for name, count in asdict(progress).items() if count}
        self._set(import_id, mark=json.dumps(counts), attempts=1)

    def set_progress(self, import_id: str, share: float) -> None:
        """Store the share that is done, 0 to 1."""
        self._set(import_id, progress=share)

    def delete_checked(self, import_id: str) -> bool:
        """Delete an import that waits for the merchant; False in any other state."""
        key = {"import_id": import_id, "status": ImportStatus.CHECKED}
        return self._delete_rows(file_imports, **key) == 1

    def _check_open_limit(self) -> None:
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
