"""Calendar events: public holidays, planned campaigns and closed days, planned prices."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.demand.calendar_effects import CalendarEvent, SpecialDayKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from productrecs.records.sales_calendar.calendar_entry import CalendarEntry


_PRICE_DIGITS: Final = 2  # prices that change alike by per cent are one event
_LEAST_RATIO, _MOST_RATIO = 0.1, 2.0  # others are mistakes, or another offer


class PlannedItemPriceChange(NamedTuple):
    """A planned change of an item's price: `first` and `last` are date ordinals."""

    row: int
    first: int
    last: int
    ratio: float  # of the price without the plan


def public_holidays(country: str, first: date, last: date) -> list[CalendarEvent]:
    """Return the public holidays of `country` (DE, or DE-BY) from `first` to `last`.

    None without a country, and none where productrecs[forecast] is not installed.
    """
    if not country:
        return []
    try:
        import holidays  # noqa: PLC0415 - only for stores with a country
    except ModuleNotFoundError:
        return []
    code, _, region = country.partition("-")
    years = range(first.year, last.year + 1)
    names_by_day = holidays.country_holidays(code, subdiv=region or None, years=years)
    return [
        CalendarEvent(SpecialDayKind.HOLIDAY, name, day.toordinal(), day.toordinal())
        for day, name in sorted(names_by_day.items())
        if first <= day <= last
    ]


def planned_events(
    entries: Iterable[CalendarEntry], categories: Sequence[Sequence[str]]
) -> list[CalendarEvent]:
    """Return the merchant's entries as events; `categories` are those of each item."""
    return [
        CalendarEvent(
            SpecialDayKind(entry.kind.value),
            entry.name,
            date.fromisoformat(entry.first_day).toordinal(),
            date.fromisoformat(entry.last_day).toordinal(),
            None
            if not entry.category
            else np.array([entry.category in names for names in categories], np.bool_),
            None if entry.expected_change is None else 1 + entry.expected_change / 100,
            None if entry.price_change is None else 1 + entry.price_change / 100,
        )
        for entry in entries
    ]


def planned_price_events(
    changes: Iterable[PlannedItemPriceChange],
    campaigns: Sequence[CalendarEvent],
    items: int,
) -> list[CalendarEvent]:
    """Return the planned prices as events: one for items of the same days and change.

    On days of a campaign that includes the item, the campaign counts alone.
    """
    rows_by_plan: dict[tuple[int, int, float], list[int]] = defaultdict(list)
    for change in changes:
        ratio = round(change.ratio, _PRICE_DIGITS)
        if ratio == 1 or not _LEAST_RATIO <= ratio <= _MOST_RATIO:
            continue
        for first, last in _days_outside_campaigns(change, campaigns):
            rows_by_plan[first, last, ratio].append(change.row)
    events = []
    for (first, last, ratio), rows in sorted(rows_by_plan.items()):
        is_concerned = np.zeros(items, np.bool_)
        is_concerned[rows] = True
        count = "1 product" if len(rows) == 1 else f"{len(rows)} products"
        name = f"Planned price of {count}, {round(100 * (ratio - 1)):+d} %"
        events.append(
            CalendarEvent(
                SpecialDayKind.PLANNED_PRICE, name, first, last, is_concerned, price=ratio
            )
        )
    return events


def _days_outside_campaigns(
    change: PlannedItemPriceChange, campaigns: Sequence[CalendarEvent]
) -> list[tuple[int, int]]:
    """Return the first and the last day of each part that no campaign of the item has."""
    parts = [(change.first, change.last)]
    for event in campaigns:
        if event.kind is SpecialDayKind.CAMPAIGN and (
            event.items is None or event.items[change.row]
        ):
            before_and_after = [
                part
                for first, last in parts
                for part in (
                    (first, min(last, event.first - 1)),
                    (max(first, event.last + 1), last),
                )
            ]
            parts = [(first, last) for first, last in before_and_after if first <= last]
    return parts
