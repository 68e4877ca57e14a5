"""Repurchase engine: products in order of habit, without discontinued ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.engines.buy_again import buy_again, is_habitual_buyer

if TYPE_CHECKING:
    from productrecs.engines.arrays import Items

HOUR = 3_600_000
DAY = 24 * HOUR
RANKS = np.arange(10, dtype=np.int32)


def again(*lines: tuple[int, int], ranks: Items = RANKS) -> list[tuple[int, float]]:
    items, times = (np.array(column, dtype=np.int64) for column in zip(*lines, strict=True))
    ranked = buy_again(items, times, ranks, 10)
    return list(zip(ranked.items.tolist(), ranked.scores.tolist(), strict=True))


def test_a_score_is_habit_that_fades_by_the_basket_and_what_sells() -> None:
    found = dict(again((1, 0), (2, 0), (1, 3 * DAY), (3, 3 * DAY + HOUR), (1, 9 * DAY)))

    assert found[1] == pytest.approx((1 + 0.9 + 0.81) * 21**-0.5)
    assert found[2] == pytest.approx(0.81 * 22**-0.5)
    assert found[3] == pytest.approx(0.9 * 23**-0.5)


def test_two_lines_of_one_basket_are_one_sign() -> None:
    assert again((1, 0), (1, HOUR)) == again((1, 0))


def test_what_nobody_buys_any_more_falls_back() -> None:
    lately = np.array([0, 1, 2, 3], dtype=np.int32)

    found = again((7, 0), (1, 0), ranks=lately)

    assert [item for item, _ in found] == [1, 7]


def test_nothing_bought_is_nothing_to_buy_again() -> None:
    none = np.zeros(0, dtype=np.int64)

    assert buy_again(none, none, RANKS, 10).items.tolist() == []


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
