"""Forecast backtest: ensemble weights, calibration and accuracy on past data.

A model is trained up to the oldest origin. The model and the statistical ladder forecast
from weekly origins, and the forecasts are compared with actual sales. The result has each
class's ensemble weights and interval widths, and the accuracy figures for merchants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.boosted_forecast import (
    BoostingLibraryMissingError,
    GradientBoostedModel,
    fit_boosted_model,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    WEEK,
)
from productrecs.engines.demand.ensemble_and_calibration import (
    CLASSES,
    NORMAL_P90,
    ActualSalesForScoring,
    EnsembleWeights,
    ForecastsWithActualSales,
    IntervalCalibration,
    MethodForecasts,
    fit_ensemble_weights,
    fit_interval_calibration,
    no_calibration,
    pinball_loss,
    sales_frequency_classes,
    statistical_only_weights,
)
from productrecs.engines.demand.forecast_features import (
    item_levels,
)
from productrecs.engines.demand.forecast_methods import method_forecasts
from productrecs.engines.demand.forecast_paths import (
    ForecastPaths,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from productrecs.engines.array_types_and_sorting import (
        Bools,
        Floats,
        Ints,
    )
    from productrecs.engines.demand.demand_forecast_options import (
        DemandForecastOptions,
    )
    from productrecs.engines.demand.demand_series import Amounts, DailyDemand

_FIRST_ORIGIN: Final = 56
_MAX_ITEMS: Final = 4_000
_MIN_ORIGINS, _MAX_ORIGINS = 8, 26  # without a model
_MAX_ROWS: Final = 32_000  # items x origins; bounds memory
_ORIGINS_REPORTED: Final = 8
_MIN_SALE_DAYS: Final = 28  # minimum days with a sale for an item's accuracy
_SUM_DAYS: Final = 14


@dataclass(frozen=True, slots=True, eq=False)
class DemandBacktestResult:
    """Backtest result: how to forecast each class of items."""

    ensemble_weights: EnsembleWeights
    calibration: IntervalCalibration
    sum_overdispersion: Floats  # [CLASSES] of sums of days
    item_backtest: ItemForecastAccuracy | None


@dataclass(frozen=True, slots=True)
class MethodAccuracy:
    """Accuracy of one forecast method for items."""

    rmsse: float
    pinball: tuple[float, float, float]  # in units of the naive method's mean error
    wape: float
    bias: float
    coverage: float


@dataclass(frozen=True, slots=True)
class ItemForecastAccuracy:
    """Accuracy of the items' forecasts, compared with two baselines."""

    items: int  # with sales on at least 28 days; rmsse and pinball are theirs
    origins: int
    ours: MethodAccuracy
    naive: MethodAccuracy  # seasonal naive: last week, with 8 weeks' quantiles by weekday
    moving: MethodAccuracy  # moving average: the last 28 days, with the quantiles of 56


@dataclass(slots=True, eq=False)
class _PastMethodForecasts:
    """The methods' forecasts at all origins, the actual sales, and the scales."""

    methods: list[MethodForecasts]
    actual: list[Amounts]
    on_sale: list[Bools]
    levels: list[Floats]
    jumps: list[Floats]
    classes: list[Ints]
    origins: list[Ints]


def run_backtest(
    demand: DailyDemand, options: DemandForecastOptions, progress: Callable[[float], None]
) -> DemandBacktestResult:
    """Return the backtest result; without enough history, the uncalibrated ladder."""
    evaluated_items = _evaluated_items(demand)
    origins = backtest_origins(demand.days, options)
    if not origins or not len(evaluated_items):
        return DemandBacktestResult(
            statistical_only_weights(), no_calibration(), np.full(CLASSES, 1.5), None
        )
    model = None
    if has_enough_history_for_model(demand.until(origins[-1]), options, demand.days):
        try:
            model = fit_boosted_model(
                demand.until(origins[-1]), options, lambda s: progress(0.6 * s)
            )
        except BoostingLibraryMissingError:
            model = None
    if model is None:
        origins = _weekly_origins(
            demand.days, _origin_count_without_model(len(evaluated_items))
        )
    past_forecasts = _PastMethodForecasts([], [], [], [], [], [], [])
    for index, origin in enumerate(origins):
        _add_origin_forecasts_and_actuals(
            past_forecasts, demand, origin, evaluated_items, model, options
        )
        progress(0.6 + 0.35 * (index + 1) / len(origins))
    return _fit_and_score_ensemble(
        past_forecasts,
        has_model=model is not None,
        demand=demand,
        evaluated_items=evaluated_items,
    )


def backtest_origins(days: int, options: DemandForecastOptions) -> list[int]:
    """Return the origins of a backtest with a model, newest first; none if too short."""
    return _weekly_origins(
        days, options.backtest_origins if 2 * days >= 3 * options.model_days else 4
    )


