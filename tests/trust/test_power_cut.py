"""Power cut: no acknowledged order is lost or torn.

SQLite writes through a disk that remembers what was not synced. The power goes at some
write: of what was not synced since, sector by sector, chance decides what had reached the
disk. What is left is opened as a start after the cut does, and compared with what was
acknowledged.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import apsw
import pytest
import sqlalchemy as sa

from productrecs.core.errors import StorageError
from productrecs.records.orders.ingest_events_and_orders import ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.sqlite_dialect import SqliteDialect
from tests.records.orders.import_support import new_store_id
from tests.trust.history import History, Operation, Outcome
from tests.trust.load import receipts, stored

SECTOR: Final = 512
LINES: Final = ("tent", "stove", "tent")
ORDERS: Final = 25
NOON: Final = 1_772_366_400_000


class Disk(apsw.VFS):
    """The default disk, but that it can lose what was not synced; `cut` tells when."""

    def __init__(self) -> None:
        self.writes = 0
        self.cut_at = 0  # 0: never
        self.on_cut: Callable[[], None] = lambda: None
        self.unsynced: dict[str, list[tuple[int, bytes, int]]] = {}
        super().__init__("loses-power", "unix", makedefault=True)

    def xOpen(  # noqa: N802 - apsw's name
        self, name: apsw.URIFilename | str | None, flags: list[int]
    ) -> apsw.VFSFile:
        """Open a file that notes what is written to it."""
        return _File(self, name, flags)

    def note(self, path: str, offset: int, before: bytes, size: int) -> None:
        """Remember what stood where something is to be written; the power may go now."""
        self.unsynced.setdefault(path, []).append((offset, before, size))
        self.writes += 1
        if self.writes == self.cut_at:
            self.on_cut()
        if self.cut_at and self.writes >= self.cut_at:
            raise apsw.IOError

    def after_the_cut(self, folder: Path, elsewhere: Path, chance: random.Random) -> None:
        """Copy what is on the disk, with what was not synced there or not by chance."""
        shutil.copytree(folder, elsewhere)
        (elsewhere / "productrecs.db-shm").unlink(missing_ok=True)
        for path, writes in self.unsynced.items():
            copy = elsewhere / path.rsplit("/", 1)[1]
            if not copy.exists():
                continue
            content = bytearray(copy.read_bytes())
            size = len(content)
            for offset, before, length in reversed(writes):
                for start in range(0, len(before), SECTOR):
                    if chance.random() < 0.5:
                        part = before[start : start + SECTOR]
                        content[offset + start : offset + start + len(part)] = part
                size = length if chance.random() < 0.5 else size
            copy.write_bytes(content[:size])


class _File(apsw.VFSFile):
    def __init__(
        self, disk: Disk, name: apsw.URIFilename | str | None, flags: list[int]
    ) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's name
        """Note what stands there, then write."""
        size = self.xFileSize()
        there = min(len(data), max(size - offset, 0))
        before = self.xRead(there, offset) if there else b""
        self._disk.note(self._path, offset, before.ljust(len(data), b"\0"), size)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        """What was written is safe from now on."""
        super().xSync(flags)
        self._disk.unsynced.pop(self._path, None)


@pytest.fixture
def disk() -> Iterator[Disk]:
    """Give a disk that every SQLite of this process writes to meanwhile."""
    disk = Disk()
    yield disk
    disk.unregister()


def verdict_of(folder: Path, disk: Disk, seed: int, tmp_path: Path) -> tuple[bool, str]:
    """Take orders until the power goes; return (is clean, what is wrong)."""
    chance = random.Random(seed)  # noqa: S311 - when it strikes, not a key
    data, left = tmp_path / f"data-{seed}", tmp_path / f"left-{seed}"
    shutil.copytree(folder, data)
    disk.writes, disk.cut_at, disk.unsynced = 0, 0, {}
    database = Database.open(None, data)
    store = new_store_id(database)
    history = History()
    disk.cut_at = disk.writes + chance.randrange(20, 200)
    disk.on_cut = lambda: disk.after_the_cut(data, left, chance)
    for number in range(ORDERS):
        key = f"o-{number}"
        outcome = _sent(database, store, key)
        history.note([Operation(key, outcome, len(LINES))])
        if outcome is not Outcome.OK:
            break
    if not left.exists():
        disk.after_the_cut(data, left, chance)
    disk.cut_at = 0
    database.close()

    survivor = Database.open(None, left)
    try:
        with survivor.reading() as connection:
            whole = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
        rows = stored(survivor, store)
        verdict = history.judge(rows)
        is_clean = (
            whole == "ok" and verdict.is_clean and receipts(survivor, store) == set(rows)
        )
    except StorageError as error:
        return False, repr(error)
    finally:
        survivor.close()
        shutil.rmtree(data)
        shutil.rmtree(left)
    return is_clean, f"{whole}; {verdict}"


def _sent(database: Database, store: str, key: str) -> Outcome:
    order = NewOrder(key, tuple(NewOrderLine(item) for item in LINES))
    try:
        with database.transaction() as transaction:
            ingest_order(StoreLogTransaction(database, transaction, store), order, NOON)  # type: ignore[arg-type]  # a store's id
    except StorageError:
        return Outcome.INFO
    return Outcome.OK


@pytest.mark.parametrize(
    "seeds",
    [
        range(20),
        *(
            pytest.param(range(start, start + 500), marks=pytest.mark.trust)
            for start in range(20, 3_020, 500)
        ),
    ],
    ids=lambda seeds: f"from-{seeds.start}",
)
def test_a_power_cut_at_any_write_takes_no_acknowledged_order_and_leaves_no_half(
    migrated_folder: Path, disk: Disk, tmp_path: Path, seeds: range
) -> None:
    for seed in seeds:
        is_clean, what = verdict_of(migrated_folder, disk, seed, tmp_path)
        assert is_clean, f"seed {seed}: {what}"


def test_control_commits_that_do_not_wait_for_the_disk_lose_orders(
    migrated_folder: Path, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(_self: SqliteDialect, connection: sa.Connection, *, synced: bool) -> None:  # noqa: ARG001 - it does not care
        connection.exec_driver_sql("PRAGMA synchronous = NORMAL")
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    monkeypatch.setattr(SqliteDialect, "begin_write", careless)

    verdicts = [verdict_of(migrated_folder, disk, seed, tmp_path) for seed in range(8)]

    assert sum(not is_clean for is_clean, _ in verdicts) > len(verdicts) / 2, verdicts
