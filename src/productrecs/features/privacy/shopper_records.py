"""Shopper records: every stored record of one shopper, with the names they go by."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from productrecs.core.ids import StoreId
from productrecs.features.privacy.repository import ShopperRepository
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.storage.database import Database
from productrecs.storage.tables import (
    events,
    explorations,
    exposures,
    purchase_lines,
    shopper_links,
)

PAGE: Final = 1_000


class ShopperRecord(NamedTuple):
    """A row of a kind (`name`, `event`, `purchase`, `test`, `try`), its products named."""

    kind: str
    row: dict[str, Any]
    products: dict[int, str]


_TABLES: Final = {
    "name": shopper_links,
    "event": events,
    "purchase": purchase_lines,
    "test": exposures,
    "try": explorations,
}


def shopper_names(database: Database, store_id: StoreId, name: str) -> tuple[str, ...]:
    """Return every name of a shopper, the customer's first."""
    with database.reading() as connection:
        return ShopperRepository(connection, store_id).names_of(name)


def shopper_records(
    database: Database, store_id: StoreId, names: Sequence[str]
) -> Iterator[ShopperRecord]:
    """Yield all records of a shopper, kind by kind; nothing for an unknown one."""
    with database.reading() as connection:
        shoppers = ShopperRepository(connection, store_id)
        catalog = CatalogRepository(connection, store_id)
        for kind, table in _TABLES.items():
            page: list[dict[str, Any]] = []
            for row in shoppers.rows(table, names):
                page.append(row)
                if len(page) == PAGE:
                    yield from _named(kind, page, catalog)
                    page = []
            yield from _named(kind, page, catalog)


def _named(
    kind: str, page: Sequence[dict[str, Any]], catalog: CatalogRepository
) -> Iterator[ShopperRecord]:
    items = {row.get(column) for row in page for column in ("item", "about")}
    products = catalog.ids_of(item for item in items if item is not None and item >= 0)
    for row in page:
        yield ShopperRecord(kind, row, products)
