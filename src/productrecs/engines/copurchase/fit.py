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
    without_repeats,
)
from productrecs.engines.copurchase.exposure import promoted, ranks_of
from productrecs.engines.copurchase.model import CopurchaseModel
from productrecs.engines.copurchase.options import CopurchaseOptions

_TRACE: Final = 1e-9  # stands for the popularity of what was never bought


def fit_copurchase(
    baskets: Ints,
    items: Items,
    ages_days: Scores | None,
    n_items: int,
    options: CopurchaseOptions | None = None,
    buyers: Ints | None = None,
) -> CopurchaseModel:
    """Return every item's strongest companions from parallel arrays, one entry a line.

    Shapes: `baskets`, `items`, `ages_days`, `buyers` [n]. A basket below 0 is none and
    teaches nothing; an item counts once in a basket; without ages no basket fades. Of
    baskets of one buyer (any code; 0 is nobody) that hold just the same, the newest counts.
    A pair is kept when it stood in at least two baskets and more often than chance would
    have it (lift > 1); below `few_orders` baskets, wherever it stood. What lies in nearly
    every basket goes with nothing.

    Source: requirements/algorithms.md 2.1; measured in benchmarks/quality.

    Raises:
        ValueError: when an item number lies outside 0..n_items-1.
    """
    lines = gather(baskets, items, ages_days, n_items)
    if buyers is not None:
        lines = without_repeats(lines, baskets, buyers)
    return fit_baskets(lines, options or CopurchaseOptions())


def fit_baskets(lines: Baskets, options: CopurchaseOptions) -> CopurchaseModel:
    """Return the model of gathered baskets."""
    weights = basket_weights(lines, options)
    popularity = popularity_of(lines, weights)
    seasons = _seasons(lines, weights, options)
    kept, kept_scores = [], [np.zeros(0, np.float32)]
    for counted in count_pairs(lines, weights):
        pairs = believable(counted, lines, options)
        scores = strength(pairs, popularity, seasons, options)
        chosen = strongest(
            pairs.owners, scores, max(options.considered, options.neighbours)
        )
        kept.append(pairs[chosen])
        kept_scores.append(scores[chosen])
    pairs, scores = Pairs.joined(kept), np.concatenate(kept_scores)
    scores = promoted(pairs.owners, pairs.companions, scores, options)
    order = np.lexsort((pairs.companions, -scores, pairs.owners))
    order = order[ranks_of(pairs.owners[order]) < options.neighbours]
    pairs, scores = pairs[order], scores[order]
    return CopurchaseModel(
        offsets=offsets_of(pairs.owners, lines.n_items),
        companions=pairs.companions,
        scores=scores,
        support=pairs.support,
        likeness=_likeness(pairs, popularity),
        lean=(popularity ** (0.5 - options.lean)).astype(np.float32),
        constants=np.array([options.doublings, options.alike]),
    )


def popularity_of(lines: Baskets, weights: Floats) -> Floats:
    """Return the summed weights of the baskets that hold each item, always above 0."""
    sums = np.bincount(lines.items, weights=weights[lines.baskets], minlength=lines.n_items)
    return np.maximum(sums, _TRACE)


def believable(pairs: Pairs, lines: Baskets, options: CopurchaseOptions) -> Pairs:
    """Return the pairs that are no accident; in a young store nearly every one."""
    orders = len(lines.ages_days)
    counts = lines.counts
    expected = counts[pairs.owners] * (counts[pairs.companions] / max(orders, 1))
    believed = np.ones(len(pairs.owners), dtype=np.bool_)
    if orders >= options.few_orders:
        believed = (pairs.support >= options.least_support) & (pairs.support > expected)
    if orders >= options.common_orders:
        common = counts[pairs.companions] > options.common_share * orders
        believed &= ~common | (pairs.support > options.common_lift * expected)
    return pairs[np.flatnonzero(believed)]


def strength(
    pairs: Pairs, popularity: Floats, seasons: Floats, options: CopurchaseOptions
) -> Scores:
    """Return each pair's strength by `options`, above 0."""
    for_companion = seasons / popularity**options.exponent
    against_owner = popularity + options.shrink
    scores = pairs.weights / against_owner[pairs.owners] * for_companion[pairs.companions]
    return np.maximum(scores, np.finfo(np.float32).tiny).astype(np.float32)


def strongest(owners: Ints, scores: Scores, limit: int) -> Ints:
    """Return the places of each owner's `limit` highest scores, best first.

    `owners` must be sorted; equal scores stay in their order.
    """
    # A positive float32's bits rise with it: owner and inverted score make one sort key.
    inverted = ~scores.view(np.uint32)
    places = np.unique(owners, return_inverse=True)[1].astype(np.uint64)
    order = np.argsort((places << np.uint64(32)) | inverted, kind="stable")
    begins = np.searchsorted(owners, owners[order])
    return order[np.arange(len(order)) - begins < limit]


def _likeness(pairs: Pairs, popularity: Floats) -> Scores:
    """Return each pair's cosine, in (0, 1]."""
    sizes = np.sqrt(popularity)
    cosines = pairs.weights / (sizes[pairs.owners] * sizes[pairs.companions])
    likeness: Floats = np.clip(cosines, np.finfo(np.float32).tiny, 1.0)
    return likeness.astype(np.float32)


def _seasons(lines: Baskets, weights: Floats, options: CopurchaseOptions) -> Floats:
    """Return by what each item's strength is multiplied: above 1 for what sells lately."""
    lately = weights * (lines.ages_days < options.season_days)
    sold = np.bincount(lines.items, weights=weights[lines.baskets], minlength=lines.n_items)
    sold_lately = np.bincount(
        lines.items, weights=lately[lines.baskets], minlength=lines.n_items
    )
    share = float(lately.sum()) / max(float(weights.sum()), _TRACE)
    ratios: Floats = (sold_lately + 1.0) / (sold * share + 1.0)
    seasons: Floats = ratios**options.season
    return seasons
