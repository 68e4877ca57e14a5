"""Stateful test: any sequence of calls is stored as the reference model says.

A state machine does the same on a database and in `reference.py`, step by step, with few
names and ids so that they meet often, and compares all of it after every step.
"""

import io
import itertools
from datetime import UTC
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from productrecs.core.errors import UnknownItemError
from productrecs.core.timestamps import iso
from productrecs.features.privacy.shopper_erasure import ShopperEraser
from productrecs.records.catalog.catalog_push import remove_item, upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.events.event import EVENT_KINDS, EventKind, NewEvent
from productrecs.records.events.repository import EventRepository
from productrecs.records.events.shopper_history_cache import ShopperHistoryCache
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.orders.order_history_import import OrderHistoryImport
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)
from productrecs.storage.sql.tables import event_columns, events, items, purchase_lines
from productrecs.tenancy.accounts.store_management import Registration, register_store
from tests.trust.reference import DAY_MS, WEEK_MS, Fact, Line, Reference

NOON: Final = 1_772_366_400_000
NUMBERS: Final = itertools.count()
ITEMS: Final = st.sampled_from(["a", "b", "c"])
ORDERS: Final = st.sampled_from(["o-1", "o-2"])
USERS: Final = st.sampled_from([None, "anna", "ben", "s_1"])  # one shop names sessions so
SESSIONS: Final = st.sampled_from([None, "s_1", "s_2", "s_3"])
NAMED: Final = st.tuples(USERS, SESSIONS).filter(any)
QUANTITIES: Final = st.sampled_from([None, 1, 3])
EVENT_IDS: Final = st.sampled_from([None, None, "e-1", "e-2"])
WAITS: Final = st.sampled_from([1, 3_600_000, DAY_MS, WEEK_MS - 1, WEEK_MS])


