"""Bot events: stored apart, and what a bot did before it was recognised moves there."""

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import INHUMAN_RATE, EventKind, NewEvent
from productrecs.records.events.repository import BOT_RETENTION_MS, EventRepository
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.store_counters_and_versions import log_seq_and_losses
from productrecs.storage.sql.tables import bot_events, event_columns, events
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import TrainingInputs, read_log_without_searches

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC


def send(database: Database, store: StoreId, *sent: NewEvent, now: int = NOON) -> None:
    with database.transaction() as transaction:
        ingest_events(
            StoreLogTransaction(database, transaction, store),
            [[event] for event in sent],
            now,
        )


def view(item_id: str, session: str = "s_1", **facts: object) -> NewEvent:
    return NewEvent(
        EventKind.DETAIL_PAGE_VIEW,
        item_id=item_id,
        session_id=session,
        **facts,  # type: ignore[arg-type]  # a test's shorthand
    )


def stored(database: Database, table: sa.Table) -> list[tuple[str, ...]]:
    """Return (shopper, bot) of the rows; `bot` only of the bots' table."""
    columns = [one for one in event_columns(table) if one.name in {"shopper", "bot"}]
    with database.reading() as connection:
        query = sa.select(*columns).select_from(table).order_by(table.c.seq)
        return [tuple(row) for row in connection.execute(query)]


def test_events_of_bots_are_stored_apart_from_the_log(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, view("a"), view("b", "s_2", bot="Googlebot"), view("c"))

    assert stored(database, events) == [("s_1",), ("s_1",)]
    assert stored(database, bot_events) == [("s_2", "Googlebot")]


def test_an_inhuman_rate_takes_the_last_minutes_of_its_shopper_along(
    database: Database, store_id: StoreId
) -> None:
    linked = view("a", user_id="c_1")  # the bot's session, signed in meanwhile
    send(database, store_id, view("a"), linked, now=NOON - DAY_MS)
    send(database, store_id, view("a"), view("b", "s_2"), linked, now=NOON - MINUTE_MS)
    reader = database.raw_reader()
    before = log_seq_and_losses(reader, store_id)[1]

    send(database, store_id, view("c", bot=INHUMAN_RATE))

    assert stored(database, events) == [("s_1",), ("c_1",), ("s_2",)]
    assert stored(database, bot_events) == [
        ("s_1", INHUMAN_RATE),
        ("c_1", INHUMAN_RATE),
        ("s_1", INHUMAN_RATE),
    ]
    moved = log_seq_and_losses(reader, store_id)[1]
    send(database, store_id, view("d", bot=INHUMAN_RATE))  # nothing left to move
    assert (before, moved, log_seq_and_losses(reader, store_id)[1]) == (0, 1, 1)
    reader.close()


def test_a_bot_session_does_not_take_along_other_sessions_of_its_customer(
    database: Database, store_id: StoreId
) -> None:
    theirs = view("a", "s_of-7", user_id="7")
    without = NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="a", user_id="7")
    send(database, store_id, theirs, without, now=NOON - MINUTE_MS)

    for session in ("s_x", "7", None):
        fast = view("c", session, user_id="7", bot=INHUMAN_RATE)  # type: ignore[arg-type]
        send(database, store_id, fast)

    assert stored(database, events) == [("7",), ("7",)]
    assert stored(database, bot_events) == [("7", INHUMAN_RATE)] * 3


def test_training_that_read_a_bots_first_events_equals_one_that_never_saw_it(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, view("a"), view("b", "bot"), view("c", "bot"))
    inputs = TrainingInputs()
    with database.reading() as connection:
        repository = TrainingRepository(connection, store_id)
        inputs.read_log_up_to(repository, repository.existing_head().seq)
    assert len(inputs.behaviour.items) == 3

    send(database, store_id, view("d", "bot", bot=INHUMAN_RATE))
    with database.reading() as connection:
        repository = TrainingRepository(connection, store_id)
        head = repository.existing_head()
        inputs.restart_after_removals(head.removals)
        inputs.read_log_up_to(repository, head.seq)
        whole, _ = read_log_without_searches(repository)

    assert inputs.behaviour.items.tolist() == whole.behaviour.items.tolist() == [0]


def test_events_of_bots_are_purged_after_their_retention(
    database: Database, store_id: StoreId
) -> None:
    send(database, store_id, view("a", bot="Googlebot"), now=NOON - BOT_RETENTION_MS - 1)
    send(database, store_id, view("b", bot="Googlebot"))

    with database.transaction() as transaction:
        gone = EventRepository(transaction, store_id).purge_bot_events(
            NOON - BOT_RETENTION_MS
        )

    assert gone == 1 == len(stored(database, bot_events))
