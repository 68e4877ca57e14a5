"""Companion lookup: arrays of the co-purchase model, and the reference of the kernel."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Floats,
    Ints,
    Items,
    Scores,
    top_score_indexes,
)
from productrecs.engines.compiled_kernels import addresses


def best_companions(
    layout: CompanionArrays, anchors: Ints, counts: Floats, limit: int
) -> tuple[Items, Scores]:
    """Return up to `limit` items that several anchors vote for, best first."""
    discounts = layout.lean.astype(np.float64)
    item_runs, votes = [np.zeros(0, np.int32)], [np.zeros(0)]
    for anchor, count in zip(anchors.tolist(), counts.tolist(), strict=True):
        run = slice(*layout.offsets[anchor : anchor + 2].tolist())
        companions = layout.companions[run]
        vote = layout.likeness[run] * (discounts[companions] / discounts[anchor])
        for _ in range(int(layout.constants[0])):
            vote = vote * vote
        item_runs.append(companions)
        votes.append(vote * count)
    items, item_index = np.unique(np.concatenate(item_runs), return_inverse=True)
    sums = np.bincount(item_index, weights=np.concatenate(votes), minlength=len(items))
    scores = sums.astype(np.float32)
    is_candidate = np.isin(items, anchors, invert=True) & (scores > 0)
    items, scores = items[is_candidate], scores[is_candidate]
    places = top_score_indexes(items, scores, limit)
    return items[places], scores[places]


class _CompanionArrays(NamedTuple):
    """Every item's companions, best first, as one compressed sparse matrix.

    `offsets` [n_items + 1] delimits each item's run in the arrays [P]; `lean` [n_items] is
    an item's popularity to the power 0.5 - `CopurchaseOptions.lean`.
    """

    offsets: Ints
    companions: Items
    scores: Scores  # for a single anchor
    likeness: Scores  # the pair's cosine; 0 for a pair that does not count in carts
    lean: Scores
    constants: Floats  # `doublings` of CopurchaseOptions; older models differ


class CompanionArrays(_CompanionArrays):
    """The arrays, as the kernel takes them."""

    @cached_property
    def pointers(self) -> Any:
        """The addresses of the arrays."""
        return addresses(*self)


_I4, _I8, _F4, _F8 = np.int32, np.int64, np.float32, np.float64
KINDS: Final = (_I8, _I4, _F4, _F4, _F4, _F8)  # of `CompanionArrays`
