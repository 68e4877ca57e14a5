"""Forecast ensemble and calibration: weights of methods, and the width of intervals.

The mean of several methods is usually better than any of them. Means and intervals have
weights of their own: a method with a good mean may have poor quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import HORIZON, QUANTILES, WEEK

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Floats, Ints, Items
    from productrecs.engines.demand.demand_series import Amounts, Demand


@dataclass(frozen=True, slots=True, eq=False)
class ForecastPaths:
    """The days ahead of some series: `mean` [n, days], `quantiles` [3, n, days].

    `mean` is the expected amount, which sums; quantiles are for QUANTILES, in their order.
    """

    mean: Amounts
    quantiles: Amounts

    def closed_on(self, closed: Bools) -> ForecastPaths:
        """Return the same with nothing on the days that are `closed` [n or 1, days]."""
        return ForecastPaths(
            np.where(closed, 0, self.mean).astype(np.float32),
            np.where(closed, 0, self.quantiles).astype(np.float32),
        )

    def times(self, factors: Floats) -> ForecastPaths:
        """Return every number times `factors` ([days], or [n, days])."""
        scale = factors.astype(np.float32)
        return ForecastPaths(self.mean * scale, self.quantiles * scale)

    def in_order(self) -> ForecastPaths:
        """Return the same with nothing below 0 and no quantile above the next one."""
        quantiles = np.sort(np.maximum(self.quantiles, 0), axis=0)
        return ForecastPaths(np.maximum(self.mean, 0), quantiles)

    def of(self, rows: Ints | Items) -> ForecastPaths:
        """Return the paths of these rows alone."""
        return ForecastPaths(self.mean[rows], self.quantiles[:, rows])


WEEKS: Final = HORIZON // WEEK
CLASSES: Final = 5
_ENDS: Final = np.array([0.1, 0.3, 0.6, 0.85])
"""Where classes end, in the share of its open days on which an item sells."""

OFTEN: Final = 2
"""The class from which on an item's last weeks determine its pace."""

_LOOK_BACK: Final = 112
_FEWEST: Final = 200  # misses, before a class has ends of its own
_OUTSIDE: Final = 0.1  # of the days lie beyond each end
_OUTSIDE_TOGETHER: Final = 0.24
_MOST_ABOVE: Final = 0.22
"""Where days without a sale keep p10 at 0, none lies below the band, and p90 comes down
towards where this share is above: a band that covers nine days in ten is of little use."""

_NARROWED: Final = 0.6
"""Of the way to there. The weeks of one past miss alike, those to come miss otherwise: a
band too wide of late is drawn in with care, one that was too narrow is wider at once.
That is why the shares outside are more than the fifth that is meant."""


