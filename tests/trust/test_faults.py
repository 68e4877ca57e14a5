"""Fault injection: an order is whole or absent, and durable once acknowledged.

A statement is broken off at each place of an order's transaction in turn; and each write of
the database's file fails in turn, as a full or a dying disk lets it.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from productrecs.core.errors import StorageError
from productrecs.records.orders.ingest_events_and_orders import OrderReceipt, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.orders.repository import PurchaseRepository
from productrecs.storage import apsw_dbapi
from productrecs.storage.database import Database
from productrecs.storage.sequence_and_item_numbers import StoreLog
from productrecs.storage.tables import metadata
from tests.records.orders.import_support import new_store
from tests.trust.load import receipts, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from productrecs.core.ids import StoreId

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
LINES = ("tent", "stove", "tent")
FEWEST_PLACES = 8


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
        return ingest_order(StoreLog(database, transaction, store), order, NOON)


def in_two_steps(database: Database, store: StoreId, order_id: str) -> OrderReceipt:
    """Receive an order the wrong way: its receipt is in a transaction of its own."""
    with database.transaction() as transaction:
        PurchaseRepository(transaction, store).admit(order_id, NOON)
    return receive(database, store, order_id)


def contents(database: Database) -> dict[str, list[Any]]:
    with database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(table.select())), key=repr)
            for table in metadata.sorted_tables
        }


def traces(
    trap: Trap, folder: Path, write: Callable[[Database, StoreId, str], OrderReceipt]
) -> tuple[int, list[int]]:
    """Return at how many places an order was broken off, and at which it left traces."""
    database = Database.open(None, folder)
    store = new_store(database)
    receive(database, store, "before")
    untouched, left = contents(database), []
    for place in range(1, 200):
        trap.seen, trap.at = 0, place
        try:
            told = write(database, store, "A-1")
        except StorageError:
            trap.at = 0
            if contents(database) != untouched:
                left.append(place)
            continue
        trap.at = 0
        if not left:
            assert not told.duplicate
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
    store = new_store(database)
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
