"""Write-behind buffer: records kept in memory until they are stored."""

import threading
from collections.abc import Hashable, Iterable
from typing import Final, Generic, Protocol, TypeVar

WAITING_LIMIT: Final = 20_000
REMEMBERED: Final = 100_000


class HasKey(Protocol):
    """A record of which only the first of each key counts."""

    @property
    def key(self) -> Hashable:
        """What there is one row of."""


T = TypeVar("T", bound=HasKey)


class WriteBehindBuffer(Generic[T]):
    """Records that one process still has to store. Bounded; adding never waits or fails.

    One of each key is noted once, as long as it is remembered; a repeat does no harm.
    """

    def __init__(self, limit: int = WAITING_LIMIT, remembered: int = REMEMBERED) -> None:
        """Let up to `limit` wait, and remember about `remembered` that were noted."""
        self._limit = limit
        self._generation = max(remembered // 2, 1)
        self._recent: set[Hashable] = set()
        self._older: set[Hashable] = set()
        self._waiting: list[T] = []
        self._changing = threading.Lock()  # held to append or to swap, no longer
        self.lost = 0  # how many were dropped because the buffer was full

    @property
    def depth(self) -> int:
        """How many wait right now."""
        return len(self._waiting)

    def note(self, one: T) -> None:
        """Keep one to be stored; what finds no room is noted when it repeats."""
        key = one.key
        if key in self._recent or key in self._older:
            return
        with self._changing:
            if len(self._waiting) >= self._limit:
                self.lost += 1
                return
            self._waiting.append(one)
        if len(self._recent) >= self._generation:
            self._older, self._recent = self._recent, set()
        self._recent.add(key)

    def take(self, most: int) -> list[T]:
        """Return up to `most` that wait, the oldest first; they wait no longer."""
        with self._changing:
            taken, self._waiting = self._waiting[:most], self._waiting[most:]
        return taken

    def put_back(self, taken: Iterable[T]) -> None:
        """Let what could not be stored wait again, as far as there is room."""
        with self._changing:
            together = [*taken, *self._waiting]
            self._waiting = together[: self._limit]
        for one in together[self._limit :]:
            self.lost += 1
            self._recent.discard(one.key)
            self._older.discard(one.key)
