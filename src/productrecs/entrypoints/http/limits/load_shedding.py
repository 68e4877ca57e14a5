"""Load shedding: rejects list requests while the event loop cannot keep up.

An iteration of the event loop that takes long delays every request of the next one. When
no iteration was quick for half a second, more arrives than can be answered, and queueing
more would make all of it late. Then an iteration answers lists for a limited time and
rejects the rest (503), first those of stores with more requests than average. Events,
orders and items are never rejected. After an iteration without a rejection everybody is
answered again.

An iteration may also be late because another process had the CPU. So the first few lists
of each iteration are always answered: they are not the cause.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

from productrecs.core.errors import ProductRecsError

PROBE_SECONDS: Final = 0.05
SLOW_TURN_SECONDS: Final = 0.03
"""A turn that delayed the probe for so long is slow: list requests are queued."""
LAG_SECONDS: Final = 0.2
"""A probe that is later than this counts as lag."""
OVERLOADED_AFTER_SECONDS: Final = 0.5
SERVE_SECONDS: Final = 0.15
"""How long a turn answers lists for everybody; rejecting the rest takes far less."""
MEMORY_SECONDS: Final = 1.0
"""A request so long ago counts for 1/e of a request."""
_MIN_COUNTED: Final = 0.05
MIN_SERVED: Final = 32
"""Lists that each turn answers in any case: some milliseconds of work."""


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
        self.slow_turn_at = math.inf
        self._seconds = seconds
        self._turn_began = seconds()  # monotonic time
        self._lagging_since: float | None = None
        self._has_rejected = False  # in this turn
        self._requests_in_turn = 0
        self._requests: dict[str, float] = {}  # by store, decaying
        self._requests_of_all = 0.0

    async def watch(self) -> None:
        """Measure the lag of the running loop, for ever."""
        while True:
            due = self._seconds() + PROBE_SECONDS
            self.slow_turn_at = due + SLOW_TURN_SECONDS
            await asyncio.sleep(PROBE_SECONDS)
            now = self._seconds()
            self.note(now, now - due)

    def note(self, now: float, late: float) -> None:
        """Note that a probe at `now`, which starts a turn, was `late` seconds late."""
        was_enough = late < LAG_SECONDS and not self._has_rejected
        self._decay(now - self._turn_began)
        self._turn_began = now
        self._has_rejected = False
        self._requests_in_turn = 0
        if was_enough:
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

    def should_reject(self, store_id: str) -> bool:
        """Return whether to reject a list request of a store; call if `may_reject`.

        A store with fewer requests than the average is answered.
        """
        if self.is_full:
            return True
        requests = self._requests[store_id] = self._requests.get(store_id, 0.0) + 1.0
        self._requests_of_all += 1.0
        self._requests_in_turn += 1
        is_modest = requests * len(self._requests) < self._requests_of_all
        is_young = self._seconds() - self._turn_began < SERVE_SECONDS
        if is_young or self._requests_in_turn <= MIN_SERVED or is_modest:
            return False
        self._has_rejected = True
        return True

    def _decay(self, seconds: float) -> None:
        """Weight older requests less, and drop the oldest."""
        left = math.exp(-max(seconds, 0.0) / MEMORY_SECONDS)
        faded = {store: requests * left for store, requests in self._requests.items()}
        self._requests = {
            store: requests for store, requests in faded.items() if requests >= _MIN_COUNTED
        }
        self._requests_of_all = sum(self._requests.values())
