"""Yearly season: used only where it is stronger than chance."""

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import Floats
from productrecs.engines.demand.demand_series import DEFAULT_SHRINKAGE, HORIZON
from productrecs.engines.demand.forecast_features import shrink_season
from productrecs.engines.demand.store_total_forecast import (
    StoreTotalForecaster,
    backtest_totals,
    forecast_store_total,
)

MONDAY = 734_138
DAYS = np.arange(728)
WEEK = np.array([0.9, 0.9, 1.0, 1.1, 1.3, 1.2, 0.6])[DAYS % 7]


def totals(season: Floats, level: float, spread: float = 0.0) -> Floats:
    """Return two years of a shop whose days scatter by chance and by `spread` more."""
    rng = np.random.default_rng(3)
    wanted = level * WEEK * season
    if spread:
        wanted = wanted * rng.gamma(1 / spread, spread, len(DAYS))
    return np.asarray(rng.poisson(wanted), np.float64)


def missed(sold: Floats, origin: int) -> tuple[float, float]:
    """Return how far the forecast from `origin` lay off, and how far without a season."""
    forecaster = StoreTotalForecaster(sold, MONDAY)
    came = sold[origin : origin + HORIZON]
    plain = forecaster.components_after(origin).level
    with_season, without = (
        float(np.abs(came - one).sum() / came.sum())
        for one in (forecaster.expected_totals(origin), plain)
    )
    return with_season, without


def test_large_moves_are_believed_and_small_ones_hardly() -> None:
    moves = shrink_season(np.array([0.4, 0.95, 1.0, 1.05, 2.5]), DEFAULT_SHRINKAGE)

    assert moves == pytest.approx([0.4, 1.0, 1.0, 1.0, 2.5], rel=0.06)
    assert moves[0] > 0.4
    assert moves[-1] < 2.5
    assert shrink_season(np.array([0.7, 1.3]), 0.0).tolist() == [0.7, 1.3]


def test_a_season_that_always_held_is_not_shrunk() -> None:
    sold = totals(1 + 0.4 * np.sin(2 * np.pi * DAYS / 364), 5_000.0)

    assert StoreTotalForecaster(sold, MONDAY).best_shrinkage(700) == 0.0
    with_season, without = missed(sold, 680)
    assert with_season < 0.4 * without


def test_christmas_is_forecast_though_the_weeks_before_do_not_show_it() -> None:
    christmas = 1 + 1.5 * np.exp(-(((DAYS % 364 - 345) / 12.0) ** 2))
    sold = totals(christmas, 500.0, spread=0.05)

    with_season, without = missed(sold, 690)
    assert with_season < 0.7 * without


def test_where_there_is_no_season_chance_is_not_taken_for_one() -> None:
    sold = totals(np.ones(len(DAYS)), 200.0, spread=0.1)

    forecaster = StoreTotalForecaster(sold, MONDAY)
    assert forecaster.best_shrinkage(700) == DEFAULT_SHRINKAGE
    missed_by = {"expected": 0.0, "all of it": 0.0, "none": 0.0}
    for origin in range(460, 701, 12):
        components, came = (
            forecaster.components_after(origin),
            sold[origin : origin + HORIZON],
        )
        for name, expected in (
            ("expected", forecaster.expected_totals(origin)),
            ("all of it", components.expected_totals(0.0)),
            ("none", components.level),
        ):
            missed_by[name] += float(np.abs(came - expected).sum())
    assert missed_by["expected"] < missed_by["all of it"]
    assert missed_by["expected"] < 1.08 * missed_by["none"]


def test_the_past_alone_decides() -> None:
    sold = totals(1 + 0.4 * np.sin(2 * np.pi * DAYS / 364), 5_000.0)
    other = sold.copy()
    other[600:] *= 7

    assert StoreTotalForecaster(sold, MONDAY).best_shrinkage(600) == StoreTotalForecaster(
        other, MONDAY
    ).best_shrinkage(600)
    assert StoreTotalForecaster(sold, MONDAY).expected_totals(600).tolist() == (
        StoreTotalForecaster(other, MONDAY).expected_totals(600).tolist()
    )


def test_a_first_year_is_believed_as_usual() -> None:
    sold = totals(np.ones(len(DAYS)), 200.0)[:400]

    assert StoreTotalForecaster(sold, MONDAY).best_shrinkage(400) == DEFAULT_SHRINKAGE


def test_a_level_that_jumps_is_forecast_from_its_last_days() -> None:
    levels = np.repeat(np.random.default_rng(5).uniform(100, 400, 12), 45)[:540]
    sold = levels * WEEK[:540]
    ours, plain = 0.0, 0.0
    for origin in range(400, 505, 7):
        past, came = sold[:origin], sold[origin : origin + HORIZON]
        found = forecast_store_total(past, MONDAY, backtest_totals(past, MONDAY)).mean
        ours += float(np.abs(came - found).sum())
        plain += float(
            np.abs(came - StoreTotalForecaster(past, MONDAY).expected_totals(origin)).sum()
        )

    assert ours < 0.95 * plain


def test_past_totals_are_forecast_without_knowing_what_came() -> None:
    sold = totals(np.ones(len(DAYS)), 200.0, spread=0.1)[:300]
    other = sold.copy()
    other[-60:] *= 5

    first, second = backtest_totals(sold, MONDAY), backtest_totals(other, MONDAY)
    before = slice(60 // 7 + 1, None)  # origins before the days that differ
    assert first.forecast[before].tolist() == second.forecast[before].tolist()
    assert first.forecast[0].tolist() != second.forecast[0].tolist()
