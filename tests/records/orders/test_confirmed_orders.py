"""Confirmed orders: what the secret key says takes the place of what anybody may say."""

import io
from dataclasses import replace
from datetime import UTC

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.orders.order_history_import import OrderHistoryImport
from productrecs.records.orders.unconfirmed_purchases import apply_order_policy_to_chunk
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)
from productrecs.storage.sql.tables import items, purchase_lines
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    change_settings,
    find_store,
)
from tests.support.stores import new_store

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
WEEK = 7 * DAY_MS
Sale = tuple[str, int | None, str | None]


class ConfirmingStore:
    """A store whose orders come by either key."""

    def __init__(self, database: Database) -> None:
        """Register the store."""
        self.database = database
        new_store(database)
        self.now = NOON

    @property
    def store(self) -> Store:
        """The store as it is now."""
        return find_store(self.database, "shop.example")

    def page(self, order_id: str, *lines: str | NewOrderLine, **fields: str) -> int | None:
        """Receive an order with the publishable key."""
        return self._order(order_id, lines, confirmed=False, **fields)

    def server(
        self, order_id: str, *lines: str | NewOrderLine, **fields: str
    ) -> int | None:
        """Receive an order with the secret key; None for a duplicate."""
        return self._order(order_id, lines, confirmed=True, **fields)

    def _order(
        self,
        order_id: str,
        lines: tuple[str | NewOrderLine, ...],
        *,
        confirmed: bool,
        **fields: str,
    ) -> int | None:
        parts = (
            NewOrderLine(one, 1, 5.0) if isinstance(one, str) else one for one in lines
        )
        order = NewOrder(order_id, tuple(parts), **fields, confirmed=confirmed)  # type: ignore[arg-type]  # a test's shorthand
        with self.database.transaction() as transaction:
            receipt = ingest_order(self._log(transaction), order, self.now)
        assert receipt.duplicate == (receipt.items_ingested == 0)
        return None if receipt.duplicate else receipt.items_ingested

    def buy(self, item: str, order_id: str | None = None) -> None:
        """Receive a `buy` event."""
        values = {"session_id": "s_buy", "value": 9.0, "quantity": 1}
        event = NewEvent(EventKind.BUY, item, order_id=order_id, **values)  # type: ignore[arg-type]  # a test's shorthand
        with self.database.transaction() as transaction:
            ingest_events(self._log(transaction), [[event]], self.now)

    def upload(self, csv: str) -> None:
        """Import a file of orders."""
        importing = OrderHistoryImport(
            self.database, ItemNumberCache(), self.store.store_id, UTC, self.now
        )
        importing.run(io.BytesIO(csv.encode()))

    def choose(self, policy: str) -> None:
        """Change the store's setting, and apply it to earlier purchases."""
        change_settings(self.database, self.store, {"unconfirmed_orders": policy})
        while apply_order_policy_to_chunk(self.database, self.store, self.now):
            pass

    def sold(self) -> list[Sale]:
        """Return the item, quantity and shopper of every line that counts."""
        lines = purchase_lines.c
        same = (items.c.store_id == lines.store_id) & (items.c.number == lines.item)
        query = (
            sa.select(items.c.item_id, lines.quantity, lines.shopper)
            .join(items, same)
            .where(lines.store_id == self.store.store_id, lines.void.is_(False))
            .order_by(items.c.item_id, lines.quantity)
        )
        with self.database.reading() as connection:
            return [(row[0], row[1], row[2]) for row in connection.execute(query)]

    def items(self) -> list[str]:
        """Return the item of every line that counts."""
        return [sale[0] for sale in self.sold()]

    def changes(self) -> list[int]:
        """Return the log's numbers of all lines."""
        query = sa.select(purchase_lines.c.seq)
        with self.database.reading() as connection:
            return sorted(connection.execute(query).scalars())

    def _log(self, transaction: sa.Connection) -> StoreLogTransaction:
        return StoreLogTransaction(self.database, transaction, self.store.store_id)


@pytest.fixture
def shop(database: Database) -> ConfirmingStore:
    return ConfirmingStore(database)


TENT = NewOrderLine("tent", 2, 5.0, 10.0)


@pytest.mark.parametrize(
    "squatted",
    [
        ("junk",),
        ("tent", "junk", "junk"),
        ("rope", "rope"),
        ("rope",),
        (replace(TENT, quantity=9), "rope"),
        (replace(TENT, price=1.0), "rope"),
        (replace(TENT, total=1.0), "rope"),
        (TENT, TENT, "rope"),
    ],
    ids=str,
)
def test_a_squatted_order_number_does_not_keep_the_shops_order_out(
    shop: ConfirmingStore, squatted: tuple[str | NewOrderLine, ...]
) -> None:
    assert shop.page("A-1", *squatted, user_id="evil") == len(squatted)
    shop.now += 6 * DAY_MS

    assert shop.server("A-1", TENT, "rope", user_id="anna") == 2

    assert shop.sold() == [("rope", 1, "anna"), ("tent", 2, "anna")]
    shop.now += 2 * DAY_MS  # the seven days begin with the shop's order
    assert shop.server("A-1", "other") is None
    assert shop.page("A-1", "junk") is None
    assert len(shop.sold()) == 2
    assert len(set(shop.changes())) == len(shop.changes())


