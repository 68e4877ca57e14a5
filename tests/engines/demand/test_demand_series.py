"""Demand history: which days count, and how returns are subtracted."""

from datetime import date

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from productrecs.engines.demand.demand_series import (
    closed_days,
    closed_in_future,
    net_returns,
    weekdays,
)

MONDAY = date(2026, 3, 2).toordinal()


def test_a_date_has_the_weekday_that_the_calendar_says() -> None:
    days = [date(2026, 3, 2), date(2024, 2, 29), date(1999, 12, 31)]

    found = weekdays(np.array([day.toordinal() for day in days]))

    assert found.tolist() == [day.weekday() for day in days]


def test_a_return_undoes_the_newest_sales_before_it() -> None:
    netted = net_returns(np.array([[5, 3, 0, -4, 2]], np.float32))

    assert netted.tolist() == [[4, 0, 0, 0, 2]]


@given(st.lists(st.lists(st.integers(-20, 20), min_size=12, max_size=12), min_size=1))
def test_netting_loses_nothing_but_what_was_never_sold(rows: list[list[int]]) -> None:
    amounts = np.array(rows, np.float32)

    netted = net_returns(amounts)

    assert (netted >= 0).all()
    for before, after in zip(amounts, netted, strict=True):
        owed = kept = 0.0
        for amount in before[::-1]:
            owed += max(-amount, 0)
            taken = min(owed, max(amount, 0))
            owed, kept = owed - taken, kept + max(amount, 0) - taken
        assert after.sum() == kept


def shop(weeks: int, closed_on: int) -> np.ndarray:
    """Return a shop's totals, from a Monday on, closed on one weekday."""
    totals = np.full(7 * weeks, 50.0)
    totals[closed_on::7] = 0
    return totals


def test_a_weekday_that_was_always_closed_stays_closed() -> None:
    totals = shop(weeks=10, closed_on=6)
    ahead = MONDAY + 70 + np.arange(28)

    shut = closed_in_future(closed_days(totals), MONDAY, ahead)

    assert shut.tolist() == [day % 7 == 6 for day in range(28)]


def test_one_closed_sunday_does_not_close_the_next() -> None:
    totals = np.full(70, 50.0)
    totals[69] = 0

    assert closed_days(totals)[69]
    ahead = MONDAY + 70 + np.arange(28)
    assert not closed_in_future(closed_days(totals), MONDAY, ahead).any()


def test_christmas_day_is_believed_to_be_closed_after_one_year() -> None:
    first = date(2024, 12, 1).toordinal()
    totals = np.full(380, 50.0)
    totals[24] = totals[100] = 0  # 25 December, and some day in March
    ahead = date(2025, 12, 16).toordinal() + np.arange(28)

    shut = closed_in_future(closed_days(totals), first, ahead)

    assert shut.nonzero()[0].tolist() == [9]


def test_a_small_shop_is_not_closed_on_days_without_a_sale() -> None:
    totals = np.array([0, 1, 0, 0, 2, 0, 0] * 10, np.float64)

    assert not closed_days(totals).any()
