"""Forecast run: reads daily sales, forecasts, and publishes the result atomically.

The backtest's result is stored as a draft, so that an interrupted run resumes after it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from productrecs.core.clock import DAY_MS, Clock
from productrecs.engines.demand.backtest import (
    DemandBacktestResult,
    ItemForecastAccuracy,
    MethodAccuracy,
    run_backtest,
)
from productrecs.engines.demand.calendar_effects import CalendarEffects
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    DailyDemand,
)
from productrecs.engines.demand.ensemble_and_calibration import (
    EnsembleWeights,
    IntervalCalibration,
)
from productrecs.engines.demand.forecast import (
    DemandForecast,
    forecast_demand,
    with_calendar_effects,
)
from productrecs.engines.demand.forecast_features import store_totals
from productrecs.engines.demand.price_elasticity import price_elasticity
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.training.demand.demand_inputs import (
    RECENT_DAYS,
    DemandInputs,
    read_demand_inputs,
)
from productrecs.training.demand.repository import DemandRepository, StoredForecastRun

if TYPE_CHECKING:
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store

Progress = Callable[[float], None]

HISTORY_DAYS: Final = 182
"""Past days that a summary shows beside the forecast."""

_READ_SHARE: Final = 0.1
_BACKTEST_SHARE: Final = 0.55
_FORECAST_SHARE: Final = 0.95
_MEAN, _P90 = 0, 3  # indexes of a day's four numbers
_DIGITS: Final = 3
_SOLD_DAYS: Final = (30, 60, 90)
DAILY_DAYS: Final = 120
"""Past days whose sales are stored per product and day."""


def forecast_and_publish(
    database: Database, store: Store, clock: Clock, progress: Progress, threads: int = 2
) -> StoredForecastRun:
    """Forecast `store` from its sales up to yesterday; return the published run.

    `progress` is called with shares of 1, and may raise to stop the run.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    started_at, now_ms = time.monotonic(), clock()
    inputs = read_demand_inputs(database, store, now_ms)
    progress(_READ_SHARE)
    options = DemandForecastOptions(threads=threads)
    elasticity = price_elasticity(inputs.demand, inputs.paid)
    effects = CalendarEffects(inputs.demand, inputs.events, elasticity)
    ordinary = effects.history_without_events()
    fingerprint = _backtest_fingerprint(inputs, ordinary)
    backtest = _load_or_run_backtest(
        database, store, fingerprint, ordinary, options, progress
    )
    forecast = forecast_demand(
        ordinary,
        inputs.on_sale,
        options,
        lambda share: progress(
            _BACKTEST_SHARE + (_FORECAST_SHARE - _BACKTEST_SHARE) * share
        ),
        backtest,
    )
    first_day_ahead = inputs.days.first.toordinal() + inputs.days.count + 1
    forecast = with_calendar_effects(forecast, effects, first_day_ahead)
    run = _build_stored_run(
        inputs,
        forecast,
        {
            "events": _events_ahead(effects, first_day_ahead),
            "price_elasticity": round(elasticity, _DIGITS),
        },
        now_ms,
        time.monotonic() - started_at,
    )
    _publish(
        database,
        store,
        run,
        _forecast_rows(inputs, forecast, _recent_mean_prices_paid(database, store, now_ms)),
    )
    progress(1.0)
    return run


def _load_or_run_backtest(
    database: Database,
    store: Store,
    fingerprint: str,
    demand: DailyDemand,
    options: DemandForecastOptions,
    progress: Progress,
) -> DemandBacktestResult:
    """Return the backtest's result, reused from an interrupted run if there is one."""
    with database.reading() as connection:
        draft = DemandRepository(connection, store.store_id).load_draft(fingerprint)
    if draft is not None:
        return _backtest_from_dict(draft)
    backtest = run_backtest(
        demand,
        options,
        lambda share: progress(_READ_SHARE + (_BACKTEST_SHARE - _READ_SHARE) * share),
    )
    with database.transaction() as transaction:
        repository = DemandRepository(transaction, store.store_id)
        if repository.lock_if_exists():
            repository.store_draft(fingerprint, _backtest_to_dict(backtest))
    return backtest


def _backtest_fingerprint(inputs: DemandInputs, demand: DailyDemand) -> str:
    """Return a fingerprint that changes with the input of the backtest."""
    digest = hashlib.sha256(f"5 {inputs.days.first} {inputs.target_mode}".encode())
    for array in (demand.amounts, demand.on_sale, demand.categories):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _backtest_to_dict(backtest: DemandBacktestResult) -> dict[str, object]:
    return {
        "means": backtest.ensemble_weights.means.tolist(),
        "bands": backtest.ensemble_weights.bands.tolist(),
        "lower": backtest.calibration.lower.tolist(),
        "upper": backtest.calibration.upper.tolist(),
        "level": backtest.calibration.level_deviation.tolist(),
        "sums": backtest.sum_overdispersion.tolist(),
        "judged": None
        if backtest.item_backtest is None
        else asdict(backtest.item_backtest),
    }


