"""Rank fusion: scores, leading lists and ties match the formula."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.engines.array_types_and_sorting import Items
from productrecs.engines.rank_fusion import fuse_lists

rankings = st.lists(st.lists(st.integers(0, 40), unique=True, max_size=30), max_size=4)


def arrays(lists: list[list[int]]) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    return [np.array(one, dtype=np.int32) for one in lists]


def counts(*numbers: int) -> Items:
    return np.array(numbers, dtype=np.int32)


@given(lists=rankings)
def test_an_item_scores_the_sum_of_its_shares(lists: list[list[int]]) -> None:
    weights = [Fraction(2 * place + 1, 4) for place in range(len(lists))]
    wanted: dict[int, Fraction] = {}
    for one, weight in zip(lists, weights, strict=True):
        for rank, item in enumerate(one):
            wanted[item] = wanted.get(item, Fraction(0)) + weight / (20 + rank)

    fused = fuse_lists(arrays(lists), [float(weight) for weight in weights])

    assert sorted(fused.items.tolist()) == sorted(wanted)
    for item, score in zip(fused.items.tolist(), fused.scores.tolist(), strict=True):
        assert score == pytest.approx(float(wanted[item]), rel=1e-12)
    assert (np.diff(fused.scores) <= 0).all()


@given(lists=rankings)
def test_the_list_with_the_largest_share_leads(lists: list[list[int]]) -> None:
    fused = fuse_lists(arrays(lists), [1.0] * len(lists))

    for item, leader in zip(fused.items.tolist(), fused.leaders.tolist(), strict=True):
        ranks = [one.index(item) if item in one else 99 for one in lists]
        assert leader == ranks.index(min(ranks))


def test_equal_scores_are_ordered_by_item_number() -> None:
    fused = fuse_lists(arrays([[9, 4], [4, 9], [7]]), [1.0, 1.0, 1.0 + 20 / 21])

    assert fused.items.tolist() == [4, 7, 9]


@pytest.mark.parametrize(
    ("support", "order"),
    [
        ((None, None), [1, 3, 2, 4]),
        ((counts(1, 1000), counts(1000, 1000)), [3, 2, 4, 1]),
        ((counts(1, 1000), None), [3, 2, 4, 1]),
        ((counts(1, 1), counts(1, 1)), [1, 3, 2, 4]),
    ],
)
def test_an_item_of_one_visit_does_not_count_as_one_of_a_thousand(
    support: tuple[Items | None, ...], order: list[int]
) -> None:
    fused = fuse_lists(arrays([[1, 2], [3, 4]]), [1.0, 0.98], support)

    assert fused.items.tolist() == order
    assert (np.diff(fused.scores) <= 0).all()


def test_a_list_beside_empty_ones_keeps_its_order() -> None:
    fused = fuse_lists(arrays([[1, 2], []]), [1.0, 1.0], (counts(1, 1000), counts()))

    assert fused.items.tolist() == [1, 2]


def test_nothing_to_fuse_is_nothing() -> None:
    assert [len(part) for part in fuse_lists([], [])] == [0, 0, 0]
    assert [len(part) for part in fuse_lists(arrays([[], []]), [1.0, 1.0])] == [0, 0, 0]
