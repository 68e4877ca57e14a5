"""Fault injection: an order is whole or absent, and durable once acknowledged.

A statement is broken off at each place of an order's transaction in turn, or the process is
killed there; and each write of the database's file fails in turn, as a full or a dying disk
lets it.
"""

import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
import sqlalchemy as sa

from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.processes.child_process import ForkedProcess
from productrecs.records.orders.ingest_events_and_orders import OrderReceipt, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.purchases.repository import PurchaseRepository
from productrecs.storage.sql import apsw_dbapi
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import metadata
from tests.records.orders.import_support import new_store_id
from tests.support.service import Service
from tests.trust.load import receipts, stored

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
LINES = ("tent", "stove", "tent")
FEWEST_PLACES = 8
MOMENTS = ("begin", "before_cursor_execute", "after_cursor_execute", "commit")
KILLS = 150  # at each moment of an order


class Trap:
    """Breaks off one statement, counted on every connection that is opened meanwhile."""

    def __init__(self) -> None:
        self.at = 0  # 0 breaks nothing
        self.seen = 0

    def attach(self, connection: apsw.Connection) -> None:
        """Watch a new connection."""
        connection.exec_trace = self._look

    def _look(self, _cursor: object, _sql: str, _bindings: object) -> bool:
        self.seen += 1
        if self.seen == self.at:
            raise apsw.IOError
        return True

    def execute(
        self, cursor: apsw_dbapi.ApswCursor, sql: str, values: Sequence[object] = ()
    ) -> apsw_dbapi.ApswCursor:
        """Run a statement of SQLAlchemy's, whose cursors have a tracer of their own."""
        try:
            self._look(cursor, sql, values)
        except apsw.Error as error:
            raise apsw_dbapi.to_dbapi_error(error) from error
        return _execute(cursor, sql, values)


_execute = apsw_dbapi.ApswCursor.execute


@pytest.fixture
def trap(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    trap = Trap()

    def execute(
        cursor: apsw_dbapi.ApswCursor, sql: str, values: Sequence[object] = ()
    ) -> apsw_dbapi.ApswCursor:
        return trap.execute(cursor, sql, values)

    monkeypatch.setattr(apsw_dbapi.ApswCursor, "execute", execute)
    apsw.connection_hooks.append(trap.attach)
    yield trap
    apsw.connection_hooks.remove(trap.attach)


def receive(database: Database, store: StoreId, order_id: str) -> OrderReceipt:
    order = NewOrder(order_id, tuple(map(NewOrderLine, LINES)), session_id="s_1")
    with database.transaction() as transaction:
        return ingest_order(StoreLogTransaction(database, transaction, store), order, NOON)


def in_two_steps(database: Database, store: StoreId, order_id: str) -> OrderReceipt:
    """Receive an order the wrong way: its receipt is in a transaction of its own."""
    with database.transaction() as transaction:
        PurchaseRepository(transaction, store).number_receipt_unless_repeated_recently(
            order_id, NOON
        )
    return receive(database, store, order_id)


def contents(database: Database) -> dict[str, list[Any]]:
    with database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(table.select())), key=repr)
            for table in metadata.sorted_tables
        }


Write = Callable[[Database, StoreId, str], OrderReceipt]


def traces(trap: Trap, folder: Path, write: Write) -> tuple[int, list[int]]:
    """Return at how many places an order was broken off, and at which it left traces."""
    database = Database.open(None, folder)
    store = new_store_id(database)
    receive(database, store, "before")
    untouched, left = contents(database), []
    for place in range(1, 200):
        trap.seen, trap.at = 0, place
        try:
            receipt = write(database, store, "A-1")
        except StorageError:
            trap.at = 0
            if contents(database) != untouched:
                left.append(place)
            continue
        trap.at = 0
        if not left:
            assert not receipt.duplicate
            assert stored(database, store) == {"before": 3, "A-1": 3}
            assert write(database, store, "A-1").duplicate
        database.close()
        return place - 1, left
    raise AssertionError


