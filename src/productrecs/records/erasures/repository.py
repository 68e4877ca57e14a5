"""Erasure repository: erased names, and the SQL that stores them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.dialects import raw_connection, upsert
from productrecs.storage.store_log import StoreLog
from productrecs.storage.tables import erased_names

ERASURE_GRACE_MS: Final = 7 * DAY_MS
"""How long after an erasure facts of that shopper are still turned away."""


def name_digest(store_id: StoreId, name: str) -> str:
    """Return the digest of an erased name: 32 hex digits, different in each store."""
    words = name.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(words, digest_size=16, key=store_id.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ErasedNames:
    """The erased ones of some names, with the last moment of erasure (UTC ms)."""

    moments: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether any of them was."""
        return bool(self.moments)

    def covers(self, name: str | None, ts_ms: int | None) -> bool:
        """Return whether a fact of that time must not carry the name.

        A fact without a time of its own cannot show that it is newer: it must not.
        """
        erased_at = self.moments.get(name or "")
        if erased_at is None:
            return False
        return ts_ms is None or ts_ms < erased_at + ERASURE_GRACE_MS


NO_ERASED_NAMES: Final = ErasedNames()


def distinct_names(names: Iterable[str | None]) -> list[str]:
    """Return the distinct names, without empty ones."""
    return list(dict.fromkeys(name for name in names if name))


_MOMENTS: Final = ("erased_names", "name", "erased_at")


class ErasedNameRepository:
    """One store's erased names, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def among(self, names: Iterable[str | None]) -> ErasedNames:
        """Return which of `names` were erased, and when."""
        digests = {
            name_digest(self._store_id, name): name for name in distinct_names(names)
        }
        if not digests:
            return NO_ERASED_NAMES
        found = raw_connection(self._transaction).mapped(_MOMENTS, self._store_id, digests)
        return ErasedNames({digests[digest]: int(at) for digest, at in found.items()})

    def moments(self) -> dict[str, int]:
        """Return when each name was erased, by its digest."""
        query = sa.select(erased_names.c.name, erased_names.c.erased_at).where(
            erased_names.c.store_id == self._store_id
        )
        return {row[0]: int(row[1]) for row in self._transaction.execute(query)}

    def add(self, moments: Mapping[str, int]) -> None:
        """Note digests with the moment of their erasure; the latest of each counts."""
        added = upsert(self._transaction, erased_names)
        query = added.on_conflict_do_update(
            index_elements=["store_id", "name"],
            set_={"erased_at": added.excluded.erased_at},
            where=erased_names.c.erased_at < added.excluded.erased_at,
        )
        rows = [
            {"store_id": self._store_id, "name": digest, "erased_at": moment}
            for digest, moment in sorted(moments.items())
        ]
        self._transaction.execute(query, rows)


def erased_among(log: StoreLog, names: Iterable[str | None]) -> ErasedNames:
    """Return which of `names` were erased; the head must be locked before.

    Costs nothing in a store without erasures.
    """
    if not log.erasures:
        return NO_ERASED_NAMES
    return ErasedNameRepository(log.transaction, log.store_id).among(names)
