"""Demand inputs: units sold on each day, as the engine's arrays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.core.time_window import window_end_ms, window_start_ms
from productrecs.engines.demand.demand_series_and_cleaning import (
    HORIZON,
    Amounts,
    Demand,
    closed_days,
    net_returns,
)
from productrecs.records.catalog.availability import Availability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.training.demand.repository import DemandRepository, ItemFacts, StockOut


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
