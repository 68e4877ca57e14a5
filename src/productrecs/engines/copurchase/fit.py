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
from productrecs.engines.copurchase.exposure import promoted
from productrecs.engines.copurchase.model import CopurchaseModel
from productrecs.engines.copurchase.options import CopurchaseOptions
from productrecs.engines.copurchase.strength import (
    believable,
    popularity_of,
    strength,
    strongest,
)
from productrecs.engines.copurchase.variants import Products, variants_of

_TRACE: Final = 1e-9  # no share is divided by less


def fit_copurchase(  # noqa: PLR0913 - columns of one table, and of the items
    baskets: Ints,
    items: Items,
    ages_days: Scores | None,
    n_items: int,
    options: CopurchaseOptions | None = None,
    buyers: Ints | None = None,
    *,
    products: Products | None = None,
) -> CopurchaseModel:
    """Return every item's strongest companions from parallel arrays, one entry a line.

    Shapes: `baskets`, `items`, `ages_days`, `buyers` [n]. A basket below 0 is none and
    teaches nothing; an item counts once in a basket; without ages no basket fades. Of
    baskets of one buyer (any code; 0 is nobody) that hold just the same, the newest counts.
    A pair is kept when it stood in at least two baskets and more often than chance would
    have it (lift > 1); below `few_orders` baskets, wherever it stood. What lies in nearly
    every basket goes with nothing. Items that are
    variants of one product learn from one another.

    Source: requirements/algorithms.md 2.1; measured in benchmarks/quality.

    Raises:
        ValueError: when an item number lies outside 0..n_items-1.
    """
    lines = gather(baskets, items, ages_days, n_items)
    if buyers is not None:
        lines = without_repeats(lines, baskets, buyers)
    return fit_baskets(lines, options or CopurchaseOptions(), products)


def fit_baskets(
    lines: Baskets, options: CopurchaseOptions, products: Products | None = None
) -> CopurchaseModel:
    """Return the model of gathered baskets."""
    weights = basket_weights(lines, options)
    popularity = popularity_of(lines, weights)
    variants = None
    if products is not None:
        variants = variants_of(lines, weights, products, options)
    if variants is not None:
        popularity = variants.popularity
    seasons = _seasons(lines, weights, options)
    kept, kept_scores = [], [np.zeros(0, np.float32)]
    for owners, counted in count_pairs(lines, weights):
        believed = believable(counted, lines, options)
        if variants is None:
            pairs = counted[np.flatnonzero(believed)]
        else:
            pairs = variants.joined(counted, believed, owners)
        scores = strength(pairs, popularity, seasons, options)
        chosen = strongest(
            pairs.owners, scores, max(options.considered, options.neighbours)
        )
        kept.append(pairs[chosen])
        kept_scores.append(scores[chosen])
    pairs, scores = Pairs.joined(kept), np.concatenate(kept_scores)
    were_together = pairs.support > 0
    scores = promoted(pairs.owners, pairs.companions, scores, were_together, options)
    order = strongest(pairs.owners, scores, options.neighbours)
    pairs, scores = pairs[order], scores[order]
    return CopurchaseModel(
        offsets=offsets_of(pairs.owners, lines.n_items),
        companions=pairs.companions,
        scores=scores,
        support=pairs.support,
        likeness=_likeness(pairs, popularity),
        shared=pairs.support[:0] if pairs.shared is None else pairs.shared,
        lean=(popularity ** (0.5 - options.lean)).astype(np.float32),
        constants=np.array([options.doublings, options.alike]),
    )


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
