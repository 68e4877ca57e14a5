"""Holdouts and explorations: the arm of a shopper, and what was shown to whom."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from productrecs.core.ids import StoreId

_BITS: Final = 64


class Arm(StrEnum):
    """What a shopper of a test gets."""

    SHOWN = "shown"
    HELD_OUT = "held_out"  # empty lists


class HoldoutTest(NamedTuple):
    """A store's holdout test: its name draws, `percent` of the shoppers are held out."""

    name: str
    percent: float


def arm_of(store_id: StoreId, test: HoldoutTest, unit: str) -> Arm:
    """Return the arm of `unit`, the first known name of a shopper.

    A shopper held out at a percentage is held out at every higher one. The draw differs
    by store and by the test's name.
    """
    drawn = "\0".join(("productrecs holdout", store_id, test.name, unit))
    digest = hashlib.sha256(drawn.encode("utf-8", "surrogatepass")).digest()
    share = int.from_bytes(digest[: _BITS // 8], "big") / 2**_BITS
    return Arm.HELD_OUT if share * 100.0 < test.percent else Arm.SHOWN


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


@dataclass(frozen=True, slots=True)
class Exposure:
    """A shopper, known by one of their ids, was shown a list in one arm of a test."""

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
