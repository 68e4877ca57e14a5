"""Compiled session kNN: the same sums in the same order as the reference implementation.

Importing this module compiles it, or loads the cached compilation; see `warm_up`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numba import types

from productrecs.engines.browse.kernel_inputs import (
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
    work: SessionScratch | None = getattr(_memory, "work", None)
    if work is None or len(work.votes) < n_items or len(work.slots) < recent_sessions:
        work = SessionScratch(
            slots=np.zeros(recent_sessions, dtype=np.int64),
            similar=np.zeros(recent_sessions),
            matched=np.zeros(recent_sessions, dtype=np.int64),
            sample=np.zeros(recent_sessions),
            begins=np.zeros(recent_sessions + 1, dtype=np.int64),
            votes=np.zeros(n_items),
            touched=np.zeros(n_items + 1, dtype=np.int32),
            scored=np.zeros(n_items),
        )
        _memory.work = work
    return work


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
_WEIGHTS = _named(WeightTables, _FLOATS, _FLOATS, _FLOATS, _FLOATS)
_QUESTION = _named(SessionQuery, _NUMBERS, _I8, _INTS, _I8, _I8)
_WORK = _named(
    SessionScratch, _INTS, _FLOATS, _INTS, _FLOATS, _INTS, _FLOATS, _NUMBERS, _FLOATS
)


@jit_compiled(_I8(_INTS, _I8, _I8))
def newest_until(rising: Ints, place: int, slot: int) -> int:
    """Return the last index, from `place` down, that holds `slot` or less; else -1."""
    while place >= 0 and rising[place] > slot:
        place -= 1
    return place


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUESTION, _WORK))
def recent_sessions(
    layout: SessionArrays,
    weights: WeightTables,
    question: SessionQuery,
    work: SessionScratch,
) -> int:
    """Merge the items' posting lists, newest session first; return the number of sessions.

    Freshness is read in a separate loop, so that memory reads overlap.
    """
    n_items = len(question.items)
    heads, ends = np.empty(n_items, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    newest = np.empty(n_items, dtype=np.int64)  # heads of the posting lists; -1 at the end
    slot = -1
    for place in range(n_items):
        head = layout.posting_offsets[question.items[place]]
        ends[place] = layout.posting_offsets[question.items[place] + 1]
        newest[place] = layout.postings[head] if head < ends[place] else -1
        heads[place] = head
        slot = max(slot, newest[place])
    found, own = 0, len(question.own) - 1
    while slot >= 0 and found < question.recent_sessions:
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
        own = newest_until(question.own, own, slot)
        if own < 0 or question.own[own] != slot:
            work.slots[found] = slot
            work.similar[found] = similar
            work.matched[found] = matched
            found += 1
        slot = following
    for place in range(found):
        work.similar[place] *= layout.freshness[work.slots[place]]
    return found


@jit_compiled(_F8(_FLOATS, _I8, _I8))
def highest(sample: Floats, count: int, wanted: int) -> float:
    """Return the `wanted`-th highest of the first `count` values; reorders them."""
    low, high, place = 0, count - 1, wanted - 1
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
        if place <= right:
            high = right
        elif place >= left:
            low = left
        else:
            break
    return float(sample[place])


@jit_compiled(_F8(_FLOATS, _FLOATS, _I8, _I8))
def bar_of(values: Floats, sample: Floats, count: int, wanted: int) -> float:
    """Return the `wanted`-th highest of the first `count` values, none below 0.

    A histogram limits the selection to one bin, whose values are copied to `sample`.
    """
    most = 0.0
    for place in range(count):
        most = max(most, values[place])
    if most == 0.0:
        return 0.0
    steps = np.zeros(_STEPS, dtype=np.int64)
    each = (_STEPS - 1) / most
    for place in range(count):
        steps[np.int64(values[place] * each)] += 1
    step, left = _STEPS - 1, wanted
    while steps[step] < left:
        left -= steps[step]
        step -= 1
    size = 0
    for place in range(count):
        sample[size] = values[place]  # branch-free: a branch would be mispredicted
        size += np.int64(values[place] * each) == step
    return highest(sample, size, left)


@jit_compiled(_I8(_WORK, _I8, _I8))
def nearest(work: SessionScratch, count: int, wanted: int) -> int:
    """Keep the `wanted` most similar sessions, the newer of ties; return their number."""
    if count <= wanted:
        return count
    bar = bar_of(work.similar, work.sample, count, wanted)
    above = 0
    for place in range(count):
        above += work.similar[place] > bar
    equals = wanted - above
    selected = 0
    for place in range(count):
        similar = work.similar[place]
        stays = similar == bar and equals > 0
        equals -= stays
        work.slots[selected] = work.slots[place]
        work.similar[selected] = similar
        work.matched[selected] = work.matched[place]
        selected += stays or similar > bar
    return selected


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUESTION, _WORK, _I8))
def vote(
    layout: SessionArrays,
    weights: WeightTables,
    question: SessionQuery,
    work: SessionScratch,
    count: int,
) -> int:
    """Let the neighbours vote for their items; return the number of items with votes.

    Session offsets are read in a separate loop first, so that memory reads overlap.
    """
    ahead = 0
    for place in range(count):
        begin = layout.offsets[work.slots[place]]
        work.begins[place] = begin
        ahead += layout.items[begin]
    work.begins[count] = ahead  # so that the compiler does not remove the reads
    found = 0
    longest = len(weights.distance) // 2
    for place in range(count):
        slot = work.slots[place]
        matched = work.matched[place]
        star = question.items[matched]
        begin, end = work.begins[place], layout.offsets[slot + 1]
        where = begin
        while layout.items[where] != star:
            where += 1
        weight = work.similar[place] * weights.vote[matched]
        for at in range(begin, end):
            item = layout.items[at]
            votes = work.votes[item]
            work.touched[found] = item  # branch-free: a branch would wait for memory
            found += votes == 0.0
            work.votes[item] = votes + weight * weights.distance[longest + at - where]
    return found


@jit_compiled(_I8(_WEIGHTS, _QUESTION, _WORK, _I8))
def vote_for_returns(
    weights: WeightTables, question: SessionQuery, work: SessionScratch, found: int
) -> int:
    """Add a share of all votes to the visit's earlier items; return the number of items."""
    total = 0.0
    for place in range(found):
        total += work.votes[work.touched[place]]
    if found == 0:
        total = 1.0
    for place in range(1, len(question.items)):
        share = weights.returns[place] * total
        item = question.items[place]
        votes = work.votes[item]
        if share > 0.0:
            work.touched[found] = item
            found += votes == 0.0
            work.votes[item] = votes + share
    return found


