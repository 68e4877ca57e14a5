"""Basket lines: the purchases of orders, and of orders with the carts of the same visit."""

from typing import Final

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.engines.array_types_and_sorting import Bools, Ints, Scores
from productrecs.engines.browse import sessionize
from productrecs.engines.engine_protocol import BasketLines
from productrecs.records.events.event import EventKind
from productrecs.training.partitioned_shopper_events import ShopperEventArrays
from productrecs.training.training_inputs import OrderLineArrays

_GIFT_SHARE: Final = 0.2  # of the orders


def order_lines(purchases: OrderLineArrays, now_ms: int) -> BasketLines:
    """Return copies of the lines that belong to an order."""
    in_order = counted_line_mask(purchases)
    return BasketLines(
        purchases.baskets[in_order],
        purchases.items[in_order],
        _ages_days(purchases.times[in_order], now_ms),
        purchases.buyers[in_order],
    )


def order_lines_with_visit_carts(
    purchases: OrderLineArrays, behaviour: ShopperEventArrays, now_ms: int
) -> BasketLines | None:
    """Return the orders, each with the other items in the cart of the same visit.

    None if no cart adds an item. Carts of visits without a purchase are skipped.
    """
    is_cart_event = (behaviour.kinds == EventKind.ADD_TO_CART) & (behaviour.visitors != 0)
    in_order = counted_line_mask(purchases)
    visitors, times = purchases.visitors[in_order], purchases.times[in_order]
    identified_lines = np.flatnonzero(visitors != 0)
    carted_count = int(is_cart_event.sum())
    if not carted_count or not len(identified_lines):
        return None
    visit_codes = sessionize(
        np.concatenate((behaviour.visitors[is_cart_event], visitors[identified_lines])),
        np.concatenate((behaviour.times[is_cart_event], times[identified_lines])),
    )
    in_cart, at_checkout = visit_codes[:carted_count], visit_codes[carted_count:]
    has_cart, is_bought = np.isin(at_checkout, in_cart), np.isin(in_cart, at_checkout)
    if not has_cart.any():
        return None
    lines = order_lines(purchases, now_ms)
    first_new_basket = int(lines.baskets.max()) + 1
    lines.baskets[identified_lines[has_cart]] = first_new_basket + at_checkout[has_cart]
    lines.buyers[identified_lines[has_cart]] = visitors[identified_lines[has_cart]]
    cart_ages = _ages_days(behaviour.times[is_cart_event][is_bought], now_ms)
    return BasketLines(
        np.concatenate((lines.baskets, first_new_basket + in_cart[is_bought])),
        np.concatenate((lines.items, behaviour.items[is_cart_event][is_bought])),
        np.concatenate((lines.ages_days, cart_ages)),
        np.concatenate((lines.buyers, behaviour.visitors[is_cart_event][is_bought])),
    )


def _ages_days(times: Ints, now_ms: int) -> Scores:
    return ((now_ms - times) / DAY_MS).clip(min=0).astype(np.float32)


def counted_line_mask(purchases: OrderLineArrays) -> Bools:
    """Return which lines belong to an order: not void, not returned, and no gifts.

    A gift is an item that nobody paid for, in a fifth of the orders or more. Where no line
    has a price above 0, there are no gifts.
    """
    is_valid: Bools = (
        purchases.is_active & (purchases.quantities > 0) & (purchases.baskets >= 0)
    )
    items, is_free = purchases.items[is_valid], purchases.totals[is_valid] == 0
    line_counts, free_counts = np.bincount(items), np.bincount(items[is_free])
    always_free_items = np.flatnonzero(
        (free_counts > 0) & (free_counts == line_counts[: len(free_counts)])
    )
    if not len(always_free_items) or not (purchases.totals[is_valid] > 0).any():
        return is_valid
    orders = len(np.unique(purchases.baskets[is_valid]))
    gifts = always_free_items[line_counts[always_free_items] >= _GIFT_SHARE * orders]
    return is_valid & ~np.isin(purchases.items, gifts)
