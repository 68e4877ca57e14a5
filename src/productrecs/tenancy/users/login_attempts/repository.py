"""Login attempt repository: SQL of the token buckets of failed logins."""

from collections.abc import Sequence

import sqlalchemy as sa

from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.tables import (
    login_attempts,
)


class LoginAttemptRepository:
    """Token buckets of failures; names may belong to no store; never commits."""

    def __init__(self, connection: sa.Connection) -> None:
        """Work on every bucket."""
        self._connection = connection

    def latest_refill_ms(self, hashes: Sequence[str]) -> int:
        """Return when the last of these buckets is full again; 0 if all are full."""
        query = sa.select(sa.func.max(login_attempts.c.full_at)).where(
            login_attempts.c.name_hash.in_(hashes)
        )
        return self._connection.execute(query).scalar() or 0

    def count_failure(self, name_hash: str, now_ms: int, step_ms: int) -> None:
        """Count a failure: the bucket is full `step_ms` later than without it."""
        full_at = login_attempts.c.full_at
        later = sa.case((full_at > now_ms, full_at), else_=now_ms) + step_ms
        row = upsert(self._connection, login_attempts).values(
            name_hash=name_hash, full_at=now_ms + step_ms
        )
        self._connection.execute(
            row.on_conflict_do_update(index_elements=["name_hash"], set_={"full_at": later})
        )

    def delete(self, hashes: Sequence[str]) -> None:
        """Delete buckets."""
        query = login_attempts.delete().where(login_attempts.c.name_hash.in_(hashes))
        self._connection.execute(query)

    def purge(self, now_ms: int) -> None:
        """Delete the buckets that are full again."""
        query = login_attempts.delete().where(login_attempts.c.full_at <= now_ms)
        self._connection.execute(query)
