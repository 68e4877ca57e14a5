"""Forecast ensemble and calibration: weights of methods, and the width of intervals.

The mean of several methods is usually better than each of them. Means and intervals have
separate weights: a method with a good mean may have poor quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.demand.demand_series import HORIZON, QUANTILES, WEEK
from productrecs.engines.demand.forecast_paths import ForecastPaths

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints
    from productrecs.engines.demand.demand_series import Amounts, DailyDemand


WEEKS: Final = HORIZON // WEEK
CLASSES: Final = 5
_CLASS_LIMITS: Final = np.array([0.1, 0.3, 0.6, 0.85])
"""Class limits: share of an item's open days with a sale."""

MIN_SALES_A_WEEK: Final = 2
"""The first class whose pace depends on an item's last weeks."""

_LOOK_BACK: Final = 112
_MIN_ERRORS: Final = 200  # minimum errors for a class to have its own calibration
_OUTSIDE_SHARE: Final = 0.1  # share of days outside each end
_MAX_ABOVE: Final = 0.15
"""Maximum share of days above p90. If p10 is 0, no day lies below the interval, and p90 is
lowered towards this share to keep the interval narrow."""

NORMAL_P90: Final = 1.2816
_MAX_LEVEL_ERROR: Final = 1.5
_LEVEL_ITEMS: Final = 200
"""With this many items, half of the store's level error is separated from the items' own
errors, with more a smaller part: tuned on stores of 6 to 4,000 items."""


