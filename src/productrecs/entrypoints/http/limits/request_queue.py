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
"""For so long a turn answers queued calls."""
REJECT_SECONDS: Final = 0.002
"""For so long a turn refuses calls, as long as others are answered."""
MAX_WAIT_SECONDS: Final = 0.35
"""A call that would wait for longer is refused."""
_LISTS: Final = b"GET /v1/"
_FADES: Final = 7 / 8  # what a spell counts of how long calls take, after each later one


class QueuedConnection(Protocol):
    """A connection, as far as the queues are concerned."""

    waiting: list[bytes]
    """The pieces of what it sent that are not read yet."""

    @property
    def is_between_requests(self) -> bool:
        """Whether what comes next is the beginning of a request."""

    def read_waiting(self) -> None:
        """Read the first piece that waits, unless the client is gone."""

    def pause_client(self) -> None:
        """Let the client keep the rest of what it sends until its turn."""

    def cut(self) -> None:
        """End at once."""


class RequestQueue:
    """The calls for lists that wait in one process, by store."""

    def __init__(
        self,
        pressure: LoadShedder,
        store_of: Callable[[bytes], str],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with nobody; `pressure` knows the turns, `store_of` whom a call asks."""
        self._pressure = pressure
        self._store_of = store_of
        self._seconds = seconds
        self._queues: dict[str, deque[QueuedConnection]] = {}
        self._rotation: deque[str] = deque()  # the stores with a queue, the next one first
        self._count = 0  # in all queues
        self._refused: deque[QueuedConnection] = deque()  # who wait for their refusal
        self._is_at_work = False
        # Of the last spells, the older the less: seconds with all else between, and calls.
        self._seconds_taken, self._calls_taken = 0.0, 0.0
        self._since = 0.0  # the end of the last spell

    def __len__(self) -> int:
        """Return how many connections wait for an answer."""
        return self._count

    def hold_back(self, guest: QueuedConnection, data: bytes) -> bool:
        """Queue what came where it has to wait; return whether that was done."""
        if not self._is_at_work and self._seconds() < self._pressure.slow_turn_at:
            return False
        if guest.waiting:
            guest.waiting.append(data)
            guest.pause_client()
            return True
        if not (data.startswith(_LISTS) and guest.is_between_requests):
            return False
        guest.waiting.append(data)
        store = self._store_of(data)
        queue = self._queues.get(store)
        if queue is None:
            queue = self._queues[store] = deque()
            self._rotation.append(store)
        if self._is_over_fair_share(queue):
            self._refused.append(guest)
        else:
            queue.append(guest)
            self._count += 1
        if not self._is_at_work:
            self._is_at_work = True
            self._since = self._seconds()
            asyncio.get_running_loop().call_soon(self._serve_batch)
        return True

    def _is_over_fair_share(self, queue: deque[QueuedConnection]) -> bool:
        """Return whether all together wait too long, and a store's calls for that."""
        in_time = MAX_WAIT_SECONDS * self._calls_taken / max(self._seconds_taken, 1e-9)
        most = max(in_time, MIN_SERVED)
        return self._count > most and len(queue) * len(self._queues) > most

    def _serve_batch(self) -> None:
        """Take a spell's worth; the loop looks at all else before the next."""
        began = now = self._seconds()
        taken = 0
        while self._rotation and now - began < BATCH_SECONDS:
            store = self._rotation.popleft()
            queue = self._queues[store]
            if queue:
                guest = queue.popleft()
                self._count -= 1
                self._take(guest)
                if guest.waiting:
                    queue.append(guest)
                    self._count += 1
                taken += 1
            if queue:
                self._rotation.append(store)
            else:
                del self._queues[store]
            now = self._seconds()
        self._refuse(now + (REJECT_SECONDS if self._rotation else BATCH_SECONDS))
        now = self._seconds()
        # A process that had no processor meanwhile is not slow: that counts for so much.
        lasted = min(now - self._since, MAX_WAIT_SECONDS)
        self._seconds_taken = self._seconds_taken * _FADES + lasted
        self._calls_taken = self._calls_taken * _FADES + taken
        self._since = now
        self._is_at_work = bool(self._rotation or self._refused)
        if self._is_at_work:
            asyncio.get_running_loop().call_soon(self._serve_batch)

    def _refuse(self, until: float) -> None:
        """Refuse one call at least, and no more after `until`."""
        self._pressure.is_full = True
        try:
            while self._refused:
                guest = self._refused.popleft()
                self._take(guest)
                if guest.waiting:
                    self._refused.append(guest)
                if self._seconds() >= until:
                    return
        finally:
            self._pressure.is_full = False

    @staticmethod
    def _take(guest: QueuedConnection) -> None:
        try:
            guest.read_waiting()
        except Exception:
            _log.exception("a connection failed")
            guest.waiting.clear()
            guest.cut()
