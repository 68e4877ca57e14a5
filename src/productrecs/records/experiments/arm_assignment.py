"""Arm assignment: which arm of a test a shopper is in, and the exposure that records it."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from productrecs.core.ids import StoreId

_BITS: Final = 64


class HoldoutArm(StrEnum):
    """The arm of a shopper in a holdout test."""

    SHOWN = "shown"
    HELD_OUT = "held_out"  # empty lists


class ArmSplit(NamedTuple):
    """The shares of a test's arms in per cent; the arm `rest` gets the remainder.

    `kind` and `name` seed the draw, so the arms of two tests are independent.
    """

    kind: str
    name: str  # by which exposures are stored
    shares: tuple[tuple[str, float], ...]
    rest: str


def holdout_split(name: str, percent: float) -> ArmSplit:
    """Return the split of a store's holdout test, in which `percent` get empty lists."""
    return ArmSplit("holdout", name, ((HoldoutArm.HELD_OUT, percent),), HoldoutArm.SHOWN)


def draw_arm(store_id: StoreId, split: ArmSplit, unit: str) -> str:
    """Return the arm of `unit`, the first known name of a shopper.

    A shopper in the first arm at one percentage is in it at every higher one. The draw
    depends on the store, the kind of test and its name.
    """
    hash_input = "\0".join((f"productrecs {split.kind}", store_id, split.name, unit))
    digest = hashlib.sha256(hash_input.encode("utf-8", "surrogatepass")).digest()
    draw = int.from_bytes(digest[: _BITS // 8], "big") / 2**_BITS * 100.0
    for arm, percent in split.shares:
        if draw < percent:
            return arm
        draw -= percent
    return split.rest


@dataclass(frozen=True, slots=True)
class Exposure:
    """A shopper, by one of their ids, was shown a list in one arm of a test."""

    store_id: StoreId
    identity: str
    test: str
    arm: str
    unit: str
    first_at: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The deduplication key: the first exposure counts."""
        return (self.store_id, self.identity, self.test, self.arm)
