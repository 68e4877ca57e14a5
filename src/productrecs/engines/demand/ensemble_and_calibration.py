"""Forecast ensemble and calibration: weights of methods, and the width of intervals.

The mean of several methods is usually better than each of them. Means and intervals have
separate weights: a method with a good mean may have poor quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import HORIZON, QUANTILES, WEEK

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints, Items
    from productrecs.engines.demand.demand_series import Amounts, DailyDemand


@dataclass(frozen=True, slots=True, eq=False)
class ForecastPaths:
    """Forecasts of several series: `mean` [n, days], `quantiles` [3, n, days].

    `mean` is the expected amount, which is additive; quantiles are in the order of
    QUANTILES.
    """

    mean: Amounts
    quantiles: Amounts

    def closed_on(self, closed: Bools) -> ForecastPaths:
        """Return the paths with 0 on the days that are `closed` [n or 1, days]."""
        return ForecastPaths(
            np.where(closed, 0, self.mean).astype(np.float32),
            np.where(closed, 0, self.quantiles).astype(np.float32),
        )

    def multiply(self, factors: Floats) -> ForecastPaths:
        """Return the paths multiplied by `factors` ([days], or [n, days])."""
        scale = factors.astype(np.float32)
        return ForecastPaths(self.mean * scale, self.quantiles * scale)

    def with_sorted_quantiles(self) -> ForecastPaths:
        """Return the paths clipped at 0, with quantiles in ascending order."""
        quantiles = np.sort(np.maximum(self.quantiles, 0), axis=0)
        return ForecastPaths(np.maximum(self.mean, 0), quantiles)

    def of(self, rows: Ints | Items) -> ForecastPaths:
        """Return the paths of these rows."""
        return ForecastPaths(self.mean[rows], self.quantiles[:, rows])


WEEKS: Final = HORIZON // WEEK
CLASSES: Final = 5
_CLASS_LIMITS: Final = np.array([0.1, 0.3, 0.6, 0.85])
"""Class limits: share of an item's open days with a sale."""

MIN_SALES_A_WEEK: Final = 2
"""The first class whose pace depends on an item's last weeks."""

_LOOK_BACK: Final = 112
_MIN_ERRORS: Final = 200  # minimum errors for a class to have its own calibration
_OUTSIDE_SHARE: Final = 0.1  # share of days outside each end
_MAX_OUTSIDE: Final = 0.24
_MAX_ABOVE: Final = 0.22
"""Maximum share of days above p90. If p10 is 0, no day lies below the interval, and p90 is
lowered towards this share to keep the interval narrow."""

_INWARD_SHARE: Final = 0.6
"""Part of an inward shift that is applied: errors of past weeks are correlated, so that
intervals are narrowed carefully but widened at once. The nominal shares outside are
therefore above a fifth."""


