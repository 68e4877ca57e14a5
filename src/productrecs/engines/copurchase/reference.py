"""Reference implementation of the co-purchase lookup in NumPy; the kernel must equal it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from productrecs.engines.arrays import (
    Floats,
    Ints,
    Items,
    Scores,
    top_places,
)

if TYPE_CHECKING:
    from productrecs.engines.copurchase.model_arrays import CompanionArrays


def varied(layout: CompanionArrays, anchor: int, limit: int) -> tuple[Items, Scores]:
    """Return up to `limit` companions, each less the more it is like one above it."""
    items, scores = _of(layout, anchor)
    alike = _likenesses(layout, items).astype(np.float64)
    left = scores.copy()
    order: list[int] = []
    ranked = np.zeros(len(items), dtype=np.float32)
    for _ in range(min(limit, len(items))):
        best = int(np.lexsort((items, -left))[0])
        order.append(best)
        ranked[best], left[best] = left[best], -1.0
        rest = left >= 0
        fallen = left[rest] * (1.0 - layout.constants[1] * alike[best, rest])
        left[rest] = fallen.astype(np.float32)
    return items[order], ranked[order]


def _likenesses(layout: CompanionArrays, items: Items) -> Scores:
    alike = np.zeros((len(items), len(items)), dtype=np.float32)
    where = {item: place for place, item in enumerate(items.tolist())}
    for place, item in enumerate(items.tolist()):
        run = slice(*layout.offsets[item : item + 2].tolist())
        theirs = zip(
            layout.companions[run].tolist(), layout.likeness[run].tolist(), strict=True
        )
        for other, likeness in theirs:
            if other in where:
                alike[place, where[other]] = alike[where[other], place] = likeness
    return alike


def together(
    layout: CompanionArrays, anchors: Ints, counts: Floats, limit: int
) -> tuple[Items, Scores]:
    """Return up to `limit` items that several anchors vote for, best first."""
    lean = layout.lean.astype(np.float64)
    items, votes = [np.zeros(0, np.int32)], [np.zeros(0)]
    for anchor, count in zip(anchors.tolist(), counts.tolist(), strict=True):
        run = slice(*layout.offsets[anchor : anchor + 2].tolist())
        companions = layout.companions[run]
        vote = layout.likeness[run] * (lean[companions] / lean[anchor])
        for _ in range(int(layout.constants[0])):
            vote = vote * vote
        items.append(companions)
        votes.append(vote * count)
    found, where = np.unique(np.concatenate(items), return_inverse=True)
    sums = np.bincount(where, weights=np.concatenate(votes), minlength=len(found))
    scores = sums.astype(np.float32)
    fresh = np.isin(found, anchors, invert=True) & (scores > 0)
    found, scores = found[fresh], scores[fresh]
    places = top_places(found, scores, limit)
    return found[places], scores[places]


def _of(layout: CompanionArrays, anchor: int) -> tuple[Items, Scores]:
    run = slice(*layout.offsets[anchor : anchor + 2].tolist())
    return layout.companions[run], layout.scores[run]
