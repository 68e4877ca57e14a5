"""Team repository: SQL of invitations, and of the audit log of users' changes."""

import itertools
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, random_text
from productrecs.storage.database import Database
from productrecs.storage.tables import audit_log, dashboard_invitations
from productrecs.tenancy.accounts.login.users_and_passwords import Role

NEW_STORE: Final = StoreId("new")
"""Placeholder id of the store that an invited person will register."""
OVER: Final = "this invitation was used or withdrawn, or is over seven days old"


class InvitationError(ProductRecsError):
    """The invitation is unknown, used, withdrawn or expired."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A single-use link that grants a role in a store."""

    store_id: StoreId
    token_hash: str
    email: str | None
    role: Role
    created_at: int
    expires_at: int


class InvitationRepository:
    """One store's invitations, inside one transaction; never commits."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._connection = connection
        self._store_id = store_id

    def all(self, now_ms: int) -> list[Invitation]:
        """Return the valid invitations, newest first."""
        query = (
            sa.select(dashboard_invitations)
            .where(
                dashboard_invitations.c.store_id == self._store_id,
                dashboard_invitations.c.expires_at > now_ms,
            )
            .order_by(dashboard_invitations.c.created_at.desc())
        )
        return [_invitation(row) for row in self._connection.execute(query).mappings()]

    def add(self, invitation: Invitation) -> None:
        """Store an invitation."""
        row = {
            "store_id": self._store_id,
            "token_hash": invitation.token_hash,
            "email": invitation.email,
            "role": invitation.role.label,
            "created_at": invitation.created_at,
            "expires_at": invitation.expires_at,
        }
        self._connection.execute(dashboard_invitations.insert().values(row))

    def find(self, token_hash: str, now_ms: int) -> Invitation | None:
        """Return an invitation, if it is valid."""
        query = sa.select(dashboard_invitations).where(
            dashboard_invitations.c.store_id == self._store_id,
            dashboard_invitations.c.token_hash == token_hash,
            dashboard_invitations.c.expires_at > now_ms,
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _invitation(row)

    def use(self, token_hash: str, now_ms: int) -> Invitation:
        """Delete and return an invitation: it works once.

        Raises:
            InvitationError: it is no longer valid.
        """
        found = self.find(token_hash, now_ms)
        if found is None or not self.remove(token_hash):
            raise InvitationError(OVER)
        return found

    def remove(self, token_hash: str) -> bool:
        """Delete an invitation; return True for only one of concurrent calls."""
        query = dashboard_invitations.delete().where(
            dashboard_invitations.c.store_id == self._store_id,
            dashboard_invitations.c.token_hash == token_hash,
        )
        return self._connection.execute(query).rowcount > 0

    def purge(self, now_ms: int) -> None:
        """Delete expired invitations."""
        query = dashboard_invitations.delete().where(
            dashboard_invitations.c.store_id == self._store_id,
            dashboard_invitations.c.expires_at <= now_ms,
        )
        self._connection.execute(query)


def _invitation(row: sa.RowMapping) -> Invitation:
    return Invitation(
        StoreId(row["store_id"]),
        row["token_hash"],
        row["email"],
        Role[row["role"].upper()],
        row["created_at"],
        row["expires_at"],
    )


RETENTION_MS: Final = 400 * DAY_MS
_MAX_DETAIL: Final = 1_000
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


class AuditRepository:
    """One store's audit log, inside one transaction; never commits."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._connection = connection
        self._store_id = store_id

    def add(self, entry: AuditEntry) -> None:
        """Store an entry."""
        row = {
            "store_id": self._store_id,
            "entry_id": f"{entry.at:015d}-{next(_NUMBERS):06x}{random_text(_RANDOM)}",
            "at": entry.at,
            "actor": entry.actor,
            "action": entry.action,
            "detail": entry.detail[:_MAX_DETAIL],
        }
        self._connection.execute(audit_log.insert().values(row))

    def page(self, size: int, before: str = "") -> list[AuditEntry]:
        """Return up to `size` entries, newest first; only those older than `before`."""
        query = sa.select(audit_log).where(audit_log.c.store_id == self._store_id)
        if before:
            query = query.where(audit_log.c.entry_id < before)
        query = query.order_by(audit_log.c.entry_id.desc()).limit(size)
        return [
            AuditEntry(row.at, row.actor, row.action, row.detail, row.entry_id)
            for row in self._connection.execute(query)
        ]

    def purge(self, now_ms: int) -> None:
        """Delete entries older than 400 days."""
        query = audit_log.delete().where(
            audit_log.c.store_id == self._store_id,
            audit_log.c.at < now_ms - RETENTION_MS,
        )
        self._connection.execute(query)


def recording(database: Database, store_id: StoreId, entry: AuditEntry) -> Database:
    """Return a database whose next transaction also stores an audit log entry."""

    def write(transaction: sa.Connection) -> None:
        AuditRepository(transaction, store_id).add(entry)

    return database.joined(write)
