"""Access token repository: SQL of a store's tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import access_tokens
from productrecs.tenancy.users.dashboard_user import Role


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A stored token; `role` says whether it may only read or change too.

    `confirmation_key` signs the confirmations of changes, and never leaves the service.
    """

    token_id: str
    name: str
    role: Role
    token_hash: str = field(repr=False)
    confirmation_key: str = field(repr=False)
    creator: str
    created_at: int
    used_at: int | None = None
    calls: int = 0

    @property
    def author(self) -> str:
        """The name that the audit log and the history of rules have."""
        return f"assistant “{self.name}”"


class AccessTokenRepository(StoreScopedRepository):
    """One store's tokens, inside one transaction; never commits."""

    def all(self) -> list[AccessToken]:
        """Return every token, the oldest first."""
        columns = access_tokens.c
        query = sa.select(access_tokens).where(columns.store_id == self._store_id)
        query = query.order_by(columns.created_at, columns.token_id)
        return [_to_token(row) for row in self._connection.execute(query)]

    def add(self, token: AccessToken) -> None:
        """Store a new token."""
        self._insert_row(
            access_tokens,
            token_id=token.token_id,
            name=token.name,
            role=token.role.label,
            token_hash=token.token_hash,
            confirmation_key=token.confirmation_key,
            creator=token.creator,
            created_at=token.created_at,
        )

    def record_use(self, token_id: str, now_ms: int) -> None:
        """Count a call with a token, and set when it was last used."""
        columns = access_tokens.c
        own, calls = columns.token_id == token_id, columns.calls + 1
        self._update_rows(access_tokens, own, used_at=now_ms, calls=calls)

    def remove(self, token_id: str) -> bool:
        """Delete a token; return whether there was one."""
        return self._delete_rows(access_tokens, token_id=token_id) == 1


def _to_token(row: sa.Row[Any]) -> AccessToken:
    values = row._asdict()
    del values["store_id"]
    return AccessToken(**values | {"role": Role[row.role.upper()]})
