"""Calendar entry: a campaign, or days on which the store is closed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.written_numbers import parse_typed_number

MAX_ENTRIES: Final = 500
MAX_NAME: Final = 100
MAX_CATEGORY: Final = 1_000
MAX_ENTRY_DAYS: Final = 92
_MIN_CHANGE, _MAX_CHANGE = -100.0, 900.0
_MIN_PRICE, _MAX_PRICE = -90.0, 100.0


class CalendarEntryError(ProductRecsError):
    """The entry is invalid, or the store has too many."""


class UnknownCalendarEntryError(ProductRecsError):
    """The store has no entry with this number."""


class CalendarEntryKind(StrEnum):
    """What the days of an entry are."""

    CAMPAIGN = "campaign"
    CLOSURE = "closure"


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """Days of a store, both inclusive; `category` is "" for all products.

    `expected_change` is in per cent of ordinary sales; None: as past campaigns. The
    `price_change` of its products is in per cent; None: prices as usual.
    """

    kind: CalendarEntryKind
    name: str
    first_day: str
    last_day: str
    category: str = ""
    expected_change: float | None = None
    price_change: float | None = None

    def overlaps(self, other: CalendarEntry) -> bool:
        """Return whether both have a day and products in common, as far as is known.

        Two different categories count as without common products.
        """
        has_day = self.first_day <= other.last_day and other.first_day <= self.last_day
        categories = {self.category, other.category}
        return has_day and ("" in categories or len(categories) == 1)


def parse_calendar_entry(
    kind: str,
    name: str,
    first_day: str,
    last_day: str = "",
    category: str = "",
    expected_change: str = "",
    price_change: str = "",
) -> CalendarEntry:
    """Return an entry from texts; without `last_day` it is one day.

    Raises:
        CalendarEntryError: when one of them is invalid.
    """
    if kind not in set(CalendarEntryKind):
        message = f"the kind is one of {', '.join(CalendarEntryKind)}"
        raise CalendarEntryError(message)
    name, category = name.strip(), category.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        message = f"the name has 1 to {MAX_NAME} characters"
        raise CalendarEntryError(message)
    if len(category) > MAX_CATEGORY:
        message = f"a category has up to {MAX_CATEGORY} characters"
        raise CalendarEntryError(message)
    first = _parse_day(first_day)
    last = _parse_day(last_day) if last_day.strip() else first
    if last < first:
        message = f"the last day, {last}, is before the first day, {first}"
        raise CalendarEntryError(message)
    if (last - first).days >= MAX_ENTRY_DAYS:
        message = f"an entry has at most {MAX_ENTRY_DAYS} days; add the others separately"
        raise CalendarEntryError(message)
    changes: tuple[float | None, ...] = (None, None)
    if CalendarEntryKind(kind) is CalendarEntryKind.CAMPAIGN:
        changes = (
            _parse_change(expected_change, "the expected change", _MIN_CHANGE, _MAX_CHANGE),
            _parse_change(price_change, "the price change", _MIN_PRICE, _MAX_PRICE),
        )
    return CalendarEntry(
        CalendarEntryKind(kind),
        name,
        first.isoformat(),
        last.isoformat(),
        category,
        *changes,
    )


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        message = f"{text!r} is not a day; write one such as 2026-03-01"
        raise CalendarEntryError(message) from error


def _parse_change(text: str, label: str, lowest: float, highest: float) -> float | None:
    if not text.strip():
        return None
    message = f"{label} is {lowest:g} to {highest:g} per cent, or empty"
    try:
        change = parse_typed_number(text.strip().removesuffix("%"))
    except ValueError as error:
        raise CalendarEntryError(message) from error
    if not lowest <= change <= highest:
        raise CalendarEntryError(message)
    return change
