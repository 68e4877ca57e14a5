"""Key misuse repository: the kinds of misuse of a store's keys, and their SQL."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

import sqlalchemy as sa

from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    sightings,
)
from productrecs.tenancy.accounts.repository import AccountRepository

_ORIGIN: Final = re.compile(r"https?://[^\s/?#@\x00-\x20]{1,240}", re.ASCII)


class MisuseKind(StrEnum):
    """The kinds of key misuse."""

    FOREIGN_ORIGIN = "foreign_origin"  # a page whose origin is not in the allowlist
    LEAKED_SECRET = "leaked_secret"  # noqa: S105 - a secret key in a URL or a page
    INHUMAN_RATE = "inhuman_rate"  # a program that acts as a shopper
    UNKNOWN_KEY = "unknown_key"  # of the installation: no store has the key


@dataclass(frozen=True, slots=True)
class KeyMisuse:
    """One observed misuse, with the origin or page if known."""

    store_id: StoreId
    kind: MisuseKind
    value: str
    seen_at: int

    @classmethod
    def of(
        cls, store_id: StoreId, kind: MisuseKind, origin: bytes | None, now_ms: int
    ) -> Self:
        """Return a misuse with the origin of its page, or without it if invalid."""
        text = "" if origin is None else origin.decode("latin-1")
        return cls(store_id, kind, text if _ORIGIN.fullmatch(text) else "", now_ms)

    @property
    def key(self) -> tuple[StoreId, str, str, int]:
        """The deduplication key."""
        return self.store_id, self.kind.value, self.value, self.seen_at // HOUR_MS


MAX_STORED: Final = 50
"""The most misuses stored per store: third parties choose the origins they send."""


def store_key_misuse(transaction: sa.Connection, batch: Sequence[KeyMisuse]) -> None:
    """Store misuses of any stores, with the first and the last time of each."""
    # All processes write rows in the same order, which prevents deadlocks.
    ordered = sorted(batch, key=lambda one: one.key)
    for store_id, rows in AccountRepository(transaction).lock_each_store(ordered):
        KeyMisuseRepository(transaction, store_id).add(rows)


class KeyMisuseRepository(StoreScopedRepository):
    """The recorded misuses of one store, inside one transaction; never commits."""

    def all(self, since_ms: int = 0) -> list[KeyMisuse]:
        """Return the misuses since then, each with its last time, newest first."""
        query = (
            sa.select(sightings)
            .where(sightings.c.store_id == self._store_id, sightings.c.last_at >= since_ms)
            .order_by(sightings.c.last_at.desc(), sightings.c.value)
        )
        return [
            KeyMisuse(self._store_id, MisuseKind(row.kind), row.value, row.last_at)
            for row in self._connection.execute(query)
        ]

    def add(self, batch: Sequence[KeyMisuse]) -> None:
        """Store misuses; new ones only up to the limit."""
        stored = {(misuse.kind, misuse.value) for misuse in self.all()}
        for misuse in batch:
            if (misuse.kind, misuse.value) not in stored and len(stored) >= MAX_STORED:
                continue
            stored.add((misuse.kind, misuse.value))
            self._put_row(
                sightings,
                kept_columns=("first_at",),
                kind=misuse.kind.value,
                value=misuse.value,
                first_at=misuse.seen_at,
                last_at=misuse.seen_at,
            )

    def delete(self, kind: MisuseKind, before_ms: int | None = None) -> None:
        """Delete the records of one kind, or those last seen before a time."""
        is_old = sa.true() if before_ms is None else sightings.c.last_at < before_ms
        self._delete_rows(sightings, is_old, kind=kind.value)
