"""Reference implementation of the session kNN in NumPy; the kernel must equal it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from productrecs.engines.arrays import (
    Floats,
    Ints,
    Items,
    top_places,
)

if TYPE_CHECKING:
    from productrecs.engines.browse.kernel_inputs import (
        SessionArrays,
        SessionQuery,
        WeightTables,
    )


def answer(
    layout: SessionArrays, weights: WeightTables, question: SessionQuery, limit: int
) -> tuple[Items, Floats]:
    """Return up to `limit` items that neighbouring sessions vote for, best first."""
    items, votes = _votes(layout, weights, question, neighbours(layout, weights, question))
    shares = weights.returns[1 : len(question.items)]
    known = np.flatnonzero(shares > 0)
    returns = shares[known] * (_total(items, votes) if len(items) else 1.0)
    items = np.concatenate((items, question.items[1:][known].astype(np.int64)))
    votes = np.concatenate((votes, returns))
    found, where = np.unique(items, return_inverse=True)
    scores = np.bincount(where, weights=votes) * layout.rarity[found]
    others = found != question.current
    found, scores = found[others], scores[others]
    places = top_places(found, scores, limit)
    return found[places].astype(np.int32), scores[places]


def neighbours(
    layout: SessionArrays, weights: WeightTables, question: SessionQuery
) -> tuple[Ints, Floats, Ints]:
    """Return the neighbours, newest first: slots, similarity, newest match."""
    slots, similar, matched = _recent_sessions(layout, weights, question)
    order = np.lexsort((-slots, -similar))[: question.neighbours]
    by_slot = np.sort(order)  # back to newest first
    return slots[by_slot], similar[by_slot], matched[by_slot]


def _total(items: Ints, votes: Floats) -> float:
    """Return the sum of all votes, in the kernel's order: item by item."""
    found, firsts, where = np.unique(items, return_index=True, return_inverse=True)
    sums = np.bincount(where, weights=votes, minlength=len(found))
    total = 0.0
    for one in sums[np.argsort(firsts)].tolist():
        total += one
    return total


def _recent_sessions(
    layout: SessionArrays, weights: WeightTables, question: SessionQuery
) -> tuple[Ints, Floats, Ints]:
    """Return slots (newest first), similarity, and the newest matching visit position."""
    lists = [
        layout.postings[layout.posting_offsets[item] : layout.posting_offsets[item + 1]]
        for item in question.items
    ]
    everything = np.concatenate([np.zeros(0, np.int32), *lists])
    places = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    slots, newest, where = np.unique(everything, return_index=True, return_inverse=True)
    sums = np.bincount(where, weights=weights.match[places], minlength=len(slots))
    matched = places[newest]
    if len(question.own):
        others = ~np.isin(slots, question.own)
        slots, sums, matched = slots[others], sums[others], matched[others]
    backwards = slice(None, -question.recent_sessions - 1, -1)
    slots, sums, matched = slots[backwards], sums[backwards], matched[backwards]
    return slots.astype(np.int64), sums * layout.freshness[slots], matched


def _votes(
    layout: SessionArrays,
    weights: WeightTables,
    question: SessionQuery,
    voters: tuple[Ints, Floats, Ints],
) -> tuple[Ints, Floats]:
    """Return every item of every neighbour and its vote."""
    slots, similar, matched = voters
    begins = layout.offsets[slots]
    lengths = layout.offsets[slots + 1] - begins
    whose = np.repeat(np.arange(len(slots)), lengths)
    firsts = np.cumsum(lengths) - lengths
    inside = np.arange(len(whose)) - firsts[whose]
    items = layout.items[begins[whose] + inside]
    star = np.flatnonzero(items == question.items[matched][whose]) - firsts
    beside = len(weights.distance) // 2 + inside - star[whose]
    votes = (similar * weights.vote[matched])[whose] * weights.distance[beside]
    return items.astype(np.int64), votes
