"""Fitters: train the engines that have tuned hyperparameters."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.engines.arrays import Ints, Items
from productrecs.engines.browse import (
    SessionIndex,
    SessionOptions,
    fit_sessions,
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
    VariantGroups,
    fit_copurchase,
)
from productrecs.records.events.event import EventKind
from productrecs.training.training_inputs import Behaviour, Purchases, TrainingInputs


class BasketLines(NamedTuple):
    """Basket lines, as parallel arrays."""

    baskets: Ints
    items: Items
    times: Ints
    buyers: Ints  # 0: unknown


def fit_copurchase_model(
    bought: Purchases,
    n_items: int,
    now_ms: int,
    options: CopurchaseOptions,
    products: VariantGroups | None = None,
) -> CopurchaseModels:
    """Return the co-purchase models, fitted to the valid orders.

    `products` as returned by `CatalogInputs.kinds`.
    """
    return _together(_ordered(bought), n_items, now_ms, options, products)


def fit_cart_model(
    inputs: TrainingInputs, n_items: int, now_ms: int, options: CopurchaseOptions
) -> CopurchaseModel | None:
    """Return the co-purchase model of orders and carts.

    None if carts add nothing to the orders, or without categories: only the complementary
    engine uses this model, and it needs categories.
    """
    if not inputs.catalog.has_kinds:
        return None
    lines = with_carts(inputs.purchases, inputs.behaviour)
    if lines is None:
        return None
    products = inputs.catalog.kinds(n_items)[1]
    return _together(lines, n_items, now_ms, options, products).widest


def fit_complement_model(
    together: CopurchaseModel, inputs: TrainingInputs, n_items: int
) -> ComplementModel:
    """Return the complement model; an empty one without categories."""
    kinds, products = inputs.catalog.kinds(n_items)
    if not len(together.companions) or not inputs.catalog.has_kinds:
        return ComplementModel.empty()
    purchases, arrays = inputs.purchases, together.to_arrays()
    sold = purchases.items[purchases.standing & (purchases.quantities > 0)]
    return fit_complements(
        BoughtTogetherPairs(*(arrays[name] for name in BoughtTogetherPairs._fields)),
        kinds,
        products.families,
        np.bincount(sold, minlength=n_items),
    )


def with_carts(bought: Purchases, done: Behaviour) -> BasketLines | None:
    """Return the orders, each with the other items in the cart of the same visit.

    None if no cart adds an item. Carts of visits without a purchase are skipped.
    """
    carted = (done.kinds == EventKind.ADD_TO_CART) & (done.visitors != 0)
    lines, whose = _ordered(bought), bought.visitors[is_in_order(bought)]
    known = np.flatnonzero(whose != 0)
    many = int(carted.sum())
    if not many or not len(known):
        return None
    visit = sessionize(
        np.concatenate((done.visitors[carted], whose[known])),
        np.concatenate((done.times[carted], lines.times[known])),
    )
    in_cart, at_till = visit[:many], visit[many:]
    has_cart, has_bought = np.isin(at_till, in_cart), np.isin(in_cart, at_till)
    if not has_cart.any():
        return None
    beyond = int(lines.baskets.max()) + 1
    lines.baskets[known[has_cart]] = beyond + at_till[has_cart]
    lines.buyers[known[has_cart]] = whose[known[has_cart]]
    return BasketLines(
        np.concatenate((lines.baskets, beyond + in_cart[has_bought])),
        np.concatenate((lines.items, done.items[carted][has_bought])),
        np.concatenate((lines.times, done.times[carted][has_bought])),
        np.concatenate((lines.buyers, done.visitors[carted][has_bought])),
    )


def _ordered(bought: Purchases) -> BasketLines:
    """Return copies of the lines that belong to an order."""
    in_order = is_in_order(bought)
    return BasketLines(
        bought.baskets[in_order],
        bought.items[in_order],
        bought.times[in_order],
        bought.buyers[in_order],
    )


def _together(
    lines: BasketLines,
    n_items: int,
    now_ms: int,
    options: CopurchaseOptions,
    products: VariantGroups | None,
) -> CopurchaseModels:
    return fit_copurchase(
        lines.baskets,
        lines.items,
        ((now_ms - lines.times) / DAY_MS).clip(min=0).astype(np.float32),
        n_items,
        options,
        lines.buyers,
        products=products,
    )


def fit_session_index(
    done: Behaviour, n_items: int, options: SessionOptions
) -> SessionIndex:
    """Return the session index of all visitors."""
    return fit_sessions(
        sessionize(done.visitors, done.times),
        done.items,
        done.times,
        n_items,
        options,
        owners=done.visitors,
    )


def is_in_order(bought: Purchases) -> npt.NDArray[np.bool_]:
    """Return which lines belong to an order and are neither void nor returned."""
    which: npt.NDArray[np.bool_] = (
        bought.standing & (bought.quantities > 0) & (bought.baskets >= 0)
    )
    return which
