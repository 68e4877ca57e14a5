"""Sessionization: past sessions from events, partition by partition of the shoppers.

A partition has all events of its shoppers. Joined partitions equal the fit of all events at
once, bit for bit: sessions are ordered by their end, then by their owner.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    Allocate,
    Bools,
    Floats,
    Ints,
    Items,
    allocate_in_memory,
    check_item_numbers,
    grouped_argsort,
    ranks_within_runs,
    run_ranges,
    stable_argsort,
)
from productrecs.engines.browse.session_index import SessionIndex
from productrecs.engines.browse.session_knn import (
    SessionArrays,
    SessionKnnOptions,
    read_only_layout,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

_DAY_MS: Final = 86_400_000.0
_MAX_RETURN_DISTANCE: Final = 16  # maximum distance of a return, in visit positions
_SHRINKAGE_STEPS: Final = 500  # shrinkage: at this number, half of a share counts
_MAX_AGE: Final = 60.0  # in days_scale: limit of the decay, to keep freshness above 0
_BLOCK_VIEWS: Final = 4_000_000  # views in memory at once: about 200 MB
_BLOCK_SESSIONS: Final = 500_000  # sessions that are merged at once
_SAMPLE_STEP: Final = 64  # every such session's end is sampled for the borders of blocks

HALF_AN_HOUR_MS: Final = 30 * 60 * 1000


class PartitionSessions(NamedTuple):
    """Sessions of two or more distinct items, by their end; ties by session code.

    Items of session s in the order of their first view: items[offsets[s]:offsets[s + 1]].
    `returns` counts the returns to the item 0, 1, 2, ... positions before the last, and
    `steps` the steps that could have been one.
    """

    ends: Ints  # [S] UTC milliseconds
    owners: Ints  # [S]
    offsets: Ints  # [S + 1]
    items: Items  # [E]
    returns: Ints
    steps: Ints

    def copy_to(self, allocate: Allocate) -> PartitionSessions:
        """Return a copy in arrays of `allocate`."""
        return PartitionSessions(*(_copy_to(array, allocate) for array in self))


def _copy_to(array: npt.NDArray[Any], allocate: Allocate) -> npt.NDArray[Any]:
    copied = allocate(len(array), array.dtype)
    copied[:] = array
    return copied


def fit_sessions(
    sessions: Ints,
    items: Items,
    times: Ints,
    n_items: int,
    options: SessionKnnOptions | None = None,
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
    options = options or SessionKnnOptions()
    order = grouped_argsort(sessions, times)
    codes = sessions[order]
    is_start = np.ones(len(codes), dtype=np.bool_)
    is_start[1:] = codes[1:] != codes[:-1]
    session_owners = codes if owners is None else owners[order]
    part = _build_partition_sessions(
        is_start, items[order], times[order], session_owners, options.longest
    )
    return build_session_index([part], n_items, options)


def gather_visits(
    visitors: Ints, items: Items, times: Ints, longest: int
) -> PartitionSessions:
    """Return the visits of shoppers; they own them.

    Equals the sessions of `sessionize`.
    """
    order = grouped_argsort(visitors, times)
    owners, visit_times = visitors[order], times[order]
    is_start = _visit_starts(owners, visit_times)
    return _build_partition_sessions(is_start, items[order], visit_times, owners, longest)


def build_session_index(
    parts: Sequence[PartitionSessions],
    n_items: int,
    options: SessionKnnOptions,
    allocate: Allocate = allocate_in_memory,
) -> SessionIndex:
    """Return the session index of the sessions of all parts.

    With `allocate` in mapped files, memory does not grow with the number of views.
    """
    sessions = parts[0] if len(parts) == 1 else _merge_parts(parts, allocate)
    newest = int(sessions.ends.max(initial=0))
    df = np.zeros(n_items, dtype=np.int64)
    for begin, end in run_ranges(sessions.offsets, _BLOCK_VIEWS):
        views = sessions.items[sessions.offsets[begin] : sessions.offsets[end]]
        df += np.bincount(views, minlength=n_items)
    posting_offsets, postings = _posting_lists(
        sessions, df, options.sessions_per_item, allocate
    )
    layout = SessionArrays(
        offsets=sessions.offsets,
        items=sessions.items,
        freshness=_freshness(sessions.ends, newest, options.days_scale),
        owners=sessions.owners,
        posting_offsets=posting_offsets,
        postings=postings,
        rarity=_rarity(df, len(sessions.ends), options.rarity),
    )
    # Shares of few steps are shrunk towards 0.
    returns = sessions.returns / (sessions.steps + _SHRINKAGE_STEPS)
    return SessionIndex(
        read_only_layout(layout._asdict()), newest, options, returns=returns
    )


def _build_partition_sessions(
    is_start: Bools, items: Items, times: Ints, owners: Ints, longest: int
) -> PartitionSessions:
    """Return the sessions of events that are sorted by session, then by time.

    Repeated items and sessions of one item are left out; a session has its newest
    `longest` items. Returns to an item are counted by their distance.
    """
    starts = np.flatnonzero(is_start)
    count = len(starts)
    ends = times[np.append(starts[1:], len(times))[:count] - 1]
    numbers = np.cumsum(is_start) - 1
    is_step = is_start.copy()  # without steps that stay on an item
    is_step[1:] |= items[1:] != items[:-1]
    numbers, items = numbers[is_step], items[is_step]
    view_codes = numbers * (int(items.max(initial=0)) + 1) + items
    by_item = stable_argsort(view_codes)
    is_repeated = np.zeros(len(view_codes), dtype=np.bool_)
    is_repeated[1:] = np.diff(view_codes[by_item]) == 0
    return_distances = np.diff(by_item, prepend=0)[
        is_repeated
    ]  # 2 is one position before the last
    steps = np.bincount(numbers, minlength=count)
    is_first = np.ones(len(view_codes), dtype=np.bool_)
    is_first[by_item[is_repeated]] = False
    numbers, items = numbers[is_first], items[is_first].astype(np.int32)
    lengths = np.bincount(numbers, minlength=count)
    is_usable = lengths >= 2  # noqa: PLR2004 - one item has no next item
    from_end = np.cumsum(lengths)[numbers] - np.arange(len(numbers))
    is_kept = is_usable[numbers] & (from_end <= longest)
    offsets = _offsets_of_lengths(np.minimum(lengths[is_usable], longest))
    by_end = stable_argsort(ends[is_usable])
    return PartitionSessions(
        ends[is_usable][by_end],
        owners[starts][is_usable][by_end],
        *_select_runs(offsets, items[is_kept], by_end),
        np.bincount(return_distances, minlength=_MAX_RETURN_DISTANCE + 1)[
            1 : _MAX_RETURN_DISTANCE + 1
        ],
        np.array(
            [
                np.maximum(steps - distance, 0).sum()
                for distance in range(1, _MAX_RETURN_DISTANCE + 1)
            ]
        ),
    )


def _merge_parts(
    parts: Sequence[PartitionSessions], allocate: Allocate
) -> PartitionSessions:
    """Return the sessions of all parts, by end, then by owner."""
    n_sessions = sum(len(part.ends) for part in parts)
    merged = PartitionSessions(
        allocate(n_sessions, np.int64),
        allocate(n_sessions, np.int64),
        allocate(n_sessions + 1, np.int64),
        allocate(sum(len(part.items) for part in parts), np.int32),
        np.sum([part.returns for part in parts], axis=0),
        np.sum([part.steps for part in parts], axis=0),
    )
    merged.offsets[0] = 0
    session, view = 0, 0
    for block in _blocks_by_end_time(parts):
        order = np.lexsort((block.owners, block.ends))
        offsets, items = _select_runs(block.offsets, block.items, order)
        rows = slice(session, session + len(order))
        merged.ends[rows], merged.owners[rows] = block.ends[order], block.owners[order]
        merged.offsets[session + 1 : session + len(offsets)] = view + offsets[1:]
        merged.items[view : view + len(items)] = items
        session, view = session + len(order), view + len(items)
    return merged


def _blocks_by_end_time(parts: Sequence[PartitionSessions]) -> Iterator[PartitionSessions]:
    """Yield the sessions of all parts, block by block of their ends; unsorted in a block.

    Sessions of one end are in one block.
    """
    sample = np.sort(np.concatenate([part.ends[::_SAMPLE_STEP] for part in parts]))
    borders = np.unique(
        sample[_BLOCK_SESSIONS // _SAMPLE_STEP :: _BLOCK_SESSIONS // _SAMPLE_STEP]
    )
    rows = [
        [0, *np.searchsorted(part.ends, borders).tolist(), len(part.ends)] for part in parts
    ]
    for ranges in zip(*(pairwise(part_borders) for part_borders in rows), strict=True):
        part_ranges = list(zip(parts, ranges, strict=True))
        lengths = [
            np.diff(part.offsets[low : high + 1]) for part, (low, high) in part_ranges
        ]
        views = [
            part.items[part.offsets[low] : part.offsets[high]]
            for part, (low, high) in part_ranges
        ]
        yield PartitionSessions(
            np.concatenate([part.ends[low:high] for part, (low, high) in part_ranges]),
            np.concatenate([part.owners[low:high] for part, (low, high) in part_ranges]),
            _offsets_of_lengths(np.concatenate(lengths)),
            np.concatenate(views),
            parts[0].returns,
            parts[0].steps,
        )


def _offsets_of_lengths(lengths: Ints) -> Ints:
    """Return the start of each run of these lengths, and the end of the last."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _select_runs(offsets: Ints, items: Items, runs: Ints) -> tuple[Ints, Items]:
    """Return the offsets and the items of the runs `runs`, in that order."""
    lengths = np.diff(offsets)[runs]
    new_offsets = _offsets_of_lengths(lengths)
    index = np.arange(int(new_offsets[-1]))
    index += np.repeat(offsets[runs] - new_offsets[:-1], lengths)
    return new_offsets, items[index]


