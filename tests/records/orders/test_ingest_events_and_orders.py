"""Ingest: events and orders are stored once, in any form and number of repeats."""

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import (
    OrderReceipt,
    ingest_events,
    ingest_order,
)
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import events, items, purchase_lines

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
WEEK = 7 * DAY_MS


def send(database: Database, store: StoreId, *sent: NewEvent, now: int = NOON) -> int:
    with database.transaction() as transaction:
        return ingest_events(
            StoreLogTransaction(database, transaction, store),
            [[event] for event in sent],
            now,
        )


def order(
    database: Database, store: StoreId, sent: NewOrder, now: int = NOON
) -> OrderReceipt:
    with database.transaction() as transaction:
        return ingest_order(StoreLogTransaction(database, transaction, store), sent, now)


def an_order(
    order_id: str, *item_ids: str, user: str | None = None, session: str | None = None
) -> NewOrder:
    lines = tuple(NewOrderLine(item_id, quantity=2, price=5.0) for item_id in item_ids)
    return NewOrder(order_id, lines, user_id=user, session_id=session)


def buy(item_id: str, order_id: str | None = "A-1", **facts: object) -> NewEvent:
    values = {"session_id": "s_1", "value": 7.0, "quantity": 1} | facts
    return NewEvent(EventKind.BUY, item_id=item_id, order_id=order_id, **values)  # type: ignore[arg-type]  # a test's shorthand


def view(item_id: str, user: str | None = None, session: str | None = None) -> NewEvent:
    return NewEvent(
        EventKind.DETAIL_PAGE_VIEW, item_id=item_id, user_id=user, session_id=session
    )


def standing(
    database: Database, store: StoreId
) -> list[tuple[str, int, int, float | None]]:
    """Return (item id, line, quantity, total) of every line that counts."""
    lines = purchase_lines.c
    query = (
        sa.select(items.c.item_id, lines.line, lines.quantity, lines.total)
        .join(items, (items.c.store_id == lines.store_id) & (items.c.number == lines.item))
        .where(lines.store_id == store, lines.void.is_(False))
        .order_by(lines.line_seq)
    )
    with database.reading() as connection:
        return [(row[0], row[1], row[2], row[3]) for row in connection.execute(query)]


def persons(database: Database, store: StoreId) -> list[str]:
    query = (
        sa.select(events.c.person).where(events.c.store_id == store).order_by(events.c.seq)
    )
    with database.reading() as connection:
        return list(connection.execute(query).scalars())


@pytest.mark.parametrize(("after", "duplicate"), [(-1, True), (0, False), (1, False)])
def test_the_seven_days_are_half_open(
    database: Database, store_id: StoreId, after: int, *, duplicate: bool
) -> None:
    order(database, store_id, an_order("A-1", "tent"))

    again = order(database, store_id, an_order("A-1", "tent"), now=NOON + WEEK + after)

    assert again.duplicate is duplicate
    assert again.items_ingested == (0 if duplicate else 1)
    assert len(standing(database, store_id)) == (1 if duplicate else 2)


def test_a_duplicate_does_not_extend_the_window(
    database: Database, store_id: StoreId
) -> None:
    order(database, store_id, an_order("A-1", "tent"))
    order(database, store_id, an_order("A-1", "tent"), now=NOON + WEEK - 1)

    third = order(database, store_id, an_order("A-1", "tent"), now=NOON + WEEK)

    assert third.duplicate is False


def test_order_sync_takes_the_place_of_buy_events_before_and_after_it(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, buy("tent"), buy("gift"))
    order(database, store_id, an_order("A-1", "tent"))
    send(database, store_id, buy("tent", value=99.0))

    assert sorted(standing(database, store_id)) == [
        ("gift", 0, 1, 7.0),
        ("tent", 0, 2, 10.0),
    ]


def test_each_buy_without_an_order_is_its_own_basket(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, buy("tent", order_id=None), buy("tent", order_id=None))

    with database.reading() as connection:
        baskets = connection.execute(sa.select(purchase_lines.c.basket)).scalars().all()
    assert baskets == [None, None]


def test_an_event_id_is_stored_once_in_seven_days(
    database: Database, store_id: StoreId
) -> None:
    event = NewEvent(
        EventKind.DETAIL_PAGE_VIEW, item_id="tent", session_id="s_1", event_id="e-1"
    )

    stored = [
        send(database, store_id, event, now=NOON + after) for after in (0, WEEK - 1, WEEK)
    ]

    assert stored == [1, 0, 1]


def test_a_session_seen_with_a_customer_brings_its_past_along(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, view("tent", session="s_1"))

    send(database, store_id, view("peg", user="anna", session="s_1"))
    send(database, store_id, view("lantern", session="s_1"))

    assert persons(database, store_id) == ["anna", "anna", "anna"]


def test_a_session_belongs_to_its_second_customer_from_then_on(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, view("tent", user="anna", session="s_1"))
    send(database, store_id, view("peg", session="s_1"))

    send(database, store_id, view("lantern", user="ben", session="s_1"))
    send(database, store_id, view("rope", session="s_1"))

    assert persons(database, store_id) == ["anna", "anna", "ben", "ben"]


def test_links_within_one_batch_reach_the_events_before_them(
    database: Database, store_id: StoreId
) -> None:
    batch = [
        view("tent", session="s_1"),
        buy("tent", session_id="s_1"),
        view("peg", user="anna", session="s_1"),
    ]

    send(database, store_id, *batch)

    with database.reading() as connection:
        bought_by = connection.execute(sa.select(purchase_lines.c.person)).scalars().all()
    assert persons(database, store_id) == ["anna", "anna"]
    assert bought_by == ["anna"]