def _weekly_origins(days: int, count: int) -> list[int]:
    first = days - HORIZON
    return [
        origin
        for origin in range(first, first - count * WEEK, -WEEK)
        if origin >= _FIRST_ORIGIN
    ]


def _origin_count_without_model(item_count: int) -> int:
    """Return the number of origins of a backtest of statistical methods alone.

    They are fast, and the moves of a store's level take months to show.
    """
    return min(_MAX_ORIGINS, max(_MIN_ORIGINS, _MAX_ROWS // item_count))


def has_enough_history_for_model(
    demand: DailyDemand, options: DemandForecastOptions, days: int
) -> bool:
    """Return whether `days` days of history are enough for a trained model."""
    if days < options.model_days:
        return False
    has_enough_sales = (demand.amounts > 0).sum(axis=1) >= options.model_sale_days
    return int(has_enough_sales.sum()) >= options.model_items


def _evaluated_items(demand: DailyDemand) -> Ints:
    items = np.argsort(-(demand.amounts > 0).sum(axis=1), kind="stable")
    items = items[: int((demand.amounts[items] > 0).any(axis=1).sum())]
    step = max(1, -(-len(items) // _MAX_ITEMS))
    return items[::step]


def _add_origin_forecasts_and_actuals(
    past_forecasts: _PastMethodForecasts,
    demand: DailyDemand,
    origin: int,
    evaluated_items: Ints,
    model: GradientBoostedModel | None,
    options: DemandForecastOptions,
) -> None:
    demand_so_far = demand.until(origin)
    methods, _ = method_forecasts(demand_so_far, options, model)
    past_forecasts.methods.append(methods.of(evaluated_items))
    span = slice(origin, origin + HORIZON)
    past_forecasts.actual.append(demand.amounts[evaluated_items, span])
    past_forecasts.on_sale.append(demand.on_sale[evaluated_items, span])
    past_forecasts.levels.append(item_levels(demand_so_far, origin)[evaluated_items])
    daily_changes = np.diff(demand_so_far.amounts[evaluated_items], axis=1)
    change_scales = np.sqrt((daily_changes**2).mean(axis=1, dtype=np.float64))
    past_forecasts.jumps.append(np.where(change_scales > 0, change_scales, np.inf))
    past_forecasts.classes.append(
        sales_frequency_classes(demand_so_far, origin)[evaluated_items]
    )
    past_forecasts.origins.append(
        np.full(len(evaluated_items), len(past_forecasts.origins))
    )


def _concatenate_paths(paths: list[ForecastPaths]) -> ForecastPaths:
    return ForecastPaths(
        np.concatenate([part.mean for part in paths]),
        np.concatenate([part.quantiles for part in paths], axis=1),
    )


def _fit_and_score_ensemble(
    past_forecasts: _PastMethodForecasts,
    *,
    has_model: bool,
    demand: DailyDemand,
    evaluated_items: Ints,
) -> DemandBacktestResult:
    by_method = zip(*past_forecasts.methods, strict=True)
    methods = MethodForecasts(*(_concatenate_paths(list(paths)) for paths in by_method))
    actual = np.concatenate(past_forecasts.actual)
    on_sale = np.concatenate(past_forecasts.on_sale)
    levels = np.concatenate(past_forecasts.levels)
    classes = np.concatenate(past_forecasts.classes)
    observed = ActualSalesForScoring(
        actual, on_sale, levels, np.concatenate(past_forecasts.jumps)
    )
    ensemble_weights, ensemble_paths = fit_ensemble_weights(
        methods, observed, classes, has_model=has_model
    )
    origins = np.concatenate(past_forecasts.origins)
    past = ForecastsWithActualSales(
        ensemble_paths, actual, on_sale, levels, classes, origins
    )
    return DemandBacktestResult(
        ensemble_weights,
        fit_interval_calibration(past),
        _sum_overdispersion(past),
        _item_accuracy(past, demand, evaluated_items),
    )


def day_spread(paths: ForecastPaths) -> Floats:
    """Return the standard deviation of each day, from its interval: [n, days]."""
    upper = (paths.quantiles[2] - paths.mean) / NORMAL_P90
    day_deviation = np.sqrt(np.maximum(paths.mean, 0))
    return np.asarray(np.maximum(upper, day_deviation), np.float64)


def _sum_overdispersion(history: ForecastsWithActualSales) -> Floats:
    """Return the overdispersion of two weeks' sums against independent days."""
    errors = ((history.actual - history.paths.mean) * history.on_sale)[:, :_SUM_DAYS].sum(
        axis=1
    )
    variance = (day_spread(history.paths) ** 2 * history.on_sale)[:, :_SUM_DAYS].sum(axis=1)
    overdispersion = np.ones(CLASSES)
    for sale_class in range(CLASSES):
        members = (history.classes == sale_class) & (variance > 0)
        if members.any():
            ratio = errors[members] ** 2 / variance[members]
            overdispersion[sale_class] = float(np.sqrt(np.minimum(ratio, 25).mean()))
    return np.clip(overdispersion, 1.0, 4.0)


def _item_accuracy(
    past: ForecastsWithActualSales, demand: DailyDemand, evaluated_items: Ints
) -> ItemForecastAccuracy:
    """Return the newest origins' accuracy; each interval is calibrated on the others."""
    history, past = past, past.of(past.origins < _ORIGINS_REPORTED)
    paths = past.paths
    mean, quantiles = paths.mean, paths.quantiles.copy()
    count = int(past.origins.max()) + 1
    for origin in range(count) if count > 1 else ():
        rows = np.flatnonzero(past.origins == origin)
        calibration = fit_interval_calibration(history.of(history.origins != origin))
        calibrated = calibration.calibrate(
            paths.of(rows), past.levels[rows], past.classes[rows]
        )
        quantiles[:, rows] = calibrated.quantiles
    oldest = demand.days - HORIZON - WEEK * (count - 1)
    amounts = demand.amounts[evaluated_items, :oldest].astype(np.float64)
    squared_changes = np.tile((np.diff(amounts, axis=1) ** 2).mean(axis=1), count)
    weekly_changes = np.tile(
        np.abs(amounts[:, WEEK:] - amounts[:, :-WEEK]).mean(axis=1), count
    )
    has_enough_sales = np.tile((amounts > 0).sum(axis=1) >= _MIN_SALE_DAYS, count)
    is_measured = (squared_changes > 0) & (weekly_changes > 0) & has_enough_sales
    actual, is_on_sale = past.actual, past.on_sale
    sold = max(float(actual.sum(dtype=np.float64)), 1e-9)

    def score_forecast(means: Amounts, quantiles: Amounts) -> MethodAccuracy:
        errors = ((actual - means) ** 2).mean(axis=1)[is_measured]
        losses = [
            float(
                (
                    pinball_loss(actual, quantile, share).mean(axis=1)[is_measured]
                    / weekly_changes[is_measured]
                ).mean()
            )
            if is_measured.any()
            else 0.0
            for share, quantile in zip(QUANTILES, quantiles, strict=True)
        ]
        inside = (actual >= quantiles[0]) & (actual <= quantiles[2]) & is_on_sale
        return MethodAccuracy(
            rmsse=float(np.sqrt(errors / squared_changes[is_measured]).mean())
            if is_measured.any()
            else 0.0,
            pinball=(losses[0], losses[1], losses[2]),
            wape=float(np.abs(actual - means).sum(dtype=np.float64)) / sold,
            bias=float(means.sum(dtype=np.float64)) / sold - 1,
            coverage=float(inside.sum()) / max(int(is_on_sale.sum()), 1),
        )

    starts = [demand.days - HORIZON - WEEK * back for back in range(count)]
    naive, moving = (
        _concatenate_paths([method(demand, start, evaluated_items) for start in starts])
        for method in (_seasonal_naive, _moving_average_of_days)
    )
    return ItemForecastAccuracy(
        items=int(is_measured.sum()) // count,
        origins=count,
        ours=score_forecast(mean, quantiles),
        naive=score_forecast(naive.mean, naive.quantiles),
        moving=score_forecast(moving.mean, moving.quantiles),
    )


def _seasonal_naive(
    demand: DailyDemand, origin: int, evaluated_items: Ints
) -> ForecastPaths:
    """Return last week repeated, with the weekday's quantiles of 8 weeks."""
    demand_so_far = demand.amounts[evaluated_items, :origin]
    weeks = HORIZON // WEEK
    last_weeks = demand_so_far[:, -8 * WEEK :].reshape(len(evaluated_items), -1, WEEK)
    quantiles = np.tile(np.quantile(last_weeks, QUANTILES, axis=1), (1, 1, weeks))
    return ForecastPaths(
        np.tile(demand_so_far[:, -WEEK:], (1, weeks)), quantiles.astype(np.float32)
    )


def _moving_average_of_days(
    demand: DailyDemand, origin: int, evaluated_items: Ints
) -> ForecastPaths:
    """Return the mean of the last 28 days, with the quantiles of 56."""
    demand_so_far = demand.amounts[evaluated_items, :origin]
    mean = demand_so_far[:, -HORIZON:].mean(axis=1)
    quantiles = np.quantile(demand_so_far[:, -2 * HORIZON :], QUANTILES, axis=1)
    flat = np.ones((1, HORIZON), np.float32)
    return ForecastPaths(
        mean[:, None] * flat, (quantiles[:, :, None] * flat).astype(np.float32)
    )
