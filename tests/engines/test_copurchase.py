"""Does the co-purchase engine count what its formula says?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseOptions,
    fit_copurchase,
)
from productrecs.engines.copurchase.counting import count_pairs, gather
from tests.engines.references import companions

if TYPE_CHECKING:
    from collections.abc import Sequence

Line = tuple[int, int, float]


def fitted(
    lines: Sequence[Line], n_items: int, options: CopurchaseOptions | None = None
) -> CopurchaseModel:
    return fit_copurchase(
        np.array([line[0] for line in lines], dtype=np.int64),
        np.array([line[1] for line in lines], dtype=np.int32),
        np.array([line[2] for line in lines], dtype=np.float32),
        n_items,
        options,
    )


def orders(*contents: Sequence[int]) -> list[Line]:
    return [(n, item, 0.0) for n, items in enumerate(contents) for item in items]


def shop(seed: int, n_orders: int, n_items: int) -> list[Line]:
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, n_items + 1)
    weights /= weights.sum()
    lines = []
    for order in range(n_orders):
        age = float(np.float32(rng.uniform(0, 400)))
        size = int(rng.integers(1, 6)) if order % 50 else 45
        lines += [(order, int(i), age) for i in rng.choice(n_items, size, p=weights)]
    return lines


@pytest.mark.parametrize(("seed", "n_orders"), [(1, 60), (2, 499), (3, 700), (4, 1500)])
def test_every_list_is_what_the_formula_says(seed: int, n_orders: int) -> None:
    lines = shop(seed, n_orders, n_items=80)
    options = CopurchaseOptions(neighbours=12)

    model = fitted(lines, 80, options)

    expected = companions(lines, options)
    assert sum(len(found) for found in expected.values()) == len(model.companions)
    for item, found in expected.items():
        ranked = model.neighbours(item)
        assert ranked.items.tolist() == [number for number, _ in found]
        np.testing.assert_allclose(ranked.scores, [score for _, score in found], rtol=1e-5)


def test_several_anchors_sum_their_votes_and_hold_popularity_against_more() -> None:
    lines, options = shop(5, 900, n_items=60), CopurchaseOptions()
    model = fitted(lines, 60)
    popularity = {
        item: sum(
            min(1.0, 30 / len({i for b, i, _ in lines if b == basket})) * 0.5 ** (age / 180)
            for basket, age in {(b, a) for b, i, a in lines if i == item}
        )
        for item in range(60)
    }
    votes: dict[int, float] = {}
    for anchor in (3, 7, 11):
        for item, score in companions(lines, options)[anchor]:
            change = options.exponent - options.exponent_several
            votes[item] = votes.get(item, 0.0) + score * popularity[item] ** change

    ranked = model.complete([3, 7, 11, 3], 1000)

    assert set(ranked.items.tolist()) == set(votes) - {3, 7, 11}
    np.testing.assert_allclose(
        ranked.scores, [votes[item] for item in ranked.items.tolist()], rtol=1e-4
    )


def test_blocks_do_not_change_the_pairs() -> None:
    lines = shop(6, 300, n_items=50)
    baskets = gather(
        np.array([line[0] for line in lines]),
        np.array([line[1] for line in lines], dtype=np.int32),
        None,
        50,
    )
    weights = np.linspace(0.1, 1.0, len(baskets.ages_days))

    whole = list(count_pairs(baskets, weights))
    pieces = list(count_pairs(baskets, weights, block_pairs=40))

    assert len(whole) == 1
    assert len(pieces) > 10
    for name in ("owners", "companions", "weights", "support"):
        together = np.concatenate([getattr(piece, name) for piece in pieces])
        np.testing.assert_array_equal(getattr(whole[0], name), together)


def test_a_pair_counts_once_in_a_basket_however_often_its_lines_repeat() -> None:
    once = fitted(orders([0, 1], [0, 2]), 3)
    often = fitted(orders([0, 1, 1, 0, 1], [2, 0, 2]), 3)

    np.testing.assert_array_equal(once.scores, often.scores)
    assert often.support.tolist() == [1, 1, 1, 1]


def test_lines_without_a_basket_teach_nothing() -> None:
    model = fitted([(-1, 0, 0.0), (-1, 1, 0.0), (-7, 1, 0.0)], 2)

    assert len(model.neighbours(0).items) == 0


def test_one_order_is_enough_in_a_young_store() -> None:
    model = fitted(orders([0, 1]), 2)

    assert model.neighbours(0).items.tolist() == [1]


def test_a_grown_store_does_not_believe_a_pair_seen_once() -> None:
    young = orders([0, 1], [2, 3], [2, 3], *[[4]] * 496)
    grown = orders([0, 1], [2, 3], [2, 3], *[[4]] * 497)

    before, after = fitted(young, 5), fitted(grown, 5)

    assert before.neighbours(0).items.tolist() == [1]
    assert after.neighbours(0).items.tolist() == []
    assert after.neighbours(2).items.tolist() == [3]


def test_a_grown_store_does_not_believe_what_chance_explains() -> None:
    # 0 and 1 are in half of all orders each, and together in a quarter of them: chance.
    by_chance = orders(*[[0, 1], [0], [1], [2]] * 200)
    by_habit = orders(*[[0, 1], [0], [1], [2]] * 200, [0, 1])

    assert fitted(by_chance, 3).neighbours(0).items.tolist() == []
    assert fitted(by_habit, 3).neighbours(0).items.tolist() == [1]


def test_an_old_basket_counts_for_less() -> None:
    model = fitted([(0, 0, 0.0), (0, 1, 0.0), (1, 0, 180.0), (1, 2, 180.0)], 3)

    ranked = model.neighbours(0)

    assert ranked.items.tolist() == [1, 2]
    # Half the weight above; what is held against item 2 is half as much, to the 0.1.
    assert ranked.scores[1] / ranked.scores[0] == pytest.approx(0.5 / 0.5**0.1)


def test_a_wholesale_order_counts_for_less() -> None:
    wholesale = [0, *range(2, 61)]
    model = fitted(orders([0, 1], wholesale), 61)

    ranked = model.neighbours(0)

    assert ranked.items[0] == 1
    assert ranked.scores[1] / ranked.scores[0] == pytest.approx(0.5 / 0.5**0.1)


def test_no_item_keeps_more_than_fifty_companions() -> None:
    model = fitted(orders(list(range(80))), 80)

    assert np.diff(model.offsets).tolist() == [50] * 80
    assert model.neighbours(0).items.tolist() == list(range(1, 51))