@dataclass(frozen=True, slots=True, eq=False)
class ForecastsWithActualSales:
    """Past forecasts and actual sales: [n, HORIZON], with levels and classes."""

    paths: ForecastPaths
    actual: Amounts
    on_sale: Bools
    levels: Floats  # [n]
    classes: Ints  # [n]
    origins: Ints  # [n] number of each row's origin

    def of(self, rows: Bools) -> ForecastsWithActualSales:
        """Return the selected rows."""
        return ForecastsWithActualSales(
            self.paths.of(np.flatnonzero(rows)),
            self.actual[rows],
            self.on_sale[rows],
            self.levels[rows],
            self.classes[rows],
            self.origins[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class IntervalCalibration:
    """Outward shift of each interval end, and the deviation of the store's level.

    `lower` and `upper` are in an item's levels: [CLASSES, WEEKS]; `level_deviation` [WEEKS]
    is a share.
    """

    lower: Floats
    upper: Floats
    level_deviation: Floats

    def calibrate(
        self, paths: ForecastPaths, levels: Floats, classes: Ints
    ) -> ForecastPaths:
        """Return `paths` with calibrated interval ends; p50 stays inside."""
        weeks = np.arange(HORIZON) // WEEK
        p10, p50, p90 = paths.quantiles
        below, above = (
            np.maximum(distance + shifts[classes][:, weeks] * levels[:, None], 0)
            for distance, shifts in ((p50 - p10, self.lower), (p90 - p50, self.upper))
        )
        level_error = NORMAL_P90 * self.level_deviation[weeks] * p50
        ends = (
            p50 - np.hypot(below, level_error),
            p50,
            p50 + np.hypot(above, level_error),
        )
        return ForecastPaths(
            paths.mean, np.stack(ends).astype(np.float32)
        ).with_sorted_quantiles()


def sales_frequency_classes(demand: DailyDemand, until_day: int) -> Ints:
    """Return the sales frequency class of each item from sales before a day: [items]."""
    start = max(0, until_day - _LOOK_BACK)
    sold = (demand.amounts[:, start:until_day] > 0).sum(axis=1)
    days_on_sale = demand.on_sale[:, start:until_day].sum(axis=1)
    return np.asarray(
        np.searchsorted(_CLASS_LIMITS, sold / np.maximum(days_on_sale, 1)), np.int64
    )


def no_calibration() -> IntervalCalibration:
    """Return a calibration without shifts."""
    no_shift = np.zeros((CLASSES, WEEKS))
    return IntervalCalibration(no_shift, no_shift, np.zeros(WEEKS))


def fit_interval_calibration(history: ForecastsWithActualSales) -> IntervalCalibration:
    """Return the shifts that fit the items' own errors, and the store's level error.

    An item's own error is what remains when the store's level is known. Items share the
    error of the level, so that it is no smaller for many items.
    """
    shape = history.actual.shape
    is_on_sale = history.on_sale
    if is_on_sale.sum() < _MIN_ERRORS:
        return no_calibration()
    level_errors, origin_index = _level_errors(history)
    items = len(history.levels) / len(level_errors)
    level_errors *= _LEVEL_ITEMS / (_LEVEL_ITEMS + items)
    actual = history.actual / np.repeat(np.exp(level_errors), WEEK, axis=1)[origin_index]
    weeks, classes, levels = (
        np.broadcast_to(values, shape)[is_on_sale]
        for values in (
            np.arange(HORIZON) // WEEK,
            history.classes[:, None],
            history.levels[:, None],
        )
    )
    below = (history.paths.quantiles[0] - actual)[is_on_sale] / levels
    above = (actual - history.paths.quantiles[2])[is_on_sale] / levels
    lower, upper = np.zeros((CLASSES, WEEKS)), np.zeros((CLASSES, WEEKS))
    for week in range(WEEKS):
        is_week = weeks == week
        for sale_class in range(CLASSES):
            is_chosen = is_week & (classes == sale_class)
            if is_chosen.sum() < _MIN_ERRORS:
                is_chosen = (
                    is_week if is_week.sum() >= _MIN_ERRORS else np.ones_like(is_week)
                )
            lower[sale_class, week], upper[sale_class, week] = _interval_shifts(
                below[is_chosen], above[is_chosen]
            )
    level_deviation = np.sqrt((level_errors**2).mean(axis=0))
    return IntervalCalibration(lower, upper, level_deviation)


def _level_errors(history: ForecastsWithActualSales) -> tuple[Floats, Ints]:
    """Return log(actual / forecast) of the store: [origins, WEEKS], and each row's origin.

    Items count by the root of their level, so that a large one does not decide alone.
    """
    numbers, origin_index = np.unique(history.origins, return_inverse=True)
    weights = history.on_sale / np.sqrt(history.levels)[:, None]
    actual, forecast = np.zeros((2, len(numbers), WEEKS))
    for sums, days in ((actual, history.actual), (forecast, history.paths.mean)):
        weekly = (days * weights).reshape(-1, WEEKS, WEEK).sum(axis=2)
        np.add.at(sums, origin_index, weekly)
    ratios = np.divide(
        actual, forecast, out=np.ones_like(actual), where=(actual > 0) & (forecast > 0)
    )
    return np.clip(np.log(ratios), -_MAX_LEVEL_ERROR, _MAX_LEVEL_ERROR), origin_index


def _interval_shifts(below: Floats, above: Floats) -> tuple[float, float]:
    low = _conformal_quantile(below, 1 - _OUTSIDE_SHARE)
    share_below = float((below > low).mean())
    share_above = min(_MAX_ABOVE, max(_OUTSIDE_SHARE, 2 * _OUTSIDE_SHARE - share_below))
    return low, _conformal_quantile(above, 1 - share_above)


def _conformal_quantile(misses: Floats, share: float) -> float:
    """Return the conformal quantile: corrected for one more draw."""
    count = len(misses)
    return float(np.quantile(misses, min(1.0, share * (count + 1) / count)))


def equal_share_mixtures(method_count: int) -> Floats:
    """Return the shares of every mixture with equal parts: [mixtures, methods].

    The first is the first method alone.
    """
    masks = (np.arange(1, 2**method_count)[:, None] >> np.arange(method_count)) & 1
    return np.asarray(masks / masks.sum(axis=1, keepdims=True))


_METHODS: Final = 5  # ladder, model, moving average, recent level, weekday means
_LADDER, _MODEL = 0, 1
_THIRD: Final = 1 / 3
_WITH_MODEL: Final = np.array(
    [
        (0.5, 0.5, 0, 0, 0),
        (0, 1, 0, 0, 0),
        (_THIRD, _THIRD, _THIRD, 0, 0),
    ]
)
_WITHOUT_MODEL: Final = np.insert(equal_share_mixtures(_METHODS - 1), _MODEL, 0, axis=1)


class MethodForecasts(NamedTuple):
    """The forecasts of the methods for the same days."""

    statistical: ForecastPaths
    model: ForecastPaths  # the ladder's without a trained model
    moving: ForecastPaths  # the last 28 days' mean
    recent: ForecastPaths  # the ladder's with the level of the last days
    weekday: ForecastPaths  # weekday means of 8 weeks

    def of(self, rows: Ints) -> MethodForecasts:
        """Return the selected rows."""
        return MethodForecasts(*(method.of(rows) for method in self))

    def blend(self, mean_weights: Floats, band_weights: Floats) -> ForecastPaths:
        """Return the ensemble by weights [n, methods] of the means and of the intervals."""
        row_shares = [
            weights.astype(np.float32).T[:, :, None]
            for weights in (mean_weights, band_weights)
        ]
        mean, quantiles = (
            np.zeros_like(self.moving.mean),
            np.zeros_like(self.moving.quantiles),
        )
        for mean_share, band_share, method in zip(*row_shares, self, strict=True):
            if mean_share.any():
                mean += mean_share * method.mean
            if band_share.any():
                quantiles += band_share * method.quantiles
        return ForecastPaths(mean, quantiles)


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleWeights:
    """Weight of each method, by class of items: [CLASSES, methods] each."""

    means: Floats
    bands: Floats

    @property
    def needs_model(self) -> bool:
        """Whether the model has any weight."""
        return bool((self.means[:, _MODEL] > 0).any() or (self.bands[:, _MODEL] > 0).any())

    def uses_model(self, classes: Ints) -> Bools:
        """Return whether the model has weight for items of these `classes`."""
        return np.asarray((self.means + self.bands)[classes, _MODEL] > 0)

    def blend(self, methods: MethodForecasts, classes: Ints) -> ForecastPaths:
        """Return the ensemble forecast of items of `classes` [n]."""
        return methods.blend(self.means[classes], self.bands[classes])


def statistical_only_weights() -> EnsembleWeights:
    """Return the weights without a backtest: the ladder alone."""
    statistical_share = np.tile(_WITHOUT_MODEL[0], (CLASSES, 1))
    return EnsembleWeights(statistical_share, statistical_share)


def fit_ensemble_weights(
    methods: MethodForecasts,
    observed: ActualSalesForScoring,
    classes: Ints,
    *,
    has_model: bool,
) -> tuple[EnsembleWeights, ForecastPaths]:
    """Return the ensemble with the least error against `observed`, and its forecast."""
    options = np.concatenate((_WITHOUT_MODEL, _WITH_MODEL)) if has_model else _WITHOUT_MODEL
    with_ladder_or_model = options[:, (_LADDER, _MODEL)].any(axis=1)
    rows = len(classes)
    losses = []
    for shares in options:
        row_weights = np.tile(shares, (rows, 1))
        paths = methods.blend(row_weights, row_weights)
        losses.append(
            (observed.scaled_errors(paths.mean), observed.pinball_losses(paths.quantiles))
        )
    default_weights = statistical_only_weights()
    mean_weights, band_weights = default_weights.means.copy(), default_weights.bands.copy()
    for sale_class in range(CLASSES):
        members = classes == sale_class
        if members.any():
            sums = np.array([[loss[members].sum() for loss in pair] for pair in losses])
            if (
                sale_class < MIN_SALES_A_WEEK
            ):  # four weeks are too short to compare rarely sold items
                sums[~with_ladder_or_model] = np.inf
            mean_weights[sale_class], band_weights[sale_class] = (
                options[best] for best in sums.argmin(axis=0)
            )
    ensemble_weights = EnsembleWeights(mean_weights, band_weights)
    return ensemble_weights, ensemble_weights.blend(methods, classes)


@dataclass(frozen=True, slots=True, eq=False)
class ActualSalesForScoring:
    """Actual sales, for comparison with forecasts: [n, days], and each row's scales [n]."""

    actual: Amounts
    on_sale: Bools
    levels: Floats
    jumps: Floats  # the root mean square of day-to-day changes

    def scaled_errors(self, mean: Amounts) -> Floats:
        """Return the root mean square scaled error of each row: [n]."""
        squared = (((self.actual - mean) ** 2) * self.on_sale).sum(axis=1)
        return np.asarray(np.sqrt(squared / self._open_day_counts) / self.jumps)

    def pinball_losses(self, quantiles: Amounts) -> Floats:
        """Return the mean pinball loss of each row, in its levels: [n]."""
        total = np.zeros(len(self.levels))
        for share, quantile in zip(QUANTILES, quantiles, strict=True):
            loss = pinball_loss(self.actual, quantile, share)
            total += (loss * self.on_sale).sum(axis=1)
        return np.asarray(total / self.levels / self._open_day_counts)

    @property
    def _open_day_counts(self) -> Ints:
        return np.asarray(np.maximum(self.on_sale.sum(axis=1), 1))


def pinball_loss(actual: Amounts, quantile: Amounts, share: float) -> Amounts:
    """Return the pinball loss of each value."""
    errors = actual - quantile
    return np.asarray(np.maximum(share * errors, (share - 1) * errors), np.float32)
