"""Arm assignment: fair, deterministic, and the same everywhere."""

from __future__ import annotations

import math

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.experiments.holdouts_and_explorations import (
    Arm,
    HoldoutTest,
    arm_of,
)

SHOP = StoreId("st_0123456789abcdef")
OTHER = StoreId("st_fedcba9876543210")
UNITS = [f"s_{number:05}" for number in range(20_000)]


def held(test: HoldoutTest, store_id: StoreId = SHOP) -> set[str]:
    return {unit for unit in UNITS if arm_of(store_id, test, unit) is Arm.HELD_OUT}


def surprise(found: int, of: int, share: float) -> float:
    """Return how many standard deviations a count is from what is expected."""
    return abs(found - of * share) / math.sqrt(of * share * (1 - share))


@pytest.mark.parametrize("percent", [0.5, 5, 10, 50, 90])
def test_as_many_are_held_out_as_the_store_says(percent: float) -> None:
    found = held(HoldoutTest("holdout", percent))

    assert surprise(len(found), len(UNITS), percent / 100) < 4


def test_the_share_is_the_same_among_any_kind_of_name() -> None:
    test = HoldoutTest("holdout", 20)
    kinds = [[f"{kind}{n}" for n in range(5_000)] for kind in ("", "s_", "customer-", "é")]

    for kind in kinds:
        found = sum(arm_of(SHOP, test, unit) is Arm.HELD_OUT for unit in kind)
        assert surprise(found, len(kind), 0.2) < 4


def test_nobody_is_held_out_without_a_share() -> None:
    assert held(HoldoutTest("holdout", 0)) == set()


def test_a_larger_share_keeps_those_who_were_held_out() -> None:
    few, more = held(HoldoutTest("holdout", 10)), held(HoldoutTest("holdout", 30))

    assert few < more


@pytest.mark.parametrize(
    ("test", "store_id"),
    [(HoldoutTest("spring", 50), SHOP), (HoldoutTest("holdout", 50), OTHER)],
)
def test_another_test_or_store_draws_afresh(test: HoldoutTest, store_id: StoreId) -> None:
    both = held(HoldoutTest("holdout", 50)) & held(test, store_id)

    assert surprise(len(both), len(UNITS), 0.25) < 4


def test_the_draw_never_changes_from_release_to_release() -> None:
    """A running test would be worthless: everybody would change arm."""
    test = HoldoutTest("holdout", 50)

    drawn = "".join(
        "x" if arm_of(SHOP, test, f"s_{n}") is Arm.HELD_OUT else "." for n in range(24)
    )

    assert drawn == "....x..xxx...x..x.x....x"
