"""Session kNN: finds the sessions most similar to a visit, and scores their items."""

from __future__ import annotations

import threading
from dataclasses import astuple, dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from productrecs.engines.compiled_kernels import address, addresses, declare

if TYPE_CHECKING:
    from collections.abc import Iterable

    from productrecs.engines.array_types_and_sorting import (
        Arrays,
        Floats,
        Ints,
        Items,
        Scores,
    )

_memory = threading.local()
_next_items = declare("next_items", "aaaaaiiiiiidi")


class _SessionArrays(NamedTuple):
    """S sessions, numbered by age from the oldest (slot 0) to the newest.

    Items of slot s in the order of their first view: items[offsets[s]:offsets[s + 1]].
    Newest sessions with item i, newest first:
    postings[posting_offsets[i]:posting_offsets[i + 1]].
    """

    offsets: Ints  # [S + 1]
    items: Items  # [E]
    freshness: Scores  # [S] in (0, 1]: exp(-age / days_scale), age relative to the newest
    owners: Ints  # [S] owner code of the session
    posting_offsets: Ints  # [n_items + 1]
    postings: Items  # [P]
    rarity: Scores  # [n_items]: 1 + rarity * ln(S / df)


class SessionArrays(_SessionArrays):
    """The arrays, as the kernel takes them."""

    @cached_property
    def pointers(self) -> Any:
        """The addresses of the arrays."""
        return addresses(*self)


class _SessionWeightTables(NamedTuple):
    """Decay weights of `SessionKnnOptions`, as tables."""

    match: Floats  # [prefix] by position in the visit, newest first
    vote: Floats  # [prefix] by visit position of the newest matching item
    distance: Floats  # [2 * longest + 1] by distance to the match in the neighbour
    returns: Floats  # [prefix] share of all votes, by visit position: see `SessionIndex`
    seen: float  # factor of the neighbours' votes for the visit's earlier items


class SessionWeightTables(_SessionWeightTables):
    """The tables, as the kernel takes them."""

    @cached_property
    def pointers(self) -> Any:
        """The addresses of the tables."""
        return addresses(self.match, self.vote, self.distance, self.returns)


class SessionQuery(NamedTuple):
    """A query: the visit's newest distinct known items, newest first, and limits."""

    items: Items
    current: int  # never returned
    own_slots: Ints  # slots to leave out, ascending
    recent_sessions: int
    neighbours: int


class MatchingSessions(NamedTuple):
    """Sessions with items of the visit, newest first: parallel arrays."""

    slots: Ints
    similarities: Floats
    matches: Ints  # newest matching visit position


def weight_tables(options: SessionKnnOptions, returns: Floats) -> SessionWeightTables:
    """Return the tables of `options`; `returns` is cut or padded to `prefix`."""
    positions = np.arange(options.prefix)
    offsets = np.arange(-options.longest, options.longest + 1)
    by_distance = 1.0 / (1.0 + np.abs(offsets) / options.distance_scale)
    by_position = np.zeros(options.prefix)
    by_position[: len(returns)] = options.returns * returns[: options.prefix]
    return SessionWeightTables(
        match=np.exp(-positions / options.match_scale),
        vote=np.exp(-positions / options.vote_scale),
        distance=np.where(offsets < 0, options.backward, 1.0) * by_distance,
        returns=by_position,
        seen=options.seen,
    )


def read_only_layout(arrays: Arrays) -> SessionArrays:
    """Return the arrays in one contiguous read-only layout, as the kernel reads it.

    Raises:
        KeyError: when one is missing.
    """
    views = [
        np.ascontiguousarray(arrays[name], kind).view()
        for name, kind in zip(SessionArrays._fields, _DTYPES, strict=True)
    ]
    for view in views:
        view.flags.writeable = False
    return SessionArrays(*views)


_I4, _I8, _F4 = np.int32, np.int64, np.float32
_DTYPES: Final = (_I8, _I4, _F4, _I8, _I8, _I4, _F4)  # of `SessionArrays`


class InteractionType(IntEnum):
    """Interaction with an item of a visit, in ascending strength."""

    VIEWED = 0
    CLICKED = 1
    CARTED = 2
    BOUGHT = 3


