"""Trending: scores match decisions.md."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest

from productrecs.engines.engine_protocol import Metric
from productrecs.engines.trending_and_category import (
    SaleAndReturnLines,
    category_top_items,
    rank_trending,
)

Line = tuple[int, int, int, float, int]  # item, basket, units, revenue, time


def sales(*lines: Line) -> SaleAndReturnLines:
    columns = list(zip(*lines, strict=True)) if lines else [()] * 5
    items, baskets, units, revenue, times = columns
    return SaleAndReturnLines(
        np.array(items, dtype=np.int32),
        np.array(baskets, dtype=np.int64),
        np.array(units, dtype=np.int64),
        np.array(revenue, dtype=np.float64),
        np.array(times, dtype=np.int64),
    )


def ranked(
    sold: SaleAndReturnLines,
    metric: Metric = "orders",
    carts: Sequence[int] = (),
    views: Sequence[int] = (),
) -> list[int]:
    carted, viewed = (
        np.bincount(np.array(one, int), minlength=10) for one in (carts, views)
    )
    order: list[int] = rank_trending(sold, carted, viewed, metric).tolist()
    return order


def test_each_metric_has_its_own_winner() -> None:
    sold = sales(
        (1, 1, 1, 5.0, 9), (1, 2, 1, 5.0, 9), (2, 3, 9, 5.0, 9), (3, 4, 1, 99.0, 9)
    )

    assert ranked(sold, "orders")[0] == 1
    assert ranked(sold, "units")[0] == 2
    assert ranked(sold, "revenue")[0] == 3


def test_lines_of_one_order_are_one_order_and_lines_without_one_are_one_each() -> None:
    sold = sales(*[(1, 5, 1, 1.0, 9)] * 3, *[(2, -1, 1, 1.0, 9)] * 2, (3, 5, 1, 1.0, 9))

    assert ranked(sold) == [2, 1, 3]


def test_equal_sales_are_ordered_by_carts_views_newest_sale_and_number() -> None:
    sold = sales(*((item, item, 1, 1.0, 7 if item == 4 else 3) for item in range(1, 7)))

    order = ranked(sold, carts=[6, 6, 5], views=[3, 3, 5, 5, 5])

    assert order == [6, 5, 3, 4, 1, 2]


def test_without_sales_carts_come_first_then_views() -> None:
    assert ranked(sales(), carts=[3], views=[7, 7, 2]) == [3, 7, 2]


def test_without_sales_carts_and_views_the_list_is_empty() -> None:
    assert ranked(sales()) == []


def test_returned_units_do_not_trend() -> None:
    sold = sales((1, 1, 2, 8.0, 3), (1, 2, -2, -8.0, 4), (2, 3, 1, 1.0, 3))

    assert ranked(sold, "units") == [2]
    assert ranked(sold, "revenue") == [2]
    assert ranked(sold, "orders") == [1, 2]  # bought once each; 1 was touched last


def test_only_lines_inside_the_window_are_kept() -> None:
    sold = sales(*((item, item, 1, 1.0, item * 10) for item in range(1, 6)))

    assert sold.between(20, 40).items.tolist() == [3, 4]


def test_what_sold_before_the_window_follows_by_sales_that_fade() -> None:
    day = 86_400_000
    lately = sales((5, 90, 1, 1.0, 400 * day))
    before = sales(
        *((1, one, 1, 1.0, 10 * day) for one in range(3)),  # long ago
        *((2, 10 + one, 1, 1.0, 300 * day) for one in range(2)),
        (3, 20, -1, -1.0, 300 * day),  # only sent back
        (4, 30, 1, 1.0, 300 * day),
        *((5, 40 + one, 1, 1.0, 300 * day) for one in range(9)),
    )
    nothing = np.zeros(10, np.int64)

    order = rank_trending(lately, nothing, np.bincount([7], minlength=10), "orders", before)
    quiet = rank_trending(sales(), nothing, nothing, "orders", before)

    assert order.tolist() == [5, 7, 2, 4, 1]
    assert quiet.tolist() == [5, 2, 4, 1]


@pytest.mark.parametrize("metric", get_args(Metric))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_is_what_counting_by_hand_gives(metric: Metric, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines: list[Line] = [
        (
            int(rng.integers(8)),
            int(rng.integers(-1, 12)),
            int(rng.integers(1, 4)),
            float(rng.integers(1, 5)),
            int(rng.integers(4)),
        )
        for _ in range(25)
    ]
    carts, views = rng.integers(8, size=5).tolist(), rng.integers(9, size=9).tolist()

    order = ranked(sales(*lines), metric, carts, views)

    def standing(item: int) -> tuple[float, ...]:
        mine = [line for line in lines if line[0] == item]
        amount = {
            "orders": len({line[1] for line in mine} - {-1})
            + sum(line[1] == -1 for line in mine),
            "units": sum(line[2] for line in mine),
            "revenue": sum(line[3] for line in mine),
        }[metric]
        newest = max((line[4] for line in mine), default=0)
        return (-amount, -carts.count(item), -views.count(item), -newest, item)

    touched = {line[0] for line in lines} | set(carts) | set(views)
    assert order == sorted(touched, key=standing)


def test_the_most_popular_come_first_and_what_has_no_rank_last() -> None:
    ranks = np.array([2, 0, 9, 1], dtype=np.int32)

    best = category_top_items(np.array([8, 0, 3, 5, 2]), ranks, 10)

    assert best.tolist() == [3, 0, 2, 5, 8]


@pytest.mark.parametrize("limit", [0, 1, 5, 24, 26, 100, 1000])
def test_a_large_category_is_cut_where_a_sorted_one_would_be(limit: int) -> None:
    rng = np.random.default_rng(limit)
    ranks = rng.integers(6, size=90).astype(np.int32)  # many equals
    members = rng.permutation(120)[:100]

    best = category_top_items(members, ranks, limit)

    def standing(item: int) -> tuple[float, int]:
        return (float(ranks[item]) if item < len(ranks) else np.inf, item)

    assert best.tolist() == sorted(members.tolist(), key=standing)[:limit]


def test_an_empty_category_gives_an_empty_list() -> None:
    assert (
        category_top_items(np.zeros(0, np.int64), np.zeros(0, np.int32), 5).tolist() == []
    )
