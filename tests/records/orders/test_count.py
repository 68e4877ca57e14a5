"""Activity counts: recent events and orders."""

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.purchases.repository import PurchaseRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import Registration, register_store

NOW = 40 * DAY_MS
SINCE = NOW - 30 * DAY_MS
VIEW = NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="a", session_id="s_1")


def send(database: Database, store_id: StoreId, at_ms: int, *events: NewEvent) -> None:
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store_id)
        ingest_events(log, [[event] for event in events], at_ms)


def order(
    database: Database, store_id: StoreId, at_ms: int, order_id: str, *item_ids: str
) -> None:
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store_id)
        lines = tuple(NewOrderLine(item_id, None, None, None) for item_id in item_ids)
        ingest_order(log, NewOrder(order_id, lines), at_ms)


def buy(item_id: str, order_id: str | None) -> NewEvent:
    return NewEvent(EventKind.BUY, item_id=item_id, order_id=order_id, session_id="s_1")


def counted(database: Database, store_id: StoreId) -> tuple[int, int, int]:
    """Return how many events but buys, how many buys, and how many orders."""
    with database.reading() as connection:
        events = EventRepository(connection, store_id).count_events(SINCE, NOW)
        return events, *PurchaseRepository(connection, store_id).count_buys_and_orders(
            SINCE, NOW
        )


def test_a_new_store_has_none(database: Database, store_id: StoreId) -> None:
    assert counted(database, store_id) == (0, 0, 0)


def test_the_window_begins_after_its_first_moment_and_ends_with_now(
    database: Database, store_id: StoreId
) -> None:
    for number, moment in enumerate((SINCE, SINCE + 1, NOW, NOW + 1)):
        send(database, store_id, moment, VIEW)
        order(database, store_id, moment, f"order-{number}", "a")

    assert counted(database, store_id) == (2, 0, 2)


def test_an_order_of_many_lines_is_one(database: Database, store_id: StoreId) -> None:
    order(database, store_id, NOW, "A", "a", "b", "a")
    order(database, store_id, NOW, "B", "a")

    assert counted(database, store_id) == (0, 0, 2)


def test_buys_of_one_order_are_one_and_a_buy_alone_is_one_more(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, NOW, buy("a", "A"), buy("b", "A"), buy("c", None))

    assert counted(database, store_id) == (0, 3, 2)


def test_buys_and_the_order_that_takes_their_place_are_one_order(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, NOW, buy("a", "A"), buy("b", "A"))
    order(database, store_id, NOW, "A", "a", "b")

    assert counted(database, store_id)[2] == 1


def test_another_stores_are_not_counted(database: Database, store_id: StoreId) -> None:
    other = register_store(database, Registration("other.example"), lambda: 0)[0]
    send(database, other.store_id, NOW, VIEW, buy("a", "A"))
    order(database, other.store_id, NOW, "B", "a")

    assert counted(database, store_id) == (0, 0, 0)
    assert counted(database, other.store_id) == (1, 1, 2)