@dataclass(frozen=True, slots=True, eq=False)
class PastForecasts:
    """Past forecasts and actual sales: [n, HORIZON], with levels and classes."""

    paths: ForecastPaths
    actual: Amounts
    on_sale: Bools
    levels: Floats  # [n]
    classes: Ints  # [n]

    def of(self, rows: Bools) -> PastForecasts:
        """Return the selected rows."""
        return PastForecasts(
            self.paths.of(np.flatnonzero(rows)),
            self.actual[rows],
            self.on_sale[rows],
            self.levels[rows],
            self.classes[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Shift of each interval end outwards, in levels: [CLASSES, WEEKS] each."""

    lower: Floats
    upper: Floats

    def calibrate(
        self, paths: ForecastPaths, levels: Floats, classes: Ints
    ) -> ForecastPaths:
        """Return `paths` with shifted interval ends; p50 stays inside."""
        weeks = np.arange(HORIZON) // WEEK
        low = self.lower[classes][:, weeks] * levels[:, None]
        high = self.upper[classes][:, weeks] * levels[:, None]
        p10, p50, p90 = paths.quantiles
        ends = (np.minimum(p10 - low, p50), p50, np.maximum(p90 + high, p50))
        return ForecastPaths(
            paths.mean, np.stack(ends).astype(np.float32)
        ).with_sorted_quantiles()


def sale_classes(demand: DailyDemand, origin: int) -> Ints:
    """Return the sales frequency class of each item, in 0..CLASSES-1: [items]."""
    start = max(0, origin - _LOOK_BACK)
    sold = (demand.amounts[:, start:origin] > 0).sum(axis=1)
    days_on_sale = demand.on_sale[:, start:origin].sum(axis=1)
    return np.asarray(
        np.searchsorted(_CLASS_LIMITS, sold / np.maximum(days_on_sale, 1)), np.int64
    )


def no_calibration() -> Calibration:
    """Return a calibration without shifts."""
    no_shift = np.zeros((CLASSES, WEEKS))
    return Calibration(no_shift, no_shift)


def fit_calibration(history: PastForecasts) -> Calibration:
    """Return the interval shifts: a part of those that fit past errors."""
    weeks = np.broadcast_to(np.arange(HORIZON) // WEEK, history.actual.shape)
    classes = np.broadcast_to(history.classes[:, None], history.actual.shape)
    levels = np.broadcast_to(history.levels[:, None], history.actual.shape)
    is_on_sale = history.on_sale
    below = ((history.paths.quantiles[0] - history.actual) / levels)[is_on_sale]
    above = ((history.actual - history.paths.quantiles[2]) / levels)[is_on_sale]
    weeks, classes = weeks[is_on_sale], classes[is_on_sale]
    if len(below) < _MIN_ERRORS:
        return no_calibration()
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
    return Calibration(_shrink_inward_shifts(lower), _shrink_inward_shifts(upper))


def _interval_shifts(below: Floats, above: Floats) -> tuple[float, float]:
    low = _conformal_quantile(below, 1 - _OUTSIDE_SHARE)
    share_below = float((below > low).mean())
    share_above = min(_MAX_ABOVE, max(_OUTSIDE_SHARE, _MAX_OUTSIDE - share_below))
    return low, _conformal_quantile(above, 1 - share_above)


def _shrink_inward_shifts(shifts: Floats) -> Floats:
    """Return outward shifts unchanged, and a part of inward ones (below 0)."""
    return np.where(shifts < 0, _INWARD_SHARE * shifts, shifts)


def _conformal_quantile(misses: Floats, share: float) -> float:
    """Return the conformal quantile: corrected for one more draw."""
    count = len(misses)
    return float(np.quantile(misses, min(1.0, share * (count + 1) / count)))


_THIRD: Final = 1 / 3
_WITH_MODEL: Final = (
    (1.0, 0.0, 0.0),
    (0.5, 0.5, 0.0),
    (0.0, 1.0, 0.0),
    (_THIRD, _THIRD, _THIRD),
)
_WITHOUT_MODEL: Final = ((1.0, 0.0, 0.0), (0.5, 0.0, 0.5), (0.0, 0.0, 1.0))
"""Weights of the ladder, the trained model and the moving average."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodForecasts:
    """The forecasts of three methods for the same days."""

    statistical: ForecastPaths
    model: ForecastPaths  # the ladder's without a trained model
    moving: ForecastPaths

    def of(self, rows: Ints) -> MethodForecasts:
        """Return the selected rows."""
        return MethodForecasts(
            self.statistical.of(rows), self.model.of(rows), self.moving.of(rows)
        )

    def blend(self, mean_weights: Floats, band_weights: Floats) -> ForecastPaths:
        """Return the ensemble by weights [n, 3] of the means and of the intervals."""
        methods = (self.statistical, self.model, self.moving)
        row_shares = [
            weights.astype(np.float32).T[:, :, None]
            for weights in (mean_weights, band_weights)
        ]
        mean = sum(
            share * method.mean
            for share, method in zip(row_shares[0], methods, strict=True)
        )
        quantiles = sum(
            share * method.quantiles
            for share, method in zip(row_shares[1], methods, strict=True)
        )
        return ForecastPaths(np.asarray(mean), np.asarray(quantiles))


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleWeights:
    """Weight of each method, by class of items: [CLASSES, 3] each."""

    means: Floats
    bands: Floats

    @property
    def needs_model(self) -> bool:
        """Whether the model has any weight."""
        return bool((self.means[:, 1] > 0).any() or (self.bands[:, 1] > 0).any())

    def uses_model(self, classes: Ints) -> Bools:
        """Return whether the model has weight for items of these `classes`."""
        return np.asarray((self.means + self.bands)[classes, 1] > 0)

    def of(self, methods: MethodForecasts, classes: Ints) -> ForecastPaths:
        """Return the ensemble forecast of items of `classes` [n]."""
        return methods.blend(self.means[classes], self.bands[classes])


def statistical_only() -> EnsembleWeights:
    """Return the weights without a backtest: the ladder alone."""
    statistical_share = np.tile(np.array(_WITHOUT_MODEL[0]), (CLASSES, 1))
    return EnsembleWeights(statistical_share, statistical_share)


def fit_ensemble_weights(
    methods: MethodForecasts, observed: ObservedDemand, classes: Ints, *, has_model: bool
) -> tuple[EnsembleWeights, ForecastPaths]:
    """Return the ensemble with the least error against `observed`, and its forecast."""
    options = _WITH_MODEL + _WITHOUT_MODEL[1:] if has_model else _WITHOUT_MODEL
    rows = len(classes)
    losses = []
    for shares in options:
        row_weights = np.tile(np.array(shares), (rows, 1))
        paths = methods.blend(row_weights, row_weights)
        losses.append(
            (observed.scaled_errors(paths.mean), observed.pinball(paths.quantiles))
        )
    default_weights = statistical_only()
    mean_weights, band_weights = default_weights.means.copy(), default_weights.bands.copy()
    for sale_class in range(CLASSES):
        members = classes == sale_class
        if members.any():
            sums = np.array([[loss[members].sum() for loss in pair] for pair in losses])
            if (
                sale_class < MIN_SALES_A_WEEK
            ):  # four weeks are too short to compare rarely sold items
                sums[-1] = np.inf
            mean_weights[sale_class], band_weights[sale_class] = (
                options[best] for best in sums.argmin(axis=0)
            )
    ensemble_weights = EnsembleWeights(mean_weights, band_weights)
    return ensemble_weights, ensemble_weights.of(methods, classes)


@dataclass(frozen=True, slots=True, eq=False)
class ObservedDemand:
    """Actual sales, for comparison with forecasts: [n, days], and each row's scales [n]."""

    actual: Amounts
    on_sale: Bools
    levels: Floats
    jumps: Floats  # the root mean square of day-to-day changes

    def scaled_errors(self, mean: Amounts) -> Floats:
        """Return the root mean square scaled error of each row: [n]."""
        squared = (((self.actual - mean) ** 2) * self.on_sale).sum(axis=1)
        return np.asarray(np.sqrt(squared / self._days) / self.jumps)

    def pinball(self, quantiles: Amounts) -> Floats:
        """Return the mean pinball loss of each row, in its levels: [n]."""
        total = np.zeros(len(self.levels))
        for share, quantile in zip(QUANTILES, quantiles, strict=True):
            loss = pinball_loss(self.actual, quantile, share)
            total += (loss * self.on_sale).sum(axis=1)
        return np.asarray(total / self.levels / self._days)

    @property
    def _days(self) -> Ints:
        return np.asarray(np.maximum(self.on_sale.sum(axis=1), 1))


def pinball_loss(actual: Amounts, quantile: Amounts, share: float) -> Amounts:
    """Return the pinball loss of each value."""
    errors = actual - quantile
    return np.asarray(np.maximum(share * errors, (share - 1) * errors), np.float32)
