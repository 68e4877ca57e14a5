"""Forecast run: reads daily sales, forecasts, and publishes the result atomically.

The backtest's result is stored as a draft, so that an interrupted run resumes after it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS, Clock
from productrecs.core.time_window import window_end_ms, window_start_ms
from productrecs.engines.demand.backtest import (
    BacktestResult,
    ItemBacktest,
    MethodScores,
    run_backtest,
)
from productrecs.engines.demand.demand_series_and_cleaning import (
    HORIZON,
    Amounts,
    Demand,
    DemandOptions,
    closed_days,
    net_returns,
)
from productrecs.engines.demand.ensemble_and_calibration import Calibration, EnsembleWeights
from productrecs.engines.demand.forecast import DemandForecast, forecast_demand
from productrecs.engines.demand.forecast_features import store_totals
from productrecs.records.catalog.availability import Availability
from productrecs.storage.sequence_and_item_numbers import StoreDeletedError
from productrecs.training.demand.repository import DemandRepository, StoredRun

if TYPE_CHECKING:
    from productrecs.storage.database import Database
    from productrecs.tenancy.accounts.store import Store
    from productrecs.training.demand.repository import ItemFacts, StockOut


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoreDays:
    """`count` days of a store from the date `first` on, by midnight in its time zone."""

    first: date
    midnights: Ints  # [count + 1], UTC ms

    @property
    def count(self) -> int:
        """Number of days."""
        return len(self.midnights) - 1

    def numbers(self, times: Ints) -> Ints:
        """Return the day number of each moment; -1 before all days, `count` after them."""
        return np.searchsorted(self.midnights, times, side="right").astype(np.int64) - 1

    def iso(self, number: int) -> str:
        """Return the date of a day number, which may be out of range."""
        return (self.first + timedelta(days=number)).isoformat()


def days_between(first: date, until: date, zone: tzinfo) -> StoreDays:
    """Return the days from `first` to the one before `until`."""
    count = max(0, (until - first).days)
    dates = [first + timedelta(days=number) for number in range(count + 1)]
    return StoreDays(first, np.array([midnight(day, zone) for day in dates], np.int64))


def midnight(day: date, zone: tzinfo) -> int:
    """Return the first UTC millisecond of a date in `zone`."""
    return window_start_ms(day.isoformat(), zone)


def today(now_ms: int, zone: tzinfo) -> date:
    """Return the current date in `zone`."""
    return datetime.fromtimestamp(now_ms / 1000, tz=zone).date()


def window_days(
    days: StoreDays, zone: tzinfo, starts: str | None, ends: str | None
) -> tuple[int, int]:
    """Return a window's first day number and the one after its last: within 0..count.

    A day belongs to the window if any of its moments does.
    """
    first, last = 0, days.count
    if starts is not None:
        first = int(days.numbers(np.array([window_start_ms(starts, zone)]))[0])
    if ends is not None:
        last = int(days.numbers(np.array([window_end_ms(ends, zone)]))[0]) + 1
    return min(max(first, 0), days.count), min(max(last, 0), days.count)


TargetMode: TypeAlias = Literal["units", "order_lines"]

DAYS_AHEAD: Final = HORIZON + 1
"""Today, whose sales are incomplete, and the 28 days after it."""

_LONGEST: Final = 800  # days of history: two years and their comparison period
_SHORTEST: Final = 200
_MAX_CELLS: Final = 60_000_000  # items x days, 5 bytes each plus temporary copies
_COUNTED_DAYS: Final = 90
_COUNTED_SHARE: Final = 0.95
_UNSOLD_DAYS: Final = 180  # a product without sales is forecast this long

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class DemandInputs:
    """All input of a forecast."""

    demand: Demand
    on_sale: _Bools  # [items, DAYS_AHEAD]
    numbers: _Ints  # [items] catalog numbers
    days: StoreDays  # of the history
    target_mode: TargetMode
    seq: int


@dataclass(frozen=True, slots=True, eq=False)
class _SoldLines:
    items: _Ints
    times: _Ints
    quantities: _Ints  # 1 if unknown
    is_catalog_item: _Bools


def read_inputs(repository: DemandRepository, zone: tzinfo, now_ms: int) -> DemandInputs:
    """Return the store's history up to yesterday, by day in its time zone."""
    ends = today(now_ms, zone)
    days = days_between(ends - timedelta(days=_LONGEST), ends, zone)
    lines = _read(repository, int(days.midnights[0]), int(days.midnights[-1]))
    mode = target_mode(
        lines.is_catalog_item[lines.times >= now_ms - _COUNTED_DAYS * DAY_MS]
    )
    catalog = sorted(repository.catalog())
    numbers = _numbers(lines.items, catalog, now_ms)
    days, lines = _shortened(days, lines, len(numbers))
    amounts = _amounts(lines, numbers, days, mode)
    facts = {one.number: one for one in catalog}
    item_facts = [facts.get(number) for number in numbers.tolist()]
    outs = repository.stock_outs(int(days.midnights[0]))
    on_sale = _on_sale(amounts, item_facts, days, zone)
    _exclude_days(on_sale, amounts, outs, numbers, days)
    on_sale &= ~closed_days(amounts.sum(axis=0, dtype=np.float64), days.first.toordinal())
    demand = Demand(amounts, on_sale, _categories(item_facts), days.first.toordinal())
    ahead = days_between(ends, ends + timedelta(days=DAYS_AHEAD), zone)
    future = _offered(item_facts, ahead, zone)
    return DemandInputs(demand, future, numbers, days, mode, repository.seq())