@jit_compiled(_I8(_LAYOUT, _QUESTION, _WORK, _I8, _NUMBERS, _FLOATS))
def take_best(
    layout: SessionArrays,
    question: SessionQuery,
    work: SessionScratch,
    found: int,
    items: Items,
    scores: Floats,
) -> int:
    """Write the best items to `items` and `scores`, clear the votes; return the count."""
    for place in range(found):
        item = work.touched[place]
        work.scored[place] = work.votes[item] * layout.rarity[item]
        work.votes[item] = 0.0
    taken = 0
    for place in range(found):
        item, score = work.touched[place], work.scored[place]
        if item == question.current:
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


@jit_compiled(_I8(_LAYOUT, _WEIGHTS, _QUESTION, _WORK, _NUMBERS, _FLOATS))
def fill(
    layout: SessionArrays,
    weights: WeightTables,
    question: SessionQuery,
    work: SessionScratch,
    items: Items,
    scores: Floats,
) -> int:
    """Fill `items` and `scores` with the next items, best first; return their number."""
    kept = recent_sessions(layout, weights, question, work)
    kept = nearest(work, kept, question.neighbours)
    found = vote(layout, weights, question, work, kept)
    found = vote_for_returns(weights, question, work, found)
    return take_best(layout, question, work, found, items, scores)


_fill = without_type_dispatch(fill)


def answer(
    layout: SessionArrays, weights: WeightTables, question: SessionQuery, limit: int
) -> tuple[Items, Floats]:
    """Return up to `limit` items that neighbouring sessions vote for, best first."""
    work = scratch(len(layout.rarity), question.recent_sessions)
    items, scores = np.empty(limit, dtype=np.int32), np.empty(limit)
    count = _fill(layout, weights, question, work, items, scores)
    return items[:count], scores[:count]
