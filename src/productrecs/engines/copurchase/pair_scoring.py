"""Pair scoring: association strength of item pairs, and a significance test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import ranks_within_runs, run_numbers

if TYPE_CHECKING:
    from productrecs.engines.arrays import (
        Bools,
        Floats,
        Ints,
        Scores,
    )
    from productrecs.engines.copurchase.options import CopurchaseOptions
    from productrecs.engines.copurchase.pair_counting import Baskets, PairCounts

_TRACE: Final = 1e-9  # popularity of items without sales


class Sales(NamedTuple):
    """Sales, as sums of basket weights."""

    popularity: Floats  # [n_items] weight of the baskets with an item, above 0
    seasons: Floats  # [n_items] seasonal factor of a companion's strength
    baskets: float  # weight of all baskets


def item_popularity(lines: Baskets, weights: Floats) -> Floats:
    """Return the summed weight of each item's baskets, always above 0."""
    sums = np.bincount(lines.items, weights=weights[lines.baskets], minlength=lines.n_items)
    return np.maximum(sums, _TRACE)


def pairs_beyond_gifts(
    pairs: PairCounts, lines: Baskets, options: CopurchaseOptions
) -> Bools:
    """Return which pairs may be listed: all except those with a free gift."""
    orders, counts = len(lines.ages_days), lines.counts
    if orders < options.common_orders:
        return np.ones(len(pairs.owners), dtype=np.bool_)
    common = counts[pairs.companions] > options.common_share * orders
    expected = counts[pairs.owners] * (counts[pairs.companions] / orders)
    allowed: Bools = ~common | (pairs.support > options.common_lift * expected)
    return allowed


def significant_pairs(
    pairs: PairCounts, lines: Baskets, options: CopurchaseOptions
) -> Bools:
    """Return which pairs are significant; all in a store with few orders.

    A cart has many anchors: one chance companion of each would crowd its list.
    """
    orders, counts = len(lines.ages_days), lines.counts
    if orders < options.few_orders:
        return np.ones(len(pairs.owners), dtype=np.bool_)
    expected = counts[pairs.owners] * (counts[pairs.companions] / orders)
    return (pairs.support >= options.least_support) & (pairs.support > expected)


def pair_strengths(pairs: PairCounts, sales: Sales, options: CopurchaseOptions) -> Scores:
    """Return each pair's strength by `options`, above 0."""
    popularity, prior = sales.popularity, options.prior
    prior_weights = popularity[pairs.companions] * (prior / max(sales.baskets, _TRACE))
    probabilities = (pairs.weights + prior_weights) / (popularity[pairs.owners] + prior)
    for_companion = sales.seasons / popularity**options.exponent
    scores = probabilities * for_companion[pairs.companions]
    return np.maximum(scores, np.finfo(np.float32).tiny).astype(np.float32)


def cart_strengths(
    pairs: PairCounts, popularity: Floats, options: CopurchaseOptions
) -> Scores:
    """Return the ranking score of each owner's companions in carts, above 0."""
    votes = pairs.weights / popularity[pairs.companions] ** options.lean
    return np.maximum(votes, np.finfo(np.float32).tiny).astype(np.float32)


def top_per_owner(owners: Ints, scores: Scores, limit: int) -> Ints:
    """Return the indexes of each owner's `limit` highest scores, best first.

    `owners` must be sorted; ties keep their order.
    """
    # Bits of a positive float32 sort like its value: owner and inverted score form the key.
    inverted = ~scores.view(np.uint32)
    places = run_numbers(owners).astype(np.uint64)
    order = np.argsort((places << np.uint64(32)) | inverted, kind="stable")
    return order[ranks_within_runs(owners) < limit]  # owners keep their order
