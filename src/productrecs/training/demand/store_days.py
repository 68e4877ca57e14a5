"""Store days: the days of a time zone by number, whatever its clocks do."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

import numpy as np
import numpy.typing as npt

from productrecs.core.time_window import window_end_ms, window_start_ms

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoreDays:
    """`count` days of a store from the date `first` on, by the midnights of its zone."""

    first: date
    midnights: Ints  # [count + 1], UTC ms

    @property
    def count(self) -> int:
        """How many days there are."""
        return len(self.midnights) - 1

    def numbers(self, moments: Ints) -> Ints:
        """Return on which day each moment lies; -1 before, `count` after all of them."""
        return np.searchsorted(self.midnights, moments, side="right").astype(np.int64) - 1

    def iso(self, number: int) -> str:
        """Return the date of a day's number, which may lie outside."""
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
    """Return the date that it is in `zone`."""
    return datetime.fromtimestamp(now_ms / 1000, tz=zone).date()


def window_days(
    days: StoreDays, zone: tzinfo, opens: str | None, closes: str | None
) -> tuple[int, int]:
    """Return the first day of a window, and the day after its last: within 0..count.

    A day belongs to it when any of its moments does.
    """
    first, last = 0, days.count
    if opens is not None:
        first = int(days.numbers(np.array([window_start_ms(opens, zone)]))[0])
    if closes is not None:
        last = int(days.numbers(np.array([window_end_ms(closes, zone)]))[0]) + 1
    return min(max(first, 0), days.count), min(max(last, 0), days.count)
