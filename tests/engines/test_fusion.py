"""Rank fusion: the order matches the formula, compiled and not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.engines.fusion import fuse, kernel, order_by_numpy, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

rankings = st.lists(st.lists(st.integers(0, 40), unique=True, max_size=30), max_size=4)


def arrays(lists: list[list[int]]) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    return [np.array(one, dtype=np.int32) for one in lists]


@given(lists=rankings)
def test_an_item_scores_the_sum_of_its_shares(lists: list[list[int]]) -> None:
    weights = [Fraction(2 * place + 1, 4) for place in range(len(lists))]
    wanted: dict[int, Fraction] = {}
    for one, weight in zip(lists, weights, strict=True):
        for rank, item in enumerate(one):
            wanted[item] = wanted.get(item, Fraction(0)) + weight / (20 + rank)

    fused = fuse(arrays(lists), [float(weight) for weight in weights])

    assert sorted(fused.items.tolist()) == sorted(wanted)
    for item, score in zip(fused.items.tolist(), fused.scores.tolist(), strict=True):
        assert score == pytest.approx(float(wanted[item]), rel=1e-12)
    assert (np.diff(fused.scores) <= 0).all()


@given(lists=rankings)
def test_the_list_with_the_largest_share_leads(lists: list[list[int]]) -> None:
    fused = fuse(arrays(lists), [1.0] * len(lists))

    for item, leader in zip(fused.items.tolist(), fused.leaders.tolist(), strict=True):
        ranks = [one.index(item) if item in one else 99 for one in lists]
        assert leader == ranks.index(min(ranks))


@given(lists=rankings, seed=st.integers(0, 1_000))
def test_the_kernel_equals_its_reference(lists: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = np.concatenate([np.zeros(0, np.int32), *arrays(lists)])
    steps = np.array([0.9, 0.3, 0.1])  # many are equal, and no sum of them is exact
    falling = [-np.sort(-rng.choice(steps, len(one))) for one in lists]
    shares = np.concatenate([np.zeros(0), *falling])
    ends = np.cumsum([len(one) for one in lists], dtype=np.int64)

    compiled = kernel.order(items, shares, ends)
    plain = order_by_numpy(items, shares, ends)

    for one, other in zip(compiled, plain, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("order", [kernel.order, order_by_numpy])
def test_equal_scores_stand_by_item_number(order: Callable[..., Any]) -> None:
    items = np.array([9, 4, 7], dtype=np.int32)

    found, _, _ = order(items, np.full(3, 0.5), np.array([3]))

    assert found.tolist() == [4, 7, 9]


def test_orders_are_alike_before_and_after_warming_up() -> None:
    lists = arrays([[5, 1, 3], [3, 8]])

    before = fuse(lists, [1.0, 0.8])
    warm_up()
    after = fuse(lists, [1.0, 0.8])

    assert before.items.tolist() == after.items.tolist() == [3, 5, 1, 8]
    assert after.leaders.tolist() == [0, 0, 0, 1]
