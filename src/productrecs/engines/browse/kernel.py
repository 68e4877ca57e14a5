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
    from productrecs.engines.arrays import Floats, Ints, Items

_STEPS: Final = 256
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


def scratch(n_items: int, recent_sessions: int) -> SessionScratch:
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


def _named(form: type, *kinds: Any) -> Any:
    same = len(set(kinds)) == 1
    if same:
        return types.NamedUniTuple(kinds[0], len(kinds), form)  # type: ignore[no-untyped-call]  # numba
    return types.NamedTuple(kinds, form)  # type: ignore[no-untyped-call]  # numba


_F4, _F8, _I4, _I8 = types.float32, types.float64, types.int32, types.int64
_FLOATS, _INTS, _NUMBERS = _F8[::1], _I8[::1], _I4[::1]
_LAYOUT = _named(
    SessionArrays, *(readonly_array(kind) for kind in (_I8, _I4, _F4, _I8, _I8, _I4, _F4))
)
_WEIGHTS = _named(WeightTables, _FLOATS, _FLOATS, _FLOATS, _FLOATS, types.float64)
_QUERY_TYPE = _named(SessionQuery, _NUMBERS, _I8, _INTS, _I8, _I8)
_SCRATCH_TYPE = _named(
    SessionScratch, _INTS, _FLOATS, _INTS, _FLOATS, _INTS, _FLOATS, _NUMBERS, _FLOATS
)


