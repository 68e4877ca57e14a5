"""Request queue: list requests wait, by store, while the event loop is busy.

The event loop answers whoever has sent something, one after the other, and only then polls
for more. Beside a thousand list requests, an event that goes to the writer process and
back would wait for all of them three times. So once an iteration of the loop is slow, list
requests are queued unparsed, and each iteration answers one batch of them. Everything else
passes the queue.

Each store has its own queue, and the queues are served in rotation (round robin), so a
store with many requests delays only itself. All queues together hold what can be answered
in time. Beyond that, requests of a store over its fair share are rejected, but not at once:
while a request waits, its client sends nothing more on that connection, and a rejection
would only bring the next request. Rejecting takes a small part of each iteration.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from productrecs.entrypoints.http.limits.load_shedding import MIN_SERVED, LoadShedder

_log = logging.getLogger(__name__)

BATCH_SECONDS: Final = 0.03
"""How long one iteration of the loop answers queued requests."""
REJECT_SECONDS: Final = 0.002
"""How long one iteration rejects requests while others are answered."""
MAX_WAIT_SECONDS: Final = 0.35
"""A request that would wait longer is rejected."""
_LIST_REQUEST: Final = b"GET /v1/"
_DECAY: Final = 7 / 8  # weight of a batch in the average, after each later batch


class QueuedConnection(Protocol):
    """A connection, as the queue sees it."""

    waiting: list[bytes]
    """The received chunks that are not parsed yet."""

    @property
    def is_between_requests(self) -> bool:
        """Whether the next byte starts a request."""

    def read_waiting(self) -> None:
        """Parse the first waiting chunk, unless the client is gone."""

    def pause_client(self) -> None:
        """Stop reading from the client until its turn."""

    def cut(self) -> None:
        """Close at once."""


class RequestQueue:
    """The list requests that wait in one process, by store."""

    def __init__(
        self,
        pressure: LoadShedder,
        store_of: Callable[[bytes], str],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start empty; `store_of` returns the store of an unparsed request."""
        self._pressure = pressure
        self._store_of = store_of
        self._seconds = seconds
        self._queues: dict[str, deque[QueuedConnection]] = {}
        self._rotation: deque[str] = deque()  # stores with a queue
        self._count = 0  # in all queues
        self._rejected: deque[QueuedConnection] = (
            deque()
        )  # those that wait for their rejection
        self._is_running = False
        # Decaying sums over the last batches: seconds with the time between, and requests.
        self._seconds_taken, self._calls_taken = 0.0, 0.0
        self._batch_ended_at = 0.0  # monotonic time

    def __len__(self) -> int:
        """Return how many connections wait for a reply."""
        return self._count

    def hold_back(self, connection: QueuedConnection, data: bytes) -> bool:
        """Queue received data if it has to wait; return whether it was queued."""
        if not self._is_running and self._seconds() < self._pressure.slow_turn_at:
            return False
        if connection.waiting:
            connection.waiting.append(data)
            connection.pause_client()
            return True
        if not (data.startswith(_LIST_REQUEST) and connection.is_between_requests):
            return False
        connection.waiting.append(data)
        store = self._store_of(data)
        queue = self._queues.get(store)
        if queue is None:
            queue = self._queues[store] = deque()
            self._rotation.append(store)
        if self._is_over_fair_share(queue):
            self._rejected.append(connection)
        else:
            queue.append(connection)
            self._count += 1
        if not self._is_running:
            self._is_running = True
            self._batch_ended_at = self._seconds()
            asyncio.get_running_loop().call_soon(self._serve_batch)
        return True

    def _is_over_fair_share(self, queue: deque[QueuedConnection]) -> bool:
        """Return whether all wait too long, and the store has more than its fair share."""
        in_time = MAX_WAIT_SECONDS * self._calls_taken / max(self._seconds_taken, 1e-9)
        most = max(in_time, MIN_SERVED)
        return self._count > most and len(queue) * len(self._queues) > most

    def _serve_batch(self) -> None:
        """Answer one batch; the loop handles everything else before the next."""
        began = now = self._seconds()
        taken = 0
        while self._rotation and now - began < BATCH_SECONDS:
            store = self._rotation.popleft()
            queue = self._queues[store]
            if queue:
                connection = queue.popleft()
                self._count -= 1
                self._read_waiting(connection)
                if connection.waiting:
                    queue.append(connection)
                    self._count += 1
                taken += 1
            if queue:
                self._rotation.append(store)
            else:
                del self._queues[store]
            now = self._seconds()
        self._reject_some(now + (REJECT_SECONDS if self._rotation else BATCH_SECONDS))
        now = self._seconds()
        # Without a CPU meanwhile the process is not slow: cap what that counts for.
        lasted = min(now - self._batch_ended_at, MAX_WAIT_SECONDS)
        self._seconds_taken = self._seconds_taken * _DECAY + lasted
        self._calls_taken = self._calls_taken * _DECAY + taken
        self._batch_ended_at = now
        self._is_running = bool(self._rotation or self._rejected)
        if self._is_running:
            asyncio.get_running_loop().call_soon(self._serve_batch)

    def _reject_some(self, until: float) -> None:
        """Reject at least one request, and none after `until`."""
        self._pressure.is_full = True
        try:
            while self._rejected:
                connection = self._rejected.popleft()
                self._read_waiting(connection)
                if connection.waiting:
                    self._rejected.append(connection)
                if self._seconds() >= until:
                    return
        finally:
            self._pressure.is_full = False

    @staticmethod
    def _read_waiting(connection: QueuedConnection) -> None:
        try:
            connection.read_waiting()
        except Exception:
            _log.exception("connection failed")
            connection.waiting.clear()
            connection.cut()
