"""Compiled session kNN: the same sums in the same order as the reference implementation.

Importing this module compiles it, or loads the cached compilation; see `warm_up`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numba import types

from productrecs.engines.browse.session_knn import (
    SessionArrays,
    SessionQuery,
    WeightTables,
)
from productrecs.engines.numba_jit import (
    jit_compiled,
    readonly_array,
    without_type_dispatch,
)

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items

_BINS: Final = 256
_memory = threading.local()


class SessionScratch(NamedTuple):
    """Scratch memory of one thread, reused by every query."""

    slots: Ints  # [recent_sessions]
    similar: Floats  # [recent_sessions]
    matched: Ints  # [recent_sessions]
    sample: Floats  # [recent_sessions]
    begins: Ints  # [recent_sessions + 1]
    votes: Floats  # [n_items], all zero between queries
    touched: Items  # [n_items + 1]
    scored: Floats  # [n_items]


def thread_scratch(n_items: int, recent_sessions: int) -> SessionScratch:
    """Return this thread's scratch memory, grown if needed: 20 bytes an item."""
    scratch_arrays: SessionScratch | None = getattr(_memory, "work", None)
    if (
        scratch_arrays is None
        or len(scratch_arrays.votes) < n_items
        or len(scratch_arrays.slots) < recent_sessions
    ):
        scratch_arrays = SessionScratch(
            slots=np.zeros(recent_sessions, dtype=np.int64),
            similar=np.zeros(recent_sessions),
            matched=np.zeros(recent_sessions, dtype=np.int64),
            sample=np.zeros(recent_sessions),
            begins=np.zeros(recent_sessions + 1, dtype=np.int64),
            votes=np.zeros(n_items),
            touched=np.zeros(n_items + 1, dtype=np.int32),
            scored=np.zeros(n_items),
        )
        _memory.work = scratch_arrays
    return scratch_arrays


def _namedtuple_type(form: type, *kinds: Any) -> Any:
    same = len(set(kinds)) == 1
    if same:
        return types.NamedUniTuple(kinds[0], len(kinds), form)  # type: ignore[no-untyped-call]  # numba
    return types.NamedTuple(kinds, form)  # type: ignore[no-untyped-call]  # numba


_F4, _F8, _I4, _I8 = types.float32, types.float64, types.int32, types.int64
_FLOATS, _INTS, _NUMBERS = _F8[::1], _I8[::1], _I4[::1]
_LAYOUT = _namedtuple_type(
    SessionArrays, *(readonly_array(kind) for kind in (_I8, _I4, _F4, _I8, _I8, _I4, _F4))
)
_WEIGHTS = _namedtuple_type(WeightTables, _FLOATS, _FLOATS, _FLOATS, _FLOATS, types.float64)
_QUERY_TYPE = _namedtuple_type(SessionQuery, _NUMBERS, _I8, _INTS, _I8, _I8)
_SCRATCH_TYPE = _namedtuple_type(
    SessionScratch, _INTS, _FLOATS, _INTS, _FLOATS, _INTS, _FLOATS, _NUMBERS, _FLOATS
)


@jit_compiled(_I8(_INTS, _I8, _I8))
def last_index_at_most(ascending: Ints, place: int, slot: int) -> int:
    """Return the last index, from `place` down, that holds `slot` or less; else -1."""
    while place >= 0 and ascending[place] > slot:
        place -= 1
    return place


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUERY_TYPE, _SCRATCH_TYPE))
def collect_recent_sessions(
    layout: SessionArrays,
    weights: WeightTables,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
) -> int:
    """Merge the items' posting lists, newest session first; return the number of sessions.

    Freshness is read in a separate loop, so that memory reads overlap.
    """
    n_items = len(query.items)
    next_postings = np.empty(n_items, dtype=np.int64)
    ends = np.empty(n_items, dtype=np.int64)
    newest = np.empty(n_items, dtype=np.int64)  # of each posting list; -1 at its end
    slot = -1
    for place in range(n_items):
        posting = layout.posting_offsets[query.items[place]]
        ends[place] = layout.posting_offsets[query.items[place] + 1]
        newest[place] = layout.postings[posting] if posting < ends[place] else -1
        next_postings[place] = posting
        slot = max(slot, newest[place])
    session_count, next_own = 0, len(query.own_slots) - 1
    while slot >= 0 and session_count < query.recent_sessions:
        similarity = 0.0
        matched_position = -1
        next_slot = -1
        for place in range(n_items):
            if newest[place] == slot:
                similarity += weights.match[place]
                matched_position = place if matched_position < 0 else matched_position
                posting = next_postings[place] + 1
                newest[place] = layout.postings[posting] if posting < ends[place] else -1
                next_postings[place] = posting
            next_slot = max(next_slot, newest[place])
        next_own = last_index_at_most(query.own_slots, next_own, slot)
        if next_own < 0 or query.own_slots[next_own] != slot:
            scratch_arrays.slots[session_count] = slot
            scratch_arrays.similar[session_count] = similarity
            scratch_arrays.matched[session_count] = matched_position
            session_count += 1
        slot = next_slot
    for place in range(session_count):
        scratch_arrays.similar[place] *= layout.freshness[scratch_arrays.slots[place]]
    return session_count


