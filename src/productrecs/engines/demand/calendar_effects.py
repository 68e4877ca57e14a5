"""Calendar effects: how holidays, campaigns and closures change a store's daily sales.

An effect is a factor of ordinary sales: 1.4 is 40 % more, 0 is closed. It is measured on
past days, and shrunk where chance could explain it; that of a planned price follows from
the elasticity. Past days are divided by it before a
forecast, so that they do not move the level, and days ahead are multiplied by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import WEEK, DailyDemand, weekdays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints
    from productrecs.engines.demand.forecast_paths import (
        ForecastPaths,
    )

_NEIGHBOURS: Final = 28  # days on either side that show ordinary sales
_MIN_ORDINARY_DAYS: Final = 14
_MIN_CLOSED_HOLIDAYS: Final = 3  # for a holiday whose name has no past
_MAX_FACTOR: Final = 10.0
_MAX_LENGTH: Final = 14
"""Days in a row whose chance is measured; longer events are no less certain."""
_EPSILON: Final = 1e-9


class SpecialDayKind(StrEnum):
    """What makes a day special; ordinary days have no kind."""

    HOLIDAY = "holiday"
    CAMPAIGN = "campaign"
    CLOSURE = "closure"
    PLANNED_PRICE = "planned_price"


@dataclass(frozen=True, slots=True, eq=False)
class CalendarEvent:
    """Days that differ from ordinary ones, in the past or ahead.

    `first` and `last` are date ordinals. `items` [items] are the items concerned, None for
    all. `stated` is the factor that the merchant expects, None if unknown. `price` is the
    factor of the prices, None as usual.
    """

    kind: SpecialDayKind
    name: str
    first: int
    last: int
    items: Bools | None = None
    stated: float | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Occurrence:
    """A past event: its days, and the sales there relative to ordinary ones."""

    event: CalendarEvent
    days: Ints  # numbers of its days with ordinary sales to compare with
    change: float  # logarithm of actual over expected; -inf if nothing sold
    variance: float  # of the change by chance alone

    @property
    def is_closed(self) -> bool:
        """Whether nothing was sold."""
        return self.change == -np.inf


class _OrdinarySales:
    """Expected sales of a group of items on each past day, from ordinary days nearby."""

    def __init__(self, totals: Floats, ordinals: Ints, is_ordinary: Bools) -> None:
        self._totals, self._is_ordinary = totals, is_ordinary
        weekday, ordinary = weekdays(ordinals), np.where(is_ordinary, totals, 0)
        sums = np.bincount(weekday, ordinary, WEEK)
        counts = np.bincount(weekday, is_ordinary, WEEK)
        means = sums / np.maximum(counts, 1)
        usual = float(means.sum()) / max(int((means > 0).sum()), 1)
        self._profile = means[weekday] / max(usual, _EPSILON)

    def expected_without_near_days(self, length: int) -> Floats:
        """Return each day's ordinary sales, without the days closer than `length`."""
        kernel = np.ones(2 * (_NEIGHBOURS + length) + 1)
        middle = _NEIGHBOURS + length
        kernel[middle - length + 1 : middle + length] = 0
        sold = np.where(self._is_ordinary, self._totals, 0)
        weights = np.where(self._is_ordinary, self._profile, 0)
        near = _convolve_same_length(weights, kernel)
        level = np.where(
            near > 0, _convolve_same_length(sold, kernel) / np.maximum(near, _EPSILON), 0
        )
        return np.asarray(level * self._profile)

    def log_change(self, days: Ints, length: int) -> float:
        """Return the logarithm of sold over expected on `days`; -inf without sales."""
        expected = float(self.expected_without_near_days(length)[days].sum())
        sold = float(self._totals[days].sum())
        if sold <= 0:
            return -np.inf
        return float(np.log(min(sold / max(expected, _EPSILON), _MAX_FACTOR)))

    def change_variance(self, length: int) -> float:
        """Return the variance of the change of `length` ordinary days in a row."""
        ones = np.ones(length)
        is_comparable = self._is_ordinary | (self._profile <= 0)
        is_whole = np.convolve(is_comparable, ones, "valid") >= length
        sold = np.convolve(self._totals, ones, "valid")
        expected = np.convolve(self.expected_without_near_days(length), ones, "valid")
        usable = is_whole & (expected > 0) & (sold > 0)
        if usable.sum() < _MIN_ORDINARY_DAYS:
            return np.inf
        return float(np.log(sold[usable] / expected[usable]).var())


