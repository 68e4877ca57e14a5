"""Server clock: the time of the database server, which all machines share.

Clocks of machines differ by seconds. Leases of jobs, times of facts, sessions and
deduplication windows are compared across machines, so every process corrects its own clock
by the measured difference to the server's. With SQLite, which one machine uses, the
machine's own clock is the shared clock.
"""

import contextlib
import logging
import threading
from typing import Final

from productrecs.core.clock import Clock, system_ms
from productrecs.core.errors import StorageError
from productrecs.storage.sql.database import Database

_log = logging.getLogger(__name__)

MEASURE_SECONDS: Final = 30.0
NOTABLE_MS: Final = 1_000
"""A difference that is logged: the machine's clock is not synchronised."""


class ServerClock:
    """The machine's clock, corrected to the database server's. Threads can share it."""

    def __init__(self, database: Database, clock: Clock = system_ms) -> None:
        """Use the machine's `clock` until the first measurement."""
        self._database = database
        self._clock = clock
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.offset_ms = 0
        """How far the server's clock is ahead of the machine's."""

    def __call__(self) -> int:
        """Return the server's time in UTC milliseconds."""
        return self._clock() + self.offset_ms

    def start(self) -> None:
        """Measure now and every 30 seconds; nothing to do if the database has no server."""
        if self._database.dialect.server_time is None:
            return
        with contextlib.suppress(StorageError):  # not reachable yet: measured in a moment
            self.measure_offset()
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop measuring."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=1)

    def measure_offset(self) -> None:
        """Measure the difference to the server's clock.

        Raises:
            StorageError: one of its kinds, when the database cannot be read.
        """
        query = self._database.dialect.server_time
        if query is None:
            return
        with self._database.reading() as connection:
            before = self._clock()
            server = int(connection.exec_driver_sql(query).scalar_one())
            after = self._clock()
        offset = server - (before + after) // 2
        # A difference below the time of the round trip may be the network's.
        offset = 0 if abs(offset) <= after - before + 1 else offset
        if abs(offset - self.offset_ms) > NOTABLE_MS:
            _log.warning("clock corrected", extra={"ahead_ms": -offset})
        self.offset_ms = offset

    def _run(self) -> None:
        while not self._stopping.wait(MEASURE_SECONDS):
            with contextlib.suppress(StorageError):  # reported by whoever needs the rows
                self.measure_offset()
