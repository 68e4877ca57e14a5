"""Event log: an id is stored once in a row, and readers see every id that was sent."""

import random
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.features.attribution.repository import AttributionRepository
from productrecs.features.experiments.repository import ExperimentResultRepository
from productrecs.features.live_events.repository import LiveEventRepository
from productrecs.features.privacy.shopper_export import shopper_names, shopper_records
from productrecs.features.reports.tracking_health.repository import TrackingIssueRepository
from productrecs.records.events.event import INHUMAN_RATE, EventKind, NewEvent
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.records.events.repository import EventRepository
from productrecs.records.events.shopper_histories.repository import (
    facts_after,
    facts_of_person,
)
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import bot_events, event_columns, events, shopper_links
from productrecs.training.repository import TrainingRepository

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
CUSTOMERS = [None, None, None, "anna", "ben", "s_2"]  # a session's name is a customer's too
SESSIONS = [None, "s_1", "s_2", "s_3", "s_4"]
LAST = 1_000


def send(database: Database, store: StoreId, *sent: NewEvent) -> None:
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store)
        ingest_events(log, [[event] for event in sent], NOON)


def visit(rng: random.Random, at: int) -> NewEvent:
    kind = rng.choice(
        [
            EventKind.DETAIL_PAGE_VIEW,
            EventKind.ADD_TO_CART,
            EventKind.SEARCH_CLICK,
            EventKind.REC_IMPRESSION,
            EventKind.REC_CLICK,
        ]
    )
    user = rng.choice(CUSTOMERS)
    return NewEvent(
        kind,
        item_id=rng.choice(["tent", "peg"]),
        term="gren tent" if kind is EventKind.SEARCH_CLICK else None,
        source="look",
        position=1,
        widget=rng.choice(["look", "page"]),
        user_id=user,
        session_id=rng.choice(SESSIONS if user else SESSIONS[1:]),
        bot=rng.choice(["", "", "", INHUMAN_RATE]) if at < 20 else "",
        ts_ms=NOON + at,
    )


def read(database: Database, store: StoreId) -> dict[str, list[Any]]:
    """Return what each reader of events finds."""
    names = [name for name in {*CUSTOMERS, *SESSIONS} if name]
    with closing(database.raw_reader()) as raw, database.reading() as connection:
        attribution = AttributionRepository(connection, store)
        log = EventLogRepository(connection, store)
        return {
            "log": EventRepository(connection, store).rows_after(-1, LAST),
            "is customer": [
                EventRepository(connection, store).is_customer(n) for n in names
            ],
            # A link and its event share a number: their order is not defined.
            "facts": sorted(
                facts_after(raw, store, -1, LAST), key=lambda row: row[:2][::-1]
            ),
            "histories": [facts_of_person(raw, store, name) for name in names],
            "training": list(
                TrainingRepository(connection, store).behaviour_pages(-1, LAST)
            ),
            "searches": list(log.pages_with_terms(-1, LAST, tuple(EventKind))),
            "touchpoints": list(attribution.touchpoints_and_search_clicks(-1, LAST)),
            "carts": log.cart_additions(-1, LAST),
            "hours": sorted(log.counts_by_hour_and_kind(-1, LAST)),
            "bots": sorted(ExperimentResultRepository(connection, store).bots(0)),
            "diagnosis": TrackingIssueRepository(connection, store).touchpoints(),
            "live": [
                LiveEventRepository(connection, store).latest_with_stored(
                    NOON, session=name
                )
                for name in names
            ],
            "export": [
                [record.row for record in shopper_records(database, store, found)]
                for name in names
                if (found := shopper_names(database, store, name))
            ],
        }


@pytest.mark.parametrize("seed", range(3))
def test_every_reader_finds_the_same_as_with_all_ids_written_out(
    database: Database, store_id: StoreId, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 - a test's dice
    sent = {}
    for at in range(60):
        one = visit(rng, at)
        sent[one.ts_ms] = (one.shopper, one.session_id)
        send(database, store_id, one)

    stored_once = read(database, store_id)
    with database.transaction() as transaction:
        for table in (events, bot_events):
            query = sa.select(*event_columns(table)).where(table.c.store_id == store_id)
            for row in transaction.execute(query).mappings().all():
                assert (row["shopper"], row["session"]) == sent[row["ts"]], row
                written = {"shopper": row["shopper"], "session": row["session"]}
                transaction.execute(
                    table.update()
                    .where(table.c.store_id == store_id, table.c.seq == row["seq"])
                    .values(written)
                )

    assert stored_once["bots"]
    assert all(stored_once.values())
    for reader, found in read(database, store_id).items():
        assert found == stored_once[reader], reader


def test_an_id_is_stored_once_in_an_event_of_a_visitor(
    database: Database, store_id: StoreId
) -> None:
    view = NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="tent", session_id="s_1")
    send(database, store_id, view)

    assert written_ids(database, store_id) == [("", "s_1", "")]


def test_a_linked_session_stays_in_its_earlier_events(
    database: Database, store_id: StoreId
) -> None:
    view = NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="tent", session_id="s_1")
    known = NewEvent(
        EventKind.DETAIL_PAGE_VIEW, item_id="peg", session_id="s_1", user_id="anna"
    )
    send(database, store_id, view)
    send(database, store_id, known)

    assert written_ids(database, store_id) == [("", "anna", "s_1"), ("anna", "anna", "s_1")]
    with database.reading() as connection:
        assert connection.execute(sa.select(shopper_links.c.session)).scalars().all() == [
            "s_1"
        ]


def written_ids(database: Database, store: StoreId) -> list[tuple[str | None, ...]]:
    columns = (events.c.shopper, events.c.person, events.c.session)
    query = sa.select(*columns).where(events.c.store_id == store).order_by(events.c.seq)
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]
