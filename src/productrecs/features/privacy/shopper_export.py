"""Shopper export: all records of one shopper, in a form for the shopper."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from productrecs.core.ids import StoreId
from productrecs.core.timestamps import iso
from productrecs.features.privacy.repository import ShopperRecordRepository
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.events.event import (
    Fields,
    exported_event_fields,
    identity_fields,
    without_empty_fields,
)
from productrecs.storage.sql.database import Database

PAGE: Final = 1_000


class ExportedShopperRow(NamedTuple):
    """A row of a kind with product names; `tables_by_kind` has the kinds."""

    kind: str
    row: dict[str, Any]
    products: dict[int, str]


def shopper_names(database: Database, store_id: StoreId, name: str) -> tuple[str, ...]:
    """Return every name of a shopper, the customer's first."""
    with database.reading() as connection:
        return ShopperRecordRepository(connection, store_id).all_names_of_shopper(name)


def shopper_records(
    database: Database, store_id: StoreId, names: Sequence[str]
) -> Iterator[ExportedShopperRow]:
    """Yield all records of a shopper, grouped by kind; nothing for an unknown one."""
    with database.reading() as connection:
        shoppers = ShopperRecordRepository(connection, store_id)
        catalog = CatalogRepository(connection, store_id)
        for kind, rows in shoppers.tables_by_kind().items():
            page: list[dict[str, Any]] = []
            for row in rows.rows_of(names):
                page.append(row)
                if len(page) == PAGE:
                    yield from _with_product_ids(kind, page, catalog)
                    page = []
            yield from _with_product_ids(kind, page, catalog)


def _with_product_ids(
    kind: str, page: Sequence[dict[str, Any]], catalog: CatalogRepository
) -> Iterator[ExportedShopperRow]:
    items = {row.get(column) for row in page for column in ("item", "about")}
    products = catalog.ids_of(item for item in items if item is not None and item >= 0)
    for row in page:
        yield ExportedShopperRow(kind, row, products)


def shopper_record_fields(
    database: Database, store_id: StoreId, names: Sequence[str]
) -> Iterator[Fields]:
    """Yield the records of a shopper with these names, grouped by kind (`record`)."""
    for record in shopper_records(database, store_id, names):
        yield {"record": record.kind} | without_empty_fields(
            _RECORD_FIELDS[record.kind](record)
        )


def _event_fields(record: ExportedShopperRow) -> Fields:
    return exported_event_fields(record.row, record.products)


def _purchase_fields(record: ExportedShopperRow) -> Fields:
    row = record.row
    return {
        "order_id": row["order_id"],
        **identity_fields(row["shopper"] or "", row["session"]),
        "item_id": record.products.get(row["item"]),
        "quantity": row["quantity"],
        "price": row["price"],
        "total": row["total"],
        "currency": row["currency"],
        "timestamp": iso(row["ts"]),
    }


def _test_fields(record: ExportedShopperRow) -> Fields:
    row = record.row
    return {
        "name": row["identity"],
        "test": row["test"],
        "arm": row["arm"],
        "timestamp": iso(row["first_at"]),
    }


def _name_fields(record: ExportedShopperRow) -> Fields:
    return {"session_id": record.row["session"], "user_id": record.row["customer"]}


_RECORD_FIELDS: Final[dict[str, Callable[[ExportedShopperRow], dict[str, Any]]]] = {
    "name": _name_fields,
    "event": _event_fields,
    "bot": _event_fields,
    "purchase": _purchase_fields,
    "test": _test_fields,
}
