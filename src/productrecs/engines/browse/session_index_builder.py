"""Session index builder: turns events into the session index of the kNN engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import (
    check_item_numbers,
    csr_offsets,
    grouped_argsort,
    stable_argsort,
)
from productrecs.engines.browse.index_arrays import SessionArrays, sealed
from productrecs.engines.browse.options import SessionOptions
from productrecs.engines.browse.session_index import SessionIndex

if TYPE_CHECKING:
    import numpy.typing as npt

    from productrecs.engines.arrays import Floats, Ints, Items

_DAY_MS: Final = 86_400_000.0
_LONG_AGO: Final = 60.0  # in days_scale: what is older fades no further, so stays above 0


class Views(NamedTuple):
    """Each distinct item of each session at its first view; session by session, in order.

    `sessions` [E] are slots 0.., the oldest first; `items` [E]; `times` and `owners` [S].
    """

    sessions: Ints
    items: Items
    times: Ints
    owners: Ints


def fit_sessions(
    sessions: Ints,
    items: Items,
    times: Ints,
    n_items: int,
    options: SessionOptions | None = None,
    owners: Ints | None = None,
) -> SessionIndex:
    """Return the index of sessions from parallel arrays, one entry an event, in any order.

    Shapes: `sessions`, `items`, `times` (UTC milliseconds), `owners` [n]. A session of
    fewer than two distinct items teaches nothing; of a longer one than `longest` the newest
    are kept. `owners` tells whose session it is, in any 64-bit code the caller finds again
    for `exclude_session`; without it a session owns itself.

    Raises:
        ValueError: when an item number lies outside 0..n_items-1.
    """
    check_item_numbers(items, n_items)
    chosen = options or SessionOptions()
    views = _views(sessions, items, times, sessions if owners is None else owners)
    views = _worthwhile(views, chosen.longest)
    newest = int(views.times.max(initial=0))
    df = np.bincount(views.items, minlength=n_items)
    posting_offsets, postings = _postings(views, df, chosen.sessions_per_item)
    layout = SessionArrays(
        offsets=csr_offsets(views.sessions, len(views.times)),
        items=views.items,
        freshness=_freshness(views.times, newest, chosen.days_scale),
        owners=views.owners,
        posting_offsets=posting_offsets,
        postings=postings,
        rarity=_rarity(df, len(views.times), chosen.rarity),
    )
    return SessionIndex(sealed(layout._asdict()), newest, chosen)


def _views(sessions: Ints, items: Items, times: Ints, owners: Ints) -> Views:
    """Return the first views, sessions numbered from the one that ended first."""
    codes, count = _numbered(sessions)
    ends = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(ends, codes, times)
    oldest_first = stable_argsort(ends)
    slots = np.empty(count, dtype=np.int64)
    slots[oldest_first] = np.arange(count)
    whose = np.zeros(count, dtype=np.int64)
    whose[codes] = owners
    slotted = slots[codes]
    order = grouped_argsort(slotted, times)
    ordered_slots, ordered_items = slotted[order], items[order]
    firsts = _firsts(ordered_slots * (int(items.max(initial=0)) + 1) + ordered_items)
    return Views(
        ordered_slots[firsts],
        ordered_items[firsts].astype(np.int32),
        ends[oldest_first],
        whose[oldest_first],
    )


def _numbered(sessions: Ints) -> tuple[Ints, int]:
    """Return each event's session as a number from 0, rising with it, and how many."""
    if len(sessions) and sessions.min() >= 0 and sessions.max() < len(sessions):
        there = np.bincount(sessions) > 0
        return (np.cumsum(there) - 1)[sessions], int(there.sum())
    names, codes = np.unique(sessions, return_inverse=True)
    return codes, len(names)


def _firsts(seen: Ints) -> npt.NDArray[np.bool_]:
    """Return where each number stands for the first time; shape of `seen`."""
    order = stable_argsort(seen)
    rising = seen[order]
    first = np.ones(len(seen), dtype=np.bool_)
    first[order[1:]] = rising[1:] != rising[:-1]
    return first


def _worthwhile(views: Views, longest: int) -> Views:
    """Return the newest `longest` items of each session of two and more."""
    lengths = np.bincount(views.sessions, minlength=len(views.times))
    from_end = np.cumsum(lengths)[views.sessions] - np.arange(len(views.sessions))
    enough = lengths >= 2  # noqa: PLR2004 - an item and the next
    keep = enough[views.sessions] & (from_end <= longest)
    renumbered = np.cumsum(enough) - 1
    return Views(
        renumbered[views.sessions[keep]],
        views.items[keep],
        views.times[enough],
        views.owners[enough],
    )


def _postings(views: Views, df: Ints, most: int) -> tuple[Ints, Items]:
    """Return, for each item, the newest `most` sessions with it, newest first."""
    newest_first = slice(None, None, -1)
    items, slots = views.items[newest_first], views.sessions[newest_first]
    order = stable_argsort(items)
    owners, slots = items[order], slots[order]
    begins = np.cumsum(df) - df
    keep = np.arange(len(owners)) - begins[owners] < most
    return csr_offsets(owners[keep], len(df)), slots[keep].astype(np.int32)


def _freshness(times: Ints, newest: int, days_scale: float) -> npt.NDArray[np.float32]:
    ages: Floats = (newest - times) / _DAY_MS
    fading: Floats = np.exp(-np.minimum(ages / days_scale, _LONG_AGO))
    return fading.astype(np.float32)


def _rarity(
    df: npt.NDArray[Any], n_sessions: int, weight: float
) -> npt.NDArray[np.float32]:
    share = max(n_sessions, 1) / np.maximum(df, 1)
    lifted: Floats = 1.0 + weight * np.log(share)
    return lifted.astype(np.float32)
