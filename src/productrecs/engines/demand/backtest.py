"""Forecast backtest: ensemble weights, calibration and accuracy on past data.

A model is trained up to the oldest origin. The model and the statistical ladder forecast
from weekly origins, and the forecasts are compared with actual sales. The result has each
class's ensemble weights and interval widths, and the accuracy figures for merchants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import HORIZON, QUANTILES, WEEK, DemandOptions
from productrecs.engines.demand.ensemble_and_calibration import (
    CLASSES,
    Calibration,
    EnsembleWeights,
    ForecastPaths,
    MethodForecasts,
    ObservedDemand,
    PastForecasts,
    fit_calibration,
    fit_ensemble_weights,
    ladder_only,
    no_calibration,
    pinball_loss,
    sale_classes,
)
from productrecs.engines.demand.forecast_features import (
    item_levels,
    mean_amounts,
    own_quantiles,
    store_totals,
)
from productrecs.engines.demand.gradient_boosting import (
    BoostingLibraryMissingError,
    GradientBoostedModel,
    fit_boosted_model,
)
from productrecs.engines.demand.statistical_forecast import (
    apply_item_weekdays,
    classify_demand,
    statistical_forecast,
)
from productrecs.engines.demand.store_total import YearlySeasonality

if TYPE_CHECKING:
    from collections.abc import Callable

    from productrecs.engines.arrays import (
        Bools,
        Floats,
        Ints,
        Items,
    )
    from productrecs.engines.demand.demand_series import Amounts, Demand

_FIRST_ORIGIN: Final = 56
_MOST_JUDGED: Final = 4_000
_SALE_DAYS: Final = 112
_FEWEST_JUDGED_BY: Final = 28  # minimum days with a sale for an item's accuracy
_LEARNED_FROM: Final = 5  # minimum sales of a model item in the last 112 days
_LEAST_FACTOR, _MOST_FACTOR = 0.75, 4 / 3
_TOTALS_PART: Final = 0.5
"""Weight of the store's total relative to the sum of its items: on earlier origins the
mixture was better than either."""

_MISSING_WEIGHT: Final = 4.0
_SUM_DAYS: Final = 14
_NORMAL_P90: Final = 1.2816


@dataclass(frozen=True, slots=True, eq=False)
class BacktestResult:
    """Backtest result: how to forecast each class of items."""

    mixture: EnsembleWeights
    calibration: Calibration
    sums: Floats  # [CLASSES] overdispersion of sums of days
    judged: ItemBacktest | None


@dataclass(frozen=True, slots=True)
class MethodScores:
    """Accuracy of one forecast method for items."""

    rmsse: float
    pinball: tuple[float, float, float]  # in units of the naive method's mean error
    wape: float
    bias: float
    coverage: float


@dataclass(frozen=True, slots=True)
class ItemBacktest:
    """Accuracy of the items' forecasts, compared with two baselines."""

    items: int  # with sales on at least 28 days; rmsse and pinball are theirs
    origins: int
    ours: MethodScores
    naive: MethodScores  # seasonal naive: last week, with 8 weeks' quantiles by weekday
    moving: MethodScores  # moving average: the last 28 days, with the quantiles of 56


@dataclass(slots=True, eq=False)
class _Candidates:
    """The methods' forecasts at all origins, the actual sales, and the scales."""

    ways: list[MethodForecasts]
    actual: list[Amounts]
    on_sale: list[Bools]
    levels: list[Floats]
    jumps: list[Floats]
    classes: list[Ints]
    origins: list[Ints]


def run_backtest(
    demand: Demand, options: DemandOptions, progress: Callable[[float], None]
) -> BacktestResult:
    """Return the backtest result; without enough history, the uncalibrated ladder."""
    origins = origins_of(demand.days, options)
    judged = _judged_items(demand)
    if not origins or not len(judged):
        return BacktestResult(ladder_only(), no_calibration(), np.full(CLASSES, 1.5), None)
    model = None
    if has_enough_history(demand.until(origins[-1]), options, demand.days):
        try:
            model = fit_boosted_model(
                demand.until(origins[-1]), options, lambda s: progress(0.6 * s)
            )
        except BoostingLibraryMissingError:
            model = None
    found = _Candidates([], [], [], [], [], [], [])
    for place, origin in enumerate(origins):
        _add(found, demand, origin, judged, model, options)
        progress(0.6 + 0.35 * (place + 1) / len(origins))
    return _verdict(found, has_model=model is not None, demand=demand, judged=judged)


