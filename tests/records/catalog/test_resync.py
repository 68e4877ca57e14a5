"""Full push: reaches every follower of the catalog, and changes nothing."""

from typing import cast
from zoneinfo import ZoneInfo

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.catalog.catalog_push import (
    mark_all_items_changed,
    remove_item,
    upsert_items,
)
from productrecs.records.catalog.catalog_view import CardFields, CatalogView
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import (
    StoreDeletedError,
    StoreLogTransaction,
)
from productrecs.tenancy.accounts.store_management import (
    delete_store,
    find_store,
)
from tests.support.stores import new_store

NOON, LATER = 1_000, 2_000
NAMES = [f"item-{number}" for number in range(7)]


class Follower:
    """A view of the catalog that remembers which items it read."""

    def __init__(self, store_id: StoreId, zone: ZoneInfo) -> None:
        self.read_items: list[str] = []
        self.view = CatalogView(store_id, zone, self._card)

    def read_on(self, reader: RawReader) -> None:
        """Read what has changed since the last time."""
        sql = "SELECT catalog_seq FROM store_heads WHERE store_id = ?"
        self.view.refresh(reader, int(reader.all(sql, (self.view.store_id,))[0][0]))

    def _card(self, fields: CardFields) -> bytes:
        self.read_items.append(fields.item_id)
        return fields.title.encode()


@pytest.fixture
def follower(database: Database, store_id: StoreId) -> Follower:
    store = find_store(database, "shop.example")
    return Follower(store_id, store.settings.zone)


def send(database: Database, store_id: StoreId, now_ms: int = NOON) -> None:
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store_id)
        upsert_items(
            log, [ItemPatch(name, {"title": name.upper()}) for name in NAMES], now_ms
        )


def remove(database: Database, store_id: StoreId, item_id: str) -> None:
    with database.transaction() as transaction:
        remove_item(StoreLogTransaction(database, transaction, store_id), item_id, NOON)


def stored(database: Database, store_id: StoreId) -> dict[str, StoredItem]:
    with database.reading() as connection:
        return CatalogRepository(connection, store_id).find(NAMES)


def last_reached(database: Database, store_id: StoreId) -> int | None:
    with database.reading() as connection:
        return CatalogRepository(connection, store_id).last_changed_at()


def test_a_resync_makes_a_view_read_every_item_once_more(
    database: Database, store_id: StoreId, reader: RawReader, follower: Follower
) -> None:
    send(database, store_id)
    remove(database, store_id, NAMES[3])
    follower.read_on(reader)
    before = stored(database, store_id)
    follower.read_items.clear()
    cast("list[bytes | None]", follower.view.cards)[0] = b"a damaged card"
    follower.view.numbers[NAMES[3]] = 3  # as if the deletion had been missed

    shares = list(mark_all_items_changed(database, store_id, chunk_size=3))
    follower.read_on(reader)

    assert shares == [3 / 7, 6 / 7, 1.0]
    assert sorted(follower.read_items) == NAMES[:3] + NAMES[4:]
    assert follower.view.cards[0] == b"ITEM-0"
    assert follower.view.number(NAMES[3]) is None
    assert stored(database, store_id) == before


def test_ids_that_only_events_named_stay_out_of_the_catalog(
    database: Database, store_id: StoreId, reader: RawReader, follower: Follower
) -> None:
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store_id)
        log.take_seqs(1)
        log.get_or_create_item_numbers(["never pushed"], NOON)
    follower.read_on(reader)

    assert list(mark_all_items_changed(database, store_id)) == [1.0]
    follower.read_on(reader)

    assert follower.read_items == []


def test_an_empty_catalog_is_pushed_in_one_go(
    database: Database, store_id: StoreId
) -> None:
    assert list(mark_all_items_changed(database, store_id)) == [1.0]


def test_another_stores_catalog_is_not_touched(
    database: Database, store_id: StoreId, reader: RawReader
) -> None:
    other = new_store(database, "other.example")
    send(database, store_id)
    send(database, other.store_id)
    theirs = Follower(other.store_id, other.settings.zone)
    theirs.read_on(reader)
    theirs.read_items.clear()

    list(mark_all_items_changed(database, store_id))
    theirs.read_on(reader)

    assert theirs.read_items == []


def test_a_deleted_store_has_nothing_to_push(database: Database, store_id: StoreId) -> None:
    delete_store(database, find_store(database, "shop.example"))

    with pytest.raises(StoreDeletedError):
        list(mark_all_items_changed(database, store_id))


def test_the_catalog_last_reached_the_engines_by_a_push_or_a_full_one(
    database: Database, store_id: StoreId
) -> None:
    never = last_reached(database, store_id)
    send(database, store_id, NOON)
    pushed = last_reached(database, store_id)
    with database.transaction() as transaction:
        CatalogRepository(transaction, store_id).record_sync(LATER)
    synced = last_reached(database, store_id)
    send(database, store_id, LATER + 1)

    assert (never, pushed, synced) == (None, NOON, LATER)
    assert last_reached(database, store_id) == LATER + 1
