"""Demand inputs: a store's daily sales, its catalog's sale days, and its calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.iso_dates import window_end_ms, window_start_ms
from productrecs.engines.demand.demand_series import (
    HORIZON,
    Amounts,
    DailyDemand,
    closed_days,
    net_returns,
)
from productrecs.engines.demand.price_elasticity import HighestPaidPrices
from productrecs.records.catalog.availability import Availability
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.records.sales_calendar.repository import SalesCalendarRepository
from productrecs.training.demand.calendar_events import (
    PlannedItemPriceChange,
    planned_events,
    planned_price_events,
    public_holidays,
)
from productrecs.training.demand.repository import DemandRepository
from productrecs.training.partitioned_shopper_events import concatenate_rows, select_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints, Items
    from productrecs.engines.demand.calendar_effects import CalendarEvent
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store
    from productrecs.tenancy.accounts.store_settings import StoreSettings
    from productrecs.training.demand.repository import ForecastItemFacts, StockOutPeriod


@dataclass(frozen=True, slots=True)
class StoreDayRange:
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


def days_between(first: date, until: date, zone: tzinfo) -> StoreDayRange:
    """Return the days from `first` to the one before `until`."""
    count = max(0, (until - first).days)
    dates = [first + timedelta(days=number) for number in range(count + 1)]
    return StoreDayRange(
        first, np.array([window_start_ms(day.isoformat(), zone) for day in dates], np.int64)
    )


def window_day_range(
    days: StoreDayRange, zone: tzinfo, starts: str | None, ends: str | None
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

_MAX_DAYS: Final = 800  # days of history: two years and their comparison period
_MIN_DAYS: Final = 200
_MAX_CELLS: Final = 60_000_000  # items x days, 5 bytes each plus temporary copies
RECENT_DAYS: Final = 90
_MIN_QUANTITY_SHARE: Final = 0.95
_SILENCE: Final = 3.0  # expected sales; with stock, none happen in 5 % of cases
_UNSOLD_DAYS: Final = 180  # a product without sales is forecast this long

_FIRST_CATALOG_MS: Final = 2 * DAY_MS  # a large catalog takes so long to arrive


@dataclass(frozen=True, slots=True, eq=False)
class DemandInputs:
    """All input of a forecast."""

    demand: DailyDemand
    on_sale: Bools  # [items, DAYS_AHEAD]
    numbers: Ints  # [items] catalog numbers
    days: StoreDayRange  # of the history
    events: Sequence[CalendarEvent]  # past ones, and those ahead
    target_mode: TargetMode
    seq: int
    paid: HighestPaidPrices


@dataclass(frozen=True, slots=True, eq=False)
class _SoldLineArrays:
    items: Ints
    times: Ints
    quantities: Ints  # 1 if unknown
    has_quantity: Bools
    prices: Floats  # of a unit, in the store's currency; NaN if unknown


def read_demand_inputs(database: Database, store: Store, now_ms: int) -> DemandInputs:
    """Return the store's history up to yesterday, by day in its time zone."""
    with database.reading() as connection:
        return _read_inputs(
            DemandRepository(connection, store.store_id),
            SoldLineRepository(connection, store.store_id),
            SalesCalendarRepository(connection, store.store_id),
            store.settings,
            now_ms,
        )


def _read_inputs(
    repository: DemandRepository,
    sold: SoldLineRepository,
    calendar: SalesCalendarRepository,
    settings: StoreSettings,
    now_ms: int,
) -> DemandInputs:
    zone = settings.zone
    today = datetime.fromtimestamp(now_ms / 1000, tz=zone).date()
    days = days_between(today - timedelta(days=_MAX_DAYS), today, zone)
    lines = _read_sold_lines(
        sold, int(days.midnights[0]), int(days.midnights[-1]), settings.currency
    )
    mode = target_mode(lines.has_quantity[lines.times >= now_ms - RECENT_DAYS * DAY_MS])
    catalog = sorted(repository.facts_of_present_and_past_items())
    numbers = _forecast_item_numbers(lines.items, catalog, now_ms)
    days, lines = _shorten_history(days, lines, len(numbers))
    amounts = _daily_net_amounts(lines, numbers, days, mode)
    facts = {item.number: item for item in _backdate_first_catalog(catalog, lines.times)}
    item_facts = [facts.get(number) for number in numbers.tolist()]
    outs = repository.stock_outs(int(days.midnights[0]))
    on_sale = _past_days_on_sale(amounts, item_facts, days, zone)
    _exclude_stock_out_days(on_sale, amounts, outs, numbers, days)
    on_sale &= ~closed_days(amounts.sum(axis=0, dtype=np.float64))
    demand = DailyDemand(
        amounts, on_sale, _narrowest_category_codes(item_facts), days.first.toordinal()
    )
    days_ahead = days_between(today, today + timedelta(days=DAYS_AHEAD), zone)
    future_sale_days = _future_days_on_sale(item_facts, days_ahead, zone)
    names = [() if facts is None else facts.categories for facts in item_facts]
    holidays = public_holidays(
        settings.holiday_country, days.first, today + timedelta(days=DAYS_AHEAD)
    )
    campaigns = planned_events(calendar.entries().values(), names)
    prices = planned_price_events(
        _planned_price_changes(item_facts, days, days_ahead, zone),
        campaigns,
        len(item_facts),
    )
    return DemandInputs(
        demand,
        future_sale_days,
        numbers,
        days,
        [*holidays, *campaigns, *prices],
        mode,
        repository.log_seq(),
        _highest_paid_prices(lines, numbers, days),
    )


