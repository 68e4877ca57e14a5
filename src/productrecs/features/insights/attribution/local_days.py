"""Local days: the calendar day of a timestamp in the store's time zone."""

from datetime import UTC, date, datetime, tzinfo
from typing import Final

from productrecs.core.clock import MINUTE_MS

QUARTER_MS: Final = 15 * MINUTE_MS
"""Zones change their offset in quarters of an hour."""

_DAYS_KEPT: Final = 100_000


class LocalDays:
    """Which day is a moment, in one zone?"""

    def __init__(self, zone: tzinfo) -> None:
        """Tell days of `zone`."""
        self._zone = zone
        self._known: dict[int, str] = {}

    def of(self, moment_ms: int) -> str:
        """Return the day of a moment, such as 2026-03-01."""
        quarter = moment_ms // QUARTER_MS
        known = self._known.get(quarter)
        if known is None:
            if len(self._known) >= _DAYS_KEPT:
                self._known.clear()
            self._known[quarter] = known = self._day(quarter)
        return known

    def _day(self, quarter: int) -> str:
        seconds = quarter * QUARTER_MS / 1000
        try:
            moment = datetime.fromtimestamp(seconds, UTC).astimezone(self._zone)
        except (OverflowError, ValueError):  # a zone carries it out of the calendar
            return (date.min if quarter < 0 else date.max).isoformat()
        return moment.date().isoformat()
