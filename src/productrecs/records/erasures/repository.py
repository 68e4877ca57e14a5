"""Erasure repository: erased names, and the SQL that stores them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import erased_names

ERASURE_GRACE_MS: Final = 7 * DAY_MS
"""How long after an erasure facts of that shopper are rejected."""


def name_digest(store_id: StoreId, name: str) -> str:
    """Return the digest of an erased name: 32 hex digits, different in each store."""
    words = name.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(words, digest_size=16, key=store_id.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ErasedAmongNames:
    """The erased names among some names, with the time of the last erasure (UTC ms)."""

    erased_at: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether any name was erased."""
        return bool(self.erased_at)

    def covers(self, name: str | None, ts_ms: int | None) -> bool:
        """Return whether a fact with this time must not store the name.

        A fact without a time may be older than the erasure, so it is covered.
        """
        erased_at = self.erased_at.get(name or "")
        if erased_at is None:
            return False
        return ts_ms is None or ts_ms < erased_at + ERASURE_GRACE_MS


NO_ERASED_NAMES: Final = ErasedAmongNames()


def distinct_names(names: Iterable[str | None]) -> list[str]:
    """Return the distinct names, without empty ones."""
    return list(dict.fromkeys(name for name in names if name))


_ERASED_NAMES_MAP: Final = ("erased_names", "name", "erased_at")


class ErasedNameRepository(StoreScopedRepository):
    """One store's erased names, inside one transaction; never commits."""

    def find(self, names: Iterable[str | None]) -> ErasedAmongNames:
        """Return which of `names` were erased, and when."""
        digests = {
            name_digest(self._store_id, name): name for name in distinct_names(names)
        }
        if not digests:
            return NO_ERASED_NAMES
        found = self._raw.values_by_key(_ERASED_NAMES_MAP, self._store_id, digests)
        return ErasedAmongNames({digests[digest]: int(at) for digest, at in found.items()})

    def all_erased_at(self) -> dict[str, int]:
        """Return the time of each name's erasure, by digest."""
        query = sa.select(erased_names.c.name, erased_names.c.erased_at).where(
            erased_names.c.store_id == self._store_id
        )
        return {row[0]: int(row[1]) for row in self._connection.execute(query)}

    def add(self, erased_at_by_digest: Mapping[str, int]) -> None:
        """Store digests with the times of erasure; the latest of each counts."""
        added = upsert(self._connection, erased_names)
        query = added.on_conflict_do_update(
            index_elements=["store_id", "name"],
            set_={"erased_at": added.excluded.erased_at},
            where=erased_names.c.erased_at < added.excluded.erased_at,
        )
        rows = [
            {"store_id": self._store_id, "name": digest, "erased_at": moment}
            for digest, moment in sorted(erased_at_by_digest.items())
        ]
        self._connection.execute(query, rows)


def erased_names_in(
    log: StoreLogTransaction, names: Iterable[str | None]
) -> ErasedAmongNames:
    """Return which of `names` were erased; lock the head first.

    It costs nothing in a store without erasures.
    """
    if not log.erasures:
        return NO_ERASED_NAMES
    return ErasedNameRepository(log.transaction, log.store_id).find(names)
