"""What does a durable event cost at least?

A bare ASGI application: decode, hand to one writer thread, answer when that thread has
committed the group it was in to SQLite with `synchronous=FULL`. No rules, no indexes but
the row number. Run as `python -m benchmarks.speed.floor_events FOLDER PORT WORKERS`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import apsw
import msgspec
import uvicorn

from benchmarks.speed.floor_app import ACCEPTED, HEADERS, Event

FOLDER = "PRODUCTRECS_FLOOR_FOLDER"
SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    at INTEGER, event TEXT, item TEXT, shopper TEXT, session TEXT
)
"""
INSERT = """
INSERT INTO events
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
FROM json_each(?)
"""


class GroupCommit:
    """One thread that writes whatever has gathered, whole lists at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._gathered: list[tuple[tuple[Any, ...], asyncio.Future[None]]] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self.running = True
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def keep(self, row: tuple[Any, ...]) -> asyncio.Future[None]:
        """Return a future that is done once the row is on disk."""
        done = self._loop.create_future()
        with self._lock:
            self._gathered.append((row, done))
        self._wake.set()
        return done

    def stop(self) -> None:
        """Write what is left and end the thread."""
        self.running = False
        self._wake.set()
        self.thread.join()

    def _write(self) -> None:
        connection = apsw.Connection(str(self._path))
        connection.set_busy_timeout(5_000)
        connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
        connection.execute(SCHEMA)
        while self.running or self._gathered:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                batch, self._gathered = self._gathered, []
            if batch:
                with_begin(connection, json.dumps([row for row, _ in batch]))
                self._loop.call_soon_threadsafe(settle, [done for _, done in batch])
        connection.close()


def with_begin(connection: apsw.Connection, rows: str) -> None:
    """Write one group in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(INSERT, (rows,))
    connection.execute("COMMIT")


def settle(futures: list[asyncio.Future[None]]) -> None:
    """Tell everyone who waits."""
    for future in futures:
        if not future.done():
            future.set_result(None)


commits: GroupCommit | None = None


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Keep an event."""
    global commits  # noqa: PLW0603 - one per process, as uvicorn's workers start
    if scope["type"] == "http":
        assert commits is not None
        message = await receive()
        told = msgspec.json.decode(message["body"], type=Event)
        await commits.keep(
            (
                time.time_ns() // 1_000_000,
                told.event,
                told.item_id,
                told.user_id,
                told.session_id,
            )
        )
        headers = [*HEADERS, (b"content-length", b"%d" % len(ACCEPTED))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": ACCEPTED})
        return
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            commits = GroupCommit(Path(os.environ[FOLDER]) / "floor.sqlite")
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            assert commits is not None
            commits.stop()
            await send({"type": "lifespan.shutdown.complete"})
            return


def main(folder: str, port: str, workers: str = "2") -> None:
    """Serve until told to stop."""
    os.environ[FOLDER] = folder
    uvicorn.run(
        "benchmarks.speed.floor_events:app",
        host="127.0.0.1",
        port=int(port),
        workers=int(workers),
        loop="uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
