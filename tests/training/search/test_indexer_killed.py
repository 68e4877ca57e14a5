"""Killed indexer: the index loses and doubles nothing."""

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.search_index import IndexQuery
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.training.search.served_index import ServedIndex, index_folder
from tests.support.stores import new_store

ROOT = Path(__file__).parents[3]
STEP, KILLS = 1_100, 3
VISIBLE = np.ones(STEP * (KILLS + 1), dtype=np.bool_)
WRITER = """
import sys, time
from pathlib import Path
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.search.indexer import Indexer
database = Database.open(None, Path(sys.argv[1]))
indexer = Indexer(Path(sys.argv[2]), AccountDirectory(database))
reader = database.raw_reader()
while True:
    indexer.run_next_batches(reader) or time.sleep(0.01)
"""


def until(condition: Callable[[], bool]) -> None:
    """Return when `condition` holds; a machine that stands still is waited for."""
    for _ in range(6_000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never came")


class KilledIndexerBench:
    """One store, its index, and a process that reads it."""

    def __init__(self, folder: Path) -> None:
        """Open an empty store."""
        self.data, self.root = folder / "data", folder / "search"
        self.data.mkdir()
        self.database = Database.open(None, self.data)
        migrate(self.database)
        self.store = new_store(self.database, "a.example")
        self.folder = index_folder(self.root, self.store.store_id)
        self.served = ServedIndex(self.folder)

    def push(self, turn: int) -> None:
        """Push a step's products."""
        patches = [
            ItemPatch(f"i{n}", {"title": f"Blue lantern turn{turn}x number{n}x"})
            for n in range(turn * STEP, (turn + 1) * STEP)
        ]
        with self.database.transaction() as transaction:
            upsert_items(
                StoreLogTransaction(self.database, transaction, self.store.store_id),
                patches,
                1,
            )

    def search(self, word: str) -> list[int]:
        """Return what is found now; nothing may be there twice."""
        self.served.refresh()
        hits = self.served.find(
            IndexQuery(
                self.served.analyse(word), len(VISIBLE), VISIBLE, with_feedback=False
            )
        ).items
        assert len(hits) == len(set(hits)), "a product is there twice"
        return hits

    def written(self) -> int:
        """Return how much is written."""
        size = 0
        for one in self.root.glob("*/index-*/*/*.*"):
            with contextlib.suppress(FileNotFoundError):
                size += one.stat().st_size
        return size

    def write(self, end: Callable[[], object]) -> None:
        """Let a process write; kill it at the `end`."""
        command = [sys.executable, "-c", WRITER, str(self.data), str(self.root)]
        with subprocess.Popen(command, cwd=ROOT) as writer:
            try:
                end()
            finally:
                writer.send_signal(signal.SIGKILL)


def test_a_writer_killed_while_it_writes_loses_and_doubles_nothing(tmp_path: Path) -> None:
    rng = random.Random(9)  # noqa: S311 - a test's dice
    bench = KilledIndexerBench(tmp_path)

    def soon() -> None:
        size = bench.written()
        until(lambda: bench.written() != size)
        time.sleep(rng.uniform(0.0, 0.15))

    before: set[int] = set()
    for turn in range(KILLS):
        bench.push(turn)
        bench.write(soon)
        now = set(bench.search("lantern "))
        assert before <= now, "what was found is lost"
        before = now
    bench.push(KILLS)
    bench.write(lambda: until(lambda: len(bench.search("lantern ")) == len(VISIBLE)))

    seal = bench.folder.serving_manifest()
    assert seal is not None
    bench.folder.verify_checksums(seal)
    for n in (0, STEP - 1, STEP, 2 * STEP + 7, len(VISIBLE) - 1):
        assert bench.search(f"number{n}x") == [n]
    bench.database.close()
