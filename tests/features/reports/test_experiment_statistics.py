"""Confidence sequences: valid at every look, and able to detect a true lift."""

from typing import NamedTuple

import numpy as np
import pytest

from benchmarks.quality.holdout import Shop, alarms
from productrecs.engines.array_types_and_sorting import Bools, Floats
from productrecs.features.experiments.experiment_statistics import (
    MIN_CONVERSIONS,
    LiftVerdict,
    always_valid_interval_radius,
    cuped_mean_difference,
    cuped_values,
    lift_verdict,
    sample_ratio_p_value,
    visitors_needed,
)

MOST_ALARMS = 0.05


@pytest.mark.parametrize(
    "runs", [400, pytest.param(4_000, marks=pytest.mark.trust)], ids=["short", "long"]
)
@pytest.mark.parametrize("held_out", [0.1, 0.5])
def test_equal_arms_raise_few_alarms_under_daily_looks(held_out: float, runs: int) -> None:
    found = alarms(Shop(held_out=held_out), runs)

    assert max(found.conversion, found.revenue) <= MOST_ALARMS


def test_an_interval_for_one_look_is_caught_by_the_same_simulation() -> None:
    assert alarms(Shop(held_out=0.5), 200).conversion_by_z > 3 * MOST_ALARMS


def test_a_true_lift_is_found() -> None:
    shop = Shop(held_out=0.5, visitors_a_day=2_000, days=28, lift=0.25)

    assert alarms(shop, 50).conversion > 0.8


class Arms(NamedTuple):
    """Visitors: whether shown lists, whether they bought, and nothing known before."""

    shown: Bools
    converted: Floats
    before: Floats

    @property
    def least(self) -> int:
        """How many bought in the smaller arm."""
        bought = self.converted > 0
        return min(int(bought[self.shown].sum()), int(bought[~self.shown].sum()))


def visitors(count: int, shown_rate: float, held_out_rate: float, seed: int = 1) -> Arms:
    rng = np.random.default_rng(seed)
    shown = np.arange(count) % 2 == 0
    bought = rng.random(count) < np.where(shown, shown_rate, held_out_rate)
    converted = bought.astype(np.float64)
    return Arms(shown, converted, np.zeros((count, 2)))


def test_a_difference_is_concluded_from_fifty_conversions_on() -> None:
    few, many = visitors(600, 0.3, 0.12), visitors(4_000, 0.3, 0.1)

    assert few.least < MIN_CONVERSIONS
    assert lift_verdict(
        cuped_mean_difference(few.shown, few.converted, few.before), few.least
    ) == (LiftVerdict.COLLECTING)
    found = cuped_mean_difference(many.shown, many.converted, many.before)
    assert lift_verdict(found, many.least) == LiftVerdict.MORE
    assert found.low < 0.2 < found.high


def test_a_loss_and_an_open_result_are_concluded_too() -> None:
    worse, equal = visitors(4_000, 0.1, 0.3), visitors(4_000, 0.1, 0.1)

    for arms, said in ((worse, LiftVerdict.LESS), (equal, LiftVerdict.OPEN)):
        found = cuped_mean_difference(arms.shown, arms.converted, arms.before)
        assert lift_verdict(found, arms.least) == said


def test_what_was_known_before_makes_the_interval_narrower() -> None:
    rng = np.random.default_rng(3)
    before = rng.normal(10, 5, (4_000, 1))
    values = before[:, 0] + rng.normal(0, 1, 4_000)
    shown = np.arange(4_000) % 2 == 0
    nothing = np.zeros((4_000, 2))

    plain, adjusted = (
        cuped_mean_difference(shown, values, nothing),
        cuped_mean_difference(shown, values, before),
    )

    assert adjusted.radius < plain.radius / 3
    assert cuped_values(values, before).mean() == pytest.approx(values.mean())
    assert (cuped_values(values, nothing) == values).all()


def test_an_interval_becomes_narrower_with_visitors() -> None:
    widths = [
        always_valid_interval_radius(1 / count, count)
        for count in (100, 1_000, 10_000, 100_000)
    ]

    assert widths == sorted(widths, reverse=True)
    assert (
        always_valid_interval_radius(0.0, 10) == always_valid_interval_radius(1.0, 0) == 0.0
    )


def test_arms_that_do_not_fit_their_share_are_noticed() -> None:
    assert sample_ratio_p_value([9_000, 1_000], [0.9, 0.1]) == pytest.approx(1.0)
    assert sample_ratio_p_value([9_300, 700], [0.9, 0.1]) < 0.001
    assert sample_ratio_p_value([90, 20], [0.9, 0.1]) == pytest.approx(0.0042, abs=0.0001)
    assert sample_ratio_p_value([5, 0], [1.0, 0.0]) == 1.0
    assert sample_ratio_p_value([500, 250, 330], [0.5, 0.25, 0.25]) < 0.002


def test_half_the_effect_needs_about_four_times_the_visitors() -> None:
    variance, count = 0.0001, 1_000

    one = visitors_needed(variance, count, 0.02)
    half = visitors_needed(variance, count, 0.01)

    assert one is not None
    assert half is not None
    assert 3.5 < half / one < 4.6
    assert visitors_needed(variance, count, 0.0) is None
