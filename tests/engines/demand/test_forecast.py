"""Demand forecast: right for known demand, complete for short histories."""

import sys

import numpy as np
import pytest

from productrecs.engines.demand.backtest import run_backtest
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
)
from productrecs.engines.demand.forecast import DemandForecast, forecast_demand
from tests.engines.demand.sample_stores import SMALL, demand_of, drawn, forecast, rates

DAYS = 210


@pytest.fixture(scope="module")
def shop() -> tuple[np.ndarray, DemandForecast]:
    """Return what 260 items are wanted on, and a forecast of the last 28 days."""
    wanted = rates(260, DAYS + HORIZON)
    return wanted[:, DAYS:], forecast(demand_of(drawn(wanted)[:, :DAYS]))


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the mean error in shares of what is wanted, items weighing alike."""
    return float((np.abs(found - wanted).mean(axis=1) / wanted.mean(axis=1)).mean())


def test_the_mean_comes_near_what_is_wanted(
    shop: tuple[np.ndarray, DemandForecast],
) -> None:
    wanted, found = shop
    past = drawn(rates(260, DAYS + HORIZON))[:, :DAYS]
    flat = np.repeat(past[:, -28:].mean(axis=1)[:, None], HORIZON, axis=1)

    assert error(found.paths.mean, wanted) < 0.75 * error(flat, wanted)
    assert abs(found.paths.mean.sum() / wanted.sum() - 1) < 0.05


def test_four_days_in_five_are_in_the_band(shop: tuple[np.ndarray, DemandForecast]) -> None:
    wanted, found = shop
    came = drawn(wanted, seed=9)
    often = wanted.mean(axis=1) > 2

    low, _, high = found.paths.quantiles
    inside = ((came >= low) & (came <= high))[often].mean()

    assert 0.74 <= inside <= 0.88


def test_quantiles_are_in_order_and_nothing_is_negative(
    shop: tuple[np.ndarray, DemandForecast],
) -> None:
    _, found = shop
    p10, p50, p90 = found.paths.quantiles

    assert (p10 >= 0).all()
    assert (p10 <= p50).all()
    assert (p50 <= p90).all()
    assert (found.paths.mean >= 0).all()


def test_the_store_is_forecast_by_itself_and_its_items_agree_with_it(
    shop: tuple[np.ndarray, DemandForecast],
) -> None:
    wanted, found = shop

    assert found.total.mean.sum() == pytest.approx(wanted.sum(), rel=0.1)
    assert found.paths.mean.sum() == pytest.approx(found.total.mean.sum(), rel=0.02)
    low, middle, high = found.total.next_28_days
    assert low < middle < high
    # Sums of items' ends would be a band many times as wide.
    assert high - low < (found.paths.quantiles[2] - found.paths.quantiles[0]).sum() / 2


def test_the_method_is_named_per_item(shop: tuple[np.ndarray, DemandForecast]) -> None:
    wanted, found = shop

    assert found.uses_model[wanted.mean(axis=1) > 2].all()
    assert not found.uses_model[wanted.mean(axis=1) < 0.03].any()


def test_the_backtest_measures_the_accuracy(
    shop: tuple[np.ndarray, DemandForecast],
) -> None:
    _, found = shop

    assert found.accuracy is not None
    assert found.accuracy.rmsse < found.accuracy.baseline_rmsse
    assert 0.6 <= found.accuracy.coverage <= 0.95
    assert found.item_backtest is not None
    ours, naive, moving = (
        found.item_backtest.ours,
        found.item_backtest.naive,
        found.item_backtest.moving,
    )
    assert ours.rmsse < min(naive.rmsse, moving.rmsse)
    assert sum(ours.pinball) < min(sum(naive.pinball), sum(moving.pinball))
    assert ours.wape < min(naive.wape, moving.wape)
    assert abs(ours.bias) < 0.1
    assert naive.coverage < ours.coverage  # eight days are too few for a band


def test_the_same_history_gives_the_same_forecast() -> None:
    demand = demand_of(drawn(rates(210, 190)))
    few = DemandForecastOptions(trees=5, training_rows=5_000, threads=1)

    one, other = forecast(demand, options=few), forecast(demand, options=few)

    np.testing.assert_array_equal(one.paths.mean, other.paths.mean)
    np.testing.assert_array_equal(one.paths.quantiles, other.paths.quantiles)


def test_without_the_library_the_ladder_forecasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # it cannot be imported
    demand = demand_of(drawn(rates(210, 190)))

    found = forecast(demand)

    assert not found.uses_model.any()
    assert found.paths.mean.sum() > 0


def test_stock_out_days_do_not_pull_the_forecast_down() -> None:
    wanted = np.full((30, 120), 6.0)
    amounts = drawn(wanted)
    amounts[:, 90:] = 0  # nothing on the shelf for a month
    amounts[0, 90:] = 6  # one item that keeps the store open
    on_sale = amounts > -1
    on_sale[1:, 90:] = False

    censored = forecast(demand_of(amounts, on_sale)).paths.mean[1:].mean()
    naive = forecast(demand_of(amounts)).paths.mean[1:].mean()

    assert censored == pytest.approx(6, rel=0.2)
    assert naive < 4  # the control: taken as demand, the empty shelf would stay empty


def test_days_outside_the_window_are_nothing() -> None:
    demand = demand_of(drawn(rates(30, 100)))
    on_sale = np.ones((30, HORIZON), np.bool_)
    on_sale[3, 10:] = False

    verdict = run_backtest(demand, SMALL, lambda _share: None)
    found = forecast_demand(demand, on_sale, SMALL, lambda _share: None, verdict)

    assert found.paths.mean[3, :10].sum() > 0
    assert not found.paths.mean[3, 10:].any()
    assert not found.paths.quantiles[:, 3, 10:].any()


def test_a_new_item_leans_on_its_category() -> None:
    amounts = np.zeros((21, 100), np.float32)
    amounts[:10] = drawn(np.full((10, 100), 9.0))
    amounts[10:20] = drawn(np.full((10, 100), 1.0), seed=4)
    demand = demand_of(amounts, np.ones(amounts.shape, np.bool_))
    demand.on_sale[20, :98] = False  # offered for two days, and not sold yet
    demand.categories[:10], demand.categories[10:] = 0, 1

    found = forecast(demand).paths.mean

    assert 0.5 < found[20].mean() < 1.2


def test_what_has_not_sold_for_half_a_year_is_expected_to_sell_no_more() -> None:
    amounts = drawn(np.full((20, 220), 4.0))
    amounts[0, 30:] = 0

    assert not forecast(demand_of(amounts)).paths.mean[0].any()


@pytest.mark.parametrize("days", [1, 3, 20, 35, 60, 90])
@pytest.mark.parametrize("items", [0, 1, 12])
def test_any_history_has_a_whole_forecast(days: int, items: int) -> None:
    amounts = drawn(rates(items, days)) if items else np.zeros((0, days), np.float32)

    found = forecast(demand_of(amounts), lead=1)

    assert found.paths.mean.shape == (items, HORIZON)
    assert np.isfinite(found.paths.quantiles).all()
    assert np.isfinite(found.total.quantiles).all()
    assert np.isfinite(found.total.next_28_days).all()


def test_a_store_that_never_sold_is_expected_to_sell_nothing() -> None:
    found = forecast(demand_of(np.zeros((4, 50), np.float32)))

    assert not found.paths.mean.any()
    assert not found.total.mean.any()
