"""Co-purchase engine: counts and scores match its formula."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseOptions,
    VariantGroups,
    companion_lookup,
    fit_copurchase,
)
from productrecs.engines.copurchase.pair_counts import (
    count_pairs,
    gather_baskets,
    owner_blocks,
)
from tests.engines.kernel_references import reference_companions
from tests.engines.references import companions, cosines

Line = tuple[int, int, float]
EVERY_PAIR = CopurchaseOptions(needs_evidence=False)
COUNTED = replace(EVERY_PAIR, season=0.0, prior=0.0, places=0)  # nothing but the counts
ALIKE_AGES = replace(COUNTED, half_life_days=1e9, large_basket=10**6)


def fitted(
    lines: Sequence[Line], n_items: int, options: CopurchaseOptions | None = None
) -> CopurchaseModel:
    return fit_copurchase(
        np.array([line[0] for line in lines], dtype=np.int64),
        np.array([line[1] for line in lines], dtype=np.int32),
        np.array([line[2] for line in lines], dtype=np.float32),
        n_items,
        options,
    ).plain


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
    options = replace(COUNTED, neighbours=12, prior=7.0, exponent=0.1, lean=0.0)

    model = fitted(lines, 80, options)

    expected = companions(lines, options)
    assert np.flatnonzero(np.diff(model.offsets)).tolist() == sorted(expected)
    for item, found in expected.items():
        ranked = model.complete([item], 12)
        assert ranked.items.tolist() == [number for number, _ in found]
        np.testing.assert_allclose(ranked.scores, [score for _, score in found], rtol=1e-5)


def test_several_anchors_sum_powers_of_what_each_says() -> None:
    lines = [(basket, item, 0.0) for basket, item, _ in shop(5, 400, n_items=60)]
    options = replace(ALIKE_AGES, lean=0.3, doublings=2, neighbours=60)
    held = {item: len({b for b, i, _ in lines if i == item}) for item in range(60)}
    votes: dict[int, float] = {}
    for (one, other), cosine in cosines(lines).items():
        if one in {3, 7, 11} and other not in {3, 7, 11}:
            vote = (cosine * (held[other] / held[one]) ** 0.2) ** 4
            votes[other] = votes.get(other, 0.0) + vote

    ranked = fitted(lines, 60, options).complete([3, 7, 11, 3], 1000)

    assert set(ranked.items.tolist()) == set(votes)
    np.testing.assert_allclose(
        ranked.scores, [votes[item] for item in ranked.items.tolist()], rtol=1e-4
    )


def test_what_sells_lately_gains_on_what_sold_before() -> None:
    was = [(n, item, 100.0) for n in range(6) for item in (0, 1)]
    now = [(n + 6, item, 1.0) for n in range(5) for item in (0, 2)]
    lines = [*was, *now]

    even = fitted(lines, 3, replace(ALIKE_AGES, season=0.0))
    seasonal = fitted(lines, 3, replace(ALIKE_AGES, season=0.15))

    assert even.evident_companions(0).items.tolist() == [1, 2]
    assert seasonal.evident_companions(0).items.tolist() == [2, 1]


def test_places_put_more_items_into_the_head_of_some_list() -> None:
    lines = shop(8, 1200, n_items=80)
    untied = replace(COUNTED, exponent=0.1)
    plain = fitted(lines, 80, untied)
    fair = fitted(lines, 80, replace(untied, places=4))

    def heads(model: CopurchaseModel) -> set[int]:
        lists = (model.evident_companions(item).items[:4].tolist() for item in range(80))
        return {item for one in lists for item in one}

    assert len(heads(fair)) > len(heads(plain)) + 5
    # Who led a list, leads it still.
    for item in range(80):
        before, after = (
            plain.evident_companions(item).items,
            fair.evident_companions(item).items,
        )
        assert before[:3].tolist() == after[:3].tolist()
        assert sorted(before.tolist()) == sorted(after.tolist())


def test_a_best_seller_of_most_orders_is_listed() -> None:
    coffee, bread, cake = 0, 1, 2

    model = fitted(orders(*[[coffee, bread], [coffee, cake], [bread, cake, coffee]] * 9), 3)

    assert model.evident_companions(bread).items.tolist() == [coffee, cake]
    assert model.evident_companions(cake).items.tolist() == [coffee, bread]


def test_an_order_sent_again_under_another_number_counts_once() -> None:
    lines = orders([0, 1], [0, 1], [0, 1], [0, 2], [0, 2])
    columns = [np.array(column) for column in zip(*lines, strict=True)]
    baskets, items = columns[0].astype(np.int64), columns[1].astype(np.int32)

    def supports(buyers: list[int]) -> dict[int, int]:
        whose = np.array(buyers)[baskets]
        model = fit_copurchase(baskets, items, None, 3, None, whose).plain
        return {other: model.shared_basket_count(0, other) for other in (1, 2)}

    assert supports([7, 7, 7, 7, 8]) == {1: 1, 2: 2}  # one buyer thrice, two once each
    assert supports([0, 0, 0, 0, 0]) == {1: 3, 2: 2}  # nobody knows whose they are


@pytest.mark.parametrize("seed", range(4))
def test_the_compiled_lookup_equals_its_reference(seed: int) -> None:
    layout = fitted(shop(seed, 900, n_items=70), 70).layout
    rng = np.random.default_rng(seed)

    for limit in (1, 4, 60):
        for count in (2, 7, 50):
            anchors = rng.choice(70, count, replace=False).astype(np.int64)
            counts = rng.choice([1.0, 0.5, 1e-3], count)
            for compiled, expected in zip(
                companion_lookup.best_companions(layout, anchors, counts, limit),
                reference_companions(layout, anchors, counts, limit),
                strict=True,
            ):
                assert compiled.dtype == expected.dtype
                np.testing.assert_array_equal(compiled, expected)


def test_blocks_do_not_change_the_pairs() -> None:
    lines = shop(6, 300, n_items=50)
    baskets = gather_baskets(
        np.array([line[0] for line in lines]),
        np.array([line[1] for line in lines], dtype=np.int32),
        None,
        50,
    )
    weights = np.linspace(0.1, 1.0, len(baskets.ages_days))

    whole = [pairs for _, pairs in count_pairs(baskets, weights)]
    pieces = [
        pairs for _, pairs in count_pairs(baskets, weights, owner_blocks(baskets, 40))
    ]

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

    assert len(model.evident_companions(0).items) == 0


def test_one_order_is_enough_in_a_young_store() -> None:
    model = fitted(orders([0, 1]), 2)

    assert model.evident_companions(0).items.tolist() == [1]


def test_a_pair_seen_once_has_a_list_but_no_vote_in_a_grown_store() -> None:
    # 0 and 1 are in a tenth of all orders each, and together in a hundredth, as by chance:
    # a best seller is in many carts, and may be in any of their lists.
    hundred = [[0, 1], *[[0]] * 9, *[[1]] * 9, *[[2]] * 81]
    once = [[3, 4], [5, 6], [5, 6], [0], [1]]
    grown = fitted(orders(*hundred * 10, *once), 7)
    young = fitted(orders(*once), 7)

    for model in (grown, young):
        assert model.complete([3], 9).items.tolist() == [4]
    votes = {
        "by chance": grown.complete([0, 2], 9),
        "once": grown.complete([3, 2], 9),
        "twice": grown.complete([5, 2], 9),
        "once, in a young store": young.complete([3, 2], 9),
    }
    assert {name: ranked.items.tolist() for name, ranked in votes.items()} == {
        "by chance": [1],
        "once": [],
        "twice": [6],
        "once, in a young store": [4],
    }


JACKET, WAX, COFFEE, FILTERS, SHIRT, COAT = range(6)
_KINDS = np.array([0, 0, 1, 1, 0, 0], np.int32)
_SALES = [
    *[[JACKET, WAX]] * 18,
    *[[JACKET]] * 40,
    *[[COFFEE, FILTERS]] * 150,
    *[[COFFEE]] * 450,
    *[[SHIRT, WAX]] * 9,
]


def with_categories(
    extra: Sequence[Sequence[int]], kinds: npt.NDArray[np.int32] | None = _KINDS
) -> CopurchaseModel:
    lines = orders(*_SALES, *extra)
    codes, items, _ = (np.array(column) for column in zip(*lines, strict=True))
    none = np.zeros(6, np.int32)
    variants = VariantGroups(none, none, kinds)
    return fit_copurchase(codes, items.astype(np.int32), None, 6, variants=variants).plain


@pytest.mark.parametrize(
    ("extra", "kinds", "listed"),
    [
        ([[JACKET, COFFEE]], _KINDS, [WAX]),
        ([[JACKET, COFFEE]] * 2, _KINDS, [WAX]),
        ([[JACKET, COFFEE]] * 12, _KINDS, [WAX, COFFEE]),  # a sixth of its orders
        ([[JACKET, COAT]], _KINDS, [WAX, COAT]),  # its category sells with the jacket's
        ([[JACKET, COFFEE]], None, [WAX]),
        ([[JACKET, COFFEE]] * 2, None, [WAX, COFFEE]),  # nothing tells what is related
    ],
    ids=str,
)
def test_a_pair_needs_evidence_beyond_chance(
    extra: list[list[int]], kinds: npt.NDArray[np.int32] | None, listed: list[int]
) -> None:
    model = with_categories(extra, kinds)

    assert sorted(model.evident_companions(JACKET).items.tolist()) == listed
    assert model.companions_with_certain_evidence(JACKET).tolist() == [WAX]


def test_without_a_test_of_evidence_the_pair_of_one_order_is_listed() -> None:
    lines = orders(*_SALES, [JACKET, COFFEE])

    assert COFFEE in fitted(lines, 6, EVERY_PAIR).evident_companions(JACKET).items


@pytest.mark.parametrize(
    ("contents", "certain"),
    [
        ([[0, 1]] * 12, [1]),  # a young store that sells little else
        ([*[[0, 1]] * 8, *[[0, 2]] * 2, [3], [3]], [1]),
        ([[0, 1]] * 2, []),
        ([[0, 1], [0, 2], [0, 3], *[[0]] * 9], []),
    ],
    ids=str,
)
def test_a_dozen_orders_are_enough_for_a_clear_pair(
    contents: list[list[int]], certain: list[int]
) -> None:
    model = fitted(orders(*contents), 4)

    assert model.companions_with_certain_evidence(0).tolist() == certain
    assert model.complete([0], 9).items.tolist()[: len(certain)] == certain


def test_of_companions_met_once_the_better_seller_comes_first() -> None:
    baskets = [[0, 1], [0, 2], *[[2, 3]] * 5]
    counted, expecting = (
        fitted(orders(*baskets), 4, replace(COUNTED, prior=prior)) for prior in (0.0, 4.0)
    )

    assert counted.evident_companions(0).items.tolist() == [1, 2]
    assert expecting.evident_companions(0).items.tolist() == [2, 1]
    # (1 + 4 * 6 / 7) / (2 + 4): the item's own baskets, and four of the store's.
    assert expecting.evident_companions(0).scores[0] == pytest.approx((1 + 4 * 6 / 7) / 6)


def test_carts_keep_companions_that_lists_of_one_item_have_no_place_for() -> None:
    # 1, 2, 3 are bestsellers; 4 was bought only with 0, but less often.
    baskets = [[0, 1, 2, 3]] * 6 + [[1, 2, 3]] * 10 + [[0, 4]] * 3 + [[5]] * 20
    model = fitted(orders(*baskets), 6, replace(COUNTED, neighbours=3, lean=0.5))

    assert model.complete([0], 3).items.tolist() == [1, 2, 3]
    assert model.complete([0, 5], 1).items.tolist() == [4]


def test_an_old_basket_counts_for_less() -> None:
    model = fitted([(0, 0, 0.0), (0, 1, 0.0), (1, 0, 360.0), (1, 2, 360.0)], 3, COUNTED)

    ranked = model.evident_companions(0)

    assert ranked.items.tolist() == [1, 2]
    assert ranked.scores[1] / ranked.scores[0] == pytest.approx(0.5)


def test_a_wholesale_order_counts_for_less() -> None:
    wholesale = [0, *range(2, 61)]
    model = fitted(orders([0, 1], wholesale), 61, COUNTED)

    ranked = model.evident_companions(0)

    assert ranked.items[0] == 1
    assert ranked.scores[1] / ranked.scores[0] == pytest.approx(0.5)


def test_no_item_keeps_more_than_forty_companions_for_lists() -> None:
    model = fitted(orders(list(range(80))), 80, COUNTED)

    assert np.diff(model.offsets).tolist() == [40] * 80  # the same for lists and carts
    assert model.evident_companions(0).items.tolist() == list(range(1, 41))


def test_of_several_each_votes_by_how_much_it_counts() -> None:
    model = fitted([*[(n, item, 0.0) for n in range(9) for item in (0, 2)], *PAIRS], 5)

    assert model.complete([0, 1], 2).items.tolist() == [2, 3]
    assert model.complete([0, 1], 2, {0: 0.01}).items.tolist() == [3, 2]
    for counts in ({0: 1.0}, {4: 0.01}, {}):
        same, usual = model.complete([0, 1], 2, counts), model.complete([0, 1], 2)
        assert same.scores.tolist() == usual.scores.tolist()


PAIRS = [(n, item, 0.0) for n in range(20, 29) for item in (1, 3)]