@jit_compiled(_I8(_INTS, _I8, _I8))
def newest_until(ascending: Ints, place: int, slot: int) -> int:
    """Return the last index, from `place` down, that holds `slot` or less; else -1."""
    while place >= 0 and ascending[place] > slot:
        place -= 1
    return place


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUERY_TYPE, _SCRATCH_TYPE))
def recent_sessions(
    layout: SessionArrays,
    weights: WeightTables,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
) -> int:
    """Merge the items' posting lists, newest session first; return the number of sessions.

    Freshness is read in a separate loop, so that memory reads overlap.
    """
    n_items = len(query.items)
    heads, ends = np.empty(n_items, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    newest = np.empty(n_items, dtype=np.int64)  # heads of the posting lists; -1 at the end
    slot = -1
    for place in range(n_items):
        head = layout.posting_offsets[query.items[place]]
        ends[place] = layout.posting_offsets[query.items[place] + 1]
        newest[place] = layout.postings[head] if head < ends[place] else -1
        heads[place] = head
        slot = max(slot, newest[place])
    found, next_own = 0, len(query.own_slots) - 1
    while slot >= 0 and found < query.recent_sessions:
        similar = 0.0
        matched = -1
        following = -1
        for place in range(n_items):
            if newest[place] == slot:
                similar += weights.match[place]
                matched = place if matched < 0 else matched
                head = heads[place] + 1
                newest[place] = layout.postings[head] if head < ends[place] else -1
                heads[place] = head
            following = max(following, newest[place])
        next_own = newest_until(query.own_slots, next_own, slot)
        if next_own < 0 or query.own_slots[next_own] != slot:
            scratch_arrays.slots[found] = slot
            scratch_arrays.similar[found] = similar
            scratch_arrays.matched[found] = matched
            found += 1
        slot = following
    for place in range(found):
        scratch_arrays.similar[place] *= layout.freshness[scratch_arrays.slots[place]]
    return found


@jit_compiled(_F8(_FLOATS, _I8, _I8))
def highest(sample: Floats, count: int, count_wanted: int) -> float:
    """Return the `count_wanted`-th highest of the first `count` values; reorders them."""
    low, high, place = 0, count - 1, count_wanted - 1
    while low < high:
        pivot = sample[(low + high) // 2]
        low_index, right = low, high
        while low_index <= right:
            while sample[low_index] > pivot:
                low_index += 1
            while sample[right] < pivot:
                right -= 1
            if low_index <= right:
                sample[low_index], sample[right] = sample[right], sample[low_index]
                low_index += 1
                right -= 1
        if place <= right:
            high = right
        elif place >= low_index:
            low = low_index
        else:
            break
    return float(sample[place])


@jit_compiled(_F8(_FLOATS, _FLOATS, _I8, _I8))
def bar_of(values: Floats, sample: Floats, count: int, count_wanted: int) -> float:
    """Return the `count_wanted`-th highest of the first `count` values, none below 0.

    A histogram limits the selection to one bin, whose values are copied to `sample`.
    """
    highest_score = 0.0
    for place in range(count):
        highest_score = max(highest_score, values[place])
    if highest_score == 0.0:
        return 0.0
    steps = np.zeros(_STEPS, dtype=np.int64)
    step_width = (_STEPS - 1) / highest_score
    for place in range(count):
        steps[np.int64(values[place] * step_width)] += 1
    step, low_index = _STEPS - 1, count_wanted
    while steps[step] < low_index:
        low_index -= steps[step]
        step -= 1
    size = 0
    for place in range(count):
        sample[size] = values[place]  # branch-free: a branch would be mispredicted
        size += np.int64(values[place] * step_width) == step
    return highest(sample, size, low_index)


@jit_compiled(_I8(_SCRATCH_TYPE, _I8, _I8))
def nearest(scratch_arrays: SessionScratch, count: int, count_wanted: int) -> int:
    """Keep the `count_wanted` most similar sessions, the newer of ties.

    Return their number.
    """
    if count <= count_wanted:
        return count
    bar = bar_of(scratch_arrays.similar, scratch_arrays.sample, count, count_wanted)
    above = 0
    for place in range(count):
        above += scratch_arrays.similar[place] > bar
    equals = count_wanted - above
    selected = 0
    for place in range(count):
        similar = scratch_arrays.similar[place]
        is_kept = similar == bar and equals > 0
        equals -= is_kept
        scratch_arrays.slots[selected] = scratch_arrays.slots[place]
        scratch_arrays.similar[selected] = similar
        scratch_arrays.matched[selected] = scratch_arrays.matched[place]
        selected += is_kept or similar > bar
    return selected


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUERY_TYPE, _SCRATCH_TYPE, _I8))
def vote(
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
    found = 0
    longest = len(weights.distance) // 2
    for place in range(count):
        slot = scratch_arrays.slots[place]
        matched = scratch_arrays.matched[place]
        matched_item = query.items[matched]
        begin, end = scratch_arrays.begins[place], layout.offsets[slot + 1]
        where = begin
        while layout.items[where] != matched_item:
            where += 1
        weight = scratch_arrays.similar[place] * weights.vote[matched]
        for at in range(begin, end):
            item = layout.items[at]
            votes = scratch_arrays.votes[item]
            scratch_arrays.touched[found] = (
                item  # branch-free: a branch would wait for memory
            )
            found += votes == 0.0
            scratch_arrays.votes[item] = (
                votes + weight * weights.distance[longest + at - where]
            )
    return found


@jit_compiled(_I8(_WEIGHTS, _QUERY_TYPE, _SCRATCH_TYPE, _I8))
def vote_for_returns(
    weights: WeightTables, query: SessionQuery, scratch_arrays: SessionScratch, found: int
) -> int:
    """Replace the votes for the visit's earlier items; return the number of items.

    They get some of the neighbours' votes, and a share of all votes.
    """
    total = 0.0
    for place in range(found):
        total += scratch_arrays.votes[scratch_arrays.touched[place]]
    if found == 0:
        total = 1.0
    for place in range(1, len(query.items)):
        item = query.items[place]
        votes = scratch_arrays.votes[item]
        replaced = votes * weights.seen + weights.returns[place] * total
        if replaced > 0.0:
            scratch_arrays.touched[found] = item
            found += votes == 0.0
            scratch_arrays.votes[item] = replaced
    return found


@jit_compiled(_I8(_LAYOUT, _QUERY_TYPE, _SCRATCH_TYPE, _I8, _NUMBERS, _FLOATS))
def take_best(
    layout: SessionArrays,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
    found: int,
    items: Items,
    scores: Floats,
) -> int:
    """Write the best items to `items` and `scores`, clear the votes; return the count."""
    for place in range(found):
        item = scratch_arrays.touched[place]
        scratch_arrays.scored[place] = scratch_arrays.votes[item] * layout.rarity[item]
        scratch_arrays.votes[item] = 0.0
    taken = 0
    for place in range(found):
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
def fill(
    layout: SessionArrays,
    weights: WeightTables,
    query: SessionQuery,
    scratch_arrays: SessionScratch,
    items: Items,
    scores: Floats,
) -> int:
    """Fill `items` and `scores` with the next items, best first; return their number."""
    neighbours_found = recent_sessions(layout, weights, query, scratch_arrays)
    neighbours_found = nearest(scratch_arrays, neighbours_found, query.neighbours)
    found = vote(layout, weights, query, scratch_arrays, neighbours_found)
    found = vote_for_returns(weights, query, scratch_arrays, found)
    return take_best(layout, query, scratch_arrays, found, items, scores)


_fill = without_type_dispatch(fill)


def answer(
    layout: SessionArrays, weights: WeightTables, query: SessionQuery, limit: int
) -> tuple[Items, Floats]:
    """Return up to `limit` items that neighbouring sessions vote for, best first."""
    scratch_arrays = scratch(len(layout.rarity), query.recent_sessions)
    items, scores = np.empty(limit, dtype=np.int32), np.empty(limit)
    count = _fill(layout, weights, query, scratch_arrays, items, scores)
    return items[:count], scores[:count]
