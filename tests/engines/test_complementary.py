"""Complementary engine: products of other categories, unless people buy several of one."""

from collections.abc import Callable

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import NO_RANKED, RankedItems
from productrecs.engines.complementary import (
    BoughtTogetherPairs,
    ComplementModel,
    ComplementOptions,
    fit_complements,
)
from productrecs.engines.copurchase import CopurchaseOptions, fit_copurchase

# Tents 0-2 (2 is 1 in green), stoves 3-5, mugs 6-8, of which people buy several; 9 unknown.
TENTS, STOVES, MUGS, UNKNOWN = (0, 1, 2), (3, 4, 5), (6, 7, 8), 9
CATEGORIES = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, -1], np.int32)
VARIANT_GROUPS = np.array([0, 7, 7, 0, 8, 8, 0, 0, 0, 0], np.int32)
BASKETS = [
    *[[0, 3]] * 12,
    *[[1, 4]] * 6,
    *[[1, 5]] * 4,
    *[[0, 9]] * 3,
    [0, 1],
    [0, 2],
    [1, 2],
    *[[6, 7]] * 9,
    *[[6, 8]] * 9,
    *[[3, 8]] * 2,
    *[[one] for one in range(9)] * 9,
]


EVERY_PAIR = CopurchaseOptions(needs_evidence=False)
Lists = Callable[[list[int], int], RankedItems]


def camping_store(
    options: ComplementOptions | None = None,
) -> tuple[ComplementModel, Lists]:
    """Return the complements of a camping store, and its co-purchases."""
    baskets = np.repeat(np.arange(len(BASKETS)), [len(one) for one in BASKETS])
    items = np.array([item for one in BASKETS for item in one], np.int32)
    bought = fit_copurchase(baskets, items, None, len(CATEGORIES), EVERY_PAIR).plain
    pairs = BoughtTogetherPairs(bought.offsets, bought.companions, bought.support)
    sold = np.bincount(items, minlength=len(CATEGORIES))
    return fit_complements(
        pairs, CATEGORIES, VARIANT_GROUPS, sold, options
    ), bought.complete


def complements_of(*basket: int) -> list[int]:
    model, copurchases = camping_store()
    items: list[int] = model.complements_of_basket(
        copurchases(list(basket), 50), basket
    ).items.tolist()
    return items


def test_products_of_the_same_category_are_no_complements() -> None:
    _, copurchases = camping_store()

    assert set(copurchases([0], 50).items.tolist()) == {1, 2, 3, 9}
    assert complements_of(0)[0] == 3
    assert not {1, 2} & set(complements_of(0))


def test_a_category_of_which_people_buy_several_complements_itself() -> None:
    model, _ = camping_store()

    assert model.is_self_complementary.tolist() == [False, False, True]
    assert {7, 8} <= set(complements_of(6))


def test_the_strongest_variant_stays_but_none_of_the_basket() -> None:
    assert 4 in complements_of(1)
    assert 5 not in complements_of(1)  # a stove like 4 in another colour
    assert 2 not in complements_of(1)


def test_variants_that_are_often_bought_together_complete_one_another() -> None:
    # Mugs 1 and 2 are one mug in two colours; people take both, or just one of them.
    mugs = np.array([0, 7, 7, 0, 0], np.int32)
    categories = np.array([0, 0, 0, 1, 1], np.int32)

    def complements_of_a_mug(both: int, one: int) -> list[int]:
        baskets = [[1, 2]] * both + [[0, 1]] * 15 + [[3, 4]] * 60 + [[1, 3]] * 9
        baskets += [[1], [2]] * one + [[0]] * 300
        codes = np.repeat(np.arange(len(baskets)), [len(each) for each in baskets])
        items = np.array([item for each in baskets for item in each], np.int32)
        bought = fit_copurchase(codes, items, None, 5).plain
        pairs = BoughtTogetherPairs(bought.offsets, bought.companions, bought.support)
        model = fit_complements(pairs, categories, mugs, np.bincount(items, minlength=5))
        complements: list[int] = model.complements_of_basket(
            bought.complete([1], 9), [1]
        ).items.tolist()
        return complements

    assert 2 in complements_of_a_mug(both=20, one=20)
    assert 2 not in complements_of_a_mug(both=5, one=40)
    assert 3 in complements_of_a_mug(both=5, one=40)


