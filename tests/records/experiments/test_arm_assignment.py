"""Arm assignment: fair, deterministic, and the same everywhere."""

import math

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.experiments.arm_assignment import (
    ArmSplit,
    HoldoutArm,
    draw_arm,
    holdout_split,
)

SHOP = StoreId("st_0123456789abcdef")
OTHER = StoreId("st_fedcba9876543210")
UNITS = [f"s_{number:05}" for number in range(20_000)]


def held(test: ArmSplit, store_id: StoreId = SHOP) -> set[str]:
    return {unit for unit in UNITS if draw_arm(store_id, test, unit) is HoldoutArm.HELD_OUT}


def surprise(found: int, of: int, share: float) -> float:
    """Return how many standard deviations a count is from what is expected."""
    return abs(found - of * share) / math.sqrt(of * share * (1 - share))


@pytest.mark.parametrize("percent", [0.5, 5, 10, 50, 90])
def test_as_many_are_held_out_as_the_store_says(percent: float) -> None:
    found = held(holdout_split("holdout", percent))

    assert surprise(len(found), len(UNITS), percent / 100) < 4


def test_the_share_is_the_same_among_any_kind_of_name() -> None:
    test = holdout_split("holdout", 20)
    kinds = [[f"{kind}{n}" for n in range(5_000)] for kind in ("", "s_", "customer-", "é")]

    for kind in kinds:
        found = sum(draw_arm(SHOP, test, unit) is HoldoutArm.HELD_OUT for unit in kind)
        assert surprise(found, len(kind), 0.2) < 4


def test_no_visitor_is_held_out_without_a_share() -> None:
    assert held(holdout_split("holdout", 0)) == set()


def test_a_larger_share_keeps_those_who_were_held_out() -> None:
    few, more = held(holdout_split("holdout", 10)), held(holdout_split("holdout", 30))

    assert few < more


@pytest.mark.parametrize(
    ("test", "store_id"),
    [(holdout_split("spring", 50), SHOP), (holdout_split("holdout", 50), OTHER)],
)
def test_another_test_or_store_draws_afresh(test: ArmSplit, store_id: StoreId) -> None:
    both = held(holdout_split("holdout", 50)) & held(test, store_id)

    assert surprise(len(both), len(UNITS), 0.25) < 4


def test_the_draw_never_changes_from_release_to_release() -> None:
    """A running test would be worthless: everybody would change arm."""
    test = holdout_split("holdout", 50)

    drawn = "".join(
        "x" if draw_arm(SHOP, test, f"s_{n}") is HoldoutArm.HELD_OUT else "."
        for n in range(24)
    )

    assert drawn == "....x..xxx...x..x.x....x"


ABC = (("b", 30.0), ("c", 20.0))


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        (
            ArmSplit("test", "test:1", ABC, "control"),
            ArmSplit("test", "test:2", ABC, "control"),
            0.3,
        ),
        (
            ArmSplit("test", "same", ABC, "control"),
            ArmSplit("holdout", "same", ABC, ""),
            0.3,
        ),
        (
            ArmSplit("test", "test:1", (("b", 1.0),), "x"),
            holdout_split("holdout", 50),
            0.01,
        ),
    ],
)
def test_arms_have_their_shares_and_are_independent_of_other_tests(
    one: ArmSplit, other: ArmSplit, share: float
) -> None:
    drawn = {
        unit: (draw_arm(SHOP, one, unit), draw_arm(SHOP, other, unit)) for unit in UNITS
    }

    first = [arms[0] for arms in drawn.values()]
    for arm, percent in one.shares:
        assert surprise(first.count(arm), len(UNITS), percent / 100) < 4
    rest = 1 - sum(percent for _, percent in one.shares) / 100
    assert surprise(first.count(one.rest), len(UNITS), rest) < 4
    name, percent = other.shares[0]
    both = sum(arms == ("b", name) for arms in drawn.values())
    assert surprise(both, len(UNITS), share * percent / 100) < 4
