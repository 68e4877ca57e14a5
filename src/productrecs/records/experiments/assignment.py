"""Assignment: the arm of a holdout test for a shopper, the same in every process."""

import hashlib
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