def target_mode(has_quantity: Bools) -> TargetMode:
    """Return the unit of demand: units if at least 95 % of the lines carry a quantity."""
    is_counted = len(has_quantity) > 0 and float(has_quantity.mean()) >= _MIN_QUANTITY_SHARE
    return "units" if is_counted else "order_lines"


def _read_sold_lines(
    repository: SoldLineRepository, since_ms: int, until_ms: int, currency: str
) -> _SoldLineArrays:
    empty = np.zeros(0, np.int64)
    pages = [_SoldLineArrays(empty, empty, empty, np.zeros(0, np.bool_), np.zeros(0))]
    for page in repository.pages_of_sales(since_ms, until_ms, currency):
        items, times, quantities, totals = zip(*page, strict=True)
        has_quantity = np.array([quantity is not None for quantity in quantities], np.bool_)
        known_quantities = np.array(
            [1 if quantity is None else quantity for quantity in quantities], np.int64
        )
        pages.append(
            _SoldLineArrays(
                np.array(items, np.int64),
                np.array(times, np.int64),
                known_quantities,
                has_quantity,
                _unit_prices(totals, known_quantities),
            )
        )
    return concatenate_rows(pages)


def _unit_prices(totals: Sequence[float | None], quantities: Ints) -> Floats:
    known = np.array([np.nan if total is None else total for total in totals], np.float64)
    return np.where(
        (quantities > 0) & (known > 0), known / np.maximum(quantities, 1), np.nan
    )