@jit_compiled(_F8(_FLOATS, _I8, _I8))
def select_nth_highest(sample: Floats, count: int, rank: int) -> float:
    """Return the `rank`-th highest of the first `count` values; reorders them."""
    low, high, target_index = 0, count - 1, rank - 1
    while low < high:
        pivot = sample[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while sample[left] > pivot:
                left += 1
            while sample[right] < pivot:
                right -= 1
            if left <= right:
                sample[left], sample[right] = sample[right], sample[left]
                left += 1
                right -= 1
        if target_index <= right:
            high = right
        elif target_index >= left:
            low = left
        else:
            break
    return float(sample[target_index])


@jit_compiled(_F8(_FLOATS, _FLOATS, _I8, _I8))
def score_at_rank(values: Floats, sample: Floats, count: int, rank: int) -> float:
    """Return the `rank`-th highest of the first `count` values, none below 0.

    A histogram limits the selection to one bin, whose values are copied to `sample`.
    """
    highest_score = 0.0
    for index in range(count):
        highest_score = max(highest_score, values[index])
    if highest_score == 0.0:
        return 0.0
    bin_counts = np.zeros(_BINS, dtype=np.int64)
    bins_per_score = (_BINS - 1) / highest_score
    for index in range(count):
        bin_counts[np.int64(values[index] * bins_per_score)] += 1
    bin_index, rank_in_bin = _BINS - 1, rank
    while bin_counts[bin_index] < rank_in_bin:
        rank_in_bin -= bin_counts[bin_index]
        bin_index -= 1
    size = 0
    for index in range(count):
        sample[size] = values[index]  # branch-free: a branch would be mispredicted
        size += np.int64(values[index] * bins_per_score) == bin_index
    return select_nth_highest(sample, size, rank_in_bin)


@jit_compiled(_I8(_SCRATCH_TYPE, _I8, _I8))
def keep_most_similar_sessions(
    scratch_arrays: SessionScratch, count: int, max_sessions: int
) -> int:
    """Keep the `max_sessions` most similar sessions, the newer of ties.

    Return their number.
    """
    if count <= max_sessions:
        return count
    min_similarity = score_at_rank(
        scratch_arrays.similar, scratch_arrays.sample, count, max_sessions
    )
    above_count = 0
    for place in range(count):
        above_count += scratch_arrays.similar[place] > min_similarity
    tie_count = max_sessions - above_count
    kept_count = 0
    for place in range(count):
        similarity = scratch_arrays.similar[place]
        is_kept = similarity == min_similarity and tie_count > 0
        tie_count -= is_kept
        scratch_arrays.slots[kept_count] = scratch_arrays.slots[place]
        scratch_arrays.similar[kept_count] = similarity
        scratch_arrays.matched[kept_count] = scratch_arrays.matched[place]
        kept_count += is_kept or similarity > min_similarity
    return kept_count


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUERY_TYPE, _SCRATCH_TYPE, _I8))
def vote_for_items_of_neighbours(
    layout: SessionArrays,
    weights: WeightTables,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
    count: int,
) -> int:
    """Let the neighbours vote for their items; return the number of items with votes.

    Session offsets are read in a separate loop first, so that memory reads overlap.
    """
    offset = 0
    for place in range(count):
        begin = layout.offsets[scratch_arrays.slots[place]]
        scratch_arrays.begins[place] = begin
        offset += layout.items[begin]
    scratch_arrays.begins[count] = offset  # so that the compiler does not remove the reads
    n_items_with_votes = 0
    longest = len(weights.distance) // 2
    for place in range(count):
        slot = scratch_arrays.slots[place]
        matched = scratch_arrays.matched[place]
        matched_item = query.items[matched]
        begin, end = scratch_arrays.begins[place], layout.offsets[slot + 1]
        match_at = begin
        while layout.items[match_at] != matched_item:
            match_at += 1
        weight = scratch_arrays.similar[place] * weights.vote[matched]
        for at in range(begin, end):
            item = layout.items[at]
            votes = scratch_arrays.votes[item]
            # Branch-free: a branch would wait for memory.
            scratch_arrays.touched[n_items_with_votes] = item
            n_items_with_votes += votes == 0.0
            scratch_arrays.votes[item] = (
                votes + weight * weights.distance[longest + at - match_at]
            )
    return n_items_with_votes


