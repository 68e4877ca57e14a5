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
from productrecs.engines.browse.kernel_inputs import SessionArrays, read_only
from productrecs.engines.browse.options import SessionOptions
from productrecs.engines.browse.session_index import SessionIndex

if TYPE_CHECKING:
    import numpy.typing as npt

    from productrecs.engines.arrays import Floats, Ints, Items

_DAY_MS: Final = 86_400_000.0
_RETURNS: Final = 16  # maximum distance of a return, in visit positions
_SHRINKAGE_STEPS: Final = 500  # shrinkage: at this number, half of a share counts
_MAX_AGE: Final = 60.0  # in days_scale: limit of the decay, to keep freshness above 0


class Views(NamedTuple):
    """Each session's distinct items in the order of first view, session by session.

    `sessions` [E] are slots from 0, the oldest first; `items` [E]; `times`, `owners` [S].
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
    """Return the session index of parallel arrays, one entry an event, in any order.

    Shapes: `sessions`, `items`, `times` (UTC milliseconds), `owners` [n]. Sessions of fewer
    than two distinct items are ignored; longer ones are cut to their newest `longest`
    items. `owners` are 64-bit codes for `exclude_session`; without them each session is its
    own owner.

    Raises:
        ValueError: when an item number lies outside 0..n_items-1.
    """
    check_item_numbers(items, n_items)
    chosen = options or SessionOptions()
    views, returns = _views(sessions, items, times, sessions if owners is None else owners)
    views = _usable(views, chosen.longest)
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
    return SessionIndex(read_only(layout._asdict()), newest, chosen, returns=returns)


def _views(sessions: Ints, items: Items, times: Ints, owners: Ints) -> tuple[Views, Floats]:
    """Return the first views; sessions are numbered by their end.

    The second result is that of `_return_shares`.
    """
    codes, count = _numbered(sessions)
    ends = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(ends, codes, times)
    oldest_first = stable_argsort(ends)
    slots = np.empty(count, dtype=np.int64)
    slots[oldest_first] = np.arange(count)
    visitors = np.zeros(count, dtype=np.int64)
    visitors[codes] = owners
    slotted = slots[codes]
    order = grouped_argsort(slotted, times)
    ordered_slots, ordered_items = slotted[order], items[order]
    steps = np.ones(len(order), dtype=np.bool_)  # without steps that stay on an item
    steps[1:] = (np.diff(ordered_slots) != 0) | (np.diff(ordered_items) != 0)
    ordered_slots, ordered_items = ordered_slots[steps], ordered_items[steps]
    view_codes = ordered_slots * (int(items.max(initial=0)) + 1) + ordered_items
    by_item = stable_argsort(view_codes)
    is_repeated = np.zeros(len(view_codes), dtype=np.bool_)
    is_repeated[1:] = np.diff(view_codes[by_item]) == 0
    is_first = np.ones(len(view_codes), dtype=np.bool_)
    is_first[by_item[is_repeated]] = False
    views = Views(
        ordered_slots[is_first],
        ordered_items[is_first].astype(np.int32),
        ends[oldest_first],
        visitors[oldest_first],
    )
    back = np.diff(by_item, prepend=0)[is_repeated]
    return views, _return_shares(back, np.bincount(ordered_slots, minlength=count))


def _return_shares(back: Ints, lengths: Ints) -> Floats:
    """Return the share of steps back to the item 0, 1, 2, ... positions before the last.

    `back` is the distance of each return (2 is one position before the current), `lengths`
    the number of steps of each session. Shares of few steps are shrunk towards 0.
    """
    found = np.bincount(back, minlength=_RETURNS + 1)[1 : _RETURNS + 1]
    steps = np.arange(1, _RETURNS + 1)
    possible_steps = np.array(
        [np.maximum(lengths - step, 0).sum() for step in steps.tolist()]
    )
    shares: Floats = found / (possible_steps + _SHRINKAGE_STEPS)
    return shares


def _numbered(sessions: Ints) -> tuple[Ints, int]:
    """Return each event's session index, in the order of `sessions`, and their number."""
    if len(sessions) and sessions.min() >= 0 and sessions.max() < len(sessions):
        has_view = np.bincount(sessions) > 0
        return (np.cumsum(has_view) - 1)[sessions], int(has_view.sum())
    names, codes = np.unique(sessions, return_inverse=True)
    return codes, len(names)


def _usable(views: Views, longest: int) -> Views:
    """Return the newest `longest` items of each session with two or more."""
    lengths = np.bincount(views.sessions, minlength=len(views.times))
    from_end = np.cumsum(lengths)[views.sessions] - np.arange(len(views.sessions))
    is_long_enough = lengths >= 2  # noqa: PLR2004 - one item has no next item
    is_kept = is_long_enough[views.sessions] & (from_end <= longest)
    renumbered = np.cumsum(is_long_enough) - 1
    return Views(
        renumbered[views.sessions[is_kept]],
        views.items[is_kept],
        views.times[is_long_enough],
        views.owners[is_long_enough],
    )


def _postings(views: Views, df: Ints, max_postings: int) -> tuple[Ints, Items]:
    """Return each item's posting list: its newest `max_postings` sessions, newest first."""
    newest_first = slice(None, None, -1)
    items, slots = views.items[newest_first], views.sessions[newest_first]
    order = stable_argsort(items)
    owners, slots = items[order], slots[order]
    starts = np.cumsum(df) - df
    is_kept = np.arange(len(owners)) - starts[owners] < max_postings
    return csr_offsets(owners[is_kept], len(df)), slots[is_kept].astype(np.int32)


def _freshness(times: Ints, newest: int, days_scale: float) -> npt.NDArray[np.float32]:
    ages: Floats = (newest - times) / _DAY_MS
    freshness: Floats = np.exp(-np.minimum(ages / days_scale, _MAX_AGE))
    return freshness.astype(np.float32)


def _rarity(
    df: npt.NDArray[Any], n_sessions: int, weight: float
) -> npt.NDArray[np.float32]:
    share = max(n_sessions, 1) / np.maximum(df, 1)
    rarity: Floats = 1.0 + weight * np.log(share)
    return rarity.astype(np.float32)