class Store(RuleBasedStateMachine):
    """One store of a database, and what should be in it."""

    def __init__(self, database: Database, folder: Path) -> None:
        super().__init__()
        self.database = database
        self.now = NOON
        wanted = Registration(f"shop-{next(NUMBERS)}.example")
        self.store, _ = register_store(database, wanted, lambda: NOON)
        self.expected = Reference()
        self.numbers = ItemNumberCache()
        self.reader = database.raw_reader()
        self.remembered = ShopperHistoryCache(self.store.store_id)
        self.eraser = ShopperEraser(database, folder, folder, folder, lambda: self.now)

    def teardown(self) -> None:
        """Let go of what this sequence read with."""
        self.reader.close()

    @rule(wait=WAITS)
    def time_passes(self, wait: int) -> None:
        """Let a moment pass, or a week."""
        self.now += wait

    @rule(item=ITEMS, price=st.sampled_from([None, 5.0, 7.5]))
    def push(self, item: str, price: float | None) -> None:
        """Push an item."""
        patch = ItemPatch(item, {} if price is None else {"price": price})
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(
                self.database, transaction, self.store.store_id, self.numbers
            )
            pushed = upsert_items(log, [patch], self.now)

        assert (pushed.created, pushed.total) == self.expected.push(item, price)

    @rule(item=ITEMS)
    def delete(self, item: str) -> None:
        """Delete one."""
        was_there = True
        try:
            with self.database.transaction() as transaction:
                log = StoreLogTransaction(self.database, transaction, self.store.store_id)
                remove_item(log, item, self.now)
        except UnknownItemError:
            was_there = False

        assert was_there == self.expected.delete(item)

    @rule(
        kind=st.sampled_from(["detail-page-view", "add-to-cart", "buy"]),
        item=ITEMS,
        who=NAMED,
        event_id=EVENT_IDS,
        order=st.one_of(st.none(), ORDERS),
    )
    def event(
        self,
        kind: str,
        item: str,
        who: tuple[str | None, str | None],
        event_id: str | None,
        order: str | None,
    ) -> None:
        """Send an event."""
        order = order if kind == "buy" else None
        event = NewEvent(
            EVENT_KINDS[kind],
            item_id=item,
            user_id=who[0],
            session_id=who[1],
            event_id=event_id,
            order_id=order,
        )
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(
                self.database, transaction, self.store.store_id, self.numbers
            )
            ingest_events(log, [[event]], self.now)

        self.expected.event(kind, item, *who, self.now, event_id, order)

    @rule(
        order=ORDERS,
        lines=st.lists(st.tuples(ITEMS, QUANTITIES), min_size=1, max_size=3),
        user=USERS,
        session=SESSIONS,
    )
    def order(
        self,
        order: str,
        lines: list[tuple[str, int | None]],
        user: str | None,
        session: str | None,
    ) -> None:
        """Sync an order."""
        new = NewOrder(order, tuple(NewOrderLine(*line) for line in lines), user, session)
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(
                self.database, transaction, self.store.store_id, self.numbers
            )
            receipt = ingest_order(log, new, self.now)

        assert receipt.duplicate == self.expected.order(
            order, lines, user, session, self.now
        )

    @rule(
        order=ORDERS, item=ITEMS, customer=USERS, quantity=QUANTITIES, dated=st.booleans()
    )
    def history(
        self,
        order: str,
        item: str,
        customer: str | None,
        quantity: int | None,
        *,
        dated: bool,
    ) -> None:
        """Import a row of past orders."""
        ts = self.now - 3 * DAY_MS if dated else None
        cells = (order, item, customer, iso(ts) if ts else None, quantity)
        text = "order_id,item_id,customer_id,timestamp,quantity\n" + ",".join(
            "" if cell is None else str(cell) for cell in cells
        )
        file = io.BytesIO(text.encode())
        OrderHistoryImport(
            self.database, self.numbers, self.store.store_id, UTC, self.now
        ).run(file)

        self.expected.history(order, item, customer, quantity, ts)

    @rule(name=st.sampled_from(["anna", "ben", "s_1", "s_2"]))
    def erase(self, name: str) -> None:
        """Forget a shopper."""
        self.eraser.request_erasure(self.store.store_id, name)
        self.eraser.continue_erasures(self.store.store_id)

        self.expected.erase(name, self.now)
        assert not self.remembered.history_of(name, self.reader).bought

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        """Compare everything."""
        with self.database.reading() as connection:
            names: dict[int, str] = {
                row[0]: row[1]
                for row in connection.execute(
                    sa.select(items.c.number, items.c.item_id).where(
                        items.c.store_id == self.store.store_id
                    )
                )
            }
            log = [
                Fact(
                    EventKind(row.kind).wire_name,
                    names[row.item],
                    row.person,
                    row.session,
                    row.ts,
                )
                for row in connection.execute(
                    sa.select(*event_columns(events))
                    .where(events.c.store_id == self.store.store_id)
                    .order_by(events.c.seq)
                )
            ]
            lines = [
                Line(
                    row.order_id or "",
                    row.receipt,
                    names[row.item],
                    row.channel,
                    row.quantity,
                    row.person,
                    row.session,
                )
                for row in connection.execute(
                    sa.select(purchase_lines).where(
                        purchase_lines.c.store_id == self.store.store_id,
                        purchase_lines.c.void.is_(False),
                    )
                )
            ]
            size = CatalogRepository(connection, self.store.store_id).size()
            catalog = {
                one.item.item_id: one.item.price
                for one in CatalogRepository(connection, self.store.store_id).page(-1, 9)
            }
        assert log == self.expected.log
        assert sorted(lines, key=repr) == sorted(self.expected.lines, key=repr)
        assert (size, catalog) == (len(self.expected.items), self.expected.items)
        fresh = ShopperHistoryCache(self.store.store_id)
        for name in ("anna", "s_1"):
            bought = sorted(
                names[item] for item in fresh.history_of(name, self.reader).bought
            )
            assert bought == self.expected.bought(name)


def check(database: Database, folder: Path, sequences: int, steps: int) -> None:
    run_state_machine_as_test(
        lambda: Store(database, folder),  # type: ignore[arg-type]  # whatever makes one
        settings=settings(
            max_examples=sequences,
            stateful_step_count=steps,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


# The long form is ten parts that can run alone; each draws sequences of its own.
LONG: Final = (
    pytest.param(1_000, 50, marks=pytest.mark.trust, id=f"part-{part}")
    for part in range(1, 11)
)


@pytest.mark.parametrize(("sequences", "steps"), [pytest.param(10, 30, id="few"), *LONG])
def test_every_sequence_ends_as_the_rules_say(
    database: Database, tmp_path: Path, sequences: int, steps: int
) -> None:
    check(database, tmp_path, sequences, steps)


def test_control_a_store_that_breaks_a_rule_is_found(
    sqlite_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        EventRepository, "record_event_id_if_new", lambda *_: True
    )  # repeats count twice

    with pytest.raises(AssertionError):
        check(sqlite_database, tmp_path, 100, 30)
