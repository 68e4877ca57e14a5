"""Item sets: counted as by hand, beyond chance, deterministic, and varied when chosen."""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
import pytest

from productrecs.engines.copurchase import ItemSets, fit_copurchase, fit_item_sets
from productrecs.engines.copurchase.frequent_item_sets import ItemSetOptions

N_ITEMS: Final = 12
_ERRORS: Final = ItemSetOptions().standard_errors


def fitted(
    orders: Sequence[Sequence[int]],
    ages: Sequence[float] | None = None,
    buyers: Sequence[int] | None = None,
    shuffled: int | None = None,
) -> ItemSets:
    """Return the sets of these orders, perhaps read in another order of lines."""
    baskets = np.repeat(np.arange(len(orders)), [len(one) for one in orders])
    items = np.array([item for one in orders for item in one], np.int32)
    age = np.array(ages or [1.0] * len(orders), np.float32)[baskets]
    buyer = np.array(buyers or [0] * len(orders), np.int64)[baskets]
    if shuffled is not None:
        order = np.random.default_rng(shuffled).permutation(len(items))
        baskets, items, age, buyer = baskets[order], items[order], age[order], buyer[order]
    model = fit_copurchase(baskets, items, age, N_ITEMS, buyers=buyer).plain
    return fit_item_sets(model, baskets, items, age, buyer)


@pytest.fixture(scope="module")
def orders() -> list[list[int]]:
    """Return 600 orders, in which 0, 1, 2, 3 and 4, 5 are often together."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(600):
        order = set(rng.choice(N_ITEMS, rng.integers(1, 4), replace=False).tolist())
        if rng.random() < 0.2:
            order |= {0, 1, 2, 3}
        if rng.random() < 0.1:
            order |= {4, 5}
        found.append(sorted(order))
    return found


def test_orders_and_lifts_are_those_of_counting_by_hand(orders: list[list[int]]) -> None:
    sets = fitted(orders)
    contents = [set(one) for one in orders]

    def count(items: Sequence[int]) -> int:
        return sum(set(items) <= one for one in contents)

    found = [sets.members(index) for index in range(len(sets.orders))]
    for members, counted, lift in zip(found, sets.orders, sets.lifts, strict=True):
        chance = max(
            count([one for one in members if one != last]) * count([last]) / len(orders)
            for last in members
        )
        at_least = count(members) - _ERRORS * count(members) ** 0.5
        assert counted == count(members)
        assert lift == pytest.approx(at_least / chance, rel=1e-5)
        assert [-count([item]) for item in members] == sorted(
            -count([item]) for item in members
        )
    sorted_sets = {tuple(sorted(one)) for one in found}
    assert len(sorted_sets) == len(found)
    assert {*combinations(range(4), 2), (0, 1, 2, 3), (4, 5)} <= sorted_sets
    assert not any({0, 4} <= set(one) for one in found)  # together by chance only
    assert set(found[0]) == {0, 1, 2, 3}


def test_the_order_of_lines_changes_nothing(orders: list[list[int]]) -> None:
    expected, found = fitted(orders), fitted(orders, shuffled=5)

    for name, array in expected.to_arrays().items():
        np.testing.assert_array_equal(found.to_arrays()[name], array)
    stored = ItemSets.from_arrays(expected.to_arrays())
    assert stored.members(0) == expected.members(0)


_TWO = [[0, 1]] * 12 + [[2], [3], [4]] * 20


@pytest.mark.parametrize(
    ("orders", "ages", "buyers", "expected"),
    [
        (_TWO, None, None, [(0, 1)]),
        (_TWO, [400.0] * 12 + [1.0] * 60, None, []),  # not in the last year
        (_TWO, None, [7] * 12 + [0] * 60, []),  # one buyer's repeated order
        (_TWO, None, [*range(1, 13)] + [0] * 60, [(0, 1)]),
        ([[0, 1], [0, 1]] + [[2]] * 60, None, None, []),  # too few
        ([[0, 1]] * 30, None, None, []),  # everybody buys both: chance explains it
        ([], None, None, []),
        ([[0], [1]], None, None, []),
    ],
)
def test_a_set_needs_enough_recent_orders_beyond_chance(
    orders: list[list[int]],
    ages: list[float] | None,
    buyers: list[int] | None,
    expected: list[tuple[int, ...]],
) -> None:
    sets = fitted(orders, ages, buyers)

    assert [sets.members(index) for index in range(len(sets.orders))] == expected


@pytest.mark.parametrize(
    ("limit", "forbidden", "most", "expected"),
    [
        (9, (), 3, [(0, 1, 2), (0, 3), (4, 5)]),  # (0, 1) is a part of the first
        (2, (), 3, [(0, 1, 2), (0, 3)]),
        (9, (0, 1, 2), 3, [(0, 1), (0, 3), (4, 5)]),
        (9, (), 1, [(0, 1, 2), (4, 5)]),
    ],
)
def test_chosen_sets_differ(
    limit: int, forbidden: tuple[int, ...], most: int, expected: list[tuple[int, ...]]
) -> None:
    rows = [(0, 1, 2, -1), (0, 1, -1, -1), (0, 3, -1, -1), (4, 5, -1, -1)]
    sets = ItemSets(
        np.array(rows, np.int32), np.full(4, 9, np.int32), np.full(4, 2.0, np.float32)
    )

    chosen = sets.choose_set_indexes(limit, lambda members: members != forbidden, most)

    assert [sets.members(index) for index in chosen] == expected