def test_an_order_broken_off_anywhere_leaves_nothing_and_may_come_again(
    trap: Trap, migrated_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(migrated_folder, tmp_path / "data")

    places, left = traces(trap, folder, receive)

    assert places >= FEWEST_PLACES
    assert left == []


def test_control_an_order_in_two_transactions_leaves_traces(
    trap: Trap, migrated_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(migrated_folder, tmp_path / "data")

    _, left = traces(trap, folder, in_two_steps)

    assert left


def end_of_a_writer(
    service: Service, store: StoreId, order_id: str, moment: int, write: Write
) -> int:
    """Let a process write an order and be killed at one moment; return how it ended.

    The moments are before and after each statement, before the begin and before the commit.
    """

    def die() -> int:
        moments = itertools.count(1)

        def look(*_: object) -> None:
            if next(moments) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        with service.database() as database:
            with database.reading():
                pass  # connected: what counts are the moments of the order
            for name in MOMENTS:
                sa.event.listen(sa.Engine, name, look)
            write(database, store, order_id)
        return 0

    return ForkedProcess("writer", die, ()).wait()


def check_killed_orders(service: Service, kills: int, write: Write) -> int:
    """Kill writers at every moment of an order; return how many moments it has."""
    with service.database() as database:
        store = new_store_id(database)
    for moment in itertools.count(1):
        orders = [f"o-{moment}-{number}" for number in range(kills)]
        ends = {end_of_a_writer(service, store, one, moment, write) for one in orders}
        if ends == {0}:
            break
        assert ends == {-signal.SIGKILL}
    with service.database() as database:
        kept = stored(database, store)
        assert set(kept.values()) == {len(LINES)}
        assert receipts(database, store) == kept.keys() >= set(orders)
        for earlier, number in itertools.product(range(1, moment), range(kills)):
            order_id = f"o-{earlier}-{number}"
            assert receive(database, store, order_id).duplicate == (order_id in kept)
        assert len(receipts(database, store)) == moment * kills
    return moment - 1


@pytest.mark.trust
def test_an_order_whose_writer_is_killed_at_any_moment_is_whole_or_absent(
    data_folder: Path, database_url: str | None
) -> None:
    service = Service(data_folder, database_url).prepare()

    moments = check_killed_orders(service, KILLS, receive)

    print(f"{moments} moments, {KILLS} kills at each")  # noqa: T201 - the figures
    assert moments * KILLS >= 1_200


def test_control_kills_leave_half_an_order_of_two_transactions(data_folder: Path) -> None:
    with pytest.raises(AssertionError):
        check_killed_orders(Service(data_folder).prepare(), 1, in_two_steps)


class FaultyDisk(apsw.VFS):
    """A disk on which the n-th change of a file fails, once or from then on."""

    NAME = "faulty"

    def __init__(self) -> None:
        self.at, self.seen, self.lasts = 0, 0, False
        self.base = apsw.vfs_names()[0]
        super().__init__(self.NAME, self.base, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        """Open a file whose changes are counted."""
        return FaultyFile(self, name, flags)

    def change(self, fault: type[apsw.Error]) -> None:
        """Fail if it is time."""
        self.seen += 1
        if self.at and (self.seen == self.at or (self.lasts and self.seen > self.at)):
            raise fault


class FaultyFile(apsw.VFSFile):
    """One file of the disk."""

    def __init__(self, disk: FaultyDisk, name: Any, flags: Any) -> None:
        self._disk = disk
        super().__init__(disk.base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        """Write, unless the disk is full."""
        self._disk.change(apsw.FullError)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        """Sync, unless the disk is dying."""
        self._disk.change(apsw.IOError)
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    faulty = FaultyDisk()
    yield faulty
    faulty.unregister()


def check_disk(
    disk: FaultyDisk, folder: Path, at: int, *, lasts: bool, lies: bool = False
) -> bool:
    """Fail one write under some orders; return whether any order was refused for it.

    Who `lies` acknowledges what was refused, too.
    """
    disk.at = 0
    database = Database.open(None, folder)
    store = new_store_id(database)
    disk.seen, disk.at, disk.lasts = 0, at, lasts
    acknowledged = []
    for number in range(6):
        try:
            receive(database, store, f"A-{number}")
        except StorageError:
            if not lies:
                continue
        acknowledged.append(f"A-{number}")
    disk.at = 0
    database.close()

    again = Database.open(None, folder)
    kept = stored(again, store)
    assert set(acknowledged) <= kept.keys(), f"lost at change {at}"
    assert set(kept.values()) <= {len(LINES)}, f"half an order at change {at}"
    assert receipts(again, store) == kept.keys()
    assert again.find_damage() is None
    receive(again, store, "after")  # writes go on, without a restart of the disk
    again.close()
    return len(acknowledged) < 6


def check_every_place(
    disk: FaultyDisk,
    migrated: Path,
    folder: Path,
    places: int,
    *,
    lasts: bool,
    lies: bool = False,
) -> int:
    """Return how many of the places had an order refused."""
    refused = 0
    for at in range(1, places + 1):
        data = shutil.copytree(migrated, folder / str(at))
        refused += check_disk(disk, data, at, lasts=lasts, lies=lies)
        shutil.rmtree(data)
    return refused


@pytest.mark.parametrize("places", [24, pytest.param(300, marks=pytest.mark.trust)])
@pytest.mark.parametrize("lasts", [False, True])
def test_a_disk_that_fails_at_any_write_makes_no_acknowledgement_false(
    disk: FaultyDisk,
    migrated_folder: Path,
    tmp_path: Path,
    places: int,
    lasts: bool,  # noqa: FBT001 - a parameter
) -> None:
    refused = check_every_place(disk, migrated_folder, tmp_path, places, lasts=lasts)

    assert refused >= min(places, 24) // 2  # the faults were met


def test_control_a_false_acknowledgement_is_seen(
    disk: FaultyDisk, migrated_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="lost at change"):
        check_every_place(disk, migrated_folder, tmp_path, 12, lasts=True, lies=True)
