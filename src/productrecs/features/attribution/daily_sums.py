"""Daily sums: carts and bought lines with their touchpoint, summed by day."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from typing import Final, NamedTuple

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.core.clock import HOUR_MS, MINUTE_MS
from productrecs.records.events.event import EventKind

CART: Final = int(EventKind.ADD_TO_CART)
SALE: Final = int(EventKind.BUY)


class AttributedOutcome(NamedTuple):
    """One live add-to-cart or bought line, in the order of the table's columns."""

    fact: int  # sequence number in the log; for a line, that of its first receipt
    kind: int  # CART or SALE
    day: str  # in the store's zone
    ts: int
    item: int
    basket: int | None
    units: int  # unknown counts as 1; a return is negative
    value: float  # unknown counts as 0
    currency: str  # empty: the store's
    touch: int | None  # the attributed click or impression; None: no touchpoint
    clicked: bool | None
    touched_at: int | None
    widget: str  # of the touchpoint; empty if unknown
    source: str
    position: int  # from 1; 0 if unknown
    search: int | None  # the last click on a search result before it
    intent: str  # of that search; empty without one, and for queries without an intent
    look: str  # the touchpoint's look; empty without one


class DailyPlacementAttribution(NamedTuple):
    """A day's attributed sums of one placement, in the order of the table's columns."""

    day: str
    widget: str
    source: str
    position: int
    currency: str
    carts: int
    carts_clicked: int
    cart_value: float
    lines: int
    lines_clicked: int
    units: int
    revenue: float
    revenue_clicked: float


class DailyItemAttribution(NamedTuple):
    """A day's attributed sums of one product, in the order of the table's columns."""

    day: str
    item: int
    currency: str
    carts: int
    carts_clicked: int
    lines: int
    lines_clicked: int
    units: int
    revenue: float
    revenue_clicked: float


class DailyOutcomeTotals(NamedTuple):
    """All of a day's outcomes in a currency, in the order of the table's columns."""

    day: str
    currency: str
    carts: int
    cart_value: float
    lines: int
    units: int
    revenue: float
    orders: int
    orders_credited: int
    orders_clicked: int  # orders with a line that followed a click


class DailySearchAttribution(NamedTuple):
    """A day's outcomes after clicks on one search's results, in column order."""

    day: str
    intent: str
    currency: str
    carts: int
    lines: int
    units: int
    revenue: float


class DailySearchClicks(NamedTuple):
    """A day's clicks on one search's results, in the order of the table's columns."""

    day: str
    intent: str
    text: str  # the query as last typed
    clicks: int
    shoppers: int  # distinct shoppers
    positions: int  # clicks that name a position
    position_sum: int
    shopper_sketch: bytes  # the sketch of distinct shoppers


class AttributionDaySums(NamedTuple):
    """Daily sums of outcomes: attributed, by place and by product, all, after searches."""

    credited: list[DailyPlacementAttribution]
    items: list[DailyItemAttribution]
    totals: list[DailyOutcomeTotals]
    searched: list[DailySearchAttribution]


@dataclass(slots=True)
class _OutcomeSums:
    """Values of a group; summed at the end, so that their order makes no difference."""

    carts: int = 0
    carts_clicked: int = 0
    cart_values: list[float] = field(default_factory=list)
    lines: int = 0
    lines_clicked: int = 0
    units: int = 0
    revenues: list[float] = field(default_factory=list)
    revenues_clicked: list[float] = field(default_factory=list)
    orders: set[int] = field(default_factory=set)
    orders_credited: set[int] = field(default_factory=set)
    orders_clicked: set[int] = field(default_factory=set)

    def add(self, outcome: AttributedOutcome) -> None:
        if outcome.kind == CART:
            self.carts += 1
            self.carts_clicked += bool(outcome.clicked)
            self.cart_values.append(outcome.value)
            return
        if outcome.units > 0:  # a return subtracts units and revenue, but is not a sale
            self.lines += 1
            self.lines_clicked += bool(outcome.clicked)
            order = outcome.fact if outcome.basket is None else outcome.basket
            self.orders.add(order)
            if outcome.touch is not None:
                self.orders_credited.add(order)
            if outcome.clicked:
                self.orders_clicked.add(order)
        self.units += outcome.units
        self.revenues.append(outcome.value)
        if outcome.clicked:
            self.revenues_clicked.append(outcome.value)


