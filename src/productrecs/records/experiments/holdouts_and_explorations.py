"""Holdouts and explorations: shoppers' test arms, and explored items."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from productrecs.core.ids import StoreId

_BITS: Final = 64


class Arm(StrEnum):
    """The arm of a shopper in a test."""

    SHOWN = "shown"
    HELD_OUT = "held_out"  # empty lists


class HoldoutTest(NamedTuple):
    """A store's holdout test; its name seeds the draw of `percent` of the shoppers."""

    name: str
    percent: float


def arm_of(store_id: StoreId, test: HoldoutTest, unit: str) -> Arm:
    """Return the arm of `unit`, the first known name of a shopper.

    A shopper in the holdout at one percentage is in it at every higher one. The draw
    depends on the store and the test's name.
    """
    hash_input = "\0".join(("productrecs holdout", store_id, test.name, unit))
    digest = hashlib.sha256(hash_input.encode("utf-8", "surrogatepass")).digest()
    share = int.from_bytes(digest[: _BITS // 8], "big") / 2**_BITS
    return Arm.HELD_OUT if share * 100.0 < test.percent else Arm.SHOWN


RETENTION_DAYS: Final = 90


@dataclass(frozen=True, slots=True)
class Exploration:
    """A list position for an explored item; items are numbers, `about` -1 for none."""

    store_id: StoreId
    day: str  # in UTC, ISO
    shopper: str
    about: int
    item: int
    place: int  # from 1
    chance: float
    first_at: int

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """The deduplication key: the first exploration counts."""
        return (self.store_id, self.day, self.shopper, self.about, self.item)


@dataclass(frozen=True, slots=True)
class Exposure:
    """A shopper, by one of their ids, was shown a list in one arm of a test."""

    store_id: StoreId
    identity: str
    test: str
    arm: Arm
    unit: str
    first_at: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The deduplication key: the first exposure counts."""
        return (self.store_id, self.identity, self.test, self.arm.value)
