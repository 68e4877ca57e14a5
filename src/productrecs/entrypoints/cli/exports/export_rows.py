"""Export rows: a store's items, orders and events in the import format, in bounded memory.

Each page of rows is a read transaction of its own, so a long export does not block
cleanup. Rows that arrive during an export may be missing from it.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from productrecs.core.clock import iso
from productrecs.core.ids import StoreId
from productrecs.records.catalog.item import FIELD_DEFAULTS
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.events.event import EventKind
from productrecs.records.events.exported_event import (
    Fields,
    event_fields,
    identity_fields,
    without_empty_fields,
)
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.line_merger import merge_lines
from productrecs.records.orders.repository import (
    FIRST_PAGE_KEY,
    PurchaseLine,
    PurchaseRepository,
)
from productrecs.storage.database import Database

PAGE: Final = 2_000

Rows: TypeAlias = Callable[[Database, StoreId], Iterator[Fields]]


def item_rows(database: Database, store_id: StoreId) -> Iterator[Fields]:
    """Yield the items of the catalog; fields with their default value are left out."""
    after = -1
    while True:
        with database.reading() as connection:
            page = CatalogRepository(connection, store_id).page(after, PAGE)
        for one in page:
            fields = {name: getattr(one.item, name) for name in FIELD_DEFAULTS}
            yield {"id": one.item.item_id} | {
                name: value
                for name, value in fields.items()
                if value != FIELD_DEFAULTS[name]
            }
        if len(page) < PAGE:
            return
        after = page[-1].number


def order_rows(database: Database, store_id: StoreId) -> Iterator[Fields]:
    """Yield a row for each item of each order, whether it was sent or imported.

    Several lines of one item become one row, with units and revenue summed. An order id
    that was accepted again after seven days has a row for each time.
    """
    standing = _standing(database, store_id)
    for _, lines in itertools.groupby(
        standing, lambda told: (told[1].order_id, told[1].receipt, told[1].item)
    ):
        same = list(lines)
        item_id, line = same[0][0], merge_lines([line for _, line in same])
        yield {
            "order_id": line.order_id,
            "item_id": item_id,
            "customer_id": line.person if line.person != line.session else None,
            "timestamp": iso(line.ts),
            "quantity": line.quantity,
            "price": line.price,
        }


def _standing(database: Database, store_id: StoreId) -> Iterator[tuple[str, PurchaseLine]]:
    after = FIRST_PAGE_KEY
    while True:
        with database.reading() as connection:
            page = PurchaseRepository(connection, store_id).page(after, PAGE)
            names = CatalogRepository(connection, store_id).ids_of(
                line.item for line in page
            )
        for line in page:
            yield names[line.item], line
        if len(page) < PAGE:
            return
        last = page[-1]
        after = (last.order_id or "", last.receipt, last.item, last.line)


def event_rows(database: Database, store_id: StoreId) -> Iterator[Fields]:
    """Yield the log, then the purchases that only a `buy` event reported."""
    yield from _paged(database, store_id, _logged)
    yield from _paged(database, store_id, _bought)


_Page: TypeAlias = tuple[list[Fields], int | None]
"""A batch of rows, and the `seq` after which the next batch starts; None at the end."""


def _paged(
    database: Database, store_id: StoreId, read: Callable[[Database, StoreId, int], _Page]
) -> Iterator[Fields]:
    after: int | None = -1
    while after is not None:
        rows, after = read(database, store_id, after)
        yield from rows


def _logged(database: Database, store_id: StoreId, after: int) -> _Page:
    with database.reading() as connection:
        page = EventRepository(connection, store_id).page(after, PAGE)
        names = CatalogRepository(connection, store_id).ids_of(
            row["item"] for row in page if row["item"] is not None
        )
    rows = [event_fields(row, names) for row in page]
    return rows, page[-1]["seq"] if len(page) == PAGE else None


def _bought(database: Database, store_id: StoreId, after: int) -> _Page:
    with database.reading() as connection:
        page = PurchaseRepository(connection, store_id).lines_from_buy_events(after, PAGE)
        names = CatalogRepository(connection, store_id).ids_of(line.item for line in page)
    rows = [
        without_empty_fields(
            {
                "event": EventKind.BUY.wire_name,
                **identity_fields(line.shopper or "", line.session),
                "item_id": names[line.item],
                "order_id": line.order_id,
                "value": line.total,
                "currency": line.currency,
                "quantity": line.quantity,
                "timestamp": iso(line.ts),
            }
        )
        for line in page
    ]
    return rows, page[-1].seq if len(page) == PAGE else None


ROW_READERS: Final[Mapping[str, Rows]] = MappingProxyType(
    {"items": item_rows, "orders": order_rows, "events": event_rows}
)
