"""Load shedding: rejects list requests while the event loop cannot keep up.

A slow iteration of the event loop delays every request of the next one. If all iterations
were slow for half a second, the process is overloaded, and a longer queue would make every
reply late. Then each iteration answers lists for a limited time and rejects the rest with
503, first those of stores with more requests than average. Events, orders and items are
never rejected. Load shedding ends after an iteration without a rejection.

An iteration may also be late because another process used the CPU. So each iteration always
answers its first few lists.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from productrecs.core.errors import ProductRecsError

PROBE_SECONDS: Final = 0.05
SLOW_ITERATION_SECONDS: Final = 0.03
"""The probe delay from which an iteration is slow: list requests are queued."""
LAG_SECONDS: Final = 0.2
"""The probe delay from which the loop lags."""
OVERLOADED_AFTER_SECONDS: Final = 0.5
SERVE_SECONDS: Final = 0.15
"""How long an iteration answers lists of every store before it rejects."""
MEMORY_SECONDS: Final = 1.0
"""The time constant of the request counts: weight decays to 1/e."""
_MIN_COUNTED: Final = 0.05
MIN_SERVED: Final = 32
"""The lists that each iteration always answers: some milliseconds of work."""


class OverloadedError(ProductRecsError):
    """The process has more requests than it can answer in time; this one is rejected."""

    def __init__(self) -> None:
        """Use the fixed message."""
        super().__init__("too many requests at once; retry")


class LoadShedder:
    """The load of one process; a request checks `may_reject` first."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start without lag."""
        self.is_overloaded = False
        self.is_full = False  # the request queue is rejecting right now
        self.slow_iteration_at = math.inf
        self._seconds = seconds
        self._iteration_started = seconds()  # monotonic time
        self._lagging_since: float | None = None
        self._has_rejected = False  # in this iteration
        self._requests_in_iteration = 0
        self._requests: dict[str, float] = {}  # by store, decaying
        self._total_requests = 0.0

    async def measure_lag_periodically(self) -> None:
        """Measure the lag of the running loop until cancelled."""
        while True:
            due = self._seconds() + PROBE_SECONDS
            self.slow_iteration_at = due + SLOW_ITERATION_SECONDS
            await asyncio.sleep(PROBE_SECONDS)
            now = self._seconds()
            self.record_probe(now, now - due)

    def record_probe(self, now: float, lag_seconds: float) -> None:
        """Record a probe at `now`, `lag_seconds` seconds late; it starts an iteration."""
        is_healthy = lag_seconds < LAG_SECONDS and not self._has_rejected
        self._decay_request_counts(now - self._iteration_started)
        self._iteration_started = now
        self._has_rejected = False
        self._requests_in_iteration = 0
        if is_healthy:
            self._lagging_since = None
            self.is_overloaded = False
            return
        if self._lagging_since is None:
            self._lagging_since = now
        self.is_overloaded = now - self._lagging_since >= OVERLOADED_AFTER_SECONDS

    @property
    def may_reject(self) -> bool:
        """Whether a list request may have to be rejected."""
        return self.is_full or self.is_overloaded

    def count_and_decide_rejection(self, store_id: str) -> bool:
        """Return whether to reject a list request of a store; call if `may_reject`.

        A store with fewer requests than the average is answered.
        """
        if self.is_full:
            return True
        requests = self._requests[store_id] = self._requests.get(store_id, 0.0) + 1.0
        self._total_requests += 1.0
        self._requests_in_iteration += 1
        is_modest = requests * len(self._requests) < self._total_requests
        is_young = self._seconds() - self._iteration_started < SERVE_SECONDS
        if is_young or self._requests_in_iteration <= MIN_SERVED or is_modest:
            return False
        self._has_rejected = True
        return True

    def _decay_request_counts(self, seconds: float) -> None:
        """Weight older requests less, and drop the oldest."""
        decay = math.exp(-max(seconds, 0.0) / MEMORY_SECONDS)
        decayed = {store: requests * decay for store, requests in self._requests.items()}
        self._requests = {
            store: requests
            for store, requests in decayed.items()
            if requests >= _MIN_COUNTED
        }
        self._total_requests = sum(self._requests.values())


