"""Forecast methods: the paths of each method whose mixture is the forecast of an item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    WEEK,
    DailyDemand,
    bulk_order_caps,
    without_bulk_orders,
)
from productrecs.engines.demand.ensemble_and_calibration import (
    MIN_SALES_A_WEEK,
    MethodForecasts,
    sales_frequency_classes,
)
from productrecs.engines.demand.forecast_features import (
    SALES_RATE_HALF_LIFE,
    item_levels,
    open_day_means,
    open_day_quantiles,
    sales_rates,
    store_totals,
    store_weekday_factors,
)
from productrecs.engines.demand.forecast_paths import (
    ForecastPaths,
)
from productrecs.engines.demand.statistical_forecast import (
    apply_item_weekdays,
    classify_demand,
    statistical_forecast,
)
from productrecs.engines.demand.store_total_forecast import StoreTotalForecaster

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats, Items
    from productrecs.engines.demand.boosted_forecast import GradientBoostedModel
    from productrecs.engines.demand.demand_forecast_options import (
        DemandForecastOptions,
    )

_SALE_DAYS: Final = 112
_MIN_SALES: Final = 5  # minimum sales of a model item in the last 112 days
_RECENT_HALF_LIFE: Final = 4.0
_MAX_RECENT_GROWTH: Final = 10.0
_WEEKDAY_WEEKS: Final = 8
_MIN_RATE: Final = 0.01  # so that no ratio divides by 0
_MIN_FACTOR, _MAX_FACTOR = 0.75, 4 / 3
_TOTALS_SHARE: Final = 0.5
"""Weight of the store's total relative to the sum of its items: on earlier origins the
mixture was better than either."""

_MISSING_WEIGHT: Final = 4.0


def method_forecasts(
    demand: DailyDemand, options: DemandForecastOptions, model: GradientBoostedModel | None
) -> tuple[MethodForecasts, Items]:
    """Return each method's forecast of the days after `demand`, and the model's items.

    Without a model there are none of these.
    """
    origin = demand.days
    forecaster = StoreTotalForecaster(store_totals(demand), demand.first_day)
    total, shrinkage = forecaster.expected_totals(origin), forecaster.best_shrinkage(origin)
    is_closed, trust = (
        forecaster.components_after(origin).closed[None],
        trust_in_total(demand),
    )
    statistical = statistical_forecast(demand, origin, options, shrinkage).with_closed_days(
        is_closed
    )
    if model is None:
        statistical = apply_item_weekdays(demand, statistical)
    model_paths, model_items = statistical, np.zeros(0, np.int32)
    if model is not None:
        model_items = items_for_model(demand, origin, options)
        boosted_paths = model.forecast_items(demand, origin, model_items).with_closed_days(
            is_closed
        )
        model_paths = reconcile_with_total(
            _replace_items(statistical, model_items, boosted_paths), total, trust
        )
    statistical = reconcile_with_total(statistical, total, trust)
    idle_items = np.flatnonzero(~demand.on_sale[:, -HORIZON:].any(axis=1)).astype(np.int32)
    simple = [
        _replace_items(
            method(demand, origin).with_closed_days(is_closed),
            idle_items,
            statistical.of(idle_items),
        )
        for method in (moving_average, weekday_means)
    ]
    return MethodForecasts(
        statistical,
        statistical if model is None else model_paths,
        simple[0],
        statistical.multiply(_recent_growth(demand)[:, None]),
        simple[1],
    ), model_items


def items_for_model(
    demand: DailyDemand, origin: int, options: DemandForecastOptions
) -> Items:
    """Return the items with enough data for the model at `origin`."""
    start = max(0, origin - _SALE_DAYS)
    sold = (demand.amounts[:, start:origin] > 0).sum(axis=1) >= _MIN_SALES
    demand_classes = classify_demand(demand, origin, options)
    return np.flatnonzero(sold & ~demand_classes.young & ~demand_classes.obsolete).astype(
        np.int32
    )


def reconcile_with_total(
    paths: ForecastPaths, total: Floats, trust: float
) -> ForecastPaths:
    """Return `paths` reconciled half way with the store's `total` [28], week by week.

    The correction is bounded, because a total far from the sum of its items is unreliable;
    it is weighted by `trust` from 0 to 1.
    """
    sums = paths.mean.sum(axis=0, dtype=np.float64).reshape(-1, WEEK).sum(axis=1)
    weekly_totals = total.reshape(-1, WEEK).sum(axis=1)
    factors = np.where(sums > 0, weekly_totals / np.maximum(sums, 1e-9), 1.0)
    factors = np.clip(factors, _MIN_FACTOR, _MAX_FACTOR) ** (_TOTALS_SHARE * trust)
    return paths.multiply(np.repeat(factors, WEEK))


def trust_in_total(demand: DailyDemand) -> float:
    """Return the weight of the store's total in its items' forecasts, from 0 to 1.

    With many recent stock-outs, the total shows sales rather than demand.
    """
    recent = demand.on_sale[:, -HORIZON:]
    is_open = recent.any(axis=0)
    if not is_open.any():
        return 0.0
    weights = item_levels(demand, demand.days)
    missing = 1 - recent[:, is_open].mean(axis=1)
    share = float((weights * missing).sum() / weights.sum())
    return min(1.0, max(0.0, 1 - _MISSING_WEIGHT * share))


def moving_average(demand: DailyDemand, origin: int) -> ForecastPaths:
    """Return the mean of the last 28 open days, with the quantiles of the last 56."""
    mean = np.nan_to_num(open_day_means(demand, origin, HORIZON))
    quantiles = [
        np.nan_to_num(quantile)
        for quantile in open_day_quantiles(demand, origin, 2 * HORIZON)
    ]
    flat = np.ones((1, HORIZON), np.float32)
    return ForecastPaths(
        mean[:, None].astype(np.float32) * flat,
        np.stack([quantile[:, None].astype(np.float32) * flat for quantile in quantiles]),
    )


def weekday_means(demand: DailyDemand, origin: int) -> ForecastPaths:
    """Return the mean and the quantiles of each item's open days by weekday, of 8 weeks.

    A weekday without an open day has 0.
    """
    weeks = min(_WEEKDAY_WEEKS, origin // WEEK)
    if not weeks:
        return moving_average(demand, origin)
    span = slice(origin - weeks * WEEK, origin)
    shape = (demand.items, weeks, WEEK)
    is_on_sale = demand.on_sale[:, span].reshape(shape)
    days = np.sort(
        np.where(is_on_sale, demand.amounts[:, span].reshape(shape), np.inf), axis=1
    )
    last = np.maximum(is_on_sale.sum(axis=1) - 1, 0)
    days = np.where(np.isinf(days), 0, days)
    quantiles = []
    for share in QUANTILES:
        position = share * last
        below = np.floor(position).astype(np.int64)
        above = np.minimum(below + 1, last)
        low, high = (
            np.take_along_axis(days, index[:, None], axis=1)[:, 0]
            for index in (below, above)
        )
        quantiles.append(low + (position - below) * (high - low))
    return ForecastPaths(
        np.tile(days.sum(axis=1) / (last + 1), HORIZON // WEEK).astype(np.float32),
        np.tile(np.stack(quantiles), HORIZON // WEEK).astype(np.float32),
    )


def _recent_growth(demand: DailyDemand) -> Floats:
    """Return each item's level of the last days relative to that of weeks: [items].

    1 for items that rarely sell: their last days are chance.
    """
    without_bulk = without_bulk_orders(
        demand, demand.days, bulk_order_caps(demand, demand.days)
    )
    profile = store_weekday_factors(demand, demand.days)
    recent, usual = (
        sales_rates(without_bulk, profile, half_life) + _MIN_RATE
        for half_life in (_RECENT_HALF_LIFE, SALES_RATE_HALF_LIFE)
    )
    growth = np.clip(recent / usual, 1 / _MAX_RECENT_GROWTH, _MAX_RECENT_GROWTH)
    is_frequent = sales_frequency_classes(demand, demand.days) >= MIN_SALES_A_WEEK
    return np.where(is_frequent, growth, 1.0)


def _replace_items(
    paths: ForecastPaths, items: Items, other_paths: ForecastPaths
) -> ForecastPaths:
    mean, quantiles = paths.mean.copy(), paths.quantiles.copy()
    mean[items], quantiles[:, items] = other_paths.mean, other_paths.quantiles
    return ForecastPaths(mean, quantiles)
