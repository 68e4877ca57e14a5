"""Demand forecast: the next 28 days of each item and of the whole store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from productrecs.engines.demand.boosted_forecast import (
    BoostingLibraryMissingError,
    fit_boosted_model,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    WEEK,
)
from productrecs.engines.demand.ensemble_and_calibration import (
    sales_frequency_classes,
)
from productrecs.engines.demand.forecast_features import item_levels, store_totals
from productrecs.engines.demand.forecast_methods import method_forecasts
from productrecs.engines.demand.forecast_paths import (
    ForecastPaths,
)
from productrecs.engines.demand.store_total_forecast import (
    StoreTotalBacktest,
    StoreTotalForecast,
    actual_over_forecast_quantiles,
    backtest_totals,
    forecast_store_total,
    shift_forecast,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from productrecs.engines.array_types_and_sorting import Bools, Floats
    from productrecs.engines.demand.backtest import (
        DemandBacktestResult,
        ItemForecastAccuracy,
    )
    from productrecs.engines.demand.calendar_effects import CalendarEffects
    from productrecs.engines.demand.demand_forecast_options import (
        DemandForecastOptions,
    )
    from productrecs.engines.demand.demand_series import DailyDemand

_ORIGINS_REPORTED = 8


@dataclass(frozen=True, slots=True)
class StoreTotalAccuracy:
    """Accuracy of the store total's past forecasts, compared with the baselines."""

    wape: float
    rmsse: float
    bias: float
    coverage: float
    baseline_rmsse: float  # the better of seasonal naive and the 28-day mean
    history_days: int


@dataclass(frozen=True, slots=True, eq=False)
class DemandForecast:
    """The forecast of the HORIZON days after the history."""

    paths: ForecastPaths  # [items, HORIZON]
    uses_model: Bools  # [items]
    sum_overdispersion: Floats  # [items] of sums of days
    total: StoreTotalForecast
    accuracy: StoreTotalAccuracy | None  # None when the history is too short
    item_backtest: ItemForecastAccuracy | None


def forecast_demand(
    demand: DailyDemand,
    on_sale: Bools,
    options: DemandForecastOptions,
    progress: Callable[[float], None],
    backtest: DemandBacktestResult,
) -> DemandForecast:
    """Return the forecast of every item and of the store, by the `backtest`'s weights.

    `on_sale` [items, days] marks the future days on which an item may be sold; the forecast
    is 0 on others and on closed days. Its last HORIZON days are returned: those before
    follow the history directly. `progress` is called with shares of 1.

    Source: requirements/algorithms.md 7.1.
    """
    totals = store_totals(demand)
    history = backtest_totals(totals, demand.first_day)
    days_before = on_sale.shape[1] - HORIZON
    total = shift_forecast(
        forecast_store_total(totals, demand.first_day, history),
        totals,
        demand.first_day,
        days_before,
    )
    paths, uses_model = _uncalibrated_item_paths(demand, options, backtest, progress)
    classes = sales_frequency_classes(demand, demand.days)
    paths = backtest.calibration.calibrate(paths, item_levels(demand, demand.days), classes)
    is_closed = ~on_sale[:, days_before:] | total.closed[None]
    paths = _paths_from_day(paths, days_before).with_closed_days(is_closed)
    progress(1.0)
    return DemandForecast(
        paths,
        uses_model,
        backtest.sum_overdispersion[classes],
        total,
        _total_accuracy(totals, history),
        backtest.item_backtest,
    )


def with_calendar_effects(
    forecast: DemandForecast, effects: CalendarEffects, first_ordinal: int
) -> DemandForecast:
    """Return a forecast of the days from `first_ordinal` on with the events ahead.

    The store's total changes as the sum of its items does.
    """
    paths = effects.apply(forecast.paths, first_ordinal)
    before, after = (
        item_paths.mean.sum(axis=0, dtype=np.float64)
        for item_paths in (forecast.paths, paths)
    )
    factors = np.where(before > 0, after / np.maximum(before, 1e-9), 1.0)
    return replace(forecast, paths=paths, total=forecast.total.multiply(factors))


def _uncalibrated_item_paths(
    demand: DailyDemand,
    options: DemandForecastOptions,
    backtest: DemandBacktestResult,
    progress: Callable[[float], None],
) -> tuple[ForecastPaths, Bools]:
    """Return the paths before calibration, and which items the model contributed to."""
    ensemble_weights, model = backtest.ensemble_weights, None
    if ensemble_weights.needs_model:
        with suppress(BoostingLibraryMissingError):
            model = fit_boosted_model(demand, options, progress)
    methods, model_items = method_forecasts(demand, options, model)
    classes = sales_frequency_classes(demand, demand.days)
    uses_model = np.zeros(demand.items, np.bool_)
    uses_model[model_items] = ensemble_weights.uses_model(classes[model_items])
    return ensemble_weights.blend(methods, classes), uses_model


def _paths_from_day(paths: ForecastPaths, days_before: int) -> ForecastPaths:
    """Return the paths from day `days_before` on; days beyond the last week repeat it."""
    day_index = np.arange(days_before, days_before + HORIZON)
    day_index = np.where(day_index < HORIZON, day_index, day_index - WEEK)
    return ForecastPaths(paths.mean[:, day_index], paths.quantiles[:, :, day_index])


def _total_accuracy(
    totals: Floats, history: StoreTotalBacktest
) -> StoreTotalAccuracy | None:
    """Return the newest origins' accuracy; each interval is calibrated on the others."""
    if history.origins < 4:  # noqa: PLR2004 - too few for an accuracy
        return None
    count = min(history.origins, _ORIGINS_REPORTED)
    oldest = len(totals) - HORIZON - WEEK * (count - 1)
    scale = float((np.diff(totals[:oldest]) ** 2).mean())
    actual, forecast = history.actual[:count], history.forecast[:count]
    if scale <= 0 or actual.sum() <= 0:
        return None
    inside_count = 0
    for row in range(count):
        is_other_origin = np.arange(history.origins) != row
        low, _, high = actual_over_forecast_quantiles(
            history.forecast[is_other_origin], history.actual[is_other_origin]
        )
        observed, expected = actual[row], forecast[row]
        inside_count += int(
            ((observed >= low * expected) & (observed <= high * expected)).sum()
        )

    def rmsse(expected: Floats) -> float:
        return float(np.sqrt(((actual - expected) ** 2).mean(axis=1) / scale).mean())

    return StoreTotalAccuracy(
        wape=float(np.abs(actual - forecast).sum() / actual.sum()),
        rmsse=rmsse(forecast),
        bias=float(forecast.sum() / actual.sum()) - 1,
        coverage=inside_count / actual.size,
        baseline_rmsse=min(rmsse(history.naive[:count]), rmsse(history.moving[:count])),
        history_days=len(totals),
    )