def _convolve_same_length(values: Floats, kernel: Floats) -> Floats:
    return np.convolve(values, kernel, "full")[len(kernel) // 2 :][: len(values)]


class CalendarEffects:
    """The measured effects of a store's calendar."""

    def __init__(
        self,
        demand: DailyDemand,
        events: Sequence[CalendarEvent],
        elasticity: float = 0.0,
    ) -> None:
        """Measure the effects of `events` on `demand`; 0 is no known price elasticity."""
        self._demand, self._events, self._elasticity = demand, events, elasticity
        self._occurrences: list[_Occurrence] = []
        measured = [e for e in events if e.kind is not SpecialDayKind.PLANNED_PRICE]
        for scope in _scopes(measured):
            self._occurrences += _past_occurrences(demand, scope, measured)

    def history_without_events(self) -> DailyDemand:
        """Return the demand as it would be without the events.

        Closed days are marked as not on sale: they say nothing about demand.
        """
        begun = [
            (event, days)
            for event in self._events
            if event.kind is SpecialDayKind.PLANNED_PRICE
            and len(days := _past_days(event, self._demand))
        ]
        if not self._occurrences and not begun:
            return self._demand
        amounts, on_sale = self._demand.amounts.copy(), self._demand.on_sale.copy()
        for occurrence in self._occurrences:
            cells = _cells(occurrence.event, occurrence.days)
            if occurrence.event.kind is SpecialDayKind.CLOSURE or occurrence.is_closed:
                on_sale[cells] = False
            else:
                change = _shrink(occurrence.change, occurrence.variance)
                amounts[cells] /= np.float32(np.exp(change))
        for event, days in begun:
            amounts[_cells(event, days)] /= np.float32(self.sales_factor(event))
        demand = self._demand
        return DailyDemand(amounts, on_sale, demand.categories, demand.first_day)

    def sales_factor(self, event: CalendarEvent) -> float:
        """Return the factor of an event's days ahead: 1 where nothing is known."""
        if event.kind is SpecialDayKind.CLOSURE:
            return 0.0
        if event.stated is not None:
            return event.stated
        is_planned_price = event.kind is SpecialDayKind.PLANNED_PRICE
        if event.price is not None and (self._elasticity or is_planned_price):
            return float(min(event.price**self._elasticity, _MAX_FACTOR))
        same_kind = [past for past in self._occurrences if past.event.kind is event.kind]
        same_name = [past for past in same_kind if past.event.name == event.name]
        if event.kind is SpecialDayKind.HOLIDAY and _is_usually_closed(
            same_kind, same_name
        ):
            return 0.0
        kind_change = _shrunk_mean_change(
            [past for past in same_kind if not past.is_closed]
        )
        open_ones = [past for past in same_name if not past.is_closed]
        return float(np.exp(kind_change + _shrunk_mean_change(open_ones, kind_change)))

    def events_in(self, first: int, end: int) -> list[CalendarEvent]:
        """Return the events of days from the ordinal `first` to before `end`, by day."""
        events = [e for e in self._events if e.first < end and e.last >= first]
        return sorted(events, key=lambda event: (event.first, event.name))

    def apply(self, paths: ForecastPaths, first_ordinal: int) -> ForecastPaths:
        """Return the `paths` of days from `first_ordinal` on with the events ahead."""
        mean, quantiles = paths.mean.copy(), paths.quantiles.copy()
        days_ahead = mean.shape[1]
        for event in self.events_in(first_ordinal, first_ordinal + days_ahead):
            start = max(event.first - first_ordinal, 0)
            stop = min(event.last + 1 - first_ordinal, days_ahead)
            rows, days = _cells(event, np.arange(start, stop))
            factor = np.float32(self.sales_factor(event))
            mean[rows, days] *= factor
            quantiles[:, rows, days] *= factor
        return type(paths)(mean, quantiles)


def _scopes(events: Sequence[CalendarEvent]) -> list[Bools | None]:
    """Return the distinct groups of items that events concern."""
    return list({_scope_key(event.items): event.items for event in events}.values())


def _scope_key(items: Bools | None) -> bytes | None:
    return None if items is None else items.tobytes()


def _cells(event: CalendarEvent, days: Ints) -> tuple[slice | Ints, slice]:
    """Return the rows of an event's items and the columns of its `days` in a row."""
    rows = slice(None) if event.items is None else np.flatnonzero(event.items)
    return rows, slice(int(days[0]), int(days[-1]) + 1)


def _past_occurrences(
    demand: DailyDemand, scope: Bools | None, events: Sequence[CalendarEvent]
) -> list[_Occurrence]:
    """Return the past events of one group of items, compared with its ordinary days."""
    rows = slice(None) if scope is None else np.flatnonzero(scope)
    totals = demand.amounts[rows].sum(axis=0, dtype=np.float64)
    ordinals = demand.ordinals(0, demand.days)
    is_ordinary = np.array(demand.on_sale[rows].any(axis=0), np.bool_)
    for event in events:  # of other groups too: they change parts of this one
        is_ordinary[_past_days(event, demand)] = False
    if is_ordinary.sum() < _MIN_ORDINARY_DAYS:
        return []
    ordinary = _OrdinarySales(totals, ordinals, is_ordinary)
    occurrences = []
    for event in events:
        if _scope_key(event.items) != _scope_key(scope):
            continue
        days = _past_days(event, demand)
        if not len(days) or ordinary.expected_without_near_days(1)[days].sum() <= 0:
            continue
        length = min(len(days), _MAX_LENGTH)
        change = ordinary.log_change(days, length)
        variance = ordinary.change_variance(length)
        occurrences.append(_Occurrence(event, days, change, variance))
    return occurrences


def _past_days(event: CalendarEvent, demand: DailyDemand) -> Ints:
    first = max(event.first - demand.first_day, 0)
    last = min(event.last - demand.first_day, demand.days - 1)
    return np.arange(first, last + 1)


def _is_usually_closed(
    same_kind: Sequence[_Occurrence], same_name: Sequence[_Occurrence]
) -> bool:
    """Return whether a store closes on a holiday, by this one or else by all others."""
    if same_name:
        return all(occurrence.is_closed for occurrence in same_name)
    closed = sum(occurrence.is_closed for occurrence in same_kind)
    return closed >= _MIN_CLOSED_HOLIDAYS and closed == len(same_kind)


def _shrunk_mean_change(
    occurrences: Sequence[_Occurrence], relative_to: float = 0.0
) -> float:
    """Return the mean change beyond `relative_to`, shrunk to 0 where chance explains it."""
    measured = [past for past in occurrences if np.isfinite(past.variance)]
    if not measured:
        return 0.0
    changes = np.array([past.change - relative_to for past in measured])
    weights = 1 / np.maximum([past.variance for past in measured], _EPSILON)
    mean = float((changes * weights).sum() / weights.sum())
    spread = float(changes.var(ddof=1)) / len(measured) if len(measured) > 1 else 0.0
    return _shrink(mean, max(1 / float(weights.sum()), spread))


def _shrink(change: float, variance: float) -> float:
    """Return a change shrunk towards 0: a positive-part James-Stein estimate."""
    if abs(change) < _EPSILON or not np.isfinite(variance):
        return 0.0
    return change * max(0.0, 1 - variance / change**2)
