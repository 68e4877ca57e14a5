"""Compiled session kNN: the same sums in the same order as the reference implementation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from productrecs.engines.compiled_kernels import address, addresses, declare

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items
    from productrecs.engines.browse.session_knn import (
        SessionArrays,
        SessionQuery,
        WeightTables,
    )

_memory = threading.local()
_next_items = declare("next_items", "aaaaaiiiiiidi")


class SessionScratch(NamedTuple):
    """Scratch memory of one thread, reused by every query: 32 bytes an item."""

    slots: Ints  # [recent_sessions]
    similar: Floats  # [recent_sessions]
    matched: Ints  # [recent_sessions]
    sample: Floats  # [recent_sessions]
    begins: Ints  # [recent_sessions + 1]
    votes: Floats  # [n_items], all zero between queries
    touched: Items  # [n_items + 1]
    scored: Floats  # [n_items]
    best_items: Items  # [n_items]
    best_scores: Floats  # [n_items]


def thread_scratch(n_items: int, recent_sessions: int) -> tuple[SessionScratch, Any]:
    """Return this thread's scratch memory, grown if needed, and its addresses."""
    scratch: tuple[SessionScratch, Any] | None = getattr(_memory, "scratch", None)
    if (
        scratch is None
        or len(scratch[0].votes) < n_items
        or len(scratch[0].slots) < recent_sessions
    ):
        arrays = SessionScratch(
            slots=np.zeros(recent_sessions, dtype=np.int64),
            similar=np.zeros(recent_sessions),
            matched=np.zeros(recent_sessions, dtype=np.int64),
            sample=np.zeros(recent_sessions),
            begins=np.zeros(recent_sessions + 1, dtype=np.int64),
            votes=np.zeros(n_items),
            touched=np.zeros(n_items + 1, dtype=np.int32),
            scored=np.zeros(n_items),
            best_items=np.zeros(n_items, dtype=np.int32),
            best_scores=np.zeros(n_items),
        )
        _memory.scratch = scratch = arrays, addresses(*arrays)
    return scratch


def next_items_and_scores(
    layout: SessionArrays, weights: WeightTables, query: SessionQuery, limit: int
) -> tuple[Items, Floats]:
    """Return up to `limit` items that neighbouring sessions vote for, best first."""
    scratch, pointers = thread_scratch(len(layout.rarity), query.recent_sessions)
    count = _next_items(
        layout.pointers,
        weights.pointers,
        pointers,
        address(query.items),
        address(query.own_slots),
        len(query.items),
        len(query.own_slots),
        query.current,
        query.recent_sessions,
        query.neighbours,
        len(weights.distance) // 2,
        weights.seen,
        limit,
    )
    return scratch.best_items[:count].copy(), scratch.best_scores[:count].copy()
