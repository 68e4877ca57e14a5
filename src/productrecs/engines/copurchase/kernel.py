"""Compiled co-purchase lookup: the same sums in the same order as the reference."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from productrecs.engines.compiled_kernels import address, addresses, declare

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import (
        Floats,
        Ints,
        Items,
        Scores,
    )
    from productrecs.engines.copurchase.companion_lookup import CompanionArrays

_memory = threading.local()
_best_companions = declare("best_companions", "aaaaii")


class CompanionScratch(NamedTuple):
    """Scratch memory of one thread, reused by every query: 24 bytes an item."""

    places: Items  # [n_items] 1: an item with votes; -1: an anchor; zero between queries
    votes: Floats  # [n_items], all zero between queries
    touched: Items  # [n_items]
    best_items: Items  # [n_items]
    best_scores: Scores  # [n_items]


def thread_scratch(n_items: int) -> tuple[CompanionScratch, Any]:
    """Return this thread's scratch memory, grown if needed, and its addresses."""
    scratch: tuple[CompanionScratch, Any] | None = getattr(_memory, "scratch", None)
    if scratch is None or len(scratch[0].votes) < n_items:
        arrays = CompanionScratch(
            places=np.zeros(n_items, dtype=np.int32),
            votes=np.zeros(n_items),
            touched=np.zeros(n_items, dtype=np.int32),
            best_items=np.zeros(n_items, dtype=np.int32),
            best_scores=np.zeros(n_items, dtype=np.float32),
        )
        _memory.scratch = scratch = arrays, addresses(*arrays)
    return scratch


def best_companions(
    layout: CompanionArrays, anchors: Ints, counts: Floats, limit: int
) -> tuple[Items, Scores]:
    """Return up to `limit` items that several anchors vote for, best first."""
    scratch, pointers = thread_scratch(len(layout.lean))
    count = _best_companions(
        layout.pointers, pointers, address(anchors), address(counts), len(anchors), limit
    )
    return scratch.best_items[:count].copy(), scratch.best_scores[:count].copy()
