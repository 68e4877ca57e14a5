"""Which companions does each item keep? The strongest that chance does not explain."""

from __future__ import annotations

from typing import Final

import numpy as np

from productrecs.engines.contract import Floats, Ints, Items, Scores, offsets_of
from productrecs.engines.copurchase.counting import (
    Baskets,
    Pairs,
    basket_weights,
    count_pairs,
    gather,
)
from productrecs.engines.copurchase.model import CopurchaseModel
from productrecs.engines.copurchase.options import CopurchaseOptions

_TRACE: Final = 1e-9  # stands for the popularity of what was never bought


def fit_copurchase(
    baskets: Ints,
    items: Items,
    ages_days: Scores | None,
    n_items: int,
    options: CopurchaseOptions | None = None,
) -> CopurchaseModel:
    """Return every item's strongest companions from parallel arrays, one entry a line.

    Shapes: `baskets`, `items`, `ages_days` [n]. A basket below 0 is none and teaches
    nothing; an item counts once in a basket; without ages no basket fades. A pair is kept
    when it stood in at least two baskets and more often than chance would have it
    (lift > 1); below `few_orders` baskets, wherever it stood.

    Source: requirements/algorithms.md 2.1; measured in benchmarks/quality.

    Raises:
        ValueError: when an item number lies outside 0..n_items-1.
    """
    lines = gather(baskets, items, ages_days, n_items)
    return fit_baskets(lines, options or CopurchaseOptions())


def fit_baskets(lines: Baskets, options: CopurchaseOptions) -> CopurchaseModel:
    """Return the model of gathered baskets."""
    weights = basket_weights(lines, options)
    popularity = popularity_of(lines, weights)
    kept, kept_scores = [], [np.zeros(0)]
    for counted in count_pairs(lines, weights):
        pairs = believable(counted, lines, options)
        scores = strength(pairs, popularity, options.exponent, options.shrink)
        chosen = strongest(pairs.owners, scores, options.neighbours)
        kept.append(pairs[chosen])
        kept_scores.append(scores[chosen])
    pairs = Pairs.joined(kept)
    return CopurchaseModel(
        offsets=offsets_of(pairs.owners, lines.n_items),
        companions=pairs.companions,
        scores=np.concatenate(kept_scores).astype(np.float32),
        support=pairs.support,
        rarity=_rarity(popularity, options),
    )


def popularity_of(lines: Baskets, weights: Floats) -> Floats:
    """Return the summed weights of the baskets that hold each item, always above 0."""
    sums = np.bincount(lines.items, weights=weights[lines.baskets], minlength=lines.n_items)
    return np.maximum(sums, _TRACE)


def believable(pairs: Pairs, lines: Baskets, options: CopurchaseOptions) -> Pairs:
    """Return the pairs that are no accident; in a young store every pair is believed."""
    orders = len(lines.ages_days)
    if orders < options.few_orders:
        return pairs
    counts = lines.counts
    expected = counts[pairs.owners] * (counts[pairs.companions] / orders)
    believed = (pairs.support >= options.least_support) & (pairs.support > expected)
    return pairs[np.flatnonzero(believed)]


def strength(pairs: Pairs, popularity: Floats, exponent: float, shrink: float) -> Floats:
    """Return each pair's c / ((n_owner + shrink) * n_companion ** exponent), above 0."""
    held_against = popularity**exponent
    return pairs.weights / (
        (popularity[pairs.owners] + shrink) * held_against[pairs.companions]
    )


def strongest(owners: Ints, scores: Floats, limit: int) -> Ints:
    """Return the places of each owner's `limit` highest scores, best first.

    `owners` must be sorted; equal scores (as float32) stay in their order.
    """
    # A positive float32's bits rise with it: owner and inverted score make one sort key.
    inverted = ~scores.astype(np.float32).view(np.uint32)
    places = np.unique(owners, return_inverse=True)[1].astype(np.uint64)
    order = np.argsort((places << np.uint64(32)) | inverted, kind="stable")
    begins = np.searchsorted(owners, owners[order])
    return order[np.arange(len(order)) - begins < limit]


def _rarity(popularity: Floats, options: CopurchaseOptions) -> Scores:
    rarity: Floats = popularity ** (options.exponent - options.exponent_several)
    return rarity.astype(np.float32)