def _posting_lists(
    sessions: PartitionSessions, df: Ints, max_postings: int, allocate: Allocate
) -> tuple[Ints, Items]:
    """Return each item's posting list: its newest `max_postings` sessions, newest first."""
    offsets, n_items = sessions.offsets, len(df)
    posting_offsets = _offsets_of_lengths(np.minimum(df, max_postings))
    postings: Items = allocate(int(posting_offsets[-1]), np.int32)
    posting_counts = np.zeros(n_items, dtype=np.int64)
    for begin, end in reversed(list(run_ranges(offsets, _BLOCK_VIEWS))):
        newest_first = slice(None, None, -1)
        items = sessions.items[offsets[begin] : offsets[end]][newest_first]
        lengths = np.diff(offsets[begin : end + 1])
        slots = np.repeat(np.arange(begin, end, dtype=np.int32), lengths)[newest_first]
        order = stable_argsort(items)
        owners = items[order]
        ranks = posting_counts[owners] + ranks_within_runs(owners)
        is_kept = ranks < max_postings
        posting_index = posting_offsets[owners[is_kept]] + ranks[is_kept]
        postings[posting_index] = slots[order[is_kept]]
        posting_counts += np.bincount(owners, minlength=n_items)
    return posting_offsets, postings


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


def sessionize(identities: Ints, times: Ints) -> Ints:
    """Return each event's visit: codes from 0 by identity, then by time; shapes [n].

    A visit ends when the identity's next event comes more than half an hour later. Events
    may have any order; `times` are milliseconds.
    """
    order = grouped_argsort(identities, times)
    codes = np.empty(len(order), dtype=np.int64)
    is_start = _visit_starts(identities[order], times[order])
    is_start[:1] = False
    codes[order] = np.cumsum(is_start)
    return codes


def _visit_starts(visitors: Ints, times: Ints) -> Bools:
    """Return which events start a visit; they are sorted by visitor, then by time."""
    is_start = np.ones(len(visitors), dtype=np.bool_)
    is_start[1:] = (visitors[1:] != visitors[:-1]) | (np.diff(times) > HALF_AN_HOUR_MS)
    return is_start
