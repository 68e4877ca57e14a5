"""Forecast paths: mean, p10, p50 and p90 of each day ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.arrays import (
        Bools,
        Floats,
        Ints,
        Items,
    )
    from productrecs.engines.demand.demand_series import Amounts


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
