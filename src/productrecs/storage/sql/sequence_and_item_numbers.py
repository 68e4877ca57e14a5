"""Sequence and item numbers of a store, assigned under one lock (the store's log).

`seq` is assigned under the lock of the store's head row, so it grows in commit order on
both databases: a reader at position n misses nothing by continuing with `seq > n`. Product
numbers are dense, never change and are never reused.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import sqlalchemy as sa

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import raw_connection
from productrecs.storage.sql.store_counters_and_versions import (
    advance_log_and_read_erasures,
    increment_counter,
    lock_head,
)
from productrecs.storage.sql.tables import items

_NUMBERS: Final = ("items", "item_id", "number")
_MAX_FACTS: Final = 1_000


class StoreDeletedError(ProductRecsError):
    """The store was deleted meanwhile."""

    def __init__(self, message: str = "this store was deleted") -> None:
        """Say what was being done, if that helps the reader."""
        super().__init__(message)


def lock_existing_head(transaction: sa.Connection, store_id: StoreId) -> None:
    """Lock a store's head for the transaction.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    if not lock_head(transaction, store_id):
        raise StoreDeletedError


def increment_existing_counter(
    transaction: sa.Connection, store_id: StoreId, counter: str, count: int = 1
) -> int:
    """Lock the head of a store, add to one of its counters, and return it.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    value = increment_counter(transaction, store_id, counter, count)
    if value is None:
        raise StoreDeletedError
    return value


class ItemNumberCache:
    """Cache of product numbers in this process: item id -> number, per store.

    Numbers never change, so entries stay valid; only committed numbers are cached.
    """

    def __init__(self, limit: int = RegisteredCache.ITEM_NUMBERS.limit) -> None:
        """Cache up to `limit` ids over all stores, then clear the cache."""
        self._limit = limit
        self._by_store: dict[StoreId, dict[str, int]] = {}
        self._size = 0

    def of(self, store_id: StoreId) -> dict[str, int]:
        """Return the cached numbers of one store; do not modify them."""
        return self._by_store.get(store_id, {})

    def add(self, store_id: StoreId, numbers: dict[str, int]) -> None:
        """Cache committed numbers."""
        if self._size + len(numbers) > self._limit:
            self._by_store, self._size = {}, 0
        self._by_store.setdefault(store_id, {}).update(numbers)
        self._size += len(numbers)


class StoreLogTransaction:
    """A transaction that writes to one store's log: it hands out sequence and item numbers.

    The first call locks the store's head for the rest of the transaction.
    """

    def __init__(
        self,
        database: Database,
        transaction: sa.Connection,
        store_id: StoreId,
        known_numbers: ItemNumberCache | None = None,
    ) -> None:
        """Take the numbers from `known_numbers` where they are cached."""
        self.database = database
        self.transaction = transaction
        self.store_id = store_id
        self._known_numbers = known_numbers or ItemNumberCache()
        self._new_numbers: dict[str, int] = {}
        self.erasures = 0
        """How many shoppers of the store were erased; set once the head is locked."""

    def take_seqs(self, count: int) -> int:
        """Lock the head and return the first of `count` new sequence numbers.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        advanced = advance_log_and_read_erasures(self.transaction, self.store_id, count)
        if advanced is None:
            raise StoreDeletedError
        last_seq, self.erasures = advanced
        return last_seq - count + 1

    def get_or_create_item_numbers(
        self, item_ids: Iterable[str], now_ms: int
    ) -> dict[str, int]:
        """Return the number of each id; unknown ids get new ones, outside the catalog.

        Lock the head first.
        """
        known_numbers = self._known_numbers.of(self.store_id)
        distinct_ids = dict.fromkeys(item_ids)
        found = {
            item_id: known_numbers[item_id]
            for item_id in distinct_ids
            if item_id in known_numbers
        }
        missing = [item_id for item_id in distinct_ids if item_id not in found]
        if missing:
            stored = self._stored_numbers(missing)
            stored |= self._create_numbered_items(
                [item_id for item_id in missing if item_id not in stored], now_ms
            )
            self._new_numbers |= stored
            found |= stored
        return found

    def take_item_numbers(self, count: int) -> int:
        """Return the first of `count` new product numbers; lock the head first."""
        numbers = (self.transaction, self.store_id, "next_number", count)
        return increment_existing_counter(*numbers) - count

    def remember_numbers(self, numbers: dict[str, int]) -> None:
        """Record numbers that this transaction assigned itself."""
        self._new_numbers |= numbers

    def cache_committed_numbers(self) -> None:
        """Cache the numbers of this transaction; call it after the commit."""
        if self._new_numbers:
            self._known_numbers.add(self.store_id, self._new_numbers)

    def _stored_numbers(self, item_ids: Sequence[str]) -> dict[str, int]:
        return raw_connection(self.transaction).values_by_key(
            _NUMBERS, self.store_id, item_ids
        )

    def _create_numbered_items(
        self, item_ids: Sequence[str], now_ms: int
    ) -> dict[str, int]:
        if not item_ids:
            return {}
        first = self.take_item_numbers(len(item_ids))
        created = {item_id: first + index for index, item_id in enumerate(item_ids)}
        self.transaction.execute(
            items.insert(),
            [
                {
                    "store_id": self.store_id,
                    "number": number,
                    "item_id": item_id,
                    "present": False,
                    "change_seq": 0,
                    "created_at": now_ms,
                    "updated_at": now_ms,
                }
                for item_id, number in created.items()
            ],
        )
        return created


def first_live_fact_received_at(
    connection: sa.Connection,
    store_id: StoreId,
    facts: sa.Table,
    received: sa.ColumnElement[int],
    after_seq: int,
) -> int | None:
    """Return when the first live fact of a table after a number was `received`.

    None if the next thousand facts have no live one: the rest comes from an import.
    """
    following = (
        sa.select(facts.c.store_id, facts.c.seq, received.label("at"), facts.c.imported)
        .where(facts.c.store_id == store_id, facts.c.seq > after_seq)
        .order_by(facts.c.seq)
        .limit(_MAX_FACTS)
        .subquery()
    )
    query = (
        sa.select(following.c["at"])
        .where(following.c.store_id == store_id, following.c.imported.is_(False))
        .order_by(following.c.seq)
        .limit(1)
    )
    found: int | None = connection.execute(query).scalar()
    return found
