"""Simulated stores with known demand, to compare forecasts with."""

from datetime import date

import numpy as np

from productrecs.engines.demand.backtest import run_backtest
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    DailyDemand,
)
from productrecs.engines.demand.forecast import DemandForecast, forecast_demand

FIRST = date(2026, 1, 5).toordinal()  # a Monday
WEEKDAYS = np.array([0.8, 0.9, 1.0, 1.1, 1.3, 1.6, 0.3])
SMALL = DemandForecastOptions(trees=40, training_rows=40_000, threads=1)


def rates(items: int, days: int, seed: int = 1) -> np.ndarray:
    """Return what each item is wanted on each day: from one a fortnight to dozens a day."""
    levels = np.exp(np.random.default_rng(seed).uniform(-2.6, 3.2, items))
    weeks = np.resize(WEEKDAYS, days) / WEEKDAYS.mean()
    return np.asarray(levels[:, None] * weeks)


def drawn(wanted: np.ndarray, seed: int = 2) -> np.ndarray:
    """Return counts that scatter more than chance alone would."""
    rng = np.random.default_rng(seed)
    return rng.poisson(wanted * rng.gamma(3, 1 / 3, wanted.shape)).astype(np.float32)


def demand_of(amounts: np.ndarray, on_sale: np.ndarray | None = None) -> DailyDemand:
    """Return a history of which all else is as usual."""
    held = np.ones(amounts.shape, np.bool_) if on_sale is None else on_sale
    codes = np.full(len(amounts), -1, np.int32)
    return DailyDemand(amounts.astype(np.float32), held, codes, FIRST)


def forecast(
    demand: DailyDemand, lead: int = 0, options: DemandForecastOptions = SMALL
) -> DemandForecast:
    """Return the forecast of everything, sold on every day."""
    on_sale = np.ones((demand.items, HORIZON + lead), np.bool_)
    verdict = run_backtest(demand, options, lambda _share: None)
    return forecast_demand(demand, on_sale, options, lambda _share: None, verdict)
