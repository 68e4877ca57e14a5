"""Pushes and deletions: the catalog follows them, and the live view follows it."""

import tracemalloc
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from productrecs.core.errors import UnknownItemError
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import parse_timestamp
from productrecs.records.catalog import repository
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.catalog_push import (
    CatalogLimitError,
    PushResult,
    remove_item,
    upsert_items,
)
from productrecs.records.catalog.catalog_view import CardFields, CatalogView
from productrecs.records.catalog.item import ItemPatch, PackedItemPatch
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction

NOON = parse_timestamp("2026-03-01T12:00Z")
BERLIN = ZoneInfo("Europe/Berlin")


def send(database: Database, store: StoreId, **items: Mapping[str, object]) -> PushResult:
    patches = [ItemPatch(item_id, fields) for item_id, fields in items.items()]
    with database.transaction() as transaction:
        return upsert_items(
            StoreLogTransaction(database, transaction, store), patches, NOON
        )


def remove(database: Database, store: StoreId, item_id: str) -> None:
    with database.transaction() as transaction:
        remove_item(StoreLogTransaction(database, transaction, store), item_id, NOON)


def shown(view: CatalogView, now: int = NOON, *, hide: bool = True) -> set[str]:
    visible = view.visible(now, hide_sold_out=hide)
    return {name for number, name in enumerate(view.ids) if name and visible[number]}


def a_view(store_id: StoreId) -> CatalogView:
    def card(fields: CardFields) -> bytes:
        return f"{fields.item_id} {fields.price}".encode()

    return CatalogView(store_id, BERLIN, card)


def refreshed(view: CatalogView, reader: RawReader) -> CatalogView:
    head = reader.all(
        "SELECT catalog_seq FROM store_heads WHERE store_id = ?", (view.store_id,)
    )
    view.refresh(reader, int(head[0][0]))
    return view


