"""Audit log: SQL of the changes that users of the dashboard made, kept for 400 days."""

import itertools
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId, random_text
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import audit_log

RETENTION_MS: Final = 400 * DAY_MS
_MAX_DETAIL: Final = 1_000
_MAX_SINCE: Final = 100
_RANDOM: Final = 4
_NUMBERS: Final = itertools.count()  # orders the entries of one millisecond


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit log; `actor` is an e-mail or another name of the author."""

    at: int
    actor: str
    action: str
    detail: str = ""
    entry_id: str = ""
    undo: str = ""  # the removed rows as JSON; "" if it cannot be undone


class AuditLogRepository(StoreScopedRepository):
    """One store's audit log, inside one transaction; never commits."""

    def add(self, entry: AuditEntry) -> None:
        """Store an entry."""
        self._insert_row(
            audit_log,
            entry_id=entry.entry_id or new_entry_id(entry.at),
            at=entry.at,
            actor=entry.actor,
            action=entry.action,
            detail=entry.detail[:_MAX_DETAIL],
            undo=entry.undo or None,
        )

    def page(self, size: int, before_id: str = "") -> list[AuditEntry]:
        """Return up to `size` entries, newest first; only those older than `before_id`."""
        query = sa.select(audit_log).where(audit_log.c.store_id == self._store_id)
        if before_id:
            query = query.where(audit_log.c.entry_id < before_id)
        query = query.order_by(audit_log.c.entry_id.desc()).limit(size)
        return [_entry(row) for row in self._connection.execute(query)]

    def since(self, at_ms: int) -> list[AuditEntry]:
        """Return the newest entries since a time, at most a hundred."""
        query = sa.select(audit_log).where(
            audit_log.c.store_id == self._store_id,
            audit_log.c.entry_id >= f"{at_ms:015d}",
        )
        query = query.order_by(audit_log.c.entry_id.desc()).limit(_MAX_SINCE)
        return [_entry(row) for row in self._connection.execute(query)]

    def find(self, entry_id: str) -> AuditEntry | None:
        """Return one entry."""
        query = sa.select(audit_log).where(self._own_rows(audit_log, entry_id=entry_id))
        row = self._connection.execute(query).first()
        return None if row is None else _entry(row)

    def set_detail(self, entry_id: str, detail: str) -> None:
        """Replace an entry's detail."""
        self._update_rows(
            audit_log, audit_log.c.entry_id == entry_id, detail=detail[:_MAX_DETAIL]
        )

    def mark_undone(self, entry_id: str) -> None:
        """Record that an entry was undone, so that it is not undone twice."""
        self._update_rows(audit_log, audit_log.c.entry_id == entry_id, undo=None)

    def purge(self, now_ms: int) -> None:
        """Delete entries older than 400 days."""
        self._delete_rows(audit_log, audit_log.c.at < now_ms - RETENTION_MS)


def _entry(row: sa.Row[Any]) -> AuditEntry:
    return AuditEntry(
        row.at, row.actor, row.action, row.detail, row.entry_id, row.undo or ""
    )


def new_entry_id(at_ms: int) -> str:
    """Return an id that sorts entries by time."""
    return f"{at_ms:015d}-{next(_NUMBERS):06x}{random_text(_RANDOM)}"


def with_audit_entry(database: Database, store_id: StoreId, entry: AuditEntry) -> Database:
    """Return a database whose next transaction also stores an audit log entry."""

    def write(transaction: sa.Connection) -> None:
        AuditLogRepository(transaction, store_id).add(entry)

    return database.with_extra_write(write)