def test_another_currency_is_another_order(shop: ConfirmingStore) -> None:
    shop.page("A-1", "tent", currency="USD")

    assert shop.server("A-1", "tent", currency="EUR") == 1
    assert shop.items() == ["tent"]


@pytest.mark.parametrize("began", [False, True], ids=["at first", "beside others"])
def test_the_same_lines_confirm_an_order(shop: ConfirmingStore, *, began: bool) -> None:
    if began:
        shop.server("A-0", "lamp")
    shop.page("A-1", TENT, "rope", "rope", session_id="s_1")
    assert shop.items() == (["lamp"] if began else ["rope", "rope", "tent"])

    assert shop.server("A-1", "rope", TENT, "rope") is None

    counted = [sale for sale in shop.sold() if sale[0] != "lamp"]
    assert counted == [("rope", 1, "s_1"), ("rope", 1, "s_1"), ("tent", 2, "s_1")]
    assert shop.server("A-1", "other") is None  # it is confirmed: the first one counts
    shop.now += WEEK
    assert shop.server("A-1", "tent") == 1  # a repeat did not extend the seven days


def test_the_shop_says_whose_order_it_is(shop: ConfirmingStore) -> None:
    shop.page("A-1", "tent", user_id="evil", session_id="s_evil")

    assert shop.server("A-1", "tent", user_id="anna") is None
    assert shop.sold() == [("tent", 1, "anna")]


def test_the_shops_order_is_not_changed_by_a_page(shop: ConfirmingStore) -> None:
    shop.server("A-1", "tent", user_id="anna")

    assert shop.page("A-1", "junk", user_id="evil") is None
    assert shop.sold() == [("tent", 1, "anna")]


def test_unconfirmed_orders_count_until_the_shops_server_sends_some(
    shop: ConfirmingStore,
) -> None:
    assert shop.page("P-1", "before") == 1
    shop.server("A-1", "tent")
    assert shop.page("P-2", "beside") == 1
    assert shop.page("P-2", "beside") is None
    assert shop.items() == ["before", "tent"]

    shop.now += 30 * DAY_MS
    assert shop.page("P-3", "after") == 1
    assert shop.items() == ["after", "before", "tent"]


def test_a_store_decides_about_unconfirmed_purchases(shop: ConfirmingStore) -> None:
    shop.page("P-1", "before", "tent")
    shop.buy("bought")
    shop.server("A-1", "mine")
    shop.page("P-2", "beside")

    shop.choose("ignore")
    shop.buy("more", "P-3")
    assert shop.items() == ["mine"]
    assert shop.server("P-2", "beside") is None
    assert shop.items() == ["beside", "mine"]

    shop.choose("count")
    shop.page("P-4", "later")
    every = ["before", "beside", "bought", "later", "mine", "more", "tent"]
    assert shop.items() == every
    seqs = shop.changes()
    assert len(set(seqs)) == len(seqs)

    shop.choose("auto")  # what was decided about earlier ones stays
    assert shop.items() == every


@pytest.mark.parametrize("policy", ["auto", "count"])
def test_an_uploaded_line_counts_once_beside_an_unconfirmed_order(
    shop: ConfirmingStore, policy: str
) -> None:
    shop.choose(policy)
    shop.server("A-0", "mine")
    shop.page("A-1", "tent", "tent", "rope")
    shop.upload("order_id,item_id,quantity\nA-1,tent,3\n")
    shop.choose("count")

    assert shop.sold()[1:] == [("rope", 1, None), ("tent", 3, None)]
    assert shop.server("A-1", "tent", "rope") == 2
    assert shop.items() == ["mine", "rope", "tent"]
    assert shop.sold()[-1][1] == 3  # the file has the last word


def test_a_buy_event_of_a_set_aside_order_does_not_take_its_place(
    shop: ConfirmingStore,
) -> None:
    shop.server("A-0", "mine")
    shop.buy("tent", "A-1")
    shop.page("A-1", "tent")
    shop.buy("tent", "A-1")
    assert shop.items() == ["mine"]

    assert shop.server("A-1", "tent") is None
    assert shop.sold() == [("mine", 1, None), ("tent", 1, None)]


def test_an_unconfirmed_order_received_again_after_a_week_is_weighed_alone(
    shop: ConfirmingStore,
) -> None:
    shop.page("A-1", "junk")
    shop.now += WEEK + HOUR_MS

    assert shop.server("A-1", "tent") == 1
    assert shop.items() == ["junk", "tent"]