_log = logging.getLogger(__name__)

BATCH_SECONDS: Final = 0.008
"""How long one iteration of the loop answers queued requests."""
REJECT_SECONDS: Final = 0.0005
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

    def parse_first_waiting_chunk(self) -> None:
        """Parse the first waiting chunk, unless the client is gone."""

    def pause_client(self) -> None:
        """Stop reading from the client until its turn."""

    def cut(self) -> None:
        """Close at once."""


class ListRequestQueue:
    """The list requests that wait in one process, by store."""

    def __init__(
        self,
        load_shedder: LoadShedder,
        store_id_of_unparsed_request: Callable[[bytes], str],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start empty."""
        self._load_shedder = load_shedder
        self._store_id_of_unparsed_request = store_id_of_unparsed_request
        self._seconds = seconds
        self._queues: dict[str, deque[QueuedConnection]] = {}
        self._rotation: deque[str] = deque()  # stores with a queue
        self._count = 0  # in all queues
        self._rejected: deque[QueuedConnection] = (
            deque()
        )  # connections that wait for their rejection
        self._is_running = False
        # Decaying sums over the last batches: seconds, pauses included, and requests.
        self._recent_seconds, self._recent_calls = 0.0, 0.0
        self._batch_ended_at = 0.0  # monotonic time

    def __len__(self) -> int:
        """Return how many connections wait for a reply."""
        return self._count

    def queue_if_busy(self, connection: QueuedConnection, data: bytes) -> bool:
        """Queue received data if it has to wait; return whether it was queued."""
        if not self._is_running and self._seconds() < self._load_shedder.slow_iteration_at:
            return False
        if connection.waiting:
            connection.waiting.append(data)
            connection.pause_client()
            return True
        if not (data.startswith(_LIST_REQUEST) and connection.is_between_requests):
            return False
        connection.waiting.append(data)
        store = self._store_id_of_unparsed_request(data)
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
        """Return whether the queue is too long and the store is over its fair share."""
        in_time = MAX_WAIT_SECONDS * self._recent_calls / max(self._recent_seconds, 1e-9)
        max_queued = max(in_time, MIN_SERVED)
        return self._count > max_queued and len(queue) * len(self._queues) > max_queued

    def _serve_batch(self) -> None:
        """Answer one batch; the loop handles everything else before the next."""
        began = now = self._seconds()
        answered_count = 0
        while self._rotation and now - began < BATCH_SECONDS:
            store = self._rotation.popleft()
            queue = self._queues[store]
            if queue:
                connection = queue.popleft()
                self._count -= 1
                self._parse_first_chunk_or_cut(connection)
                if connection.waiting:
                    queue.append(connection)
                    self._count += 1
                answered_count += 1
            if queue:
                self._rotation.append(store)
            else:
                del self._queues[store]
            now = self._seconds()
        self._reject_some(now + (REJECT_SECONDS if self._rotation else BATCH_SECONDS))
        now = self._seconds()
        # Another process may have used the CPU: cap the duration that counts.
        duration = min(now - self._batch_ended_at, MAX_WAIT_SECONDS)
        self._recent_seconds = self._recent_seconds * _DECAY + duration
        self._recent_calls = self._recent_calls * _DECAY + answered_count
        self._batch_ended_at = now
        self._is_running = bool(self._rotation or self._rejected)
        if self._is_running:
            asyncio.get_running_loop().call_soon(self._serve_batch)

    def _reject_some(self, until: float) -> None:
        """Reject at least one request, and none after `until`."""
        self._load_shedder.is_full = True
        try:
            while self._rejected:
                connection = self._rejected.popleft()
                self._parse_first_chunk_or_cut(connection)
                if connection.waiting:
                    self._rejected.append(connection)
                if self._seconds() >= until:
                    return
        finally:
            self._load_shedder.is_full = False

    @staticmethod
    def _parse_first_chunk_or_cut(connection: QueuedConnection) -> None:
        try:
            connection.parse_first_waiting_chunk()
        except Exception:
            _log.exception("connection failed")
            connection.waiting.clear()
            connection.cut()