def _backtest_from_dict(draft: Mapping[str, Any]) -> DemandBacktestResult:
    items = draft["judged"]
    return DemandBacktestResult(
        ensemble_weights=EnsembleWeights(
            np.array(draft["means"]), np.array(draft["bands"])
        ),
        calibration=IntervalCalibration(
            np.array(draft["lower"]), np.array(draft["upper"]), np.array(draft["level"])
        ),
        sum_overdispersion=np.array(draft["sums"]),
        item_backtest=None if items is None else _item_backtest_from_dict(items),
    )


def _item_backtest_from_dict(stored: Mapping[str, Any]) -> ItemForecastAccuracy:
    ours, naive, moving_average = (
        MethodAccuracy(**stored[method]) for method in ("ours", "naive", "moving")
    )
    return ItemForecastAccuracy(
        stored["items"], stored["origins"], ours, naive, moving_average
    )


def _events_ahead(effects: CalendarEffects, first_day: int) -> list[dict[str, object]]:
    """Return the events of the forecast's days, with the factor of each."""
    return [
        {
            "kind": event.kind.value,
            "name": event.name,
            "first_day": date.fromordinal(event.first).isoformat(),
            "last_day": date.fromordinal(event.last).isoformat(),
            "factor": round(effects.sales_factor(event), _DIGITS),
        }
        for event in effects.events_in(first_day, first_day + HORIZON)
    ]


def _build_stored_run(
    inputs: DemandInputs,
    forecast: DemandForecast,
    effects: Mapping[str, object],
    now_ms: int,
    seconds: float,
) -> StoredForecastRun:
    totals = store_totals(inputs.demand)[-HISTORY_DAYS:]
    first = inputs.days.count - len(totals)
    total = forecast.total
    return StoredForecastRun(
        generated_at=now_ms,
        first_day=inputs.days.iso(inputs.days.count + 1),
        target_mode=inputs.target_mode,
        history=[
            (inputs.days.iso(first + index), round(float(amount), _DIGITS))
            for index, amount in enumerate(totals)
        ],
        total={
            "mean": _round_all(total.mean),
            "p10": _round_all(total.quantiles[0]),
            "p50": _round_all(total.quantiles[1]),
            "p90": _round_all(total.quantiles[2]),
            "next_7_days": _round_all(total.next_7_days),
            "next_28_days": _round_all(total.next_28_days),
            **effects,
        },
        accuracy=None if forecast.accuracy is None else asdict(forecast.accuracy),
        judged=None if forecast.item_backtest is None else asdict(forecast.item_backtest),
        items=len(inputs.numbers),
        learned=int(forecast.uses_model.sum()),
        seconds=round(seconds, 1),
    )


def _round_all(values: Any) -> list[float]:
    return [round(float(value), _DIGITS) for value in values]


def _recent_mean_prices_paid(
    database: Database, store: Store, now_ms: int
) -> dict[int, float]:
    """Return the mean price that was paid for each item lately."""
    since_ms = now_ms - RECENT_DAYS * DAY_MS
    with database.reading() as connection:
        repository = SoldLineRepository(connection, store.store_id)
        return repository.mean_prices_paid(since_ms, store.settings.currency)


def _forecast_rows(
    inputs: DemandInputs, forecast: DemandForecast, prices_paid: Mapping[int, float]
) -> list[Sequence[object]]:
    """Return the columns of `item_forecasts` after the store, for each item."""
    days = np.round(
        np.concatenate((forecast.paths.mean[None], forecast.paths.quantiles)), _DIGITS
    )
    by_item = np.moveaxis(days, 0, 2)  # [items, days, 4]
    expected = forecast.paths.mean.sum(axis=1, dtype=np.float64)
    amounts = inputs.demand.amounts
    sold = [amounts[:, -days:].sum(axis=1, dtype=np.float64) for days in _SOLD_DAYS]
    return [
        (
            number,
            "lgbm" if uses_model else "statistical",
            json.dumps([_round_all(day) for day in path]),
            round(float(amount), _DIGITS),
            round(float(spread), _DIGITS),
            json.dumps(_round_all(recent)),
            path[:, [_MEAN, _P90]].T.astype("<f4").tobytes(),
            json.dumps(_sales_by_days_ago(series)),
            prices_paid.get(number),
        )
        for number, uses_model, path, amount, spread, recent, series in zip(
            inputs.numbers.tolist(),
            forecast.uses_model.tolist(),
            by_item,
            expected,
            forecast.sum_overdispersion,
            np.stack(sold, axis=1),
            amounts[:, -DAILY_DAYS:],
            strict=True,
        )
    ]


def _sales_by_days_ago(daily_sales: Any) -> list[tuple[int, float]]:
    """Return (days before the run, sold) of the days with sales, the oldest first."""
    days_with_sales = np.flatnonzero(daily_sales).tolist()
    return [
        (len(daily_sales) - day, round(float(daily_sales[day]), _DIGITS))
        for day in days_with_sales
    ]


def _publish(
    database: Database,
    store: Store,
    run: StoredForecastRun,
    item_rows: list[Sequence[object]],
) -> None:
    with database.transaction() as transaction:
        repository = DemandRepository(transaction, store.store_id)
        if not repository.lock_if_exists():
            message = f"{store.domain} was deleted; there is nothing to forecast"
            raise StoreDeletedError(message)
        repository.replace_run(database, run, item_rows)
