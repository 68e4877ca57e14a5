"""Network share: one network adds only so many visits and purchases a day to models."""

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.features.reports.tracking_health.tracking_issues import (
    find_tracking_issues,
)
from productrecs.records.events.daily_network_caps import (
    SHARE_OF_DAY,
    DailyNetworkCounts,
    NetworkActivity,
)
from productrecs.records.events.event import CROWDED_NETWORK, EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.orders.unconfirmed_purchases import exclude_excess_chunk
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import bot_events, events, purchase_lines
from productrecs.tenancy.accounts.api_keys import KeyUse
from productrecs.tenancy.accounts.key_uses.repository import KeyUseRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    change_settings,
    find_store,
)
from tests.support.stores import new_store

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
ATTACKER = "203.0.113.7"


class NetworkStore:
    """A store that receives visits and orders from networks."""

    def __init__(self, database: Database) -> None:
        """Register the store, with a share of three."""
        self.database, self.counts, self.now = database, DailyNetworkCounts(), NOON
        self.seen = 0
        new_store(database)
        change_settings(database, self.store, {"network_share": "3"})

    @property
    def store(self) -> Store:
        """The store as it is now."""
        return find_store(self.database, "shop.example")

    def see(self, session: str, network: str | None = ATTACKER, **facts: object) -> None:
        """Receive an event."""
        values = {"kind": EventKind.DETAIL_PAGE_VIEW, "session_id": session} | facts
        self.seen += 1
        values = {"item_id": f"item-{self.seen}"} | values
        event = NewEvent(network=network, **values)  # type: ignore[arg-type]  # a test's shorthand
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, self.store.store_id)
            ingest_events(log, [[event]], self.now, counts=self.counts)

    def order(self, order_id: str, *, confirmed: bool = False) -> None:
        """Receive an order."""
        lines = (NewOrderLine(f"tent {order_id}"), NewOrderLine(f"rope {order_id}"))
        order = NewOrder(order_id, lines, confirmed=confirmed, network=ATTACKER)
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, self.store.store_id)
            ingest_order(log, order, self.now, self.counts)

    def excess(self, table: sa.Table = events) -> list[bool]:
        """Return which records are excess, in the log's order."""
        query = sa.select(table.c.excess).order_by(table.c.seq)
        with self.database.reading() as connection:
            return list(connection.execute(query).scalars())


@pytest.fixture
def shop(database: Database) -> NetworkStore:
    return NetworkStore(database)


def test_visits_beyond_the_share_of_a_day_are_excess(shop: NetworkStore) -> None:
    for session in "abcde":
        shop.see(f"s_{session}")
    shop.see("s_a")  # a visit that counts goes on to count
    shop.see("s_x", "203.0.113.8")
    shop.see("s_y", None)
    shop.now += DAY_MS
    shop.see("s_e")

    assert shop.excess() == [*[False] * 3, True, True, *[False] * 4]


def test_purchases_of_one_visitor_use_up_the_share_too(shop: NetworkStore) -> None:
    for number in range(4):
        shop.order(f"P-{number}")
    shop.see("s_1", kind=EventKind.BUY)
    shop.see("s_1", kind=EventKind.BUY, order_id="E-1")

    assert shop.excess(purchase_lines) == [*[False] * 6, True, True, True, True]


def test_what_the_shops_server_sends_is_never_excess(shop: NetworkStore) -> None:
    for number in range(5):
        shop.order(f"P-{number}", confirmed=True)
    assert shop.excess(purchase_lines) == [False] * 10

    shop.order("late")
    use = KeyUse(shop.store.store_id, "sk_1", NOON, "2001:db8::17")
    with shop.database.transaction() as transaction:
        KeyUseRepository(transaction, shop.store.store_id).record([use])
    for number in range(5):  # a relay of events on the shop's server
        shop.see(f"s_{number}", "2001:db8::/64")
    assert not any(shop.excess())


