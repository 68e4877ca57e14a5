"""Visual similarity: candidates that look like a product, from precomputed neighbours."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from productrecs.engines.arrays import NO_RANKED, Ranked
from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.request import RecommendationRequest, Source
from productrecs.features.recommendations.serving_state import StoreState

_ENOUGH: Final = 20
"""Of the neighbours known beforehand so many must be shown, else all are looked at."""

_ANCHORS: Final = 5


def effective_source(shop: StoreState, request: RecommendationRequest) -> Source:
    """Return how a call is answered: `similar` as `mix` when its item has no picture."""
    if request.source is not Source.SIMILAR:
        return request.source
    number = shop.catalog.number(request.item_id or "")
    has_picture = number is not None and shop.models.visual.row_of(number) is not None
    return Source.SIMILAR if has_picture else Source.MIX


def visually_similar(eligible: EligibleItems, anchors: Sequence[int]) -> Ranked:
    """Return visible items that look like the first anchor, best first."""
    if not anchors:
        return NO_RANKED
    visual = eligible.models.visual
    known = visual.similar_to_item(anchors[0])
    shown = sum(eligible.shows(item) for item in known.items.tolist())
    if shown >= min(_ENOUGH, len(known.items)) and shown:
        return known
    return visual.similar_to_item_exhaustive(anchors[0], _ENOUGH, eligible.visible)


def visually_similar_to_each(
    eligible: EligibleItems, anchors: Sequence[int]
) -> Iterator[int]:
    """Give what looks like the anchors, what several look like first."""
    visual = eligible.models.visual
    if not len(visual):
        return
    found = [visual.similar_to_item(anchor) for anchor in anchors[:_ANCHORS]]
    if not any(len(one.items) for one in found):
        return
    items = np.concatenate([one.items for one in found])
    scores = np.concatenate([one.scores for one in found])
    distinct, places = np.unique(items, return_inverse=True)
    totals = np.bincount(places, scores)
    for place in np.lexsort((distinct, -totals)).tolist():
        item = int(distinct[place])
        if eligible.shows(item):
            yield item
