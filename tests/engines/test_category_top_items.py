"""Category best sellers: ordered by popularity, whatever the size."""

from __future__ import annotations

import numpy as np
import pytest

from productrecs.engines.category_top_items import category_top_items


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
