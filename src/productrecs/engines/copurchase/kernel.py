"""Compiled co-purchase lookup: the same sums in the same order as the reference."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from productrecs.engines.copurchase.companion_lookup import CompanionArrays
from productrecs.engines.numba_jit import (
    jit_compiled,
    readonly_array,
    without_type_dispatch,
)

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import (
        Floats,
        Ints,
        Items,
        Scores,
    )

_memory = threading.local()


class CompanionScratch(NamedTuple):
    """Scratch memory of one thread, all zero between queries except `touched`."""

    places: Items  # [n_items] 1 + index of a companion; -1 for an anchor
    votes: Floats  # [n_items]
    touched: Items  # [n_items]


def thread_scratch(n_items: int) -> CompanionScratch:
    """Return this thread's scratch memory, grown if needed: 16 bytes an item."""
    scratch_arrays: CompanionScratch | None = getattr(_memory, "work", None)
    if scratch_arrays is None or len(scratch_arrays.votes) < n_items:
        scratch_arrays = CompanionScratch(
            places=np.zeros(n_items, dtype=np.int32),
            votes=np.zeros(n_items),
            touched=np.zeros(n_items, dtype=np.int32),
        )
        _memory.work = scratch_arrays
    return scratch_arrays


_F4, _F8, _I4, _I8 = types.float32, types.float64, types.int32, types.int64
_LAYOUT: Any = types.NamedTuple(  # type: ignore[no-untyped-call]  # numba
    [readonly_array(kind) for kind in (_I8, _I4, _F4, _F4, _F4, _F8)], CompanionArrays
)
_SCRATCH_TYPE: Any = types.NamedTuple([_I4[::1], _F8[::1], _I4[::1]], CompanionScratch)  # type: ignore[no-untyped-call]  # numba


@jit_compiled(_I8(_LAYOUT, _SCRATCH_TYPE, _I8[::1], _F8[::1]))
def vote_for_companions(
    layout: CompanionArrays, scratch_arrays: CompanionScratch, anchors: Ints, counts: Floats
) -> int:
    """Let several anchors vote for their companions; return the number of companions."""
    doublings = int(layout.constants[0])
    n_companions = 0
    for anchor in anchors:
        scratch_arrays.places[anchor] = -1
    for place in range(len(anchors)):
        anchor = anchors[place]
        anchor_discount = np.float64(layout.lean[anchor])
        for at in range(layout.offsets[anchor], layout.offsets[anchor + 1]):
            item = layout.companions[at]
            share = np.float64(layout.likeness[at]) * (
                np.float64(layout.lean[item]) / anchor_discount
            )
            for _ in range(doublings):
                share *= share
            if scratch_arrays.places[item] == 0:
                scratch_arrays.places[item] = 1
                scratch_arrays.touched[n_companions] = item
                n_companions += 1
            scratch_arrays.votes[item] += share * counts[place]
    for anchor in anchors:
        scratch_arrays.places[anchor] = 0
        scratch_arrays.votes[anchor] = 0.0
    return n_companions


@jit_compiled(_I8(_SCRATCH_TYPE, _I8, _I4[::1], _F4[::1]))
def take_best_items_and_clear_votes(
    scratch_arrays: CompanionScratch, n_companions: int, items: Items, scores: Scores
) -> int:
    """Write the best items to `items` and `scores`, clear the votes; return the count."""
    count = 0
    for place in range(n_companions):
        item = scratch_arrays.touched[place]
        score = np.float32(scratch_arrays.votes[item])
        scratch_arrays.votes[item] = 0.0
        scratch_arrays.places[item] = 0
        at = count
        while at > 0 and (
            scores[at - 1] < score or (scores[at - 1] == score and items[at - 1] > item)
        ):
            at -= 1
        if at == len(items) or score == 0.0:
            continue
        count = min(count + 1, len(items))
        for later in range(count - 1, at, -1):
            scores[later] = scores[later - 1]
            items[later] = items[later - 1]
        scores[at] = score
        items[at] = item
    return count


_vote, _take_best = (
    without_type_dispatch(vote_for_companions),
    without_type_dispatch(take_best_items_and_clear_votes),
)


def best_companions(
    layout: CompanionArrays, anchors: Ints, counts: Floats, limit: int
) -> tuple[Items, Scores]:
    """Return up to `limit` items that several anchors vote for, best first."""
    items, scores = np.empty(limit, dtype=np.int32), np.empty(limit, dtype=np.float32)
    scratch_arrays = thread_scratch(len(layout.lean))
    n_companions = _vote(layout, scratch_arrays, anchors, counts)
    count = _take_best(scratch_arrays, n_companions, items, scores)
    return items[:count], scores[:count]