def origins_of(days: int, options: DemandOptions) -> list[int]:
    """Return the backtest origins, newest first; none in a short history."""
    first = days - HORIZON
    back = options.backtest_origins if 2 * days >= 3 * options.model_days else 4
    return [
        origin
        for origin in range(first, first - back * WEEK, -WEEK)
        if origin >= _FIRST_ORIGIN
    ]


def has_enough_history(demand: Demand, options: DemandOptions, days: int) -> bool:
    """Return whether `days` days of history are enough for a trained model."""
    if days < options.model_days:
        return False
    often = (demand.amounts > 0).sum(axis=1) >= options.model_sale_days
    return int(often.sum()) >= options.model_items


def items_for_model(demand: Demand, origin: int, options: DemandOptions) -> Items:
    """Return the items with enough data for the model at `origin`."""
    start = max(0, origin - _SALE_DAYS)
    sold = (demand.amounts[:, start:origin] > 0).sum(axis=1) >= _LEARNED_FROM
    rungs = classify_demand(demand, origin, options)
    return np.flatnonzero(sold & ~rungs.young & ~rungs.obsolete).astype(np.int32)


def reconcile_with_total(
    paths: ForecastPaths, total: Floats, trust: float
) -> ForecastPaths:
    """Return `paths` reconciled half way with the store's `total` [28], week by week.

    The correction is bounded, because a total far from the sum of its items is unreliable;
    it is weighted by `trust` from 0 to 1.
    """
    sums = paths.mean.sum(axis=0, dtype=np.float64).reshape(-1, WEEK).sum(axis=1)
    wanted = total.reshape(-1, WEEK).sum(axis=1)
    factors = np.where(sums > 0, wanted / np.maximum(sums, 1e-9), 1.0)
    factors = np.clip(factors, _LEAST_FACTOR, _MOST_FACTOR) ** (_TOTALS_PART * trust)
    return paths.times(np.repeat(factors, WEEK))


def trust_in_total(demand: Demand) -> float:
    """Return the weight of the store's total in its items' forecasts, from 0 to 1.

    With many recent stock-outs, the total shows sales rather than demand.
    """
    recent = demand.on_sale[:, -HORIZON:]
    is_open = recent.any(axis=0)
    if not is_open.any():
        return 0.0
    weights = item_levels(demand, demand.days)
    missing = 1 - recent[:, is_open].mean(axis=1)
    share = float((weights * missing).sum() / weights.sum())
    return min(1.0, max(0.0, 1 - _MISSING_WEIGHT * share))


def moving_average(demand: Demand, origin: int) -> ForecastPaths:
    """Return the mean of the last 28 open days, with the quantiles of the last 56."""
    mean = np.nan_to_num(mean_amounts(demand, origin, HORIZON))
    quantiles = [np.nan_to_num(one) for one in own_quantiles(demand, origin, 2 * HORIZON)]
    flat = np.ones((1, HORIZON), np.float32)
    return ForecastPaths(
        mean[:, None].astype(np.float32) * flat,
        np.stack([one[:, None].astype(np.float32) * flat for one in quantiles]),
    )


