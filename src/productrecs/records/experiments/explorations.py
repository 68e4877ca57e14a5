"""Which new products did lists try? Noted in memory, stored later, never waited for."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from productrecs.core.ids import StoreId

KEPT_DAYS: Final = 90
WAITING_LIMIT: Final = 20_000
REMEMBERED: Final = 50_000


@dataclass(frozen=True, slots=True)
class Exploration:
    """A list had a place for a new product; items are numbers, `about` -1 for none."""

    store_id: StoreId
    day: str  # of UTC, ISO
    shopper: str
    about: int
    item: int
    place: int  # from 1
    chance: float
    first_at: int

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """What there is one row of: the first one counts."""
        return (self.store_id, self.day, self.shopper, self.about, self.item)


class Explorations:
    """What one process still has to store. Bounded; noting never waits and never fails."""

    def __init__(self, limit: int = WAITING_LIMIT, remembered: int = REMEMBERED) -> None:
        """Let up to `limit` wait, and remember up to `remembered` that were noted."""
        self._limit = limit
        self._remembered = remembered
        self._noted: set[tuple[str, str, str, int, int]] = set()
        self._waiting: list[Exploration] = []
        self._changing = threading.Lock()  # held to append or to swap, no longer
        self.lost = 0  # how many were not kept because too many waited

    @property
    def depth(self) -> int:
        """How many wait right now."""
        return len(self._waiting)

    def note(self, exploration: Exploration) -> None:
        """Keep one to be stored; a repeat is passed over as long as it is remembered."""
        key = exploration.key
        if key in self._noted:
            return
        with self._changing:
            if len(self._waiting) >= self._limit:
                self.lost += 1
                return
            self._waiting.append(exploration)
        if len(self._noted) >= self._remembered:
            self._noted = set()
        self._noted.add(key)

    def take(self, most: int) -> list[Exploration]:
        """Return up to `most` that wait, the oldest first; they wait no longer."""
        with self._changing:
            taken, self._waiting = self._waiting[:most], self._waiting[most:]
        return taken

    def put_back(self, taken: Iterable[Exploration]) -> None:
        """Let what could not be stored wait again, as far as there is room."""
        with self._changing:
            together = [*taken, *self._waiting]
            self._waiting = together[: self._limit]
            self.lost += len(together) - len(self._waiting)
