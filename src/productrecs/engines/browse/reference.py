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
    layout: SessionArrays, weights: WeightTables, query: SessionQuery, limit: int
) -> tuple[Items, Floats]:
    """Return up to `limit` items that neighbouring sessions vote for, best first."""
    items, votes = _votes(layout, weights, query, neighbours(layout, weights, query))
    shares = weights.returns[1 : len(query.items)]
    scored = np.flatnonzero(shares > 0)
    returns = shares[scored] * (_total(items, votes) if len(items) else 1.0)
    items = np.concatenate((items, query.items[1:][scored].astype(np.int64)))
    votes = np.concatenate((votes, returns))
    items_found, item_index = np.unique(items, return_inverse=True)
    scores = np.bincount(item_index, weights=votes) * layout.rarity[items_found]
    is_other = items_found != query.current
    items_found, scores = items_found[is_other], scores[is_other]
    places = top_places(items_found, scores, limit)
    return items_found[places].astype(np.int32), scores[places]


def neighbours(
    layout: SessionArrays, weights: WeightTables, query: SessionQuery
) -> tuple[Ints, Floats, Ints]:
    """Return the neighbours, newest first: slots, similarity, newest match."""
    slots, similar, matched = _recent_sessions(layout, weights, query)
    order = np.lexsort((-slots, -similar))[: query.neighbours]
    by_slot = np.sort(order)  # back to newest first
    return slots[by_slot], similar[by_slot], matched[by_slot]


def _total(items: Ints, votes: Floats) -> float:
    """Return the sum of all votes, in the kernel's order: item by item."""
    items_found, first_index, item_index = np.unique(
        items, return_index=True, return_inverse=True
    )
    sums = np.bincount(item_index, weights=votes, minlength=len(items_found))
    total = 0.0
    for one in sums[np.argsort(first_index)].tolist():
        total += one
    return total


def _recent_sessions(
    layout: SessionArrays, weights: WeightTables, query: SessionQuery
) -> tuple[Ints, Floats, Ints]:
    """Return slots (newest first), similarity, and the newest matching visit position."""
    lists = [
        layout.postings[layout.posting_offsets[item] : layout.posting_offsets[item + 1]]
        for item in query.items
    ]
    all_slots = np.concatenate([np.zeros(0, np.int32), *lists])
    places = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    slots, newest, item_index = np.unique(all_slots, return_index=True, return_inverse=True)
    sums = np.bincount(item_index, weights=weights.match[places], minlength=len(slots))
    matched = places[newest]
    if len(query.own_slots):
        is_other = ~np.isin(slots, query.own_slots)
        slots, sums, matched = slots[is_other], sums[is_other], matched[is_other]
    backwards = slice(None, -query.recent_sessions - 1, -1)
    slots, sums, matched = slots[backwards], sums[backwards], matched[backwards]
    return slots.astype(np.int64), sums * layout.freshness[slots], matched


def _votes(
    layout: SessionArrays,
    weights: WeightTables,
    query: SessionQuery,
    voters: tuple[Ints, Floats, Ints],
) -> tuple[Ints, Floats]:
    """Return every item of every neighbour and its vote."""
    slots, similar, matched = voters
    starts = layout.offsets[slots]
    lengths = layout.offsets[slots + 1] - starts
    session_index = np.repeat(np.arange(len(slots)), lengths)
    first_index = np.cumsum(lengths) - lengths
    inside = np.arange(len(session_index)) - first_index[session_index]
    items = layout.items[starts[session_index] + inside]
    match_position = (
        np.flatnonzero(items == query.items[matched][session_index]) - first_index
    )
    distance_index = len(weights.distance) // 2 + inside - match_position[session_index]
    votes = (similar * weights.vote[matched])[session_index] * weights.distance[
        distance_index
    ]
    return items.astype(np.int64), votes
