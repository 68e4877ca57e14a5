"""Gradient-boosted trees: one global model of all items, one set of trees per quantile.

Direct multi-step forecast: the lead time is a feature, and no forecast is fed back. Amounts
are scaled by their item's level, so that large and small items share one model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from productrecs.core.errors import ProductRecsError
from productrecs.engines.demand.demand_series_and_cleaning import (
    HORIZON,
    QUANTILES,
    DemandOptions,
    bulk_order_growth,
)
from productrecs.engines.demand.ensemble_and_calibration import ForecastPaths
from productrecs.engines.demand.forecast_features import OriginFeatures

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightgbm import Booster

    from productrecs.engines.arrays import Floats, Ints, Items
    from productrecs.engines.demand.demand_series_and_cleaning import Amounts, Demand

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

    def expect(self, demand: Demand, origin: int, items: Items) -> ForecastPaths:
        """Return the paths of `items` on the HORIZON days after `origin`."""
        features = OriginFeatures(demand, origin)
        days_ahead = np.arange(1, HORIZON + 1, dtype=np.int64)
        blocks: list[list[Amounts]] = []
        for start in range(0, len(items), _ITEMS_PER_BATCH):
            some = items[start : start + _ITEMS_PER_BATCH]
            rows = features.of(np.repeat(some, HORIZON), np.tile(days_ahead, len(some)))
            daily_sales, level = (
                features.daily_sales[some][:, None],
                features.levels[some][:, None],
            )
            mean, *quantiles = self._boosters
            blocks.append(
                [
                    self._predict(mean, rows, daily_sales),
                    *(self._predict(one, rows, level) for one in quantiles),
                ]
            )
        if not blocks:
            no_forecast = np.zeros((0, HORIZON), np.float32)
            return ForecastPaths(
                no_forecast, np.zeros((len(QUANTILES), 0, HORIZON), np.float32)
            )
        mean_forecast, *bands = (
            np.concatenate(column) for column in zip(*blocks, strict=True)
        )
        growth = bulk_order_growth(features.daily_sales[items], features.added[items])
        found = ForecastPaths(
            mean_forecast * growth[:, None].astype(np.float32), np.stack(bands)
        )
        return found.in_order()

    def _predict(self, booster: Booster, rows: Amounts, level: Floats) -> Amounts:
        values = np.asarray(booster.predict(rows, num_threads=self._threads))
        return (values.reshape(-1, HORIZON) * level).astype(np.float32)


def fit_boosted_model(
    demand: Demand, options: DemandOptions, progress: Callable[[float], None]
) -> GradientBoostedModel:
    """Return a model fitted to `demand`; `progress` is called with shares of 1.

    Raises:
        BoostingLibraryMissingError: when the library or its system package is missing.
    """
    try:
        import lightgbm  # noqa: PLC0415 - 0.5 s and 60 MB, for forecasting only
    except (ImportError, OSError) as error:
        message = f"boosted trees cannot be loaded ({error}); on Debian install libgomp1"
        raise BoostingLibraryMissingError(message) from error
    rows, mean_forecast, targets = _examples(demand, options)
    base: dict[str, Any] = {
        "verbose": -1,
        "seed": options.seed,
        "deterministic": True,
        "num_threads": options.threads,
        "learning_rate": options.learning_rate,
        "num_leaves": options.leaves,
        "min_data_in_leaf": min(options.least_rows, max(20, len(targets) // 500)),
        "feature_fraction": 0.6,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
    }
    kinds: list[dict[str, Any]] = [
        _MEAN,
        *({"objective": "quantile", "alpha": share} for share in QUANTILES),
    ]
    boosters = []
    for place, kind in enumerate(kinds):
        parameters = base | kind
        if kind is _MEAN:
            min_leaf = min(_MIN_LEAF_ROWS, max(20, len(targets) // 300))
            parameters["min_data_in_leaf"] = min_leaf
        goal = mean_forecast if kind is _MEAN else targets
        data = lightgbm.Dataset(rows, goal, params=parameters)
        boosters.append(lightgbm.train(parameters, data, options.trees))
        progress((place + 1) / len(kinds))
    return GradientBoostedModel(boosters, options.threads)


def _examples(demand: Demand, options: DemandOptions) -> tuple[Amounts, Amounts, Amounts]:
    """Return a sample of [rows]: features, amounts in paces and in levels.

    Those in paces exclude bulk orders.
    """
    rng = np.random.default_rng(options.seed)
    origins = list(range(demand.days - 7, _FIRST_ORIGIN, -_STEP))[:_MAX_ORIGINS]
    rows_per_origin = max(1, options.training_rows // max(1, len(origins)))
    rows, mean_forecast, targets = [], [], []
    for origin in origins:
        items, days_ahead = _sampled(demand, origin, rows_per_origin, rng)
        if not len(items):
            continue
        chosen, places = np.unique(items, return_inverse=True)
        some = demand.of(chosen)
        features = OriginFeatures(some, origin, full_demand=demand)
        rows.append(features.of(places.astype(np.int32), days_ahead))
        observed = demand.amounts[items, origin - 1 + days_ahead]
        caps = np.maximum(features.caps, _MIN_CAP)[places]
        mean_forecast.append(np.minimum(observed, caps) / features.daily_sales[places])
        targets.append(observed / features.levels[places])
    return (
        np.concatenate(rows),
        np.concatenate(mean_forecast).astype(np.float32),
        np.concatenate(targets).astype(np.float32),
    )


def _sampled(
    demand: Demand, origin: int, count: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return items and lead times of `count` targets on days with the item on sale."""
    before = demand.amounts[:, max(0, origin - 112) : origin]
    items = np.flatnonzero((before > 0).sum(axis=1) >= _MIN_SALES)
    last_day = min(HORIZON, demand.days - origin)
    total = len(items) * last_day
    if not total:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    places = np.sort(rng.choice(total, min(total, 2 * count), replace=False))
    sampled, days_ahead = items[places // last_day], places % last_day + 1
    is_on_sale = demand.on_sale[sampled, origin - 1 + days_ahead]
    sampled, days_ahead = sampled[is_on_sale], days_ahead[is_on_sale]
    if len(sampled) > count:
        sample = np.sort(rng.choice(len(sampled), count, replace=False))
        sampled, days_ahead = sampled[sample], days_ahead[sample]
    return sampled, days_ahead
