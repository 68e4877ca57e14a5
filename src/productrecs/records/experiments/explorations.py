"""Exploration: a new product that a list tried, with its chance."""

from dataclasses import dataclass
from typing import Final

from productrecs.core.ids import StoreId

RETENTION_DAYS: Final = 90


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