def test_what_changes_while_the_catalog_is_read_is_not_missed(
    database: Database,
    store_id: StoreId,
    reader: RawReader,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An item of a page that was read, and then one of a page that was not, are changed."""
    monkeypatch.setattr(repository, "_PAGE_SQL", _by_two(repository._PAGE_SQL))  # noqa: SLF001 - pages of two
    send(database, store_id, **{name: {"price": 1.0} for name in "abcd"})

    class Interrupted:
        pages = 0

        def all(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
            self.pages += "LIMIT" in sql
            if self.pages == 2:
                send(database, store_id, a={"price": 2.0})
                send(database, store_id, d={"price": 2.0})
            return reader.all(sql, parameters)

        def close(self) -> None:
            """Somebody else does."""

    view = a_view(store_id)
    refreshed(view, Interrupted())
    refreshed(view, reader)

    assert [view.cards[view.numbers[one]] for one in "ad"] == [b"a 2.0", b"d 2.0"]


def _by_two(sql: str) -> str:
    found, _, _ = sql.rpartition("LIMIT ")
    return f"{found}LIMIT 2"


def test_a_deleted_item_starts_afresh_when_it_comes_back(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, tent={"title": "Tent", "price": 99.0})
    remove(database, store_id, "tent")
    with pytest.raises(UnknownItemError):
        remove(database, store_id, "tent")

    again = send(database, store_id, tent={"price": 5.0})

    with database.reading() as connection:
        item = CatalogRepository(connection, store_id).find(["tent"])["tent"].item
    assert again == PushResult(1, 0, 1)
    assert (item.title, item.price) == ("", 5.0)


def test_the_view_follows_changes_and_deletions(
    database: Database, store_id: StoreId, reader: RawReader
) -> None:
    send(
        database,
        store_id,
        tent={"price": 99.0, "categories": ("camp",)},
        peg={"price": 1.0},
    )
    view = refreshed(a_view(store_id), reader)
    tent = view.numbers["tent"]

    send(database, store_id, tent={"price": 89.0, "categories": ("sale",)})
    remove(database, store_id, "peg")
    before = shown(view)
    refreshed(view, reader)

    assert before == {"tent", "peg"}
    assert shown(view) == {"tent"}
    assert view.cards[tent] == b"tent 89.0"
    assert list(view.members["sale"]) == [tent]
    assert list(view.members["camp"]) == []


def test_a_view_that_followed_equals_one_read_afresh(
    database: Database, store_id: StoreId, reader: RawReader
) -> None:
    view = refreshed(a_view(store_id), reader)
    for step in range(30):
        changes: dict[str, Mapping[str, object]] = {
            f"i{step % 7}": {"price": float(step), "categories": (f"c{step % 3}",)},
            f"i{step % 11}": {"availability": list(Availability)[step % 5]},
        }
        send(database, store_id, **changes)
        if step % 4 == 3:
            remove(database, store_id, f"i{step % 7}")
        refreshed(view, reader)

    fresh = refreshed(a_view(store_id), reader)

    assert shown(view) == shown(fresh)
    assert view.numbers == fresh.numbers
    assert {name: view.cards[n] for name, n in view.numbers.items()} == {
        name: fresh.cards[n] for name, n in fresh.numbers.items()
    }
    assert {name: sorted(list_) for name, list_ in view.members.items() if list_} == {
        name: sorted(list_) for name, list_ in fresh.members.items() if list_
    }


def sizes(database: Database, store_id: StoreId) -> tuple[int, int]:
    """Return the catalog's size as it is kept, and as it is counted."""
    with database.reading() as connection:
        repository = CatalogRepository(connection, store_id)
        return repository.size(), len(repository.page(-1, 10_000))


def push_up_to(database: Database, store_id: StoreId, limit: int, *ids: str) -> PushResult:
    patches = [ItemPatch(item_id, {"title": "pushed"}) for item_id in ids]
    with database.transaction() as transaction:
        return upsert_items(
            StoreLogTransaction(database, transaction, store_id), patches, NOON, limit
        )


def test_new_ids_pass_up_to_the_limit_and_not_beyond(
    database: Database, store_id: StoreId
) -> None:
    assert push_up_to(database, store_id, 3, "a", "b").created == 2
    with pytest.raises(CatalogLimitError, match="would have 4 items and the plan allows 3"):
        push_up_to(database, store_id, 3, "a", "c", "d")

    assert sizes(database, store_id) == (2, 2)
    assert push_up_to(database, store_id, 3, "a", "c", "c").created == 1
    assert sizes(database, store_id) == (3, 3)


def test_updates_pass_at_the_limit_and_above_it(
    database: Database, store_id: StoreId
) -> None:
    push_up_to(database, store_id, 3, "a", "b", "c")

    assert push_up_to(database, store_id, 3, "a", "b", "c") == PushResult(0, 3, 3)
    assert push_up_to(database, store_id, 1, "a", "a") == PushResult(0, 1, 3)
    assert push_up_to(database, store_id, 0) == PushResult(0, 0, 3)


def test_an_id_that_only_events_named_counts_as_new(
    database: Database, store_id: StoreId
) -> None:
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store_id)
        log.take_seqs(1)
        log.get_or_create_item_numbers(["seen", "a"], NOON)

    assert push_up_to(database, store_id, 1, "a").created == 1
    with pytest.raises(CatalogLimitError):
        push_up_to(database, store_id, 1, "seen")


def test_of_a_push_of_long_texts_little_is_unpacked_at_once(
    database: Database, store_id: StoreId
) -> None:
    """Python stores a text with one emoji in four bytes a character."""
    text = "x" * (32 << 10) + "\U0001f600"  # 128 KiB, and 100 of them 12.5 MiB
    patches = [
        PackedItemPatch.of(ItemPatch(f"i{n}", {"description": text})) for n in range(100)
    ]

    def push_all() -> int:
        with database.transaction() as transaction:
            log = StoreLogTransaction(database, transaction, store_id)
            tracemalloc.start()
            pushed = upsert_items(log, patches, NOON)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert pushed.total == 100
        return peak

    assert push_all() < 4 << 20  # new ones, and
    assert push_all() < 4 << 20  # known ones