def test_a_cart_gets_no_products_of_its_own_categories() -> None:
    assert 4 not in complements_of(1, 3)  # a stove is there already
    assert 8 in complements_of(1, 3)


def test_items_of_unknown_category_are_no_complements_and_have_none() -> None:
    assert UNKNOWN not in complements_of(0)
    assert complements_of(UNKNOWN) == []


def test_an_unsold_item_gets_the_complements_of_its_category() -> None:
    model, _ = camping_store()

    ranked = model.complements_of_basket(NO_RANKED, [2])

    assert ranked.items.tolist() == [3]  # the stove that sold best
    lift = model.category_lift(2, 3)
    assert lift is not None
    assert lift.lift > 1.0
    assert lift.baskets >= 22  # 12 + 6 + 4 from each side that keeps the pair
    assert model.category_lift(2, 4) is None
    assert model.category_lift(UNKNOWN, 3) is None


def test_complements_of_the_category_come_after_those_of_the_item() -> None:
    model, _ = camping_store()

    ranked = model.complements_of_basket(
        RankedItems(np.array([5], np.int32), np.array([0.5], np.float32)), [2]
    )

    assert ranked.items.tolist() == [5, 3]
    assert ranked.scores.tolist() == [0.5, 0.25]


def test_without_a_minimum_no_complements_of_the_category_are_added() -> None:
    model, _ = camping_store(ComplementOptions(min_complements=0))

    assert model.complements_of_basket(NO_RANKED, [2]).items.tolist() == []


def test_two_categories_that_met_by_chance_are_no_complements() -> None:
    rng = np.random.default_rng(1)
    categories = np.repeat(np.arange(10), 10).astype(np.int32)
    baskets = np.repeat(np.arange(4_000), 3)
    items = rng.integers(100, size=12_000).astype(np.int32)
    bought = fit_copurchase(baskets, items, None, 100).plain
    pairs = BoughtTogetherPairs(bought.offsets, bought.companions, bought.support)

    model = fit_complements(
        pairs, categories, np.zeros(100, np.int32), np.ones(100, np.int64)
    )

    assert len(model.complement_items) <= 2  # of 90 pairs
    assert 0 < model.is_self_complementary.sum() < 9  # by chance, half of them


@pytest.mark.parametrize("basket", [[], [-1], [99]])
def test_baskets_of_unknown_items_have_no_complements(basket: list[int]) -> None:
    assert complements_of(*basket) == []


def test_a_store_without_categories_has_no_complements() -> None:
    assert (
        ComplementModel.empty().complements_of_basket(NO_RANKED, [0]).items.tolist() == []
    )
    no_categories = np.full(10, -1, np.int32)
    none = BoughtTogetherPairs(
        np.zeros(11, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
    )

    model = fit_complements(none, no_categories, VARIANT_GROUPS, np.zeros(10, np.int64))

    assert (
        model.complements_of_basket(
            RankedItems(np.array([3], np.int32), np.ones(1, np.float32)), [0]
        )
        == NO_RANKED
    )


def test_a_model_stored_as_arrays_gives_the_same_lists() -> None:
    model, copurchases = camping_store()
    again = ComplementModel.from_arrays(dict(model.to_arrays()))

    for basket in ([0], [1, 3], [6], [2]):
        found = copurchases(basket, 50)
        assert (
            again.complements_of_basket(found, basket).items.tolist()
            == model.complements_of_basket(found, basket).items.tolist()
        )
    assert ComplementModel.from_arrays({}).n_items == 0
    arrays = dict(model.to_arrays())
    del arrays["is_self_complementary"]
    with pytest.raises(KeyError, match="is_self_complementary"):
        ComplementModel.from_arrays(arrays)
