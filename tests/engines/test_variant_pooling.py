"""Variant groups: sizes and colours share what was learned."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np
import pytest

from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    CopurchaseOptions,
    VariantGroups,
    fit_copurchase,
    fit_widest_copurchase,
    variant_pooling,
)

SIZES: Final = 6
SHIRTS, TROUSERS, HATS = (list(range(at, at + SIZES)) for at in (0, SIZES, 2 * SIZES))
UNSOLD: Final = SHIRTS[-1]
OTHERS: Final = range(18, 78)  # each a product by itself
N_ITEMS: Final = 80
GROUPS: Final = np.array([1] * SIZES + [2] * SIZES + [3] * SIZES + [0] * 62, np.int32)
NONE: Final = np.zeros(N_ITEMS, np.int32)


def shop() -> list[list[int]]:
    """Return orders: shirts with trousers, no two sizes twice, and much else."""
    rng = np.random.default_rng(3)
    outfits = [
        [shirt, trousers]
        for shirt in SHIRTS[:-1]
        for trousers in TROUSERS
        if rng.random() < 0.9
    ]
    hats = [[hat] for hat in HATS for _ in range(4)]
    rest = [rng.choice(OTHERS, 2, replace=False).tolist() for _ in range(500)]
    return outfits + hats + rest


def fitted(
    orders: Sequence[Sequence[int]],
    groups: np.ndarray[tuple[int], np.dtype[np.int32]] = GROUPS,
    options: CopurchaseOptions | None = None,
    sizes: np.ndarray[tuple[int], np.dtype[np.int32]] = NONE,
) -> CopurchaseModel:
    return learned(orders, groups, options, sizes).widest


def learned(
    orders: Sequence[Sequence[int]],
    groups: np.ndarray[tuple[int], np.dtype[np.int32]] = GROUPS,
    options: CopurchaseOptions | None = None,
    sizes: np.ndarray[tuple[int], np.dtype[np.int32]] = NONE,
) -> CopurchaseModels:
    return fit_copurchase(
        np.repeat(np.arange(len(orders)), [len(one) for one in orders]),
        np.array(list(chain.from_iterable(orders)), np.int32),
        None,
        N_ITEMS,
        options,
        variants=VariantGroups(groups, sizes),
    )


def same(one: CopurchaseModel, other: CopurchaseModel) -> bool:
    theirs = other.to_arrays()
    return all(np.array_equal(mine, theirs[name]) for name, mine in one.to_arrays().items())


def test_each_size_goes_with_what_its_product_was_bought_with() -> None:
    model, alone = fitted(shop()), fitted(shop(), NONE)

    for shirt in SHIRTS:
        assert set(model.complete([shirt], 10).items.tolist()) & set(TROUSERS)
        # A pair that met once has a list, but no vote for a cart.
        assert not set(alone.complete([shirt, 79], 10).items.tolist()) & set(TROUSERS)
    assert not set(model.complete([SHIRTS[0]], 10).items.tolist()) & set(HATS)
    assert set(model.complete([UNSOLD, OTHERS[0]], 20).items.tolist()) & set(TROUSERS)


def test_pairs_bought_together_are_separate_from_pooled_pairs() -> None:
    orders = shop()
    met = {(a, b) for order in orders for a in order for b in order if a != b}

    bought, alone = learned(orders), learned(orders, NONE)

    assert bought.pooled is not None
    assert alone.pooled is None
    for model, is_lent in ((bought.plain, False), (bought.pooled, True)):
        pairs = {
            (item, other)
            for item in range(N_ITEMS)
            for other in model.evident_companions(item).items.tolist()
        }
        assert bool(pairs - met) == is_lent
    # A pair that met once votes for carts where its products met more often than by chance.
    once = [
        (shirt, other) for shirt in SHIRTS for other in TROUSERS if (shirt, other) in met
    ]
    votes = [
        {pair for pair in once if pair[1] in model.complete([pair[0], 79], 50).items}
        for model in (bought.plain, alone.plain)
    ]
    assert votes == [set(once), set()]


def test_an_unsold_item_is_no_companion() -> None:
    model = fitted(shop())

    for item in range(N_ITEMS):
        assert UNSOLD not in model.evident_companions(item).items


def test_of_a_companions_sizes_the_one_it_was_bought_with_comes_first() -> None:
    orders = shop() + [[SHIRTS[1], TROUSERS[2]]] * 3
    found = [
        item for item in fitted(orders).complete([SHIRTS[1]], 10).items if item in TROUSERS
    ]

    assert found[0] == TROUSERS[2]
    assert len(found) > 1  # the next sizes, in case that it is sold out


def test_an_item_with_many_baskets_counts_its_own() -> None:
    orders = shop() + [[SHIRTS[0], OTHERS[5]]] * 40

    first, other = (
        fitted(orders).complete([shirt], 10).items.tolist() for shirt in SHIRTS[:2]
    )

    assert first[0] == other[0] == OTHERS[5]  # bought with one size, so with each ...
    assert other.index(next(item for item in other if item in TROUSERS)) == 1
    scores = dict(
        zip(
            *map(np.ndarray.tolist, fitted(orders).evident_companions(SHIRTS[0])[:2]),
            strict=True,
        )
    )
    theirs = dict(
        zip(
            *map(np.ndarray.tolist, fitted(orders).evident_companions(SHIRTS[1])[:2]),
            strict=True,
        )
    )
    assert scores[OTHERS[5]] > theirs[OTHERS[5]]  # ... but most with the one that it was


def test_the_number_of_baskets_is_that_of_all_variants() -> None:
    together = sum(set(one) <= {*SHIRTS, *TROUSERS} for one in shop())
    model = fitted(shop())
    trousers = next(i for i in model.complete([UNSOLD], 9).items.tolist() if i in TROUSERS)

    assert model.shared_basket_count(UNSOLD, trousers) == together
    assert (
        dict(model.evident_companions_with_basket_counts(UNSOLD))[trousers] == 0
    )  # it was itself in none


def test_what_is_collected_in_several_colours_is_not_one_product() -> None:
    collected = [[HATS[at], HATS[at + 1]] for at in range(SIZES - 1)] * 3
    orders = [one for one in shop() if not set(one) & {*SHIRTS, *TROUSERS}] + collected

    assert same(fitted(orders), fitted(orders, NONE))
    orders = shop() + collected  # the control: shirts are products
    assert not same(fitted(orders), fitted(orders, NONE))


def test_a_store_may_switch_pooling_off() -> None:
    options = CopurchaseOptions(siblings=0.0)

    assert same(fitted(shop(), GROUPS, options), fitted(shop(), NONE, options))


def test_how_many_are_joined_at_once_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = fitted(shop())
    monkeypatch.setattr(variant_pooling, "_BLOCK_ITEMS", 7)

    assert same(fitted(shop()), whole)


def test_the_widest_model_alone_is_that_of_both() -> None:
    orders = shop()
    baskets = np.repeat(np.arange(len(orders)), [len(one) for one in orders])
    items = np.array(list(chain.from_iterable(orders)), np.int32)
    for groups in (GROUPS, NONE):
        both = learned(orders, groups)
        assert (both.pooled is None) == (groups is NONE)

        options, variants = CopurchaseOptions(), VariantGroups(groups, NONE)
        alone = fit_widest_copurchase(
            baskets, items, None, N_ITEMS, options, None, variants
        )

        assert same(alone, both.widest)


def test_an_item_that_has_no_variants_keeps_what_it_learned() -> None:
    with_them, alone = fitted(shop()), fitted(shop(), NONE)

    for item in OTHERS:
        for mine, theirs in zip(
            with_them.evident_companions(item), alone.evident_companions(item), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)


def test_of_a_companions_sizes_the_same_one_comes_first_and_is_kept() -> None:
    sizes = NONE.copy()
    for product in (SHIRTS, TROUSERS):
        sizes[product] = range(1, SIZES + 1)
    orders = shop() + [[trousers, OTHERS[0]] for trousers in TROUSERS[:4] for _ in range(9)]

    with_sizes, without = fitted(orders, sizes=sizes), fitted(orders)

    last = TROUSERS[-1]  # it sells least
    first = [
        next(i for i in one.complete([UNSOLD], 9).items.tolist() if i in TROUSERS)
        for one in (with_sizes, without)
    ]
    assert first[0] == last != first[1]
    assert same(
        with_sizes, fitted(orders, sizes=sizes * 2)
    )  # numbers that are equal, no more


def test_variants_of_a_companion_are_ranked_as_a_full_sort_ranks_them() -> None:
    rng = np.random.default_rng(5)
    owners = np.sort(rng.integers(0, 9, 400))
    places = owners // 2 * 30 + rng.integers(0, 30, 400)  # of its product's pairs
    fit = rng.choice([1e-12, 0.001, 1.5, 1.5 + 1e-8, 700.0], 400)

    ranks = variant_pooling.ranks_by_fit(owners, places, fit)

    for owner, place in {*zip(owners.tolist(), places.tolist(), strict=True)}:
        mine = np.flatnonzero((owners == owner) & (places == place))
        assert mine[np.argsort(-fit[mine], kind="stable")].tolist() == (
            mine[np.argsort(ranks[mine])].tolist()
        )
        assert sorted(ranks[mine].tolist()) == list(range(len(mine)))
