"""Test store with a clock: events, orders and order files at given times."""

import io
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.orders.order_history_import import OrderHistoryImport
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    Registration,
    find_store,
    register_store,
)

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC


@dataclass
class ReportedStore:
    """One store of a database; `folder` is where its views are kept."""

    database: Database
    folder: Path
    domain: str = "shop.example"

    def __post_init__(self) -> None:
        """Register the store."""
        register_store(self.database, Registration(self.domain), lambda: NOON)

    @property
    def store(self) -> Store:
        """The store as it is now."""
        return find_store(self.database, self.domain)

    def send(self, *events: NewEvent, at: int = NOON, imported: bool = False) -> None:
        """Receive events, one after the other."""
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, self.store.store_id)
            ingest_events(log, [[event] for event in events], at, imported=imported)

    def order(
        self,
        order_id: str,
        *lines: NewOrderLine,
        user: str | None = None,
        session: str | None = None,
        currency: str | None = None,
        at: int = NOON,
        ordered_ms: int | None = None,
        confirmed: bool = True,
    ) -> None:
        """Receive an order, which may have been placed earlier."""
        order = NewOrder(
            order_id, lines, user, session, currency, ordered_ms, confirmed=confirmed
        )
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, self.store.store_id)
            ingest_order(log, order, at)

    def history(self, csv: str, at: int = NOON) -> None:
        """Import a file of past orders."""
        importing = OrderHistoryImport(
            self.database, ItemNumberCache(), self.store.store_id, UTC, at
        )
        importing.run(io.BytesIO(csv.encode()))


def click(item: str, shopper: str = "s_1", **facts: object) -> NewEvent:
    values = {"session_id": shopper, "widget": "recs", "source": "buy", "position": 1}
    return NewEvent(EventKind.REC_CLICK, item_id=item, **(values | facts))  # type: ignore[arg-type]  # a test's shorthand


def impression(item: str, shopper: str = "s_1", **facts: object) -> NewEvent:
    values = {"session_id": shopper, "widget": "recs", "source": "buy", "position": 1}
    return NewEvent(EventKind.REC_IMPRESSION, item_id=item, **(values | facts))  # type: ignore[arg-type]  # a test's shorthand


def search_click(item: str, shopper: str, words: str | None) -> NewEvent:
    """Return a click on what a search found, or (without words) on what a picture did."""
    kind = EventKind.SEARCH_CLICK if words else EventKind.IMAGE_SEARCH_CLICK
    return NewEvent(kind, item_id=item, session_id=shopper, term=words, position=2)


def cart(item: str, shopper: str = "s_1", **facts: object) -> NewEvent:
    values = {"session_id": shopper, "value": 10.0, "quantity": 1}
    return NewEvent(EventKind.ADD_TO_CART, item_id=item, **(values | facts))  # type: ignore[arg-type]  # a test's shorthand


def buy(item: str, shopper: str | None = "s_1", **facts: object) -> NewEvent:
    values = {"session_id": shopper, "value": 10.0, "quantity": 1}
    return NewEvent(EventKind.BUY, item_id=item, **(values | facts))  # type: ignore[arg-type]  # a test's shorthand
