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
"""A turn that a look has waited for so long is old: calls for lists stand in line."""
LAG_SECONDS: Final = 0.2
"""A look that comes so much too late is late."""
OVERLOADED_AFTER_SECONDS: Final = 0.5
SERVE_SECONDS: Final = 0.15
"""For so long a turn gives lists to whoever asks; refusing the rest takes far less."""
MEMORY_SECONDS: Final = 1.0
"""What was asked so long ago counts for 1/e of a call."""
_LEAST: Final = 0.05
MIN_SERVED: Final = 32
"""So many lists of a turn are given, however late it is: some milliseconds of work."""


class OverloadedError(ProductRecsError):
    """More was asked than can be answered in time; this call is let go."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("too many requests at once; send this one again")


class LoadShedder:
    """How late one process is; `may_reject` is all that a request looks at."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Begin on time."""
        self.is_overloaded = False
        self.is_full = False  # too many calls wait before the one that is read just now
        self.slow_turn_at = math.inf
        self._seconds = seconds
        self._began = seconds()  # the turn
        self._late_since: float | None = None
        self._has_refused = False  # in this turn
        self._asked_in_turn = 0
        self._asked: dict[str, float] = {}  # by store, while behind, the older the less
        self._asked_by_all = 0.0

    async def watch(self) -> None:
        """Look at the running loop's lateness for ever."""
        while True:
            due = self._seconds() + PROBE_SECONDS
            self.slow_turn_at = due + SLOW_TURN_SECONDS
            await asyncio.sleep(PROBE_SECONDS)
            now = self._seconds()
            self.note(now, now - due)

    def note(self, now: float, late: float) -> None:
        """Note that a look at `now`, which begins a turn, came `late` seconds late."""
        was_enough = late < LAG_SECONDS and not self._has_refused
        self._fade(now - self._began)
        self._began = now
        self._has_refused = False
        self._asked_in_turn = 0
        if was_enough:
            self._late_since = None
            self.is_overloaded = False
            return
        if self._late_since is None:
            self._late_since = now
        self.is_overloaded = now - self._late_since >= OVERLOADED_AFTER_SECONDS

    @property
    def may_reject(self) -> bool:
        """Whether a call for a list may have to be let go."""
        return self.is_full or self.is_overloaded

    def should_reject(self, store_id: str) -> bool:
        """Return whether this call for a list of a store is refused; ask while pressed.

        A store that asks for less than the average of all is answered.
        """
        if self.is_full:
            return True
        asked = self._asked[store_id] = self._asked.get(store_id, 0.0) + 1.0
        self._asked_by_all += 1.0
        self._asked_in_turn += 1
        is_modest = asked * len(self._asked) < self._asked_by_all
        is_young = self._seconds() - self._began < SERVE_SECONDS
        if is_young or self._asked_in_turn <= MIN_SERVED or is_modest:
            return False
        self._has_refused = True
        return True

    def _fade(self, seconds: float) -> None:
        """Let what was asked so long ago count for less, and at last for nothing."""
        left = math.exp(-max(seconds, 0.0) / MEMORY_SECONDS)
        faded = {store: asked * left for store, asked in self._asked.items()}
        self._asked = {store: asked for store, asked in faded.items() if asked >= _LEAST}
        self._asked_by_all = sum(self._asked.values())
