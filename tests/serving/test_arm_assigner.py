"""Arm assignment: the same arm in every process, and no reply waits for it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from productrecs.core.errors import StorageBusyError
from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.experiments.arm_assignment import (
    HoldoutArm,
    draw_arm,
    holdout_split,
)
from productrecs.records.experiments.exposures.repository import StoredIdentity
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.serving.arm_assigner import BACKOFF_SECONDS, ArmAssigner
from productrecs.serving.writes.background_writes import BackgroundWriter
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import exposures

NOON = 1_000
HALF = holdout_split("holdout", 50)


@pytest.fixture
def processes(
    database: Database, store_id: StoreId
) -> "Iterator[Callable[[], AssignerProcess]]":
    """Give a function that starts one more API process of the store."""
    reader = database.raw_reader()
    yield lambda: AssignerProcess(database, store_id, reader)
    reader.close()


class AssignerProcess:
    """One API process, as far as tests go."""

    def __init__(self, database: Database, store_id: StoreId, reader: RawReader) -> None:
        self.store_id = store_id
        self.now = 0.0
        self.reads = 0
        self.reader = reader
        self.background = BackgroundWriter(database)
        self.arm_assigner = ArmAssigner(self.background.add, lambda: NOON, lambda: self.now)

    def holds_out(self, *identities: str) -> bool:
        """Return whether a call of these identities gets an empty list."""
        return asyncio.run(self._ask(identities, self.read))

    def holds_out_without(self, *identities: str) -> bool:
        """Return the same while the database does not answer."""
        return asyncio.run(self._ask(identities, self.fail))

    async def _ask(self, identities: tuple[str, ...], read: object) -> bool:
        known = await self.arm_assigner.stored_identity_or_nobody(
            self.store_id,
            identities,
            read,  # type: ignore[arg-type]  # one of the two below
        )
        arm = self.arm_assigner.assign_and_record(self.store_id, HALF, identities, known)
        return arm == HoldoutArm.HELD_OUT

    async def read(self, what: Callable[[RawReader], StoredIdentity]) -> StoredIdentity:
        """Read what is asked."""
        self.reads += 1
        return what(self.reader)

    async def fail(self, _what: object) -> StoredIdentity:
        """Be a database that does not answer."""
        self.reads += 1
        raise StorageBusyError("away")


def sign_in(database: Database, store_id: StoreId, session: str, customer: str) -> None:
    event = NewEvent(
        EventKind.DETAIL_PAGE_VIEW, item_id="a", session_id=session, user_id=customer
    )
    with database.transaction() as transaction:
        ingest_events(StoreLogTransaction(database, transaction, store_id), [[event]], NOON)


def two_apart(store_id: StoreId) -> tuple[str, str]:
    """Return two names that by themselves stand in different arms: held out, shown."""
    names = [f"n_{number}" for number in range(100)]
    by_arm = {draw_arm(store_id, HALF, name): name for name in names}
    return by_arm[HoldoutArm.HELD_OUT], by_arm[HoldoutArm.SHOWN]


@pytest.mark.parametrize("flushed", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_shopper_stays_in_the_arm_of_the_name_they_were_first_met_by(
    database: Database,
    store_id: StoreId,
    processes: Callable[[], AssignerProcess],
    *,
    flushed: bool,
    turned: bool,
) -> None:
    session, customer = two_apart(store_id)[:: -1 if turned else 1]
    one, other = processes(), processes()
    arm = one.holds_out(session)
    if flushed:
        one.background.flush()

    sign_in(database, store_id, session, customer)

    for process in (one, other, processes()):
        assert process.holds_out(customer) is arm
        assert process.holds_out(customer, session) is arm
        assert process.holds_out(session) is arm
    assert (
        draw_arm(store_id, HALF, customer) is HoldoutArm.HELD_OUT
    ) is not arm  # by itself


def test_a_customer_met_before_their_session_keeps_their_own_arm(
    database: Database, store_id: StoreId, processes: Callable[[], AssignerProcess]
) -> None:
    session, customer = two_apart(store_id)
    process = processes()
    assert process.holds_out(customer) is False
    process.background.flush()

    assert process.holds_out(customer, session) is False
    sign_in(database, store_id, session, customer)

    assert processes().holds_out(session) is False


def test_whoever_is_met_by_two_names_at_once_is_one_from_then_on(
    store_id: StoreId, processes: Callable[[], AssignerProcess]
) -> None:
    session, customer = two_apart(store_id)
    process = processes()
    assert process.holds_out(customer, session) is True

    assert process.holds_out(customer) is True  # in memory at once, and stored:
    process.background.flush()
    assert processes().holds_out(customer) is True


def test_every_name_is_stored_once_with_its_arm_and_unit(
    database: Database, store_id: StoreId, processes: Callable[[], AssignerProcess]
) -> None:
    session, customer = two_apart(store_id)
    for process in (processes(), processes()):
        for _ in range(3):
            process.holds_out(customer, session)
        process.background.flush()

    query = sa.select(exposures).order_by(exposures.c.identity)
    with database.reading() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    assert rows == [
        (store_id, name, "holdout", "held_out", session, NOON)
        for name in sorted([session, customer])
    ]


def test_while_the_database_is_away_memory_decides_and_no_call_waits_twice(
    database: Database, store_id: StoreId, processes: Callable[[], AssignerProcess]
) -> None:
    session, customer = two_apart(store_id)
    process = processes()
    process.holds_out(session)
    sign_in(database, store_id, session, customer)
    assert process.holds_out(customer) is True
    process.reads = 0

    for _ in range(5):
        assert process.holds_out_without(customer) is True
        assert process.holds_out_without("never met") is (
            draw_arm(store_id, HALF, "never met") is HoldoutArm.HELD_OUT
        )
    assert process.reads == 1

    process.now += BACKOFF_SECONDS
    assert process.holds_out(customer) is True
    assert process.reads == 2


def test_no_reply_waits_while_storing_hangs(
    database: Database, processes: Callable[[], AssignerProcess]
) -> None:
    process = processes()
    process.holds_out("s_0")
    with database.transaction() as transaction:
        locking = "SELECT * FROM stores FOR UPDATE"
        if not database.has_one_writer:
            transaction.exec_driver_sql(locking)
        storing = threading.Thread(target=process.background.flush)
        storing.start()
        began = time.monotonic()
        for number in range(200):
            process.holds_out(f"s_{number}")
        took = time.monotonic() - began
        assert storing.is_alive()  # the control: it does wait
    storing.join(30)
    process.background.flush()

    assert took < 8
    with database.reading() as connection:
        count = sa.select(sa.func.count()).select_from(exposures)
        assert connection.execute(count).scalar_one() == 200
