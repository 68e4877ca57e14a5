"""Write lock: how long a write waits beside a continuous import."""

import threading
import time
from collections.abc import Iterator

import pytest

from productrecs.storage.sql.database import Database

HELD, GAP = 0.02, 0.0025  # seconds: a chunk of an import, and the parsing of the next


@pytest.fixture
def importing(sqlite_database: Database) -> Iterator[None]:
    """Hold the write lock nearly always, as an import does, from another connection."""
    stop = threading.Event()
    importer = Database(sqlite_database.dialect)

    def run() -> None:
        while not stop.is_set():
            with importer.transaction():
                time.sleep(HELD)
            time.sleep(GAP)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    stop.set()
    thread.join()
    importer.close()


@pytest.mark.usefixtures("importing")
def test_an_event_is_written_between_two_chunks_of_an_import(
    sqlite_database: Database,
) -> None:
    waits = []
    for _ in range(40):
        began = time.monotonic()
        with sqlite_database.transaction():
            waits.append(time.monotonic() - began)
        time.sleep(0.005)

    # It is 0.018; with SQLite's own waiting, which sleeps up to 100 ms, it is 0.24.
    assert sum(waits) / len(waits) < 0.08
