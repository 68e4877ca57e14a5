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


def complete(
    layout: CompanionArrays, anchors: Ints, counts: Floats, limit: int
) -> tuple[Items, Scores]:
    """Return up to `limit` items that several anchors vote for, best first."""
    discounts = layout.lean.astype(np.float64)
    items, votes = [np.zeros(0, np.int32)], [np.zeros(0)]
    for anchor, count in zip(anchors.tolist(), counts.tolist(), strict=True):
        run = slice(*layout.offsets[anchor : anchor + 2].tolist())
        companions = layout.companions[run]
        vote = layout.likeness[run] * (discounts[companions] / discounts[anchor])
        for _ in range(int(layout.constants[0])):
            vote = vote * vote
        items.append(companions)
        votes.append(vote * count)
    found, item_index = np.unique(np.concatenate(items), return_inverse=True)
    sums = np.bincount(item_index, weights=np.concatenate(votes), minlength=len(found))
    scores = sums.astype(np.float32)
    is_candidate = np.isin(found, anchors, invert=True) & (scores > 0)
    found, scores = found[is_candidate], scores[is_candidate]
    places = top_places(found, scores, limit)
    return found[places], scores[places]
