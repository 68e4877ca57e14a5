"""Stores for order imports, and the orders stored in them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.orders.order_history_import import (
    OrderHistoryImport,
    OrderHistoryImportReport,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import ItemNumberCache
from productrecs.storage.sql.tables import items, purchase_lines
from productrecs.tenancy.accounts.store_management import Registration, register_store

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
MIDNIGHT = 1_772_323_200_000  # that day began, in UTC

_stores = count()


@dataclass(frozen=True)
class StoredLine:
    """A standing line in the merchant's words."""

    order_id: str | None
    item_id: str
    quantity: int | None
    price: float | None
    total: float | None
    ts: int
    shopper: str | None = None


def new_store_id(database: Database) -> StoreId:
    wanted = Registration(f"shop-{next(_stores)}.example")
    return register_store(database, wanted, lambda: NOON)[0].store_id


def import_text(
    database: Database,
    store_id: StoreId,
    content: str | bytes,
    *,
    at: int = NOON,
    zone: str = "UTC",
) -> OrderHistoryImportReport:
    data = content.encode() if isinstance(content, str) else content
    history = OrderHistoryImport(database, ItemNumberCache(), store_id, ZoneInfo(zone), at)
    return history.run(io.BytesIO(data))


def standing(database: Database, store_id: StoreId) -> list[StoredLine]:
    """Return what counts as bought, by order and item."""
    lines = purchase_lines.c
    query = (
        sa.select(
            lines.order_id,
            items.c.item_id,
            lines.quantity,
            lines.price,
            lines.total,
            lines.ts,
            lines.shopper,
        )
        .join(items, (items.c.store_id == lines.store_id) & (items.c.number == lines.item))
        .where(lines.store_id == store_id, lines.void.is_(False))
        .order_by(lines.order_id, items.c.item_id, lines.receipt, lines.line)
    )
    with database.reading() as connection:
        return [StoredLine(*row) for row in connection.execute(query)]


def rows_of(database: Database, store_id: StoreId, table: sa.Table) -> Sequence[Any]:
    """Return every row of a store in a table, without the store's id."""
    columns = [column for column in table.columns if column.name != "store_id"]
    query = sa.select(*columns).where(table.c.store_id == store_id)
    with database.reading() as connection:
        return sorted(map(tuple, connection.execute(query)), key=repr)
