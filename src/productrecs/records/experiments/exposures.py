"""Who met which arm? Noted in memory at once, stored later, lost rather than waited for."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.records.experiments.assignment import Arm

WAITING_LIMIT: Final = 20_000
REMEMBERED: Final = 100_000


@dataclass(frozen=True, slots=True)
class Exposure:
    """A shopper, met by one of their names, reached a list in one arm of a test."""

    store_id: StoreId
    identity: str
    test: str
    arm: Arm
    unit: str
    first_at: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What there is one row of: the first exposure counts."""
        return (self.store_id, self.identity, self.test, self.arm.value)


class Exposures:
    """What one process still has to store. Bounded; noting never waits and never fails.

    One name in one arm is noted once, as long as it is remembered; a repeat does no harm.
    """

    def __init__(self, limit: int = WAITING_LIMIT, remembered: int = REMEMBERED) -> None:
        """Let up to `limit` wait, and remember about `remembered` that were noted."""
        self._limit = limit
        self._generation = max(remembered // 2, 1)
        self._recent: set[tuple[str, str, str, str]] = set()
        self._older: set[tuple[str, str, str, str]] = set()
        self._waiting: list[Exposure] = []
        self._changing = threading.Lock()  # held to append or to swap, no longer
        self.lost = 0  # how many were not kept because too many waited

    @property
    def depth(self) -> int:
        """How many wait right now."""
        return len(self._waiting)

    def note(self, exposure: Exposure) -> None:
        """Keep an exposure to be stored; one without room is noted when it repeats."""
        key = exposure.key
        if key in self._recent or key in self._older:
            return
        with self._changing:
            if len(self._waiting) >= self._limit:
                self.lost += 1
                return
            self._waiting.append(exposure)
        if len(self._recent) >= self._generation:
            self._older, self._recent = self._recent, set()
        self._recent.add(key)

    def take(self, most: int) -> list[Exposure]:
        """Return up to `most` that wait, the oldest first; they wait no longer."""
        with self._changing:
            taken, self._waiting = self._waiting[:most], self._waiting[most:]
        return taken

    def put_back(self, taken: Iterable[Exposure]) -> None:
        """Let what could not be stored wait again, as far as there is room."""
        with self._changing:
            together = [*taken, *self._waiting]
            self._waiting = together[: self._limit]
        for exposure in together[self._limit :]:
            self.lost += 1
            self._recent.discard(exposure.key)
            self._older.discard(exposure.key)