def sum_outcomes_by_day(outcomes: Iterable[AttributedOutcome]) -> AttributionDaySums:
    """Return the sums of whole days, in no special order.

    Equal outcomes give equal sums to the last bit, in any order.
    """
    credited: dict[tuple[str, str, str, int, str], _OutcomeSums] = defaultdict(_OutcomeSums)
    items: dict[tuple[str, int, str], _OutcomeSums] = defaultdict(_OutcomeSums)
    sums: dict[tuple[str, str], _OutcomeSums] = defaultdict(_OutcomeSums)
    searched: dict[tuple[str, str, str], _OutcomeSums] = defaultdict(_OutcomeSums)
    for outcome in outcomes:
        sums[outcome.day, outcome.currency].add(outcome)
        if outcome.touch is not None:
            key = (
                outcome.day,
                outcome.widget,
                outcome.source,
                outcome.position,
                outcome.currency,
            )
            credited[key].add(outcome)
            items[outcome.day, outcome.item, outcome.currency].add(outcome)
        if outcome.search is not None:
            searched[outcome.day, outcome.intent, outcome.currency].add(outcome)
    return AttributionDaySums(
        [
            _to_placement_attribution(key, sums_of_key)
            for key, sums_of_key in credited.items()
        ],
        [_to_item_attribution(key, sums_of_key) for key, sums_of_key in items.items()],
        [_to_outcome_totals(key, sums_of_key) for key, sums_of_key in sums.items()],
        [_to_search_attribution(key, sums_of_key) for key, sums_of_key in searched.items()],
    )


def _to_search_attribution(
    key: tuple[str, str, str], sums: _OutcomeSums
) -> DailySearchAttribution:
    revenue = math.fsum(sums.revenues)
    return DailySearchAttribution(*key, sums.carts, sums.lines, sums.units, revenue)


def _to_placement_attribution(
    key: tuple[str, str, str, int, str], sums: _OutcomeSums
) -> DailyPlacementAttribution:
    return DailyPlacementAttribution(
        *key,
        sums.carts,
        sums.carts_clicked,
        math.fsum(sums.cart_values),
        sums.lines,
        sums.lines_clicked,
        sums.units,
        math.fsum(sums.revenues),
        math.fsum(sums.revenues_clicked),
    )


def _to_item_attribution(
    key: tuple[str, int, str], sums: _OutcomeSums
) -> DailyItemAttribution:
    return DailyItemAttribution(
        *key,
        sums.carts,
        sums.carts_clicked,
        sums.lines,
        sums.lines_clicked,
        sums.units,
        math.fsum(sums.revenues),
        math.fsum(sums.revenues_clicked),
    )


def _to_outcome_totals(key: tuple[str, str], sums: _OutcomeSums) -> DailyOutcomeTotals:
    return DailyOutcomeTotals(
        *key,
        sums.carts,
        math.fsum(sums.cart_values),
        sums.lines,
        sums.units,
        math.fsum(sums.revenues),
        len(sums.orders),
        len(sums.orders_credited),
        len(sums.orders_clicked),
    )


QUARTER_MS: Final = 15 * MINUTE_MS
"""Zones change their offset in quarters of an hour."""


class SettledDays(NamedTuple):
    """The days whose sums are final, because their events may be purged."""

    before_ms: int = 0  # 0: no day is settled
    first_open_day: str = ""

    @property
    def first_open_hour(self) -> int:
        """The first hour, in hours of UTC, that lies after them as a whole."""
        return -(-self.before_ms // HOUR_MS)


class LocalDayMapper:
    """Maps a time to its calendar day in one time zone."""

    def __init__(self, zone: tzinfo, first_day: str = "") -> None:
        """Use the time zone `zone`; what lies before `first_day` counts as of that day."""
        self._zone = zone
        self._first_day = first_day
        self._cache: BoundedCache[int, str] = BoundedCache(RegisteredCache.LOCAL_DAYS)

    def day_of(self, moment_ms: int) -> str:
        """Return the day of a time, such as 2026-03-01."""
        quarter = moment_ms // QUARTER_MS
        cached = self._cache.get(quarter)
        if cached is None:
            cached = self._cache.put(quarter, self._day_of_quarter_hour(quarter))
        return cached

    def _day_of_quarter_hour(self, quarter: int) -> str:
        seconds = quarter * QUARTER_MS / 1000
        try:
            moment = datetime.fromtimestamp(seconds, UTC).astimezone(self._zone)
        except (OverflowError, ValueError):  # the zone's offset leaves the calendar's range
            return (date.min if quarter < 0 else date.max).isoformat()
        return max(moment.date().isoformat(), self._first_day)
