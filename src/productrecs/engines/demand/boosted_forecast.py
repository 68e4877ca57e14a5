"""Boosted forecast: one global model of gradient-boosted trees of all items.

One set of trees per quantile. Direct multi-step forecast: the lead time is a feature, and
no forecast is fed back. Amounts are scaled by their item's level, so that large and small
items share one model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from productrecs.core.errors import ProductRecsError
from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    DailyDemand,
    bulk_order_growth,
)
from productrecs.engines.demand.forecast_features import (
    ForecastOriginFeatures,
)
from productrecs.engines.demand.forecast_paths import (
    ForecastPaths,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightgbm import Booster

    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items
    from productrecs.engines.demand.demand_forecast_options import (
        DemandForecastOptions,
    )
    from productrecs.engines.demand.demand_series import Amounts


_FIRST_ORIGIN: Final = 56
_STEP: Final = 5  # days between origins; covers every weekday
_MAX_ORIGINS: Final = 100
_MIN_SALES: Final = 5
_MEAN: Final[dict[str, Any]] = {"objective": "poisson", "num_leaves": 15}
_MIN_LEAF_ROWS: Final = 1000
_MIN_CAP: Final = 1.0
_ITEMS_PER_BATCH: Final = 4_000


class BoostingLibraryMissingError(ProductRecsError):
    """The library of boosted trees cannot be loaded; the ladder forecasts without it."""


class GradientBoostedModel:
    """Trees for the mean and for each quantile, trained on all items together."""

    def __init__(self, boosters: list[Booster], threads: int) -> None:
        """Store boosters for the mean, in paces, and for QUANTILES, in levels."""
        self._boosters = boosters
        self._threads = threads

    def forecast_items(
        self, demand: DailyDemand, origin: int, items: Items
    ) -> ForecastPaths:
        """Return the paths of `items` on the HORIZON days after `origin`."""
        features = ForecastOriginFeatures(demand, origin)
        days_ahead = np.arange(1, HORIZON + 1, dtype=np.int64)
        blocks: list[list[Amounts]] = []
        for start in range(0, len(items), _ITEMS_PER_BATCH):
            batch = items[start : start + _ITEMS_PER_BATCH]
            rows = features.feature_rows(
                np.repeat(batch, HORIZON), np.tile(days_ahead, len(batch))
            )
            daily_sales = features.daily_sales[batch][:, None]
            level = features.levels[batch][:, None]
            mean, *quantiles = self._boosters
            blocks.append(
                [
                    self._predict(mean, rows, daily_sales),
                    *(self._predict(booster, rows, level) for booster in quantiles),
                ]
            )
        if not blocks:
            no_forecast = np.zeros((0, HORIZON), np.float32)
            return ForecastPaths(
                no_forecast, np.zeros((len(QUANTILES), 0, HORIZON), np.float32)
            )
        mean_forecast, *quantile_forecasts = (
            np.concatenate(column) for column in zip(*blocks, strict=True)
        )
        growth = bulk_order_growth(features.daily_sales[items], features.added[items])
        paths = ForecastPaths(
            mean_forecast * growth[:, None].astype(np.float32), np.stack(quantile_forecasts)
        )
        return paths.with_sorted_quantiles()

    def _predict(self, booster: Booster, rows: Amounts, level: Floats) -> Amounts:
        values = np.asarray(booster.predict(rows, num_threads=self._threads))
        return (values.reshape(-1, HORIZON) * level).astype(np.float32)


def fit_boosted_model(
    demand: DailyDemand, options: DemandForecastOptions, progress: Callable[[float], None]
) -> GradientBoostedModel:
    """Return a model fitted to `demand`; `progress` is called with shares of 1.

    Raises:
        BoostingLibraryMissingError: when the library or its system package is missing.
    """
    try:
        import lightgbm  # noqa: PLC0415 - 0.5 s and 60 MB, for forecasting only
    except (ImportError, OSError) as error:
        message = (
            f"boosted trees cannot be loaded ({error}); pip install productrecs[forecast], "
            "and on Debian apt-get install libgomp1"
        )
        raise BoostingLibraryMissingError(message) from error
    rows, mean_targets, quantile_targets = _training_examples(demand, options)
    base: dict[str, Any] = {
        "verbose": -1,
        "seed": options.seed,
        "deterministic": True,
        "num_threads": options.threads,
        "learning_rate": options.learning_rate,
        "num_leaves": options.leaves,
        "min_data_in_leaf": min(options.least_rows, max(20, len(quantile_targets) // 500)),
        "feature_fraction": 0.6,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
    }
    objectives: list[dict[str, Any]] = [
        _MEAN,
        *({"objective": "quantile", "alpha": share} for share in QUANTILES),
    ]
    boosters = []
    for index, objective in enumerate(objectives):
        parameters = base | objective
        if objective is _MEAN:
            min_leaf = min(_MIN_LEAF_ROWS, max(20, len(quantile_targets) // 300))
            parameters["min_data_in_leaf"] = min_leaf
        target = mean_targets if objective is _MEAN else quantile_targets
        data = lightgbm.Dataset(rows, target, params=parameters)
        boosters.append(lightgbm.train(parameters, data, options.trees))
        progress((index + 1) / len(objectives))
    return GradientBoostedModel(boosters, options.threads)


def _training_examples(
    demand: DailyDemand, options: DemandForecastOptions
) -> tuple[Amounts, Amounts, Amounts]:
    """Return a sample of [rows]: features, amounts in paces and in levels.

    Those in paces exclude bulk orders.
    """
    rng = np.random.default_rng(options.seed)
    origins = list(range(demand.days - 7, _FIRST_ORIGIN, -_STEP))[:_MAX_ORIGINS]
    rows_per_origin = max(1, options.training_rows // max(1, len(origins)))
    rows, mean_targets, quantile_targets = [], [], []
    for origin in origins:
        items, days_ahead = _sample_targets(demand, origin, rows_per_origin, rng)
        if not len(items):
            continue
        distinct_items, item_index = np.unique(items, return_inverse=True)
        subset = demand.of(distinct_items)
        features = ForecastOriginFeatures(subset, origin, full_demand=demand)
        rows.append(features.feature_rows(item_index.astype(np.int32), days_ahead))
        amounts = demand.amounts[items, origin - 1 + days_ahead]
        caps = np.maximum(features.caps, _MIN_CAP)[item_index]
        mean_targets.append(np.minimum(amounts, caps) / features.daily_sales[item_index])
        quantile_targets.append(amounts / features.levels[item_index])
    return (
        np.concatenate(rows),
        np.concatenate(mean_targets).astype(np.float32),
        np.concatenate(quantile_targets).astype(np.float32),
    )


def _sample_targets(
    demand: DailyDemand, origin: int, count: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return items and lead times of `count` targets on days with the item on sale."""
    earlier_amounts = demand.amounts[:, max(0, origin - 112) : origin]
    items = np.flatnonzero((earlier_amounts > 0).sum(axis=1) >= _MIN_SALES)
    last_day = min(HORIZON, demand.days - origin)
    total = len(items) * last_day
    if not total:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    target_numbers = np.sort(rng.choice(total, min(total, 2 * count), replace=False))
    sampled, days_ahead = items[target_numbers // last_day], target_numbers % last_day + 1
    is_on_sale = demand.on_sale[sampled, origin - 1 + days_ahead]
    sampled, days_ahead = sampled[is_on_sale], days_ahead[is_on_sale]
    if len(sampled) > count:
        sample = np.sort(rng.choice(len(sampled), count, replace=False))
        sampled, days_ahead = sampled[sample], days_ahead[sample]
    return sampled, days_ahead
