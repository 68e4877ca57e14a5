"""Arrays of the session index, as the kernel and the reference read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.arrays import (
        Arrays,
        Floats,
        Ints,
        Items,
        Scores,
    )
    from productrecs.engines.browse.options import SessionOptions


class SessionArrays(NamedTuple):
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


class WeightTables(NamedTuple):
    """Decay weights of `SessionOptions`, as tables."""

    match: Floats  # [prefix] by position in the visit, newest first
    vote: Floats  # [prefix] by visit position of the newest matching item
    distance: Floats  # [2 * longest + 1] by distance to the match in the neighbour
    returns: Floats  # [prefix] share of all votes, by visit position: see `SessionIndex`


class SessionQuery(NamedTuple):
    """A query: the visit's newest distinct known items, newest first, and limits."""

    items: Items
    current: int  # never returned
    own_slots: Ints  # slots to leave out, ascending
    recent_sessions: int
    neighbours: int


def weight_tables(options: SessionOptions, returns: Floats) -> WeightTables:
    """Return the tables of `options`; `returns` is cut or padded to `prefix`."""
    places = np.arange(options.prefix)
    offsets = np.arange(-options.longest, options.longest + 1)
    by_distance = 1.0 / (1.0 + np.abs(offsets) / options.distance_scale)
    by_position = np.zeros(options.prefix)
    by_position[: len(returns)] = options.returns * returns[: options.prefix]
    return WeightTables(
        match=np.exp(-places / options.match_scale),
        vote=np.exp(-places / options.vote_scale),
        distance=np.where(offsets < 0, options.backward, 1.0) * by_distance,
        returns=by_position,
    )


def read_only(arrays: Arrays) -> SessionArrays:
    """Return the arrays in one contiguous read-only layout, as the kernel reads it.

    Raises:
        KeyError: when one is missing.
    """
    views = [
        np.ascontiguousarray(arrays[name], kind).view()
        for name, kind in zip(SessionArrays._fields, _KINDS, strict=True)
    ]
    for view in views:
        view.flags.writeable = False
    return SessionArrays(*views)


_I4, _I8, _F4 = np.int32, np.int64, np.float32
_KINDS: Final = (_I8, _I4, _F4, _I8, _I8, _I4, _F4)  # of `SessionArrays`
