"""Repurchase engine: products in order of habit, without discontinued ones."""

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import Items
from productrecs.engines.buy_again import (
    due_for_repurchase,
    is_habitual_buyer,
    rank_repurchases,
    usual_repurchase_intervals,
)

HOUR = 3_600_000
DAY = 24 * HOUR
RANKS = np.arange(10, dtype=np.int32)


def again(*lines: tuple[int, int], ranks: Items = RANKS) -> list[tuple[int, float]]:
    items, times = (np.array(column, dtype=np.int64) for column in zip(*lines, strict=True))
    ranked = rank_repurchases(items, times, ranks, 10)
    return list(zip(ranked.items.tolist(), ranked.scores.tolist(), strict=True))


def test_a_score_is_habit_that_fades_by_the_basket_and_what_sells() -> None:
    found = dict(again((1, 0), (2, 0), (1, 3 * DAY), (3, 3 * DAY + HOUR), (1, 9 * DAY)))

    assert found[1] == pytest.approx((1 + 0.9 + 0.81) * 21**-0.5)
    assert found[2] == pytest.approx(0.81 * 22**-0.5)
    assert found[3] == pytest.approx(0.9 * 23**-0.5)


def test_two_lines_of_one_basket_are_one_sign() -> None:
    assert again((1, 0), (1, HOUR)) == again((1, 0))


def test_an_item_that_no_longer_sells_falls_back() -> None:
    lately = np.array([0, 1, 2, 3], dtype=np.int32)

    found = again((7, 0), (1, 0), ranks=lately)

    assert [item for item, _ in found] == [1, 7]


def test_nothing_bought_is_nothing_to_buy_again() -> None:
    none = np.zeros(0, dtype=np.int64)

    assert rank_repurchases(none, none, RANKS, 10).items.tolist() == []


def test_a_fifth_of_lines_that_came_before_are_a_habit() -> None:
    def habit(*lines: tuple[int, int]) -> bool:
        items, times = np.array(lines, dtype=np.int64).reshape(-1, 2).T
        return is_habitual_buyer(items, times)

    assert habit((1, 0), (2, 0), (1, 3 * DAY), (3, 3 * DAY), (4, 4 * DAY))
    assert not habit(
        (1, 0), (2, 0), (1, 3 * DAY), *((item, 5 * DAY) for item in range(3, 7))
    )
    assert not habit((1, 0), (1, HOUR))  # of one basket
    assert not habit()


def test_the_usual_interval_is_the_median_over_all_buyers_from_three_repeats_on() -> None:
    lines = [  # buyer, item, day
        *((1, 0, day) for day in (0, 10, 20)),
        *((2, 0, day) for day in (5, 35)),
        *((3, 0, 7), (4, 1, 0), (4, 1, 9)),
    ]
    buyers, items, times = np.array(lines, np.int64).T
    again_at_once = np.append(times * DAY, times[0] * DAY + HOUR)

    usual = usual_repurchase_intervals(
        np.append(buyers, 1), np.append(items, 0), again_at_once, 3
    )

    assert usual.tolist() == [10 * DAY, 0, 0]  # one repeat of item 1 shows nothing


@pytest.mark.parametrize(
    ("bought", "expected"),
    [
        ({0: [70]}, [0]),  # due after 30 days: on day 100 that is now
        ({0: [90]}, []),  # not yet
        ({0: [70], 1: [60]}, [0, 1]),  # an item without an interval follows
        ({1: [0, 50], 0: [5]}, [1, 0]),  # their own interval; 3 intervals are long over
        ({1: [80, 90]}, [1]),  # their own 10 days
        ({1: [86], 0: [70]}, [0, 1]),  # nobody bought it twice: after two weeks
        ({1: [87]}, []),
        ({}, []),
    ],
)
def test_an_item_is_due_at_its_interval(
    bought: dict[int, list[int]], expected: list[int]
) -> None:
    lines = sorted((day * DAY, item) for item, days in bought.items() for day in days)
    times, items = np.array(lines, np.int64).reshape(-1, 2).T
    usual = np.array([30 * DAY, 0], np.int64)

    due = due_for_repurchase(items, times, usual, 100 * DAY, 10)

    assert due.items.tolist() == expected
    assert due.scores.tolist() == sorted(due.scores.tolist(), reverse=True)
