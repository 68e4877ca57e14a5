"""Pair scoring: association strength of item pairs, and a test against chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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

_TRACE: Final = 1e-9  # the popularity of items that were never bought


def item_popularity(lines: Baskets, weights: Floats) -> Floats:
    """Return the summed weights of the baskets that hold each item, always above 0."""
    sums = np.bincount(lines.items, weights=weights[lines.baskets], minlength=lines.n_items)
    return np.maximum(sums, _TRACE)


def significant_pairs(
    pairs: PairCounts, lines: Baskets, options: CopurchaseOptions
) -> Bools:
    """Return which pairs are no accident; in a young store nearly every one."""
    orders = len(lines.ages_days)
    counts = lines.counts
    expected = counts[pairs.owners] * (counts[pairs.companions] / max(orders, 1))
    believed = np.ones(len(pairs.owners), dtype=np.bool_)
    if orders >= options.few_orders:
        believed = (pairs.support >= options.least_support) & (pairs.support > expected)
    if orders >= options.common_orders:
        common = counts[pairs.companions] > options.common_share * orders
        believed &= ~common | (pairs.support > options.common_lift * expected)
    return believed


def pair_strengths(
    pairs: PairCounts, popularity: Floats, seasons: Floats, options: CopurchaseOptions
) -> Scores:
    """Return each pair's strength by `options`, above 0."""
    for_companion = seasons / popularity**options.exponent
    against_owner = popularity + options.shrink
    scores = pairs.weights / against_owner[pairs.owners] * for_companion[pairs.companions]
    return np.maximum(scores, np.finfo(np.float32).tiny).astype(np.float32)


def top_per_owner(owners: Ints, scores: Scores, limit: int) -> Ints:
    """Return the places of each owner's `limit` highest scores, best first.

    `owners` must be sorted; equal scores stay in their order.
    """
    # A positive float32's bits rise with it: owner and inverted score make one sort key.
    inverted = ~scores.view(np.uint32)
    places = run_numbers(owners).astype(np.uint64)
    order = np.argsort((places << np.uint64(32)) | inverted, kind="stable")
    return order[ranks_within_runs(owners) < limit]  # each owner's run stays where it was
