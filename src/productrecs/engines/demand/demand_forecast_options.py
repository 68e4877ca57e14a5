"""Demand forecast options: minimum histories, the backtest and the trained model."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemandForecastOptions:
    """Forecast parameters; their origin is in `benchmarks/quality/demand.py`."""

    model_days: int = 180  # minimum history for a trained model
    model_items: int = 200  # minimum items with `model_sale_days` each
    model_sale_days: int = 28
    sparse_sales: int = 5  # with fewer sales in all, the category's rate is used
    sparse_days: int = 28  # and for younger items
    regular_interval: float = 1.32  # days between sales; above, demand is intermittent
    obsolete_days: int = 180  # without a sale: the forecast is zero
    backtest_origins: int = 8  # one week apart, the newest one horizon before today
    training_rows: int = 300_000
    trees: int = 200
    leaves: int = 31
    learning_rate: float = 0.05
    least_rows: int = 200  # minimum rows of a leaf
    threads: int = 2
    seed: int = 7
