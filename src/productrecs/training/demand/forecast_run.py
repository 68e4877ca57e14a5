"""Forecast run: reads a store's sales, forecasts, and publishes the result atomically.

The backtest's result is stored as a draft, so that an interrupted run resumes after it.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from productrecs.core.clock import Clock
from productrecs.engines.demand.backtest import (
    BacktestResult,
    ItemBacktest,
    MethodScores,
    run_backtest,
)
from productrecs.engines.demand.demand_series_and_cleaning import DemandOptions
from productrecs.engines.demand.ensemble_and_calibration import Calibration, EnsembleWeights
from productrecs.engines.demand.forecast import DemandForecast, forecast_demand
from productrecs.engines.demand.forecast_features import store_totals
from productrecs.storage.database import Database
from productrecs.storage.store_log import StoreDeletedError
from productrecs.tenancy.accounts.store import Store
from productrecs.training.demand.demand_inputs import DemandInputs, read_inputs
from productrecs.training.demand.repository import DemandRepository, StoredRun

Progress = Callable[[float], None]

HISTORY_DAYS: Final = 182
"""Past days that a summary shows beside the forecast."""

_READ: Final = 0.1
_BACKTEST_SHARE: Final = 0.55
_FORECAST: Final = 0.95
_MEAN, _P90 = 0, 3  # indexes of a day's four numbers
_DIGITS: Final = 3
_SOLD_DAYS: Final = (30, 60, 90)
DAILY_DAYS: Final = 120
"""Past days whose sales are stored per product and day."""


def forecast_store(
    database: Database, store: Store, clock: Clock, progress: Progress, threads: int = 2
) -> StoredRun:
    """Forecast `store` from its sales up to yesterday; return the published run.

    `progress` is called with shares of 1, and may raise to stop the run.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    began, now_ms, zone = time.monotonic(), clock(), store.settings.zone
    with database.reading() as connection:
        inputs = read_inputs(DemandRepository(connection, store.store_id), zone, now_ms)
    progress(_READ)
    options = DemandOptions(threads=threads)
    backtest = _run_or_resume_backtest(database, store, inputs, options, progress)
    found = forecast_demand(
        inputs.demand,
        inputs.on_sale,
        options,
        lambda share: progress(_BACKTEST_SHARE + (_FORECAST - _BACKTEST_SHARE) * share),
        backtest,
    )
    run = _run(inputs, found, now_ms, time.monotonic() - began)
    _publish(database, store, run, _rows(inputs, found))
    progress(1.0)
    return run


def _run_or_resume_backtest(
    database: Database,
    store: Store,
    inputs: DemandInputs,
    options: DemandOptions,
    progress: Progress,
) -> BacktestResult:
    """Return the backtest's result, reused from an interrupted run if there is one."""
    fingerprint = _fingerprint(inputs)
    with database.reading() as connection:
        draft = DemandRepository(connection, store.store_id).draft(fingerprint)
    if draft is not None:
        return _backtest_from_dict(draft)
    backtest = run_backtest(
        inputs.demand,
        options,
        lambda share: progress(_READ + (_BACKTEST_SHARE - _READ) * share),
    )
    with database.transaction() as transaction:
        repository = DemandRepository(transaction, store.store_id)
        if repository.exists():
            repository.store_draft(fingerprint, _backtest_to_dict(backtest))
    return backtest


def _fingerprint(inputs: DemandInputs) -> str:
    """Return a fingerprint that changes with the input of the backtest."""
    digest = hashlib.sha256(f"3 {inputs.days.first} {inputs.target_mode}".encode())
    demand = inputs.demand
    for array in (demand.amounts, demand.on_sale, demand.categories):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _backtest_to_dict(backtest: BacktestResult) -> dict[str, object]:
    return {
        "means": backtest.mixture.means.tolist(),
        "bands": backtest.mixture.bands.tolist(),
        "lower": backtest.calibration.lower.tolist(),
        "upper": backtest.calibration.upper.tolist(),
        "sums": backtest.sums.tolist(),
        "judged": None if backtest.judged is None else asdict(backtest.judged),
    }


