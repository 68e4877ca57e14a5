"""Database reader: what the service stored, read beside it."""

from typing import Any

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.storage.sql.tables import event_columns, events, items, purchase_lines
from tests.support.service import Merchant, Service

Row = dict[str, Any]


def item(service: Service, merchant: Merchant, item_id: str) -> Item:
    """Return an item of the catalog as it is kept."""
    with service.database() as database, database.reading() as connection:
        repository = CatalogRepository(connection, StoreId(merchant.account.store_id))
        stored = repository.find([item_id])[item_id]
    assert stored.present
    return stored.item


def event_rows(service: Service, merchant: Merchant) -> list[Row]:
    """Return every row of the event log in order, `item` being the product's id."""
    query = (
        sa.select(*event_columns(events), items.c.item_id.label("named"))
        .outerjoin(
            items,
            (items.c.store_id == events.c.store_id) & (items.c.number == events.c.item),
        )
        .where(events.c.store_id == merchant.account.store_id)
        .order_by(events.c.seq)
    )
    return _rows(service, query)


def line_rows(service: Service, merchant: Merchant) -> list[Row]:
    """Return every standing purchase line in order, `item` being the product's id."""
    lines = purchase_lines.c
    query = (
        sa.select(purchase_lines, items.c.item_id.label("named"))
        .join(items, (items.c.store_id == lines.store_id) & (items.c.number == lines.item))
        .where(lines.store_id == merchant.account.store_id, lines.void.is_(False))
        .order_by(lines.line_seq)
    )
    return _rows(service, query)


def _rows(service: Service, query: sa.Select[Any]) -> list[Row]:
    with service.database() as database, database.reading() as connection:
        rows = [dict(row) for row in connection.execute(query).mappings()]
    for row in rows:
        row["item"] = row.pop("named")
    return rows
