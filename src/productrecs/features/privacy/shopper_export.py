"""Shopper export: all records of one shopper, in the form that the shopper may be given."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from productrecs.core.clock import iso
from productrecs.core.ids import StoreId
from productrecs.features.privacy.shopper_records import ShopperRecord, shopper_records
from productrecs.records.events.exported_event import (
    Fields,
    event_fields,
    identity_fields,
    without_empty_fields,
)
from productrecs.storage.database import Database


def exported_shopper(
    database: Database, store_id: StoreId, names: Sequence[str]
) -> Iterator[Fields]:
    """Yield the records of a shopper with these names, kind by kind (`record`)."""
    for record in shopper_records(database, store_id, names):
        yield {"record": record.kind} | without_empty_fields(_WRITTEN[record.kind](record))


def _event(record: ShopperRecord) -> Fields:
    return event_fields(record.row, record.products)


def _purchase(record: ShopperRecord) -> Fields:
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


def _test(record: ShopperRecord) -> Fields:
    row = record.row
    return {
        "name": row["identity"],
        "test": row["test"],
        "arm": row["arm"],
        "timestamp": iso(row["first_at"]),
    }


def _try(record: ShopperRecord) -> Fields:
    row = record.row
    return {
        "name": row["shopper"],
        "item_id": record.products.get(row["item"]),
        "beside": record.products.get(row["about"]),
        "timestamp": iso(row["first_at"]),
    }


def _name(record: ShopperRecord) -> Fields:
    return {"session_id": record.row["session"], "user_id": record.row["customer"]}


_WRITTEN: Final[dict[str, Callable[[ShopperRecord], dict[str, Any]]]] = {
    "name": _name,
    "event": _event,
    "purchase": _purchase,
    "test": _test,
    "try": _try,
}