def target_mode(item_facts: _Bools) -> TargetMode:
    """Return the unit of demand: units if at least 95 % of the lines carry a quantity."""
    is_counted = len(item_facts) > 0 and float(item_facts.mean()) >= _COUNTED_SHARE
    return "units" if is_counted else "order_lines"


def _read(repository: DemandRepository, since_ms: int, until_ms: int) -> _SoldLines:
    pages: list[_SoldLines] = []
    for page in repository.sales(since_ms, until_ms):
        items, times, quantities = zip(*page, strict=True)
        item_facts = np.array([one is not None for one in quantities], np.bool_)
        known_quantities = np.array(
            [1 if one is None else one for one in quantities], np.int64
        )
        pages.append(
            _SoldLines(
                np.array(items, np.int64),
                np.array(times, np.int64),
                known_quantities,
                item_facts,
            )
        )
    empty = np.zeros(0, np.int64)
    if not pages:
        return _SoldLines(empty, empty, empty, np.zeros(0, np.bool_))
    return _SoldLines(
        np.concatenate([one.items for one in pages]),
        np.concatenate([one.times for one in pages]),
        np.concatenate([one.quantities for one in pages]),
        np.concatenate([one.is_catalog_item for one in pages]),
    )


def _numbers(sold: _Ints, catalog: Sequence[ItemFacts], now_ms: int) -> _Ints:
    """Return the items to forecast: items with sales, and new items."""
    since = now_ms - _UNSOLD_DAYS * DAY_MS
    new = [one.number for one in catalog if one.present and one.created_at >= since]
    return np.union1d(np.unique(sold), np.array(new, np.int64))


