"""Forecast ensemble: weights of the forecasting methods, fitted on past weeks.

The mean of several methods is usually better than any of them. Means and intervals have
weights of their own: a method with a good mean may have poor quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.calibration import CLASSES, OFTEN, ForecastPaths
from productrecs.engines.demand.demand_series import QUANTILES

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Floats, Ints
    from productrecs.engines.demand.demand_series import Amounts

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