def _judged_items(demand: Demand) -> Ints:
    often = np.argsort(-(demand.amounts > 0).sum(axis=1), kind="stable")
    often = often[: int((demand.amounts[often] > 0).any(axis=1).sum())]
    step = max(1, -(-len(often) // _MOST_JUDGED))
    return often[::step]


def method_forecasts(
    demand: Demand, options: DemandOptions, model: GradientBoostedModel | None
) -> tuple[MethodForecasts, Items]:
    """Return each method's forecast of the days after `demand`, and the model's items."""
    origin = demand.days
    seasons = YearlySeasonality(store_totals(demand), demand.first_day)
    total, doubt = seasons.mean(origin), seasons.best_doubt(origin)
    closed, trust = seasons.outlook(origin).closed[None], trust_in_total(demand)
    ladder = statistical_forecast(demand, origin, options, doubt).closed_on(closed)
    if model is None:
        ladder = apply_item_weekdays(demand, ladder)
    modelled, items = ladder, np.zeros(0, np.int32)
    if model is not None:
        items = items_for_model(demand, origin, options)
        theirs = model.expect(demand, origin, items).closed_on(closed)
        modelled = reconcile_with_total(_replaced(ladder, items, theirs), total, trust)
    ladder = reconcile_with_total(ladder, total, trust)
    idle = np.flatnonzero(~demand.on_sale[:, -HORIZON:].any(axis=1)).astype(np.int32)
    moving = moving_average(demand, origin).closed_on(closed)
    moving = _replaced(moving, idle, ladder.of(idle))
    return MethodForecasts(ladder, ladder if model is None else modelled, moving), items


def _add(
    found: _Candidates,
    demand: Demand,
    origin: int,
    judged: Ints,
    model: GradientBoostedModel | None,
    options: DemandOptions,
) -> None:
    known = demand.until(origin)
    ways, _ = method_forecasts(known, options, model)
    found.ways.append(ways.of(judged))
    span = slice(origin, origin + HORIZON)
    found.actual.append(demand.amounts[judged, span])
    found.on_sale.append(demand.on_sale[judged, span])
    found.levels.append(item_levels(known, origin)[judged])
    steps = np.diff(known.amounts[judged], axis=1)
    jumps = np.sqrt((steps**2).mean(axis=1, dtype=np.float64))
    found.jumps.append(np.where(jumps > 0, jumps, np.inf))
    found.classes.append(sale_classes(known, origin)[judged])
    found.origins.append(np.full(len(judged), len(found.origins)))


def _replaced(paths: ForecastPaths, items: Items, better: ForecastPaths) -> ForecastPaths:
    mean, quantiles = paths.mean.copy(), paths.quantiles.copy()
    mean[items], quantiles[:, items] = better.mean, better.quantiles
    return ForecastPaths(mean, quantiles)


def _joined(paths: list[ForecastPaths]) -> ForecastPaths:
    return ForecastPaths(
        np.concatenate([one.mean for one in paths]),
        np.concatenate([one.quantiles for one in paths], axis=1),
    )


def _verdict(
    found: _Candidates, *, has_model: bool, demand: Demand, judged: Ints
) -> BacktestResult:
    ways = MethodForecasts(
        _joined([one.statistical for one in found.ways]),
        _joined([one.model for one in found.ways]),
        _joined([one.moving for one in found.ways]),
    )
    actual, on_sale = np.concatenate(found.actual), np.concatenate(found.on_sale)
    scale, classes = np.concatenate(found.levels), np.concatenate(found.classes)
    came = ObservedDemand(actual, on_sale, scale, np.concatenate(found.jumps))
    mixture, served = fit_ensemble_weights(ways, came, classes, has_model=has_model)
    past = PastForecasts(served, actual, on_sale, scale, classes)
    origins = np.concatenate(found.origins)
    return BacktestResult(
        mixture,
        fit_calibration(past),
        _sum_spread(past),
        _figures(past, origins, demand, judged),
    )


def day_spread(paths: ForecastPaths) -> Floats:
    """Return the standard deviation of each day, from its interval: [n, days]."""
    upper = (paths.quantiles[2] - paths.mean) / _NORMAL_P90
    chance = np.sqrt(np.maximum(paths.mean, 0))
    return np.asarray(np.maximum(upper, chance), np.float64)


def _sum_spread(past: PastForecasts) -> Floats:
    """Return the overdispersion of two weeks' sums against independent days."""
    errors = ((past.actual - past.paths.mean) * past.on_sale)[:, :_SUM_DAYS].sum(axis=1)
    chance = (day_spread(past.paths) ** 2 * past.on_sale)[:, :_SUM_DAYS].sum(axis=1)
    spread = np.ones(CLASSES)
    for one in range(CLASSES):
        members = (past.classes == one) & (chance > 0)
        if members.any():
            ratio = errors[members] ** 2 / chance[members]
            spread[one] = float(np.sqrt(np.minimum(ratio, 25).mean()))
    return np.clip(spread, 1.0, 4.0)


def _figures(
    past: PastForecasts, origins: Ints, demand: Demand, judged: Ints
) -> ItemBacktest:
    """Return the accuracy; each origin's interval is calibrated on the other origins."""
    paths = past.paths
    mean, quantiles = paths.mean, paths.quantiles.copy()
    count = int(origins.max()) + 1
    for origin in range(count) if count > 1 else ():
        rows = np.flatnonzero(origins == origin)
        learned = fit_calibration(past.of(origins != origin))
        moved = learned.applied(paths.of(rows), past.levels[rows], past.classes[rows])
        quantiles[:, rows] = moved.quantiles
    oldest = demand.days - HORIZON - WEEK * (count - 1)
    history = demand.amounts[judged, :oldest].astype(np.float64)
    squared = np.tile((np.diff(history, axis=1) ** 2).mean(axis=1), count)
    weekly = np.tile(np.abs(history[:, WEEK:] - history[:, :-WEEK]).mean(axis=1), count)
    often = np.tile((history > 0).sum(axis=1) >= _FEWEST_JUDGED_BY, count)
    fair = (squared > 0) & (weekly > 0) & often
    actual, held = past.actual, past.on_sale
    sold = max(float(actual.sum(dtype=np.float64)), 1e-9)

    def scores(means: Amounts, bands: Amounts) -> MethodScores:
        errors = ((actual - means) ** 2).mean(axis=1)[fair]
        losses = [
            float(
                (pinball_loss(actual, band, share).mean(axis=1)[fair] / weekly[fair]).mean()
            )
            if fair.any()
            else 0.0
            for share, band in zip(QUANTILES, bands, strict=True)
        ]
        inside = (actual >= bands[0]) & (actual <= bands[2]) & held
        return MethodScores(
            rmsse=float(np.sqrt(errors / squared[fair]).mean()) if fair.any() else 0.0,
            pinball=(losses[0], losses[1], losses[2]),
            wape=float(np.abs(actual - means).sum(dtype=np.float64)) / sold,
            bias=float(means.sum(dtype=np.float64)) / sold - 1,
            coverage=float(inside.sum()) / max(int(held.sum()), 1),
        )

    starts = [demand.days - HORIZON - WEEK * back for back in range(count)]
    naive, moving = (
        _joined([way(demand, start, judged) for start in starts])
        for way in (_last_week, _last_days)
    )
    return ItemBacktest(
        items=int(fair.sum()) // count,
        origins=count,
        ours=scores(mean, quantiles),
        naive=scores(naive.mean, naive.quantiles),
        moving=scores(moving.mean, moving.quantiles),
    )


def _last_week(demand: Demand, origin: int, judged: Ints) -> ForecastPaths:
    """Return last week repeated, with the weekday's quantiles of 8 weeks."""
    known = demand.amounts[judged, :origin]
    weeks = HORIZON // WEEK
    past = known[:, -8 * WEEK :].reshape(len(judged), -1, WEEK)
    usual = np.tile(np.quantile(past, QUANTILES, axis=1), (1, 1, weeks))
    return ForecastPaths(np.tile(known[:, -WEEK:], (1, weeks)), usual.astype(np.float32))


def _last_days(demand: Demand, origin: int, judged: Ints) -> ForecastPaths:
    """Return the mean of the last 28 days, with the quantiles of 56."""
    known = demand.amounts[judged, :origin]
    mean = known[:, -HORIZON:].mean(axis=1)
    usual = np.quantile(known[:, -2 * HORIZON :], QUANTILES, axis=1)
    flat = np.ones((1, HORIZON), np.float32)
    return ForecastPaths(
        mean[:, None] * flat, (usual[:, :, None] * flat).astype(np.float32)
    )
