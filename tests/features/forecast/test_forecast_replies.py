"""Days of cover: how long stock lasts."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.features.forecast.forecast_replies import (
    MAX_DAYS_OF_COVER,
    days_of_cover,
    days_of_cover_by_item,
    stockout_day,
)


@pytest.mark.parametrize(
    ("stock", "means", "days"),
    [
        (10, [4, 4, 4], 2.5),
        (8, [4, 4, 4], 2.0),
        (20, [4, 4, 4], 5.0),  # beyond the days forecast, their average goes on
        (0, [4, 4], 0.0),
        (-3, [4, 4], 0.0),
        (5, [0, 0, 10], 2.5),
        (5, [0, 0, 0], None),  # nothing is expected to sell
        (5, [], None),
        (None, [4, 4], None),  # nobody counts it
        (10_000, [1, 1], None),  # more than a year
    ],
)
def test_days_of_cover(stock: int | None, means: list[float], days: float | None) -> None:
    assert days_of_cover(stock, means) == days


@given(st.integers(1, 500), st.lists(st.floats(0.01, 50), min_size=28, max_size=28))
def test_what_is_expected_to_sell_within_the_cover_is_the_stock(
    stock: int, means: list[float]
) -> None:
    cover = days_of_cover(stock, means)

    if cover is None:
        assert sum(means) / 28 * MAX_DAYS_OF_COVER < stock * 1.5
        return
    whole = int(cover)
    pace = sum(means) / 28
    daily = [*means, *([pace] * 400)]
    assert sum(daily[:whole]) + (cover - whole) * daily[whole] == pytest.approx(stock)


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-5, 400),
            st.lists(st.sampled_from([0.0, 0.5, 3.0, 20.0]), min_size=4, max_size=4),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_many_items_have_the_cover_of_each(
    some: list[tuple[int | None, list[float]]],
) -> None:
    stock = np.array([np.nan if one is None else one for one, _ in some])

    covers = days_of_cover_by_item(stock, np.array([means for _, means in some]))

    each = [days_of_cover(one, means) for one, means in some]
    finite = [None if np.isnan(cover) else cover for cover in covers]
    assert [one is None for one in finite] == [one is None for one in each]
    assert [one for one in finite if one] == pytest.approx([one for one in each if one])


def test_stock_runs_out_on_the_day_on_which_it_sells_its_last() -> None:
    saturday = date(2026, 11, 21)

    assert stockout_day(saturday, 0.0) == saturday  # it is sold out
    assert stockout_day(saturday, 0.1) == date(2026, 11, 22)
    assert stockout_day(saturday, 2.5) == date(2026, 11, 24)