@dataclass(frozen=True, slots=True)
class SessionKnnOptions:
    """Hyperparameters, tuned on the last days of two training sets.

    Every other `..._scale` is the distance (in visit positions, newest first, or in days)
    at which a weight has decayed to 1/e. In a neighbouring session a vote decays more
    slowly: 1 / (1 + distance / distance_scale).
    Source: STAN and VSTAN, requirements/algorithms.md 1.1.
    """

    prefix: int = 9  # newest distinct items of the visit to compare
    recent_sessions: int = 1000  # newest sessions that share one of these items
    neighbours: int = 500  # most similar of these sessions
    sessions_per_item: int = 2500  # maximum length of a posting list
    longest: int = 200  # newest distinct items of a session
    match_scale: float = 3.62
    vote_scale: float = 3.62
    distance_scale: float = 0.5  # distance at which a vote has decayed to a half
    days_scale: float = 50.0
    rarity: float = 1.0  # boost of rare items: 1 + rarity * ln(S / df)
    enough: int = 20  # minimum number of items; with fewer, their next items are added
    backward: float = 1.0  # vote factor of items before the match in a neighbour
    clicked: float = 1.0  # weight of an item clicked in a search or a list,
    carted: float = 1.0  # put into the cart,
    bought: float = 1.0  # or bought; a view counts 1
    returns: float = 0.35  # weight of returns to items of the visit
    seen: float = 0.25  # factor of the neighbours' votes for items of the visit

    @property
    def weight_by_interaction(self) -> tuple[float, ...]:
        """Item weights by `InteractionType`."""
        return (1.0, self.clicked, self.carted, self.bought)

    def to_array(self) -> Floats:
        """Return the values in field order."""
        return np.array(astuple(self), dtype=np.float64)

    @classmethod
    def from_array(cls, constants: Iterable[float]) -> Self:
        """Return the options of `constants`; older releases have fewer values.

        Raises:
            ValueError: when there are too many.
        """
        numbers = list(constants)
        fields = list(cls.__dataclass_fields__.values())[: len(numbers)]
        values: dict[str, Any] = {
            field.name: int(value) if field.type == "int" else float(value)
            for field, value in zip(fields, numbers, strict=True)
        }
        return cls(**values)


def nearest_sessions(
    layout: SessionArrays, weights: SessionWeightTables, query: SessionQuery
) -> MatchingSessions:
    """Return the most similar of the recent sessions."""
    recent = _recent_matching_sessions(layout, weights, query)
    order = np.lexsort((-recent.slots, -recent.similarities))[: query.neighbours]
    by_slot = np.sort(order)  # back to newest first
    slots, similarities, matches = recent
    return MatchingSessions(slots[by_slot], similarities[by_slot], matches[by_slot])


def _recent_matching_sessions(
    layout: SessionArrays, weights: SessionWeightTables, query: SessionQuery
) -> MatchingSessions:
    """Return the newest sessions that share an item with the visit."""
    posting_lists = [
        layout.postings[layout.posting_offsets[item] : layout.posting_offsets[item + 1]]
        for item in query.items
    ]
    all_slots = np.concatenate([np.zeros(0, np.int32), *posting_lists])
    visit_positions = np.repeat(
        np.arange(len(posting_lists)), [len(posting_list) for posting_list in posting_lists]
    )
    slots, newest_index, item_index = np.unique(
        all_slots, return_index=True, return_inverse=True
    )
    sums = np.bincount(
        item_index, weights=weights.match[visit_positions], minlength=len(slots)
    )
    matched = visit_positions[newest_index]
    if len(query.own_slots):
        is_other = ~np.isin(slots, query.own_slots)
        slots, sums, matched = slots[is_other], sums[is_other], matched[is_other]
    backwards = slice(None, -query.recent_sessions - 1, -1)
    slots, sums, matched = slots[backwards], sums[backwards], matched[backwards]
    return MatchingSessions(slots.astype(np.int64), sums * layout.freshness[slots], matched)


class SessionScratch(NamedTuple):
    """Scratch memory of one thread, reused by every query: 44 bytes an item."""

    slots: Ints  # [recent_sessions]
    similar: Floats  # [recent_sessions]
    matched: Ints  # [recent_sessions]
    sample: Floats  # [recent_sessions]
    begins: Ints  # [recent_sessions + 1]
    votes: Floats  # [n_items], all zero between queries
    voters: Items  # [n_items], all zero between queries
    touched: Items  # [n_items + 1]
    scored: Floats  # [n_items]
    best_items: Items  # [n_items]
    best_scores: Floats  # [n_items]
    best_support: Items  # [n_items]


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
            voters=np.zeros(n_items, dtype=np.int32),
            touched=np.zeros(n_items + 1, dtype=np.int32),
            scored=np.zeros(n_items),
            best_items=np.zeros(n_items, dtype=np.int32),
            best_scores=np.zeros(n_items),
            best_support=np.zeros(n_items, dtype=np.int32),
        )
        _memory.scratch = scratch = arrays, addresses(*arrays)
    return scratch


def next_items_scores_and_support(
    layout: SessionArrays, weights: SessionWeightTables, query: SessionQuery, limit: int
) -> tuple[Items, Floats, Items]:
    """Return up to `limit` items that neighbouring sessions vote for, best first.

    The last array is the number of neighbours that hold each item. An earlier item of the
    visit has the number of the item above it, or of all neighbours at the top.
    """
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
    return (
        scratch.best_items[:count].copy(),
        scratch.best_scores[:count].copy(),
        scratch.best_support[:count].copy(),
    )
