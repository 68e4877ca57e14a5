"""Forecast methods: weekday means, and the level of the last days."""

import numpy as np
import pytest

from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    WEEK,
)
from productrecs.engines.demand.forecast_methods import method_forecasts, weekday_means
from tests.engines.demand.sample_stores import demand_of


def test_weekday_means_count_the_open_days_of_eight_weeks() -> None:
    weeks = np.arange(10 * WEEK) // WEEK
    amounts = np.stack((weeks, weeks)).astype(np.float64)  # 2 to 9 in the last 8 weeks
    amounts[1, 1::WEEK] = 0
    on_sale = np.ones(amounts.shape, np.bool_)
    on_sale[1, 1::WEEK] = False  # never on this weekday
    on_sale[0, 9 * WEEK :] = False  # sold out in the last week

    paths = weekday_means(demand_of(amounts, on_sale), 10 * WEEK)

    assert paths.mean[0] == pytest.approx(np.full(HORIZON, 5.0))  # of 2 to 8
    assert paths.quantiles[:, 0, 0] == pytest.approx([2.6, 5.0, 7.4])
    assert paths.mean[1, :3] == pytest.approx([5.5, 0.0, 5.5])
    assert paths.quantiles[:, 1, 1].tolist() == [0, 0, 0]


def test_weekday_means_of_a_first_week_are_the_mean_of_its_days() -> None:
    paths = weekday_means(demand_of(np.full((1, 5), 3.0)), 5)

    assert paths.mean[0] == pytest.approx(np.full(HORIZON, 3.0))


def test_the_recent_level_follows_a_fall_sooner_for_what_sells_daily() -> None:
    daily, rare = np.full(140, 20.0), np.zeros(140)
    daily[-WEEK:] = 10
    rare[::14] = 1
    methods, _ = method_forecasts(
        demand_of(np.stack((daily, rare))), DemandForecastOptions(), None
    )

    ladder, recent = methods.statistical.mean, methods.recent.mean
    assert recent[0].mean() < 0.85 * ladder[0].mean()
    assert recent[1] == pytest.approx(ladder[1])