def test_an_excess_order_counts_once_the_shops_server_confirms_it(
    shop: NetworkStore,
) -> None:
    for number in range(4):
        shop.order(f"P-{number}")
    assert any(shop.excess(purchase_lines))

    shop.order("P-3", confirmed=True)

    assert not any(shop.excess(purchase_lines))


def test_one_product_takes_only_a_part_of_a_networks_share(shop: NetworkStore) -> None:
    change_settings(shop.database, shop.store, {"network_share": "24"})
    for session in ("s_1", "s_1", "s_2", "s_3", "s_1"):
        shop.see(session, item_id="junk")
    shop.see("s_3", item_id="tent")
    shop.see("s_4", "203.0.113.8", item_id="junk")

    assert shop.excess() == [False, False, False, True, False, False, False]


def test_two_products_of_a_visit_count_once_a_day_for_a_network(shop: NetworkStore) -> None:
    change_settings(shop.database, shop.store, {"network_share": "60"})
    for session in ("s_1", "s_2"):
        for item in ("bestseller", "filler", "junk"):
            shop.see(session, item_id=item)
    shop.see("s_1", item_id="junk")  # a visit that counts goes on to count
    shop.see("s_3", item_id="junk")
    shop.see("s_4", "203.0.113.8", item_id="bestseller")
    shop.see("s_4", "203.0.113.8", item_id="junk")
    assert shop.excess() == [*[False] * 3, False, True, True, *[False] * 4]

    shop.now += DAY_MS
    shop.see("s_5", item_id="bestseller")
    shop.see("s_5", item_id="junk")
    assert shop.excess()[-2:] == [False, False]


def codes(shop: NetworkStore) -> list[str]:
    found = find_tracking_issues(shop.database, shop.store, shop.now)
    return [one.code for one in found if one.leave_out]


def test_an_unusual_share_shows_until_it_is_left_out(shop: NetworkStore) -> None:
    for number in range(23):
        shop.see(f"s_{number}", None)
    assert codes(shop) == []
    for number in range(15):
        shop.see(f"s_x{number}")
        shop.order(f"P-{number}")
    assert codes(shop) == ["crowded_networks"]

    while exclude_excess_chunk(shop.database, shop.store, shop.now):
        pass

    assert codes(shop) == []
    assert shop.excess() == [False] * (23 + 2)
    with shop.database.reading() as connection:
        moved = connection.execute(sa.select(bot_events.c.bot)).scalars().all()
        void = connection.execute(
            sa.select(purchase_lines.c.void).order_by(purchase_lines.c.line_seq)
        ).scalars()
        assert list(void) == [False] * 2 + [True] * 28
    assert moved == [CROWDED_NETWORK] * 13


def test_orders_that_the_shops_server_did_not_confirm_show(shop: NetworkStore) -> None:
    change_settings(shop.database, shop.store, {"network_share": "0"})
    for number in range(15):
        shop.order(f"P-{number}")
    assert codes(shop) == []  # a shop whose pages send the orders
    shop.order("A-1", confirmed=True)
    assert codes(shop) == ["unconfirmed_orders"]

    change_settings(shop.database, shop.store, {"unconfirmed_orders": "ignore"})
    assert codes(shop) == []


def test_the_share_grows_with_the_store_and_can_be_switched_off(shop: NetworkStore) -> None:
    others = 400
    for number in range(others):
        sent = NetworkActivity(f"198.51.100.{number}", f"s_{number}", ("tent",))
        assert not shop.counts.is_excess_else_count(shop.store.store_id, sent, NOON, 3)
    counted = int(others * SHARE_OF_DAY)
    for number in range(counted + 2):
        shop.see(f"s_fake{number}")
    assert shop.excess() == [*[False] * counted, True, True]

    change_settings(shop.database, shop.store, {"network_share": "0"})
    shop.see("s_other")
    assert shop.excess()[-1] is False
