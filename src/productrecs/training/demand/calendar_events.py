"""Calendar events: a country's public holidays, and the days that the merchant planned."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from productrecs.engines.demand.calendar_effects import CalendarEvent, SpecialDayKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from productrecs.records.sales_calendar.calendar_entry import CalendarEntry


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
