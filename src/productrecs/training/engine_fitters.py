"""Fitters: train the engines that have tuned hyperparameters."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.engines.arrays import Ints, Items, Scores
from productrecs.engines.browse import (
    sessionize,
)
from productrecs.engines.complementary import (
    BoughtTogetherPairs,
    ComplementModel,
    fit_complements,
)
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    CopurchaseOptions,
    ItemSets,
    VariantGroups,
    fit_copurchase,
    fit_item_sets,
    fit_widest_copurchase,
)
from productrecs.engines.partition_jobs import HERE, Runner
from productrecs.records.events.event import EventKind
from productrecs.training.partitioned_shopper_events import Behaviour
from productrecs.training.training_inputs import Purchases, TrainingInputs

_GIFT_SHARE: Final = 0.2  # of the orders


class BasketLines(NamedTuple):
    """Basket lines, as parallel arrays."""

    baskets: Ints
    items: Items
    times: Ints
    buyers: Ints  # 0: unknown


def fit_copurchase_model(
    purchases: Purchases,
    n_items: int,
    now_ms: int,
    options: CopurchaseOptions,
    variants: VariantGroups | None = None,
    runner: Runner = HERE,
) -> CopurchaseModels:
    """Return the co-purchase models, fitted to the valid orders.

    `variants` as returned by `CatalogInputs.categories_and_variants`.
    """
    lines = _order_lines(purchases)
    return fit_copurchase(
        lines.baskets,
        lines.items,
        _ages_days(lines.times, now_ms),
        n_items,
        options,
        lines.buyers,
        variants=variants,
        runner=runner,
    )


def fit_bundle_candidates(
    model: CopurchaseModel, purchases: Purchases, now_ms: int
) -> ItemSets:
    """Return the sets of items that the valid orders contain together."""
    lines = _order_lines(purchases)
    ages = _ages_days(lines.times, now_ms)
    return fit_item_sets(model, lines.baskets, lines.items, ages, lines.buyers)


def fit_cart_model(
    inputs: TrainingInputs,
    carts: Behaviour,
    n_items: int,
    now_ms: int,
    options: CopurchaseOptions,
    runner: Runner = HERE,
) -> CopurchaseModel | None:
    """Return the co-purchase model of orders and carts.

    None if carts add nothing to the orders, or without categories: only the complementary
    engine uses this model, and it needs categories.
    """
    if not inputs.catalog.has_categories:
        return None
    lines = merge_carts(inputs.purchases, carts)
    if lines is None:
        return None
    variants = inputs.catalog.categories_and_variants(n_items)[1]
    return fit_widest_copurchase(
        lines.baskets,
        lines.items,
        _ages_days(lines.times, now_ms),
        n_items,
        options,
        lines.buyers,
        variants,
        runner,
    )


def fit_complement_model(
    model: CopurchaseModel, inputs: TrainingInputs, n_items: int
) -> ComplementModel:
    """Return the complement model; an empty one without categories."""
    categories, variants = inputs.catalog.categories_and_variants(n_items)
    if not len(model.companions) or not inputs.catalog.has_categories:
        return ComplementModel.empty()
    purchases, arrays = inputs.purchases, model.to_arrays()
    sold = purchases.items[purchases.is_active & (purchases.quantities > 0)]
    return fit_complements(
        BoughtTogetherPairs(*(arrays[name] for name in BoughtTogetherPairs._fields)),
        categories,
        variants.groups,
        np.bincount(sold, minlength=n_items),
    )


def merge_carts(purchases: Purchases, behaviour: Behaviour) -> BasketLines | None:
    """Return the orders, each with the other items in the cart of the same visit.

    None if no cart adds an item. Carts of visits without a purchase are skipped.
    """
    is_cart_event = (behaviour.kinds == EventKind.ADD_TO_CART) & (behaviour.visitors != 0)
    lines = _order_lines(purchases)
    visitors = purchases.visitors[order_line_mask(purchases)]
    identified_lines = np.flatnonzero(visitors != 0)
    carted_count = int(is_cart_event.sum())
    if not carted_count or not len(identified_lines):
        return None
    visit_codes = sessionize(
        np.concatenate((behaviour.visitors[is_cart_event], visitors[identified_lines])),
        np.concatenate((behaviour.times[is_cart_event], lines.times[identified_lines])),
    )
    in_cart, at_checkout = visit_codes[:carted_count], visit_codes[carted_count:]
    has_cart, is_bought = np.isin(at_checkout, in_cart), np.isin(in_cart, at_checkout)
    if not has_cart.any():
        return None
    first_new_basket = int(lines.baskets.max()) + 1
    lines.baskets[identified_lines[has_cart]] = first_new_basket + at_checkout[has_cart]
    lines.buyers[identified_lines[has_cart]] = visitors[identified_lines[has_cart]]
    return BasketLines(
        np.concatenate((lines.baskets, first_new_basket + in_cart[is_bought])),
        np.concatenate((lines.items, behaviour.items[is_cart_event][is_bought])),
        np.concatenate((lines.times, behaviour.times[is_cart_event][is_bought])),
        np.concatenate((lines.buyers, behaviour.visitors[is_cart_event][is_bought])),
    )


def _order_lines(purchases: Purchases) -> BasketLines:
    """Return copies of the lines that belong to an order."""
    in_order = order_line_mask(purchases)
    return BasketLines(
        purchases.baskets[in_order],
        purchases.items[in_order],
        purchases.times[in_order],
        purchases.buyers[in_order],
    )


def _ages_days(times: Ints, now_ms: int) -> Scores:
    return ((now_ms - times) / DAY_MS).clip(min=0).astype(np.float32)


def order_line_mask(purchases: Purchases) -> npt.NDArray[np.bool_]:
    """Return which lines belong to an order: not void, not returned, and no gifts.

    A gift is an item that nobody paid for, in a fifth of the orders or more. Where no line
    has a price above 0, there are no gifts.
    """
    is_valid: npt.NDArray[np.bool_] = (
        purchases.is_active & (purchases.quantities > 0) & (purchases.baskets >= 0)
    )
    items, is_free = purchases.items[is_valid], purchases.totals[is_valid] == 0
    lines, free_lines = np.bincount(items), np.bincount(items[is_free])
    free = np.flatnonzero((free_lines > 0) & (free_lines == lines[: len(free_lines)]))
    if not len(free) or not (purchases.totals[is_valid] > 0).any():
        return is_valid
    orders = len(np.unique(purchases.baskets[is_valid]))
    gifts = free[lines[free] >= _GIFT_SHARE * orders]
    return is_valid & ~np.isin(purchases.items, gifts)