@jit_compiled(_I8(_WEIGHTS, _QUERY_TYPE, _SCRATCH_TYPE, _I8))
def vote_for_visited_items(
    weights: WeightTables,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
    n_items_with_votes: int,
) -> int:
    """Replace the votes for the visit's earlier items; return the number of items.

    They get some of the neighbours' votes, and a share of all votes.
    """
    total = 0.0
    for place in range(n_items_with_votes):
        total += scratch_arrays.votes[scratch_arrays.touched[place]]
    if n_items_with_votes == 0:
        total = 1.0
    for place in range(1, len(query.items)):
        item = query.items[place]
        votes = scratch_arrays.votes[item]
        new_votes = votes * weights.seen + weights.returns[place] * total
        if new_votes > 0.0:
            scratch_arrays.touched[n_items_with_votes] = item
            n_items_with_votes += votes == 0.0
            scratch_arrays.votes[item] = new_votes
    return n_items_with_votes


@jit_compiled(_I8(_LAYOUT, _QUERY_TYPE, _SCRATCH_TYPE, _I8, _NUMBERS, _FLOATS))
def take_best_items_and_clear_votes(
    layout: SessionArrays,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
    n_items_with_votes: int,
    items: Items,
    scores: Floats,
) -> int:
    """Write the best items to `items` and `scores`, clear the votes; return the count."""
    for place in range(n_items_with_votes):
        item = scratch_arrays.touched[place]
        scratch_arrays.scored[place] = scratch_arrays.votes[item] * layout.rarity[item]
        scratch_arrays.votes[item] = 0.0
    taken = 0
    for place in range(n_items_with_votes):
        item, score = scratch_arrays.touched[place], scratch_arrays.scored[place]
        if item == query.current:
            continue
        last = taken - 1
        if taken == len(items):
            if scores[last] > score or (scores[last] == score and items[last] < item):
                continue
            at = last  # the entry to evict
        else:
            at = taken
            taken += 1
        while at > 0 and (
            scores[at - 1] < score or (scores[at - 1] == score and items[at - 1] > item)
        ):
            scores[at] = scores[at - 1]
            items[at] = items[at - 1]
            at -= 1
        scores[at] = score
        items[at] = item
    return taken


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUERY_TYPE, _SCRATCH_TYPE, _NUMBERS, _FLOATS))
def fill_next_items(
    layout: SessionArrays,
    weights: WeightTables,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
    items: Items,
    scores: Floats,
) -> int:
    """Fill `items` and `scores` with the next items, best first; return their number."""
    n_neighbours = collect_recent_sessions(layout, weights, query, scratch_arrays)
    n_neighbours = keep_most_similar_sessions(
        scratch_arrays, n_neighbours, query.neighbours
    )
    n_items = vote_for_items_of_neighbours(
        layout, weights, query, scratch_arrays, n_neighbours
    )
    n_items = vote_for_visited_items(weights, query, scratch_arrays, n_items)
    return take_best_items_and_clear_votes(
        layout, query, scratch_arrays, n_items, items, scores
    )


_fill_next_items = without_type_dispatch(fill_next_items)


def next_items_and_scores(
    layout: SessionArrays, weights: WeightTables, query: SessionQuery, limit: int
) -> tuple[Items, Floats]:
    """Return up to `limit` items that neighbouring sessions vote for, best first."""
    scratch_arrays = thread_scratch(len(layout.rarity), query.recent_sessions)
    items, scores = np.empty(limit, dtype=np.int32), np.empty(limit)
    count = _fill_next_items(layout, weights, query, scratch_arrays, items, scores)
    return items[:count], scores[:count]
