"""Companion lookup: the items that several anchors vote for."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from productrecs.engines.compiled_kernels import address, addresses, declare

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import (
        Floats,
        Ints,
        Items,
        Scores,
    )

_memory = threading.local()
_best_companions = declare("best_companions", "aaaaii")


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
ARRAY_DTYPES: Final = (_I8, _I4, _F4, _F4, _F4, _F8)  # of `CompanionArrays`


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
    layout: CompanionArrays, anchors: Ints, anchor_weights: Floats, limit: int
) -> tuple[Items, Scores]:
    """Return up to `limit` items that several anchors vote for, best first."""
    scratch, pointers = thread_scratch(len(layout.lean))
    count = _best_companions(
        layout.pointers,
        pointers,
        address(anchors),
        address(anchor_weights),
        len(anchors),
        limit,
    )
    return scratch.best_items[:count].copy(), scratch.best_scores[:count].copy()
