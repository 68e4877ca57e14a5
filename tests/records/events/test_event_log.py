"""Clicks after searches: read from the log, on both databases."""

from productrecs.engines.click_boosts import CART, CLICK, PURCHASE
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import TrainingInputs, purchase_interaction_rows
from tests.support.stores import new_store

NOON = 1_772_366_400_000  # 2026-03-01T12:00Z
MINUTE_MS = 60_000


def did(database: Database, store: Store, minute: int, *events: NewEvent) -> None:
    """Let things happen some minutes past noon."""
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store.store_id)
        ingest_events(log, [[one] for one in events], NOON + minute * MINUTE_MS)


def test_searches_carts_and_purchases_are_read_in_the_order_of_the_log(
    database: Database,
) -> None:
    store = new_store(database)
    other = new_store(database, "other.example")
    kind = EventKind
    for one in (store, other):
        did(
            database,
            one,
            0,
            NewEvent(kind.ADD_TO_CART, item_id="a", session_id="s"),
            NewEvent(kind.SEARCH_PREF, term="tent", session_id="s"),
            NewEvent(kind.SEARCH_CLICK, item_id="a", session_id="s"),  # without words
            NewEvent(kind.SEARCH_CLICK, item_id="a", term="tent", session_id="s"),
        )
        did(database, one, 1, NewEvent(kind.ADD_TO_CART, item_id="a", session_id="s"))
    did(
        database,
        store,
        2,
        NewEvent(kind.BUY, item_id="a", order_id="o", user_id="c", session_id="s"),
        NewEvent(kind.DETAIL_PAGE_VIEW, item_id="b", session_id="s"),
    )
    inputs = TrainingInputs()
    with database.reading() as connection:
        searches = EventLogRepository(connection, store.store_id)
        log = TrainingRepository(connection, store.store_id)
        inputs.read_log_up_to(log, 100, searches=searches)

    bought = purchase_interaction_rows(inputs.purchases)
    found = inputs.searches.interactions(NOON + 10 * MINUTE_MS, bought)

    assert inputs.searches.terms == ["tent"]
    # A cart of the same page as the search, sent before it, is none of its choices.
    assert sorted(found.weights.tolist()) == [CLICK, CART, PURCHASE]
    assert set(found.items.tolist()) == {0}
    assert set(found.queries.tolist()) == {0}