def _shortened(
    days: StoreDays, lines: _SoldLines, items: int
) -> tuple[StoreDays, _SoldLines]:
    """Drop the days before the first sale and those above the memory limit."""
    sold = days.numbers(lines.times)
    first = int(sold.min()) if len(sold) else days.count
    max_days = max(_SHORTEST, _MAX_CELLS // max(items, 1))
    first = max(first, days.count - max_days)
    first = min(first, days.count - 1)
    recent = sold >= first
    shorter = StoreDays(days.first + timedelta(days=first), days.midnights[first:])
    chosen = _SoldLines(
        lines.items[recent],
        lines.times[recent],
        lines.quantities[recent],
        lines.is_catalog_item[recent],
    )
    return shorter, chosen


def _amounts(
    lines: _SoldLines, numbers: _Ints, days: StoreDays, mode: TargetMode
) -> Amounts:
    values = lines.quantities if mode == "units" else np.sign(lines.quantities)
    rows = np.searchsorted(numbers, lines.items)
    cells = rows * days.count + days.numbers(lines.times)
    size = len(numbers) * days.count
    summed = np.bincount(cells, weights=values, minlength=size).astype(np.float32)
    return net_returns(summed.reshape(len(numbers), days.count))


def _on_sale(
    amounts: Amounts, item_facts: Sequence[ItemFacts | None], days: StoreDays, zone: tzinfo
) -> _Bools:
    """Return the days on which each item was on sale: from its first day, in its window."""
    sold = amounts > 0
    first = np.where(sold.any(axis=1), np.argmax(sold, axis=1), days.count)
    pushed = np.array(
        [days.count if one is None else one.created_at for one in item_facts], np.int64
    )
    created = np.where(
        [one is not None for one in item_facts], days.numbers(pushed), days.count
    )
    first_day = np.minimum(first, np.maximum(created, 0))
    on_sale = np.arange(days.count)[None, :] >= first_day[:, None]
    for row, one in enumerate(item_facts):
        if one is None or (one.available_from is None and one.available_until is None):
            continue
        starts, ends = window_days(days, zone, one.available_from, one.available_until)
        on_sale[row, :starts] = on_sale[row, ends:] = False
    # Items that sold were on sale then, whatever the catalog says now.
    return np.asarray(on_sale | sold)


def _exclude_days(
    on_sale: _Bools,
    amounts: Amounts,
    outs: Sequence[StockOut],
    numbers: _Ints,
    days: StoreDays,
) -> None:
    """Mask days without stock: their sales do not show demand.

    The days on which stock ran out and returned are masked as well. For an item that is
    sold out now, so are the days since its last sale.
    """
    rows = np.searchsorted(numbers, [one.item for one in outs])
    for row, one in zip(rows.tolist(), outs, strict=True):
        if row >= len(numbers) or numbers[row] != one.item:
            continue
        ends = days.midnights[-1] if one.until is None else one.until
        first, last = days.numbers(np.array([one.since, ends], np.int64)).tolist()
        first = max(first, 0)
        if one.until is None:
            sales = np.flatnonzero(amounts[row, : first + 1] > 0)
            first = min(first, int(sales[-1]) + 1 if len(sales) else first)
        on_sale[row, first : last + 1] = False


def _offered(
    item_facts: Sequence[ItemFacts | None], ahead: StoreDays, zone: tzinfo
) -> _Bools:
    """Return the future days on which each item is on sale, in stock or not."""
    offered = np.zeros((len(item_facts), ahead.count), np.bool_)
    for row, one in enumerate(item_facts):
        if one is None or not one.present or one.availability is Availability.DISCONTINUED:
            continue
        starts, ends = window_days(ahead, zone, one.available_from, one.available_until)
        offered[row, starts:ends] = True
    return offered


def _categories(item_facts: Sequence[ItemFacts | None]) -> npt.NDArray[np.int32]:
    """Return a code for each item's narrowest category; -1 without one."""
    codes: dict[str, int] = {}
    found = [
        -1
        if one is None or one.category is None
        else codes.setdefault(one.category, len(codes))
        for one in item_facts
    ]
    return np.array(found, np.int32)


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
    _publish(database, store, run, _rows(inputs, found, _paid(database, store, now_ms)))
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


def _paid(database: Database, store: Store, now_ms: int) -> dict[int, float]:
    """Return the mean price that was paid for each item lately."""
    since_ms = now_ms - _COUNTED_DAYS * DAY_MS
    with database.reading() as connection:
        repository = DemandRepository(connection, store.store_id)
        return repository.paid(since_ms, store.settings.currency)


def _rows(
    inputs: DemandInputs, found: DemandForecast, paid: Mapping[int, float]
) -> list[Sequence[object]]:
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
            paid.get(number),
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
