"""Shopper history in memory: always equal to reading it anew."""

import random

import pytest
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.events import shopper_history_cache as history_module
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.events.shopper_histories.repository import SHOWN_LIMIT
from productrecs.records.events.shopper_history_cache import (
    ShopperHistory,
    ShopperHistoryCache,
)
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import items

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
CUSTOMERS = ["anna", "ben", "s_2"]  # a session's name is somebody's customer id
SESSIONS = ["s_1", "s_2", "s_3", "s_4"]
ITEMS = ["tent", "peg", "rope", "bolt", "lamp"]
KINDS = [
    EventKind.DETAIL_PAGE_VIEW,
    EventKind.ADD_TO_CART,
    EventKind.REC_IMPRESSION,
    EventKind.CATEGORY_VIEW,
    EventKind.BUY,
]


def send(database: Database, store: StoreId, *sent: NewEvent, now: int = NOON) -> None:
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store)
        ingest_events(log, [[event] for event in sent], now)


def order(database: Database, store: StoreId, sent: NewOrder, now: int = NOON) -> None:
    with database.transaction() as transaction:
        ingest_order(StoreLogTransaction(database, transaction, store), sent, now)


def view(item_id: str, user: str | None = None, session: str | None = None) -> NewEvent:
    return NewEvent(
        EventKind.DETAIL_PAGE_VIEW, item_id=item_id, user_id=user, session_id=session
    )


def numbers(database: Database, store: StoreId) -> dict[int, str]:
    query = sa.select(items.c.number, items.c.item_id).where(items.c.store_id == store)
    with database.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def content_of(history: ShopperHistory) -> tuple[object, ...]:
    """Return all of it that an answer depends on."""
    return (
        history.person,
        list(history.recent),
        list(history.recent_kinds),
        sorted(history.bought),
        history.visitor if history.recent else 0,
        [
            (signal.kind, signal.term, history.action_count - signal.action_count)
            for signal in history.interest_signals
        ],
        showings(history),
    )


def showings(history: ShopperHistory) -> list[tuple[int, ...]]:
    """Return what is remembered of impressions, by how much was done since."""
    shown = history.shown
    columns = zip(shown.items, shown.times, shown.actions_at, strict=True)
    return [(item, ts, shown.action_count - done) for item, ts, done in columns]


def happening(rng: random.Random, at: int) -> NewEvent | NewOrder:
    user = rng.choice([*CUSTOMERS, None, None])
    session = rng.choice(SESSIONS)
    item = rng.choice(ITEMS)
    # An order that comes again comes from the same customer.
    order_id = f"{user}-{rng.randrange(3)}" if user in {"anna", "ben"} else f"at-{at}"
    if rng.random() < 0.2:
        lines = (NewOrderLine(item, quantity=1, price=5.0), NewOrderLine("peg", quantity=2))
        return NewOrder(order_id, lines, user_id=user, session_id=session)
    kind = rng.choice(KINDS)
    return NewEvent(
        kind,
        item_id=None if kind is EventKind.CATEGORY_VIEW else item,
        term="shoes" if kind is EventKind.CATEGORY_VIEW else None,
        user_id=user,
        session_id=session,
        order_id=order_id if kind is EventKind.BUY else None,
        ts_ms=NOON + at - rng.choice([0, 0, 0, 5_000]),  # some come late
    )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_is_what_one_would_read_anew(
    database: Database, store_id: StoreId, reader: RawReader, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 - a test's dice
    kept = ShopperHistoryCache(store_id, limit=4)

    for step in range(60):
        one = happening(rng, step * 1_000)
        if isinstance(one, NewOrder):
            order(database, store_id, one, now=NOON + step * 1_000)
        else:
            send(database, store_id, one)
        for name in rng.sample([*CUSTOMERS, *SESSIONS, "nobody"], 3):
            fresh = ShopperHistoryCache(store_id).history_of(name, reader)
            assert content_of(kept.history_of(name, reader)) == content_of(fresh), (
                step,
                one,
                name,
            )


def test_a_session_that_signs_in_without_a_product_is_its_customer_at_once(
    database: Database, store_id: StoreId, reader: RawReader
) -> None:
    histories = ShopperHistoryCache(store_id)
    send(database, store_id, view("tent", session="s_1"), view("rope", user="anna"))
    alone = {
        name: len(histories.history_of(name, reader).recent) for name in ("s_1", "anna")
    }

    home = NewEvent(EventKind.CATEGORY_VIEW, user_id="anna", session_id="s_1")
    send(database, store_id, home)

    assert alone == {"s_1": 1, "anna": 1}
    assert histories.history_of("s_1", reader).person == "anna"
    assert len(histories.history_of("anna", reader).recent) == 2


def test_a_purchase_is_known_at_the_next_call(
    database: Database, store_id: StoreId, reader: RawReader
) -> None:
    histories = ShopperHistoryCache(store_id)
    histories.history_of("anna", reader)

    lines = (NewOrderLine("tent", quantity=1, price=5.0),)
    order(database, store_id, NewOrder("A-1", lines, user_id="anna"))
    bought = histories.history_of("anna", reader).bought

    assert [numbers(database, store_id)[item] for item in bought] == ["tent"]


def test_after_more_news_than_one_reads_on_everything_is_read_anew(
    database: Database,
    store_id: StoreId,
    reader: RawReader,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history_module, "_CHANGES_LIMIT", 3)
    histories = ShopperHistoryCache(store_id)
    send(database, store_id, view("tent", user="anna"))
    histories.history_of("anna", reader)

    send(database, store_id, *[view("peg", user="anna") for _ in range(9)])

    assert len(histories.history_of("anna", reader).recent) == 10


def test_what_is_remembered_of_impressions_ends_where_one_would_read_no_further(
    database: Database, store_id: StoreId, reader: RawReader
) -> None:
    shown, seen = EventKind.REC_IMPRESSION, EventKind.DETAIL_PAGE_VIEW
    kept = ShopperHistoryCache(store_id)
    held = []
    for kind, count in ((shown, 90), (seen, 200), (shown, 30), (seen, 99), (seen, 202)):
        many = [
            NewEvent(kind, item_id=f"i{number % 9 + kind}", user_id="anna")
            for number in range(count)
        ]
        send(database, store_id, *many)

        now = showings(kept.history_of("anna", reader))
        fresh = showings(ShopperHistoryCache(store_id).history_of("anna", reader))

        assert now == fresh
        held.append(len(now))
    assert held == [90, 90, SHOWN_LIMIT, SHOWN_LIMIT, 0]


def test_only_so_many_people_are_kept(
    database: Database, store_id: StoreId, reader: RawReader
) -> None:
    histories = ShopperHistoryCache(store_id, limit=2)
    send(database, store_id, *[view("tent", user=f"u{n}") for n in range(5)])

    seen = [len(histories.history_of(f"u{n}", reader).recent) for n in (0, 1, 2, 3, 4, 0)]

    assert seen == [1] * 6
    assert histories.memory_bytes() == 2 * history_module.PERSON_BYTES
