"""Hyperparameters of the demand forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HORIZON: Final = 28
"""Days ahead that are forecast."""

QUANTILES: Final = (0.1, 0.5, 0.9)

WEEK: Final = 7

USUAL_DOUBT: Final = 0.2
"""By how much a season must have moved a store to be half believed, as a logarithm, where
the past does not say: chosen on invented shops with and without seasons."""


@dataclass(frozen=True, slots=True)
class DemandOptions:
    """Constants of the forecast; their origin is in `benchmarks/quality/demand.py`."""

    model_days: int = 180  # of history, before a learned model is tried
    model_items: int = 200  # with `model_sale_days` each, before it is tried
    model_sale_days: int = 28
    sparse_sales: int = 5  # fewer sales in all: the category speaks for the item
    sparse_days: int = 28  # younger than this: likewise
    regular_interval: float = 1.32  # days from sale to sale; above, it is intermittent
    obsolete_days: int = 180  # without a sale: nothing is expected any more
    backtest_origins: int = 8  # a week apart, the newest a horizon before today
    training_rows: int = 300_000
    trees: int = 200
    leaves: int = 31
    learning_rate: float = 0.05
    least_rows: int = 200  # in a leaf
    threads: int = 2
    seed: int = 7
