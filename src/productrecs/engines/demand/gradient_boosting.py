"""Gradient-boosted trees: one global model of all items, one set of trees per quantile.

Direct multi-step forecast: the lead time is a feature, and no forecast is fed back. Amounts
are scaled by their item's level, so that large and small items share one model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from productrecs.core.errors import ProductRecsError
from productrecs.engines.demand.demand_series import (
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
    from productrecs.engines.demand.demand_series import Amounts, Demand

_FIRST_ORIGIN: Final = 56
_STEP: Final = 5  # days between origins; covers every weekday
_MOST_ORIGINS: Final = 100
_FEWEST_SALES: Final = 5
_MEAN: Final[dict[str, Any]] = {"objective": "poisson", "num_leaves": 15}
_MEAN_LEAST_ROWS: Final = 1000
_LEAST_CAP: Final = 1.0
_ITEMS_AT_ONCE: Final = 4_000


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
        ahead = np.arange(1, HORIZON + 1, dtype=np.int64)
        parts: list[list[Amounts]] = []
        for start in range(0, len(items), _ITEMS_AT_ONCE):
            some = items[start : start + _ITEMS_AT_ONCE]
            rows = features.of(np.repeat(some, HORIZON), np.tile(ahead, len(some)))
            pace, level = features.paces[some][:, None], features.levels[some][:, None]
            mean, *quantiles = self._boosters
            parts.append(
                [
                    self._predict(mean, rows, pace),
                    *(self._predict(one, rows, level) for one in quantiles),
                ]
            )
        if not parts:
            nothing = np.zeros((0, HORIZON), np.float32)
            return ForecastPaths(
                nothing, np.zeros((len(QUANTILES), 0, HORIZON), np.float32)
            )
        usual, *bands = (np.concatenate(column) for column in zip(*parts, strict=True))
        more = bulk_order_growth(features.paces[items], features.added[items])
        found = ForecastPaths(usual * more[:, None].astype(np.float32), np.stack(bands))
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
    rows, usual, targets = _examples(demand, options)
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
        wanted = base | kind
        if kind is _MEAN:
            least = min(_MEAN_LEAST_ROWS, max(20, len(targets) // 300))
            wanted["min_data_in_leaf"] = least
        goal = usual if kind is _MEAN else targets
        data = lightgbm.Dataset(rows, goal, params=wanted)
        boosters.append(lightgbm.train(wanted, data, options.trees))
        progress((place + 1) / len(kinds))
    return GradientBoostedModel(boosters, options.threads)


def _examples(demand: Demand, options: DemandOptions) -> tuple[Amounts, Amounts, Amounts]:
    """Return a sample of [rows]: features, amounts in paces and in levels.

    Those in paces exclude bulk orders.
    """
    rng = np.random.default_rng(options.seed)
    origins = list(range(demand.days - 7, _FIRST_ORIGIN, -_STEP))[:_MOST_ORIGINS]
    each = max(1, options.training_rows // max(1, len(origins)))
    rows, usual, targets = [], [], []
    for origin in origins:
        items, ahead = _sampled(demand, origin, each, rng)
        if not len(items):
            continue
        chosen, places = np.unique(items, return_inverse=True)
        some = demand.of(chosen)
        features = OriginFeatures(some, origin, whole=demand)
        rows.append(features.of(places.astype(np.int32), ahead))
        came = demand.amounts[items, origin - 1 + ahead]
        most = np.maximum(features.most, _LEAST_CAP)[places]
        usual.append(np.minimum(came, most) / features.paces[places])
        targets.append(came / features.levels[places])
    return (
        np.concatenate(rows),
        np.concatenate(usual).astype(np.float32),
        np.concatenate(targets).astype(np.float32),
    )


def _sampled(
    demand: Demand, origin: int, count: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return items and lead times of `count` targets on days with the item on sale."""
    before = demand.amounts[:, max(0, origin - 112) : origin]
    items = np.flatnonzero((before > 0).sum(axis=1) >= _FEWEST_SALES)
    reach = min(HORIZON, demand.days - origin)
    total = len(items) * reach
    if not total:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    places = np.sort(rng.choice(total, min(total, 2 * count), replace=False))
    sampled, ahead = items[places // reach], places % reach + 1
    held = demand.on_sale[sampled, origin - 1 + ahead]
    sampled, ahead = sampled[held], ahead[held]
    if len(sampled) > count:
        sample = np.sort(rng.choice(len(sampled), count, replace=False))
        sampled, ahead = sampled[sample], ahead[sample]
    return sampled, ahead