def _highest_paid_prices(
    lines: _SoldLineArrays, item_numbers: Ints, days: StoreDayRange
) -> HighestPaidPrices:
    """Return the highest price paid for each item on each day with a known one."""
    known = select_rows(lines, np.isfinite(lines.prices))
    rows = np.searchsorted(item_numbers, known.items)
    cells, cell_index = np.unique(
        rows * days.count + days.numbers(known.times), return_inverse=True
    )
    prices = np.zeros(len(cells))
    np.maximum.at(prices, cell_index, known.prices)
    return HighestPaidPrices(cells // days.count, cells % days.count, prices)


def _backdate_first_catalog(
    catalog: Sequence[ForecastItemFacts], sale_times: Ints
) -> list[ForecastItemFacts]:
    """Return the catalog with the time since which each item can have sold.

    A store's first products were on sale before it sent them, for as long as it has orders:
    those that nobody bought since then are no novelties.
    """
    if not catalog or not len(sale_times):
        return list(catalog)
    end = min(item.created_at for item in catalog) + _FIRST_CATALOG_MS
    first_sale = int(sale_times.min())
    return [
        item._replace(created_at=min(item.created_at, first_sale))
        if item.created_at < end
        else item
        for item in catalog
    ]


def _forecast_item_numbers(
    sold: Ints, catalog: Sequence[ForecastItemFacts], now_ms: int
) -> Ints:
    """Return the items to forecast: items with sales, and new items."""
    since_ms = now_ms - _UNSOLD_DAYS * DAY_MS
    new_items = [
        item.number for item in catalog if item.present and item.created_at >= since_ms
    ]
    return np.union1d(np.unique(sold), np.array(new_items, np.int64))


def _shorten_history(
    days: StoreDayRange, lines: _SoldLineArrays, item_count: int
) -> tuple[StoreDayRange, _SoldLineArrays]:
    """Drop the days before the first sale and those above the memory limit."""
    day_numbers = days.numbers(lines.times)
    first = int(day_numbers.min()) if len(day_numbers) else days.count
    max_days = max(_MIN_DAYS, _MAX_CELLS // max(item_count, 1))
    first = max(first, days.count - max_days)
    first = min(first, days.count - 1)
    is_recent = day_numbers >= first
    kept_days = StoreDayRange(days.first + timedelta(days=first), days.midnights[first:])
    return kept_days, select_rows(lines, is_recent)


def _daily_net_amounts(
    lines: _SoldLineArrays, item_numbers: Ints, days: StoreDayRange, mode: TargetMode
) -> Amounts:
    values = lines.quantities if mode == "units" else np.sign(lines.quantities)
    rows = np.searchsorted(item_numbers, lines.items)
    cells = rows * days.count + days.numbers(lines.times)
    size = len(item_numbers) * days.count
    summed = np.bincount(cells, weights=values, minlength=size).astype(np.float32)
    return net_returns(summed.reshape(len(item_numbers), days.count))


def _past_days_on_sale(
    amounts: Amounts,
    item_facts: Sequence[ForecastItemFacts | None],
    days: StoreDayRange,
    zone: tzinfo,
) -> Bools:
    """Return the days on which each item was on sale: from its first day, in its window."""
    has_sales = amounts > 0
    first_sale_days = np.where(
        has_sales.any(axis=1), np.argmax(has_sales, axis=1), days.count
    )
    created_at = np.array(
        [days.count if facts is None else facts.created_at for facts in item_facts],
        np.int64,
    )
    created_days = np.where(
        [facts is not None for facts in item_facts], days.numbers(created_at), days.count
    )
    first_day = np.minimum(first_sale_days, np.maximum(created_days, 0))
    on_sale = np.arange(days.count)[None, :] >= first_day[:, None]
    for row, facts in enumerate(item_facts):
        if facts is None or (
            facts.available_from is None and facts.available_until is None
        ):
            continue
        starts, ends = window_day_range(
            days, zone, facts.available_from, facts.available_until
        )
        on_sale[row, :starts] = on_sale[row, ends:] = False
    # Items that sold were on sale then, whatever the catalog says now.
    return np.asarray(on_sale | has_sales)


def _exclude_stock_out_days(
    on_sale: Bools,
    amounts: Amounts,
    stock_outs: Sequence[StockOutPeriod],
    item_numbers: Ints,
    days: StoreDayRange,
) -> None:
    """Mask days without stock: their sales do not show demand.

    The days on which stock ran out and returned are masked as well. For an item that is
    sold out now, so are the days since its last sale, if that silence is not chance: a
    slow item sells nothing for weeks with stock, and its rate would be too high.
    """
    rows = np.searchsorted(item_numbers, [stock_out.item for stock_out in stock_outs])
    for row, stock_out in zip(rows.tolist(), stock_outs, strict=True):
        if row >= len(item_numbers) or item_numbers[row] != stock_out.item:
            continue
        ends = days.midnights[-1] if stock_out.until is None else stock_out.until
        first, last = days.numbers(np.array([stock_out.since, ends], np.int64)).tolist()
        first = max(first, 0)
        if stock_out.until is None:
            first = _estimate_stock_out_start(amounts[row], on_sale[row], first)
        on_sale[row, first : last + 1] = False


def _estimate_stock_out_start(amounts: Amounts, on_sale: Bools, recorded_day: int) -> int:
    """Return the day after the last sale, or the day on which a stock-out was recorded.

    The latter if the days between are too few to expect `_SILENCE` sales.
    """
    sales = np.flatnonzero(amounts[: recorded_day + 1] > 0)
    if not len(sales):
        return recorded_day
    silent = int(sales[-1]) + 1
    rate = len(sales) / max(int(on_sale[:silent].sum()), 1)
    return silent if rate * (recorded_day - silent) >= _SILENCE else recorded_day


def _future_days_on_sale(
    item_facts: Sequence[ForecastItemFacts | None], days_ahead: StoreDayRange, zone: tzinfo
) -> Bools:
    """Return the future days on which each item is on sale, in stock or not."""
    is_on_sale = np.zeros((len(item_facts), days_ahead.count), np.bool_)
    for row, facts in enumerate(item_facts):
        if (
            facts is None
            or not facts.present
            or facts.availability is Availability.DISCONTINUED
        ):
            continue
        starts, ends = window_day_range(
            days_ahead, zone, facts.available_from, facts.available_until
        )
        is_on_sale[row, starts:ends] = True
    return is_on_sale


def _planned_price_changes(
    item_facts: Sequence[ForecastItemFacts | None],
    days: StoreDayRange,
    days_ahead: StoreDayRange,
    zone: tzinfo,
) -> Iterator[PlannedItemPriceChange]:
    """Yield the planned prices of days ahead, also those that began in the past."""
    for row, facts in enumerate(item_facts):
        if facts is None or not facts.price or not facts.planned_price:
            continue
        window = (facts.planned_price_from, facts.planned_price_until)
        first, end = window_day_range(days_ahead, zone, *window)
        if first >= end:
            continue
        usual, begins = facts.price, days_ahead.first.toordinal() + first
        if facts.price <= facts.planned_price:  # it has begun
            if facts.planned_price_from is None or not facts.list_price:
                continue
            usual = facts.list_price
            begins = days.first.toordinal() + window_day_range(days, zone, *window)[0]
        last = days_ahead.first.toordinal() + end - 1
        yield PlannedItemPriceChange(row, begins, last, facts.planned_price / usual)


def _narrowest_category_codes(item_facts: Sequence[ForecastItemFacts | None]) -> Items:
    """Return a code for each item's narrowest category; -1 without one."""
    codes: dict[str, int] = {}
    category_codes = [
        -1
        if facts is None or not facts.categories
        else codes.setdefault(facts.categories[-1], len(codes))
        for facts in item_facts
    ]
    return np.array(category_codes, np.int32)
