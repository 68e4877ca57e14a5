"""Closed days: finds past days without any sale, and predicts the closed days ahead."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import weekdays
from productrecs.engines.demand.options import WEEK

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Floats, Ints

_LOOK_BACK: Final = 8 * WEEK
_FEWEST_SEEN: Final = 4  # of a weekday, before its closing is believed
_BUSY: Final = 5.0
"""Sold on an open day, at the median: only then is a day without any sale a closed day."""

_YEARS_TO_BELIEVE: Final = 2
_FEAST = (12, 24), (12, 25), (12, 26), (12, 31), (1, 1)
"""Believed after one year: they move nowhere, and shops close between them."""


def closed_days(totals: Floats, first_day: int) -> Bools:
    """Return for each day whether the store was closed: [days].

    `totals` [days] is what the whole store sold. In a store that sells little, days without
    a sale are ordinary and none counts as closed.
    """
    sold = totals > 0
    if not sold.any() or float(np.median(totals[sold])) < _BUSY:
        return np.zeros(len(totals), dtype=np.bool_)
    days = weekdays(first_day + np.arange(len(totals), dtype=np.int64))
    usual = np.zeros(WEEK)
    for weekday in range(WEEK):
        usual[weekday] = sold[days == weekday].mean() if (days == weekday).any() else 0
    share = float(sold.mean())
    # Where most days sell something, a day that does not is closed.
    return ~sold & (share >= 0.5)  # noqa: PLR2004 - most


def closed_ahead(closed: Bools, first_day: int, ahead: Ints) -> Bools:
    """Return for each date ordinal in `ahead` whether the store will be closed: [ahead].

    A weekday that was always closed for eight weeks stays closed; so does a date that was
    closed in each of the past years, though open on such weekdays.
    """
    past = first_day + np.arange(len(closed), dtype=np.int64)
    recent = weekdays(past[-_LOOK_BACK:])
    shut = np.zeros(WEEK, dtype=np.bool_)
    for weekday in range(WEEK):
        seen = closed[-_LOOK_BACK:][recent == weekday]
        shut[weekday] = len(seen) >= _FEWEST_SEEN and bool(seen.all())
    by_date = {int(one): bool(was) for one, was in zip(past, closed, strict=True)}
    dates = [_is_closed_date(int(one), by_date) for one in ahead.tolist()]
    return shut[weekdays(ahead)] | np.array(dates, dtype=np.bool_)


def _is_closed_date(ordinal: int, closed: dict[int, bool]) -> bool:
    day = date.fromordinal(ordinal)
    if (day.month, day.day) == (2, 29):
        return False
    past = []
    for back in (1, 2, 3):
        before = day.replace(year=day.year - back).toordinal()
        if before in closed:
            past.append(closed[before])
    enough = 1 if (day.month, day.day) in _FEAST else _YEARS_TO_BELIEVE
    return len(past) >= enough and all(past)
