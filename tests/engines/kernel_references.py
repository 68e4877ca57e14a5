"""References in numpy of the engines' kernels, which add the same numbers in this order."""

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Floats,
    Ints,
    Items,
    Scores,
    top_score_indexes,
)
from productrecs.engines.browse.session_knn import (
    MatchingSessions,
    SessionArrays,
    SessionQuery,
    SessionWeightTables,
    nearest_sessions,
)
from productrecs.engines.copurchase.companion_lookup import CompanionArrays


def reference_next_items(
    layout: SessionArrays, weights: SessionWeightTables, query: SessionQuery, limit: int
) -> tuple[Items, Floats, Items]:
    """Return up to `limit` items that neighbouring sessions vote for, best first.

    The last array is the number of neighbours that hold each item. An earlier item of the
    visit has the number of the item above it, or of all neighbours at the top.
    """
    sessions = nearest_sessions(layout, weights, query)
    items, votes = _neighbour_votes(layout, weights, query, sessions)
    earlier_items = query.items[1:].astype(np.int64)
    total = _sum_votes(items, votes) if len(items) else 1.0
    candidates, item_index = np.unique(
        np.concatenate((items, earlier_items)), return_inverse=True
    )
    sums = np.bincount(item_index, np.concatenate((votes, np.zeros(len(earlier_items)))))
    earlier_index = item_index[len(items) :]
    sums[earlier_index] = (
        sums[earlier_index] * weights.seen + weights.returns[1 : len(query.items)] * total
    )
    is_other = (sums > 0) & (candidates != query.current)
    candidates = candidates[is_other]
    scores = sums[is_other] * layout.rarity[candidates]
    places = top_score_indexes(candidates, scores, limit)
    best = candidates[places].astype(np.int32)
    counts = np.bincount(items, minlength=len(layout.rarity))
    support = [max(len(sessions.slots), 1)]
    for item in best.tolist():
        support.append(support[-1] if item in earlier_items else int(counts[item]))
    return best, scores[places], np.array(support[1:], np.int32)


def _sum_votes(items: Ints, votes: Floats) -> float:
    """Return the sum of all votes, in the kernel's order: item by item."""
    distinct_items, first_index, item_index = np.unique(
        items, return_index=True, return_inverse=True
    )
    sums = np.bincount(item_index, weights=votes, minlength=len(distinct_items))
    total = 0.0
    for item_votes in sums[np.argsort(first_index)].tolist():
        total += item_votes
    return total


def _neighbour_votes(
    layout: SessionArrays,
    weights: SessionWeightTables,
    query: SessionQuery,
    sessions: MatchingSessions,
) -> tuple[Ints, Floats]:
    """Return every item of every neighbour and its vote."""
    slots, similar, matched = sessions
    starts = layout.offsets[slots]
    lengths = layout.offsets[slots + 1] - starts
    session_index = np.repeat(np.arange(len(slots)), lengths)
    first_index = np.cumsum(lengths) - lengths
    position_in_session = np.arange(len(session_index)) - first_index[session_index]
    items = layout.items[starts[session_index] + position_in_session]
    match_position = (
        np.flatnonzero(items == query.items[matched][session_index]) - first_index
    )
    distance_index = (
        len(weights.distance) // 2 + position_in_session - match_position[session_index]
    )
    votes = (similar * weights.vote[matched])[session_index] * weights.distance[
        distance_index
    ]
    return items.astype(np.int64), votes


def reference_companions(
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