@dataclass(frozen=True, slots=True, eq=False)
class PastForecasts:
    """Forecasts of the past beside what came: [n, HORIZON], and what they are judged by."""

    paths: ForecastPaths
    actual: Amounts
    on_sale: Bools
    levels: Floats  # [n]
    classes: Ints  # [n]

    def of(self, rows: Bools) -> PastForecasts:
        """Return some of them."""
        return PastForecasts(
            self.paths.of(np.flatnonzero(rows)),
            self.actual[rows],
            self.on_sale[rows],
            self.levels[rows],
            self.classes[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """By how many levels each end moves outwards: [CLASSES, WEEKS] each."""

    lower: Floats
    upper: Floats

    def applied(self, paths: ForecastPaths, levels: Floats, classes: Ints) -> ForecastPaths:
        """Return `paths` with their band's ends moved; p50 stays inside."""
        weeks = np.arange(HORIZON) // WEEK
        low = self.lower[classes][:, weeks] * levels[:, None]
        high = self.upper[classes][:, weeks] * levels[:, None]
        p10, p50, p90 = paths.quantiles
        ends = (np.minimum(p10 - low, p50), p50, np.maximum(p90 + high, p50))
        return ForecastPaths(paths.mean, np.stack(ends).astype(np.float32)).in_order()


def sale_classes(demand: Demand, origin: int) -> Ints:
    """Return how often each item sells of late, as a class in 0..CLASSES-1: [items]."""
    start = max(0, origin - _LOOK_BACK)
    sold = (demand.amounts[:, start:origin] > 0).sum(axis=1)
    held = demand.on_sale[:, start:origin].sum(axis=1)
    return np.asarray(np.searchsorted(_ENDS, sold / np.maximum(held, 1)), np.int64)


def no_calibration() -> Calibration:
    """Return the one that moves nothing."""
    nothing = np.zeros((CLASSES, WEEKS))
    return Calibration(nothing, nothing)


def fit_calibration(past: PastForecasts) -> Calibration:
    """Return how far the ends move: part of the way to where the past was right."""
    weeks = np.broadcast_to(np.arange(HORIZON) // WEEK, past.actual.shape)
    classes = np.broadcast_to(past.classes[:, None], past.actual.shape)
    levels = np.broadcast_to(past.levels[:, None], past.actual.shape)
    held = past.on_sale
    below = ((past.paths.quantiles[0] - past.actual) / levels)[held]
    above = ((past.actual - past.paths.quantiles[2]) / levels)[held]
    weeks, classes = weeks[held], classes[held]
    if len(below) < _FEWEST:
        return no_calibration()
    lower, upper = np.zeros((CLASSES, WEEKS)), np.zeros((CLASSES, WEEKS))
    for week in range(WEEKS):
        of_week = weeks == week
        for one in range(CLASSES):
            chosen = of_week & (classes == one)
            if chosen.sum() < _FEWEST:
                chosen = of_week if of_week.sum() >= _FEWEST else np.ones_like(of_week)
            lower[one, week], upper[one, week] = _moves(below[chosen], above[chosen])
    return Calibration(_with_care(lower), _with_care(upper))


def _moves(below: Floats, above: Floats) -> tuple[float, float]:
    low = _corrected(below, 1 - _OUTSIDE)
    missed = float((below > low).mean())
    outside = min(_MOST_ABOVE, max(_OUTSIDE, _OUTSIDE_TOGETHER - missed))
    return low, _corrected(above, 1 - outside)


def _with_care(moves: Floats) -> Floats:
    """Return moves outwards as they are, and those inwards (below 0) in part."""
    return np.where(moves < 0, _NARROWED * moves, moves)


def _corrected(misses: Floats, share: float) -> float:
    """Return the quantile that holds for one more draw, not only for those seen."""
    count = len(misses)
    return float(np.quantile(misses, min(1.0, share * (count + 1) / count)))


_THIRD: Final = 1 / 3
_WITH_MODEL: Final = (
    (1.0, 0.0, 0.0),
    (0.5, 0.5, 0.0),
    (0.0, 1.0, 0.0),
    (_THIRD, _THIRD, _THIRD),
)
_WITHOUT: Final = ((1.0, 0.0, 0.0), (0.5, 0.0, 0.5), (0.0, 0.0, 1.0))
"""Shares of the ladder, of the learned model and of the moving average."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodForecasts:
    """The forecasts of three methods for the same days."""

    statistical: ForecastPaths
    model: ForecastPaths  # the ladder's where nothing is learned
    moving: ForecastPaths

    def of(self, rows: Ints) -> MethodForecasts:
        """Return some rows."""
        return MethodForecasts(
            self.statistical.of(rows), self.model.of(rows), self.moving.of(rows)
        )

    def mixed(self, means: Floats, bands: Floats) -> ForecastPaths:
        """Return the mixture by shares [n, 3] of the means and of the bands."""
        ways = (self.statistical, self.model, self.moving)
        by_row = [shares.astype(np.float32).T[:, :, None] for shares in (means, bands)]
        mean = sum(share * way.mean for share, way in zip(by_row[0], ways, strict=True))
        quantiles = sum(
            share * way.quantiles for share, way in zip(by_row[1], ways, strict=True)
        )
        return ForecastPaths(np.asarray(mean), np.asarray(quantiles))


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleWeights:
    """What each way counts, by class of items: [CLASSES, 3] each."""

    means: Floats
    bands: Floats

    @property
    def wants_model(self) -> bool:
        """Whether the model is worth being learned."""
        return bool((self.means[:, 1] > 0).any() or (self.bands[:, 1] > 0).any())

    def uses_model(self, classes: Ints) -> Bools:
        """Return whether the model has a part in items of these `classes`."""
        return np.asarray((self.means + self.bands)[classes, 1] > 0)

    def of(self, ways: MethodForecasts, classes: Ints) -> ForecastPaths:
        """Return the mixture of items of `classes` [n]."""
        return ways.mixed(self.means[classes], self.bands[classes])


def ladder_only() -> EnsembleWeights:
    """Return what serves where nothing is known of the past: the ladder alone."""
    alone = np.tile(np.array(_WITHOUT[0]), (CLASSES, 1))
    return EnsembleWeights(alone, alone)


def fit_ensemble_weights(
    ways: MethodForecasts, came: ObservedDemand, classes: Ints, *, has_model: bool
) -> tuple[EnsembleWeights, ForecastPaths]:
    """Return the mixture with the least error against `came`, and its forecast."""
    options = _WITH_MODEL + _WITHOUT[1:] if has_model else _WITHOUT
    rows = len(classes)
    losses = []
    for shares in options:
        each = np.tile(np.array(shares), (rows, 1))
        paths = ways.mixed(each, each)
        losses.append((came.missed(paths.mean), came.pinball(paths.quantiles)))
    found = ladder_only()
    means, bands = found.means.copy(), found.bands.copy()
    for one in range(CLASSES):
        members = classes == one
        if members.any():
            sums = np.array([[loss[members].sum() for loss in pair] for pair in losses])
            if one < OFTEN:  # four weeks are too few for a slow seller
                sums[-1] = np.inf
            means[one], bands[one] = (options[best] for best in sums.argmin(axis=0))
    mixture = EnsembleWeights(means, bands)
    return mixture, mixture.of(ways, classes)


@dataclass(frozen=True, slots=True, eq=False)
class ObservedDemand:
    """What came, to be held against forecasts: [n, days], and each row's scales [n]."""

    actual: Amounts
    on_sale: Bools
    levels: Floats
    jumps: Floats  # the root mean square from one day to the next

    def missed(self, mean: Amounts) -> Floats:
        """Return the root mean square error of each row, in its jumps: [n]."""
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
    """Return the pinball loss of each number."""
    missed = actual - quantile
    return np.asarray(np.maximum(share * missed, (share - 1) * missed), np.float32)
