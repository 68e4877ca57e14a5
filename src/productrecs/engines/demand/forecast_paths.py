"""Forecast paths: mean and quantiles of several series, day by day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints, Items
    from productrecs.engines.demand.demand_series import Amounts


@dataclass(frozen=True, slots=True, eq=False)
class ForecastPaths:
    """Forecasts of several series: `mean` [n, days], `quantiles` [3, n, days].

    `mean` is the expected amount, which is additive; quantiles are in the order of
    QUANTILES.
    """

    mean: Amounts
    quantiles: Amounts

    def with_closed_days(self, is_closed: Bools) -> ForecastPaths:
        """Return the paths with 0 where `is_closed` [n or 1, days]."""
        return ForecastPaths(
            np.where(is_closed, 0, self.mean).astype(np.float32),
            np.where(is_closed, 0, self.quantiles).astype(np.float32),
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
