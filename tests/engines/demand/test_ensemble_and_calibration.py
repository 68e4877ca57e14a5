"""Forecast ensemble: outlier orders, and the weight of each method."""

from dataclasses import replace

import numpy as np
import pytest

from productrecs.engines.demand.demand_series import (
    HORIZON,
    WEEK,
    DailyDemand,
    bulk_order_additions,
    bulk_order_caps,
    bulk_order_growth,
    without_bulk_orders,
)
from productrecs.engines.demand.ensemble_and_calibration import (
    CLASSES,
    WEEKS,
    ActualSalesForScoring,
    ForecastsWithActualSales,
    MethodForecasts,
    fit_ensemble_weights,
    fit_interval_calibration,
    statistical_only_weights,
)
from productrecs.engines.demand.forecast_paths import (
    ForecastPaths,
)


def demand_of(*rows: list[int]) -> DailyDemand:
    amounts = np.array(rows, np.float32)
    return DailyDemand(amounts, amounts >= 0, np.full(len(rows), -1, np.int32), 734_500)


def test_a_single_huge_order_is_taken_off_and_comes_back_within_bounds() -> None:
    plain = [3] * 120
    spiked = [*plain[:100], 300, *plain[101:]]
    wild = [*plain[:100], 90_000, *plain[101:]]
    demand = demand_of(plain, spiked, wild)

    most = bulk_order_caps(demand, 120)
    usual = without_bulk_orders(demand, 120, most)
    more = bulk_order_growth(np.full(3, 3.0), bulk_order_additions(demand, 120, most))

    assert most.tolist() == [3, 3, 3]
    assert (usual.amounts == 3).all()
    assert more == pytest.approx([1, 1 + 297 / 120 / 3, 2])


BAD = 900.0


def five_methods(
    ladder: float, model: float, moving: float, recent: float = BAD, weekday: float = BAD
) -> MethodForecasts:
    return MethodForecasts(
        *(paths_around(mean) for mean in (ladder, model, moving, recent, weekday))
    )


def paths_around(mean: float) -> ForecastPaths:
    means = np.full((40, HORIZON), mean, np.float32)
    return ForecastPaths(means, np.stack([means * share for share in (0.5, 1, 1.5)]))


@pytest.mark.parametrize(
    ("means", "shares"),
    [
        ((10, 5, 5), (1, 0, 0, 0, 0)),
        ((5, 10, 5), (0, 1, 0, 0, 0)),
        ((5, 5, 10), (0, 0, 1, 0, 0)),
        ((8, 12, 30), (0.5, 0.5, 0, 0, 0)),
        ((7, 7, 16), (1 / 3, 1 / 3, 1 / 3, 0, 0)),
        ((5, 5, 5, 10), (0, 0, 0, 1, 0)),
        ((5, 5, 5, 30, 10), (0, 0, 0, 0, 1)),
        ((40, 5, 5, 13, 7), (0, 0, 0, 0.5, 0.5)),
    ],
)
def test_what_did_best_counts(means: tuple[float, ...], shares: tuple[float, ...]) -> None:
    actual = np.full((40, HORIZON), 10, np.float32)
    came = ActualSalesForScoring(actual, actual > 0, np.full(40, 10.0), np.full(40, 2.0))
    classes = np.full(40, 3)

    mixture, served = fit_ensemble_weights(
        five_methods(*means), came, classes, has_model=True
    )

    assert mixture.means[3] == pytest.approx(shares)
    assert mixture.uses_model(classes).all() == (shares[1] > 0)
    assert served.mean[0, 0] == pytest.approx(10)
    assert mixture.means[2].tolist() == [1, 0, 0, 0, 0]


def test_four_weeks_alone_never_speak_for_what_rarely_sells() -> None:
    nothing = np.zeros((40, HORIZON), np.float32)
    came = ActualSalesForScoring(nothing, nothing == 0, np.full(40, 1.0), np.full(40, 1.0))
    ways = five_methods(2, 2, 0)

    mixture, served = fit_ensemble_weights(
        ways, came, np.repeat([1, 2], 20), has_model=True
    )

    assert mixture.means[1:3].tolist() == [[0.5, 0, 0.5, 0, 0], [0, 0, 1, 0, 0]]
    assert served.mean[0, 0] == 1


def test_without_a_model_it_counts_nothing() -> None:
    actual = np.full((40, HORIZON), 10, np.float32)
    came = ActualSalesForScoring(actual, actual > 0, np.full(40, 10.0), np.full(40, 2.0))
    ways = five_methods(5, 10, 15)

    mixture, _ = fit_ensemble_weights(ways, came, np.zeros(40, np.int64), has_model=False)

    assert not mixture.needs_model
    assert mixture.means[0].tolist() == [0.5, 0, 0.5, 0, 0]
    assert statistical_only_weights().means.shape == (CLASSES, 5)


