"""Idempotency keys: SQL of keyed calls and their replies, kept for a day."""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import named_calls

RETENTION_MS: Final = DAY_MS


class IdempotencyConflictError(ProductRecsError):
    """The same idempotency key came with a different body."""


@dataclass(frozen=True, slots=True)
class IdempotentCall:
    """A keyed call: its operation, its idempotency key, and its body's digest."""

    operation: str
    name: str
    digest: str


class IdempotencyRepository(StoreScopedRepository):
    """One store's keyed calls, inside one transaction that locks the store's head."""

    def stored_reply(self, call: IdempotentCall, now_ms: int) -> str | None:
        """Return the call's reply within the last day; None for a new call.

        Raises:
            IdempotencyConflictError: when the key came with a different body.
        """
        query = sa.select(named_calls.c.digest, named_calls.c.answer).where(
            self._own_rows(named_calls, what=call.operation, name=call.name),
            named_calls.c.stored_at > now_ms - RETENTION_MS,
        )
        row = self._connection.execute(query).first()
        if row is None:
            return None
        if row.digest != call.digest:
            message = (
                "this Idempotency-Key was used with another body less than a day ago; "
                "use a new key for each call, and the same body for a retry"
            )
            raise IdempotencyConflictError(message)
        return str(row.answer)

    def store_reply(self, call: IdempotentCall, reply: str, now_ms: int) -> None:
        """Store a call's reply in its transaction; it replaces an expired one."""
        self._put_row(
            named_calls,
            what=call.operation,
            name=call.name,
            digest=call.digest,
            answer=reply,
            stored_at=now_ms,
        )

    def delete_expired(self, now_ms: int) -> None:
        """Delete expired keys."""
        self._delete_rows(named_calls, named_calls.c.stored_at <= now_ms - RETENTION_MS)
