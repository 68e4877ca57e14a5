"""Invitation repository: SQL of invitations to a store's team."""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    dashboard_invitations,
)
from productrecs.tenancy.users.dashboard_user import Role

NEW_STORE: Final = StoreId("new")
"""Placeholder id of the store that an invited person will register."""
STARTUP: Final = "startup"
"""The maker of the invitation that the service prints when it starts."""
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
    maker: str | None = None  # user id, or `STARTUP`; None for an operator
    is_mailed: bool = False  # only the owner of the address has the link


class InvitationRepository(StoreScopedRepository):
    """One store's invitations, inside one transaction; never commits."""

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
        return [_to_invitation(row) for row in self._connection.execute(query).mappings()]

    def add(self, invitation: Invitation) -> None:
        """Store an invitation."""
        self._insert_row(
            dashboard_invitations,
            token_hash=invitation.token_hash,
            email=invitation.email,
            role=invitation.role.label,
            created_at=invitation.created_at,
            expires_at=invitation.expires_at,
            maker=invitation.maker,
        )

    def find(self, token_hash: str, now_ms: int) -> Invitation | None:
        """Return an invitation, if it is valid."""
        query = sa.select(dashboard_invitations).where(
            self._own_rows(dashboard_invitations, token_hash=token_hash),
            dashboard_invitations.c.expires_at > now_ms,
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _to_invitation(row)

    def use(self, token_hash: str, now_ms: int) -> Invitation:
        """Delete and return an invitation: it works once.

        Raises:
            InvitationError: it is no longer valid.
        """
        found = self.find(token_hash, now_ms)
        if found is None or not self.remove(token_hash):
            raise InvitationError(OVER)
        return found

    def set_mailed(self, token_hash: str) -> None:
        """Record that the link went to the invited address, and nowhere else."""
        self._update_rows(
            dashboard_invitations,
            dashboard_invitations.c.token_hash == token_hash,
            mailed=True,
        )

    def remove(self, token_hash: str) -> bool:
        """Delete an invitation; return True for only one of concurrent calls."""
        return self._delete_rows(dashboard_invitations, token_hash=token_hash) > 0

    def remove_made_by(self, maker: str) -> None:
        """Delete the invitations that a user made."""
        self._delete_rows(dashboard_invitations, maker=maker)

    def purge(self, now_ms: int) -> None:
        """Delete expired invitations."""
        self._delete_rows(
            dashboard_invitations, dashboard_invitations.c.expires_at <= now_ms
        )


def _to_invitation(row: sa.RowMapping) -> Invitation:
    return Invitation(
        StoreId(row["store_id"]),
        row["token_hash"],
        row["email"],
        Role[row["role"].upper()],
        row["created_at"],
        row["expires_at"],
        row["maker"],
        bool(row["mailed"]),
    )
