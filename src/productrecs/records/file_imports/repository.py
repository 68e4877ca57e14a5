"""File import repository: SQL of one store's file imports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.file_imports.file_import import (
    OPEN,
    OPEN_LIMIT,
    FileImport,
    ImportChoices,
    ImportStatus,
    ItemMark,
    NewFileImport,
    TooManyImportsError,
)
from productrecs.storage.database import Database
from productrecs.storage.tables import file_imports, store_heads

_COLUMNS: Final = file_imports.c
_LISTED: Final = [
    column for column in _COLUMNS if column.name not in {"preview", "rejects"}
]


class FileImportRepository:
    """One store's file imports, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def add(self, new: NewFileImport) -> None:
        """Store a new import for its dry run.

        Raises:
            TooManyImportsError: when the store has too many unfinished ones.
        """
        head = store_heads.update().where(store_heads.c.store_id == self._store_id)
        self._transaction.execute(head.values(seq=store_heads.c.seq))  # locks it
        self._check_limit()
        last = sa.select(sa.func.coalesce(sa.func.max(_COLUMNS.number), 0)).where(
            _COLUMNS.store_id == self._store_id
        )
        row = file_imports.insert().values(
            store_id=self._store_id,
            import_id=new.import_id,
            number=int(self._transaction.execute(last).scalar_one()) + 1,
            status=ImportStatus.CHECKING,
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
        self._transaction.execute(row)

    def find(self, import_id: str) -> FileImport | None:
        """Return an import of this store."""
        query = sa.select(file_imports).where(*self._is(import_id))
        row = self._transaction.execute(query).mappings().first()
        return None if row is None else _read(row)

    def latest(self, limit: int) -> list[FileImport]:
        """Return the latest imports without their previews, newest first."""
        query = (
            sa.select(*_LISTED)
            .where(_COLUMNS.store_id == self._store_id)
            .order_by(_COLUMNS.number.desc())
            .limit(limit)
        )
        return [_read(row) for row in self._transaction.execute(query).mappings()]

    def next_of(self, *statuses: ImportStatus) -> FileImport | None:
        """Return the oldest import in one of these states."""
        query = (
            sa.select(*_LISTED)
            .where(_COLUMNS.store_id == self._store_id, _COLUMNS.status.in_(statuses))
            .order_by(_COLUMNS.number)
            .limit(1)
        )
        row = self._transaction.execute(query).mappings().first()
        return None if row is None else _read(row)

    def rejects(self, import_id: str) -> str | None:
        """Return the CSV of the rejected rows."""
        query = sa.select(_COLUMNS.rejects).where(*self._is(import_id))
        found = self._transaction.execute(query).scalar()
        return None if found is None else str(found)

    def change_status(
        self,
        import_id: str,
        before: Sequence[ImportStatus],
        after: ImportStatus,
        **values: object,
    ) -> bool:
        """Change an import's status; False, without changes, if it is in another state."""
        changed = file_imports.update().where(
            *self._is(import_id), _COLUMNS.status.in_(before)
        )
        values = {name: _stored(value) for name, value in values.items()}
        updated = self._transaction.execute(changed.values(status=after, **values))
        return updated.rowcount == 1

    def begin_attempt(self, import_id: str) -> None:
        """Count another attempt."""
        self._set(import_id, attempts=_COLUMNS.attempts + 1)

    def cancel_attempt(self, import_id: str) -> None:
        """Do not count the attempt: it failed for a reason other than the file."""
        self._set(import_id, attempts=_COLUMNS.attempts - 1)

    def set_mark(self, import_id: str, mark: ItemMark) -> None:
        """Store the progress of a product import; progress resets the attempts."""
        self._set(import_id, mark=json.dumps(asdict(mark)), attempts=1)

    def set_progress(self, import_id: str, share: float) -> None:
        """Store the share that is done, 0 to 1."""
        self._set(import_id, progress=share)

    def delete(self, import_id: str) -> bool:
        """Delete an import that waits for the merchant; False in any other state."""
        deletion = file_imports.delete().where(
            *self._is(import_id), _COLUMNS.status == ImportStatus.CHECKED
        )
        return self._transaction.execute(deletion).rowcount == 1

    def _check_limit(self) -> None:
        query = sa.select(sa.func.count()).where(
            _COLUMNS.store_id == self._store_id, _COLUMNS.status.in_(OPEN)
        )
        if int(self._transaction.execute(query).scalar_one()) >= OPEN_LIMIT:
            message = (
                f"{OPEN_LIMIT} files wait already. Start or discard some of them below, "
                "then send this one again."
            )
            raise TooManyImportsError(message)

    def _set(self, import_id: str, **values: object) -> None:
        changed = file_imports.update().where(*self._is(import_id))
        self._transaction.execute(changed.values(**values))

    def _is(self, import_id: str) -> tuple[sa.ColumnElement[bool], ...]:
        return (_COLUMNS.store_id == self._store_id, _COLUMNS.import_id == import_id)


def stores_in(database: Database, *statuses: ImportStatus) -> list[StoreId]:
    """Return the stores with an import in one of these states."""
    query = sa.select(_COLUMNS.store_id).where(_COLUMNS.status.in_(statuses)).distinct()
    with database.reading() as connection:
        return [StoreId(one) for one in connection.execute(query).scalars()]


def files_of_open_imports(connection: sa.Connection) -> set[str]:
    """Return the names of all files, of any store, that an import still needs."""
    query = sa.select(_COLUMNS.import_id).where(_COLUMNS.status.in_(OPEN))
    return set(connection.execute(query).scalars())


def expire_imports(transaction: sa.Connection, before_ms: int, reason: str) -> int:
    """Fail the imports checked before `before_ms` and never started; return the number."""
    old = file_imports.update().where(
        _COLUMNS.status == ImportStatus.CHECKED, _COLUMNS.submitted_at < before_ms
    )
    values = {"status": ImportStatus.FAILED, "preview": "{}"}
    problem = json.dumps({"problem": reason})
    return transaction.execute(old.values(result=problem, **values)).rowcount


def _stored(value: object) -> object:
    if isinstance(value, ImportChoices):
        return json.dumps(asdict(value))
    return json.dumps(value) if isinstance(value, Mapping) else value


def _read(row: sa.RowMapping) -> FileImport:
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
        choices=ImportChoices(**json.loads(row["choices"])),
        progress=row["progress"],
        attempts=row["attempts"],
        mark=ItemMark(**json.loads(row["mark"] or "{}")),
        **reports,
    )
