"""Conformal calibration: sets the width of the intervals of forecast paths by past errors.

Each end of the interval moves to the quantile of past errors that would have been right, by
week ahead and by how often items sell, in units of the item's level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import HORIZON, WEEK

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