ITEMS, LEVEL = 200, 10.0


def a_past(spread: float) -> ForecastsWithActualSales:
    """Return days even between 0 and LEVEL, forecast with `spread` about the middle."""
    week = np.linspace(0, LEVEL, ITEMS * WEEK, dtype=np.float32).reshape(ITEMS, WEEK)
    actual = np.tile(week, (1, WEEKS))
    means = np.full((ITEMS, HORIZON), LEVEL / 2, np.float32)
    paths = ForecastPaths(means, np.stack((means - spread, means, means + spread)))
    often = np.full(ITEMS, 4)
    everywhere = np.ones((ITEMS, HORIZON), np.bool_)
    origins = np.zeros(ITEMS, np.int64)
    return ForecastsWithActualSales(
        paths, actual, everywhere, np.full(ITEMS, LEVEL), often, origins
    )


def held(past: ForecastsWithActualSales) -> float:
    """Return the share of days inside the band once it is calibrated by themselves."""
    moved = fit_interval_calibration(past).calibrate(past.paths, past.levels, past.classes)
    low, _, high = moved.quantiles
    return float(((past.actual >= low) & (past.actual <= high)).mean())


@pytest.mark.parametrize(
    ("spread", "shift"),
    [(1.0, 0.3), (5.0, -0.1), (4.0, 0.0)],
    ids=["too narrow", "too wide", "right"],
)
def test_a_band_moves_to_where_a_tenth_of_the_days_was_outside_each_end(
    spread: float, shift: float
) -> None:
    past = a_past(spread)
    found = fit_interval_calibration(past)
    assert found.lower[4] == pytest.approx(np.full(WEEKS, shift), abs=0.005)
    assert found.upper[4] == pytest.approx(np.full(WEEKS, shift), abs=0.005)
    assert 0.79 < held(past) < 0.81


def test_with_p10_at_zero_fifteen_in_a_hundred_days_are_above_the_band() -> None:
    past = a_past(4.0)
    actual = np.where(past.actual < LEVEL * 0.6, 0, past.actual).astype(np.float32)
    mean = np.full_like(actual, actual.mean())
    _, p50, p90 = past.paths.quantiles
    paths = ForecastPaths(mean, np.stack((p50 * 0, p50, p90)))
    rarely_low = replace(past, actual=actual, paths=paths)

    assert held(rarely_low) == pytest.approx(0.85, abs=0.01)


def at_origins(
    past: ForecastsWithActualSales, moves: list[float]
) -> ForecastsWithActualSales:
    """Return the past at several origins, whose days all lie higher by their move."""
    count = len(moves)
    by_row = np.repeat(np.array(moves, np.float32), ITEMS)[:, None]
    rows = np.tile(np.arange(ITEMS), count)
    return ForecastsWithActualSales(
        past.paths.of(rows),
        past.actual[rows] + by_row,
        past.on_sale[rows],
        past.levels[rows],
        past.classes[rows],
        np.repeat(np.arange(count), ITEMS),
    )


def test_a_band_is_wider_where_the_level_of_the_store_moves() -> None:
    past = a_past(4.0)
    steady = fit_interval_calibration(at_origins(past, [0.0] * 12))
    moved = fit_interval_calibration(at_origins(past, [-3.0, 0.0, 3.0] * 4))
    shuffled = np.random.default_rng(1).permutation(12 * ITEMS)
    one_by_one = at_origins(past, [-3.0, 0.0, 3.0] * 4)
    by_chance = fit_interval_calibration(
        replace(one_by_one, origins=one_by_one.origins[shuffled])
    )

    assert steady.level_deviation == pytest.approx(np.zeros(WEEKS), abs=0.001)
    assert (moved.level_deviation > 0.2).all()
    assert (by_chance.level_deviation < 0.05).all()  # the items do not share these errors
    bands = [
        found.calibrate(past.paths, past.levels, past.classes).quantiles
        for found in (steady, moved)
    ]
    assert (bands[1][2] > bands[0][2]).all()
    assert (bands[1][0] < bands[0][0]).all()


def test_the_level_of_a_store_with_few_items_is_separated_more() -> None:
    many = at_origins(a_past(4.0), [-2.0, 0.0, 2.0] * 4)
    few = many.of(np.arange(len(many.actual)) % 5 == 2)

    ratio = (
        fit_interval_calibration(few).level_deviation
        / fit_interval_calibration(many).level_deviation
    )
    assert ratio == pytest.approx(np.full(WEEKS, (200 / 240) / (200 / 400)), abs=0.02)