def _backtest_from_dict(draft: Mapping[str, Any]) -> BacktestResult:
    items = draft["judged"]
    return BacktestResult(
        mixture=EnsembleWeights(np.array(draft["means"]), np.array(draft["bands"])),
        calibration=Calibration(np.array(draft["lower"]), np.array(draft["upper"])),
        sums=np.array(draft["sums"]),
        judged=None if items is None else _item_backtest_from_dict(items),
    )


def _item_backtest_from_dict(stored: Mapping[str, Any]) -> ItemBacktest:
    ours, naive, moving_average = (
        MethodScores(**stored[method]) for method in ("ours", "naive", "moving")
    )
    return ItemBacktest(stored["items"], stored["origins"], ours, naive, moving_average)


def _run(
    inputs: DemandInputs, found: DemandForecast, now_ms: int, seconds: float
) -> StoredRun:
    totals = store_totals(inputs.demand)[-HISTORY_DAYS:]
    first = inputs.days.count - len(totals)
    total = found.total
    return StoredRun(
        generated_at=now_ms,
        first_day=inputs.days.iso(inputs.days.count + 1),
        target_mode=inputs.target_mode,
        history=[
            (inputs.days.iso(first + place), round(float(amount), _DIGITS))
            for place, amount in enumerate(totals)
        ],
        total={
            "mean": _rounded(total.mean),
            "p10": _rounded(total.quantiles[0]),
            "p50": _rounded(total.quantiles[1]),
            "p90": _rounded(total.quantiles[2]),
            "next_7_days": _rounded(total.next_7_days),
            "next_28_days": _rounded(total.next_28_days),
        },
        accuracy=None if found.accuracy is None else asdict(found.accuracy),
        judged=None if found.judged is None else asdict(found.judged),
        items=len(inputs.numbers),
        learned=int(found.learned.sum()),
        seconds=round(seconds, 1),
    )


def _rounded(values: Any) -> list[float]:
    return [round(float(value), _DIGITS) for value in values]


def _rows(inputs: DemandInputs, found: DemandForecast) -> list[Sequence[object]]:
    """Return the columns of `item_forecasts` after the store, for each item."""
    days = np.round(
        np.concatenate((found.paths.mean[None], found.paths.quantiles)), _DIGITS
    )
    by_item = np.moveaxis(days, 0, 2)  # [items, days, 4]
    expected = found.paths.mean.sum(axis=1, dtype=np.float64)
    amounts = inputs.demand.amounts
    sold = [amounts[:, -days:].sum(axis=1, dtype=np.float64) for days in _SOLD_DAYS]
    return [
        (
            number,
            "lgbm" if by_model else "statistical",
            json.dumps(_short(path)),
            round(float(amount), _DIGITS),
            round(float(spread), _DIGITS),
            json.dumps(_rounded(recent)),
            path[:, [_MEAN, _P90]].T.astype("<f4").tobytes(),
            json.dumps(_daily(series)),
        )
        for number, by_model, path, amount, spread, recent, series in zip(
            inputs.numbers.tolist(),
            found.learned.tolist(),
            by_item,
            expected,
            found.spreads,
            np.stack(sold, axis=1),
            amounts[:, -DAILY_DAYS:],
            strict=True,
        )
    ]


def _daily(series: Any) -> list[tuple[int, float]]:
    """Return (days before the run, sold) of the days with sales, the oldest first."""
    places = np.flatnonzero(series).tolist()
    return [(len(series) - place, round(float(series[place]), _DIGITS)) for place in places]


def _short(path: Any) -> list[list[float]]:
    return [[round(float(value), _DIGITS) for value in day] for day in path]


def _publish(
    database: Database, store: Store, run: StoredRun, rows: list[Sequence[object]]
) -> None:
    with database.transaction() as transaction:
        repository = DemandRepository(transaction, store.store_id)
        if not repository.exists():
            message = f"{store.domain} was deleted; there is nothing to forecast"
            raise StoreDeletedError(message)
        repository.replace(database, run, rows)
