"""Weekday profiles: items that differ from the store have their own."""

import numpy as np
import pytest

from productrecs.engines.demand.demand_series import HORIZON, WEEK
from productrecs.engines.demand.forecast_paths import (
    ForecastPaths,
)
from productrecs.engines.demand.statistical_forecast import apply_item_weekdays
from tests.engines.demand.sample_stores import demand_of, drawn, forecast, rates

DAYS = 30 * WEEK


def weekly(items: int) -> np.ndarray:
    """Return what items are wanted on: each on a weekday of its own, 20 at a time."""
    wanted = np.zeros((items, DAYS + HORIZON))
    for item in range(items):
        wanted[item, item % WEEK :: WEEK] = 20
    return wanted


def test_what_sells_on_its_own_weekdays_is_forecast_on_them() -> None:
    wanted = weekly(10)
    sold = np.random.default_rng(5).poisson(wanted).astype(np.float32)

    found = forecast(demand_of(sold[:, :DAYS]))

    ahead = wanted[:, DAYS:]
    assert found.paths.mean[ahead > 0] == pytest.approx(20, rel=0.25)
    assert found.paths.mean[ahead == 0].max() < 1
    low, _, high = found.paths.quantiles
    inside = (sold[:, DAYS:] >= low) & (sold[:, DAYS:] <= high)
    assert inside[ahead > 0].mean() > 0.7


def test_a_week_keeps_its_sum_and_a_closed_day_stays_closed() -> None:
    demand = demand_of(weekly(WEEK)[:, :DAYS])
    mean = np.full((WEEK, HORIZON), 3.0, np.float32)
    mean[:, 6::WEEK] = 0  # closed on Sundays

    found = apply_item_weekdays(demand, ForecastPaths(mean, np.stack([mean] * 3)))

    assert found.mean[:6].reshape(6, -1, WEEK).sum(axis=2) == pytest.approx(18, rel=1e-4)
    assert not found.mean[:, 6::WEEK].any()


@pytest.mark.parametrize("days", [7 * WEEK, DAYS])
def test_chance_is_not_taken_for_weekdays(days: int) -> None:
    wanted = rates(200, days)
    paths = ForecastPaths(
        np.ones((200, HORIZON), np.float32), np.ones((3, 200, HORIZON), np.float32)
    )

    found = apply_item_weekdays(demand_of(drawn(wanted)), paths)

    # The store's weekdays are everybody's: one item in a hundred may stand out by chance.
    moved = (found.mean != paths.mean).any(axis=1)
    assert moved.mean() <= 0.04
