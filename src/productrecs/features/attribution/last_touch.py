"""Last-touch attribution: finds the click or impression before a cart or a sale.

A touchpoint is a click on, or an impression of, one recommended product, or a click on a
search result. A pair is a shopper and a product as one 64-bit code. All functions work on
arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.engines.array_types_and_sorting import Bools, Ints

WINDOW_MS: Final = 30 * DAY_MS
"""The attribution window, inclusive (interface 6, rule 3)."""


_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def hash_shopper_item_pairs(shoppers: Ints, items: Ints) -> Ints:
    """Return one hash for each shopper (`core.ids.visitor_hash`) and product number.

    Two pairs of one shopper never share a hash; others collide with probability 2**-64.
    """
    hashed = shoppers.view(np.uint64) ^ (items.astype(np.uint64) * _SPREAD)
    hashed = (hashed ^ (hashed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = (hashed ^ (hashed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    codes: Ints = (hashed ^ (hashed >> np.uint64(31))).view(np.int64)
    return codes


@dataclass(frozen=True, slots=True)
class Touchpoints:
    """Touchpoints of one kind: parallel arrays, sorted by pair, then by `seqs`."""

    pairs: Ints
    seqs: Ints  # in the order of receipt
    times: Ints  # UTC ms

    def merged_after(self, earlier: "Touchpoints") -> "Touchpoints":
        """Return these after `earlier`; all of `earlier` must have been received before."""
        pairs = np.concatenate((earlier.pairs, self.pairs))
        order = np.argsort(pairs, kind="stable")
        return Touchpoints(
            pairs[order],
            np.concatenate((earlier.seqs, self.seqs))[order],
            np.concatenate((earlier.times, self.times))[order],
        )


def sort_touchpoints(pairs: Ints, seqs: Ints, times: Ints) -> Touchpoints:
    """Return touchpoints from columns in the order of receipt."""
    order = np.argsort(pairs, kind="stable")
    return Touchpoints(pairs[order], seqs[order], times[order])


NO_TOUCHPOINTS: Final = sort_touchpoints(*(np.zeros(0, np.int64) for _ in range(3)))


@dataclass(frozen=True, slots=True)
class TouchpointSegment:
    """The touchpoints of one log segment, and the first and last time among them."""

    clicks: Touchpoints
    impressions: Touchpoints
    searches: Touchpoints  # clicks on results of text searches
    earliest: int
    latest: int
    last_seq: int


def build_segment(
    clicks: Touchpoints, impressions: Touchpoints, searches: Touchpoints
) -> TouchpointSegment:
    """Return all kinds as one segment; an empty one covers no time."""
    kinds = (clicks, impressions, searches)
    times = np.concatenate([kind.times for kind in kinds])
    if not len(times):
        return TouchpointSegment(*kinds, earliest=1, latest=0, last_seq=0)
    seqs = np.concatenate([kind.seqs for kind in kinds])
    return TouchpointSegment(*kinds, int(times.min()), int(times.max()), int(seqs.max()))


EMPTY_SEGMENT: Final = build_segment(NO_TOUCHPOINTS, NO_TOUCHPOINTS, NO_TOUCHPOINTS)


@dataclass(frozen=True, slots=True)
class OutcomesToAttribute:
    """Carts and sales to attribute: parallel arrays, `seqs` in the order of receipt.

    A pair's code is meaningless where `has_shopper` is false: the shopper is unknown.
    """

    pairs: Ints
    seqs: Ints
    times: Ints
    has_shopper: Bools


@dataclass(frozen=True, slots=True)
class LastTouchpoints:
    """Each cart's or sale's touchpoint: its sequence number and time; -1 without one."""

    seqs: Ints
    times: Ints
    clicked: Bools

    def best_per_owner(self, owners: Ints) -> "LastTouchpoints":
        """Return the best touchpoint of each owner: the last click, else the last one.

        The owners are 0, 1, 2 ..., each once or several times.
        """
        order = np.lexsort((self.seqs, self.clicked, owners))
        last = order[np.flatnonzero(np.diff(owners[order], append=-1))]
        return LastTouchpoints(self.seqs[last], self.times[last], self.clicked[last])


def attribute_last_touch(
    segments: Sequence[TouchpointSegment], outcomes: OutcomesToAttribute
) -> LastTouchpoints:
    """Return the touchpoint of each cart or sale; `segments` are in the log's order.

    It is the last click received before the outcome, at most 30 days older and not newer;
    without a click, the last such impression.
    """
    last_touchpoints = _without_touchpoints(outcomes)
    _fill_missing_touchpoints(
        last_touchpoints, [segment.clicks for segment in segments], segments, outcomes
    )
    last_touchpoints.clicked[:] = last_touchpoints.seqs >= 0
    _fill_missing_touchpoints(
        last_touchpoints, [segment.impressions for segment in segments], segments, outcomes
    )
    return last_touchpoints


def last_search_clicks(
    segments: Sequence[TouchpointSegment], outcomes: OutcomesToAttribute
) -> LastTouchpoints:
    """Return the last click on a search result before each cart or sale, likewise."""
    last_clicks = _without_touchpoints(outcomes)
    _fill_missing_touchpoints(
        last_clicks, [segment.searches for segment in segments], segments, outcomes
    )
    return last_clicks


def _without_touchpoints(outcomes: OutcomesToAttribute) -> LastTouchpoints:
    count = len(outcomes.pairs)
    seqs, times = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    return LastTouchpoints(seqs, times, np.zeros(count, np.bool_))


def _fill_missing_touchpoints(
    last_touchpoints: LastTouchpoints,
    touchpoints_by_segment: Sequence[Touchpoints],
    segments: Sequence[TouchpointSegment],
    outcomes: OutcomesToAttribute,
) -> None:
    """Fill in the last touchpoint of one kind (per segment) where none is found yet."""
    for segment, touchpoints in zip(
        reversed(segments), reversed(touchpoints_by_segment), strict=True
    ):
        waiting = np.flatnonzero(outcomes.has_shopper & (last_touchpoints.seqs < 0))
        if not len(waiting):
            return
        subset = _select_outcomes(outcomes, waiting)
        if not _may_hold_touchpoints_of(segment, subset):
            continue
        indexes = _last_touchpoint_indexes(touchpoints, subset, segment.last_seq)
        is_found = indexes >= 0
        last_touchpoints.seqs[waiting[is_found]] = touchpoints.seqs[indexes[is_found]]
        last_touchpoints.times[waiting[is_found]] = touchpoints.times[indexes[is_found]]


def _select_outcomes(
    outcomes: OutcomesToAttribute, indexes: npt.NDArray[np.intp]
) -> OutcomesToAttribute:
    return OutcomesToAttribute(
        outcomes.pairs[indexes],
        outcomes.seqs[indexes],
        outcomes.times[indexes],
        outcomes.has_shopper[indexes],
    )


def _may_hold_touchpoints_of(
    segment: TouchpointSegment, outcomes: OutcomesToAttribute
) -> bool:
    return bool(
        segment.earliest <= outcomes.times.max()
        and segment.latest >= outcomes.times.min() - WINDOW_MS
    )


def _last_touchpoint_indexes(
    touchpoints: Touchpoints, outcomes: OutcomesToAttribute, last_seq: int
) -> Ints:
    """Return for each outcome the index of its last touchpoint in `touchpoints`, or -1."""
    if not len(touchpoints.pairs):
        return np.full(len(outcomes.pairs), -1, np.int64)
    low = np.searchsorted(touchpoints.pairs, outcomes.pairs, "left").astype(np.int64)
    end = np.searchsorted(touchpoints.pairs, outcomes.pairs, "right").astype(np.int64)
    inside = np.flatnonzero((outcomes.seqs <= last_seq) & (low < end))
    if len(inside):  # in the same segment: ignore touchpoints received later
        end[inside] = _lower_bounds(
            touchpoints.seqs, low[inside], end[inside], outcomes.seqs[inside]
        )
    indexes = end - 1
    pending = np.flatnonzero(indexes >= low)
    while len(
        pending
    ):  # clocks of machines differ: the last received may not be the newest
        ages = outcomes.times[pending] - touchpoints.times[indexes[pending]]
        wrong = pending[(ages < 0) | (ages > WINDOW_MS)]
        indexes[wrong] -= 1
        pending = wrong[indexes[wrong] >= low[wrong]]
    return np.where(indexes >= low, indexes, -1)


def _lower_bounds(values: Ints, low: Ints, high: Ints, bounds: Ints) -> Ints:
    """Return, for each range of ascending `values`, the end of those below its bound."""
    low, high = low.copy(), high.copy()
    while True:
        searching = np.flatnonzero(low < high)
        if not len(searching):
            return low
        middle = (low[searching] + high[searching]) // 2
        below = values[middle] < bounds[searching]
        low[searching[below]] = middle[below] + 1
        high[searching[~below]] = middle[~below]
