"""Price lists: stored by push, counted, and seen through the catalog view."""

import json
from typing import Any, Final

import numpy as np
import pytest

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.records.catalog.catalog_push import remove_item, upsert_items
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.catalog.item import ItemPatch, PackedItemPatch
from productrecs.records.catalog.price_lists import (
    MAX_PRICE_LISTS,
    PriceListEntry,
    PriceListNameError,
    TooManyPriceListsError,
    UnknownPriceListError,
    parse_list_name,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.serving.product_cards import encode_card_start
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_settings import StoreSettings

ZONE: Final = StoreSettings().zone


def _prices(fields: dict[str, Any]) -> dict[str, Any]:
    if "prices" not in fields:
        return {}
    return {"prices": tuple(PriceListEntry(*one) for one in fields["prices"])}


def push(database: Database, store_id: StoreId, **items: dict[str, Any]) -> None:
    """Push items whose `prices` are name, price and list price."""
    patches = [
        PackedItemPatch.of(ItemPatch(item_id, fields | _prices(fields)))
        for item_id, fields in items.items()
    ]
    with database.transaction() as transaction:
        upsert_items(
            StoreLogTransaction(database, transaction, store_id), patches, system_ms()
        )


def lists(database: Database, store_id: StoreId) -> dict[str, int]:
    """Return the number of items that the store counts in each list."""
    with database.reading() as connection:
        return CatalogRepository(connection, store_id).price_lists()


def seen(database: Database, store_id: StoreId) -> CatalogView:
    """Return a view that has read the whole catalog."""
    view = CatalogView(store_id, ZONE, encode_card_start)
    reader = database.raw_reader()
    view.refresh(reader, 0)
    reader.close()
    return view


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("EUR", "EUR"), ("usd", "USD"), ("group:Trade", "group:trade"),
        ("gbp:group:b2b_1-x", "GBP:group:b2b_1-x"),
        *((text, None) for text in (
            "", "EURO", "EU", "group:", "group", "EUR:trade", "group:a b", "EUR:", ":EUR",
            "group:" + "x" * 41, "GROUP:a", "group:a:b", "EUR:group:", "EUR ", "ÄÖÜ",
            "EUR\n",
            "group:é", "{}", "' OR 1=1",
        )),
    ],
)  # fmt: skip
def test_a_name_is_a_currency_a_group_or_both(text: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(PriceListNameError, match="a price list is a currency such as"):
            parse_list_name(text)
    else:
        assert str(parse_list_name(text)) == name


def test_a_push_changes_the_lists_that_it_names(
    database: Database, store_id: StoreId
) -> None:
    push(database, store_id, a={"prices": [("USD", 3), ("group:t", 2, 4)]}, b={"price": 1})
    push(database, store_id, a={"title": "A"}, b={"prices": [("USD", 9)]})
    push(database, store_id, a={"prices": [("USD", None), ("CHF", 5)]})

    with database.reading() as connection:
        found = CatalogRepository(connection, store_id).find(["a", "b"])
    assert found["a"].item.prices == (
        PriceListEntry("CHF", 5),
        PriceListEntry("group:t", 2, 4),
    )
    assert lists(database, store_id) == {"CHF": 1, "USD": 1, "group:t": 1}
    with database.transaction() as transaction:
        remove_item(StoreLogTransaction(database, transaction, store_id), "b", system_ms())
    push(database, store_id, a={"prices": []})
    assert lists(database, store_id) == {}


def test_a_list_too_many_stores_nothing_and_a_removed_one_makes_room(
    database: Database, store_id: StoreId
) -> None:
    names = [f"group:g{number}" for number in range(MAX_PRICE_LISTS)]
    push(database, store_id, a={"prices": [(name, 1) for name in names]})

    with pytest.raises(TooManyPriceListsError, match="send null as their price"):
        push(database, store_id, b={"price": 5, "prices": [("USD", 1)]})

    assert len(lists(database, store_id)) == MAX_PRICE_LISTS
    assert seen(database, store_id).number("b") is None
    push(database, store_id, a={"prices": [("group:g7", None)]}, b={"prices": [("USD", 1)]})
    assert "USD" in lists(database, store_id)


@pytest.mark.parametrize(
    ("name", "prices", "on_sale"),
    [
        ("USD", [7, None, None], []),
        ("EUR", [3, 20, None], ["b"]),
        ("group:t", [2, 20, None], ["a", "b"]),
        ("USD:group:t", [7, 1, None], []),
    ],
)
def test_an_item_without_a_price_falls_back_in_the_same_currency(
    database: Database,
    store_id: StoreId,
    name: str,
    prices: list[float | None],
    on_sale: list[str],
) -> None:
    push(
        database,
        store_id,
        a={"price": 4, "prices": [("USD", 7), ("EUR", 3), ("group:t", 2, 5)]},
        b={"price": 20, "list_price": 30, "prices": [("USD:group:t", 1)]},
        c={"title": "C"},
    )
    view = seen(database, store_id)

    listed = view.with_price_list(name, "EUR")

    cards = [json.loads((listed.cards[number] or b"") + b"}") for number in range(3)]
    assert [card["price"] for card in cards] == prices
    assert {card["currency"] for card in cards} == {"USD" if "USD" in name else "EUR"}
    assert [view.ids[number] for number in np.flatnonzero(listed.is_on_sale())] == on_sale
    assert json.loads((view.cards[0] or b"") + b"}")["price"] == 4
    assert listed.usual is view


def test_a_catalog_without_lists_holds_no_array_for_them(
    database: Database, store_id: StoreId
) -> None:
    push(database, store_id, a={"price": 4}, b={"prices": [("USD", None)]})

    view = seen(database, store_id)

    assert view.price_lists.memory_bytes() == 0
    for name in ("USD", "EUR", "group:x"):
        with pytest.raises(UnknownPriceListError):
            view.with_price_list(name, "EUR")
