"""Reach: distinct shoppers who saw or clicked lists, by day, widget and source."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np

from productrecs.engines.hyperloglog import NOBODY, merge, sketch
from productrecs.features.insights.attribution.local_days import QUARTER_MS, LocalDays
from productrecs.features.insights.attribution.repository import (
    AttributionRepository,
    ReachKey,
    TouchpointColumns,
)
from productrecs.features.insights.attribution.touchpoint_index import ShopperCodes
from productrecs.records.events.event import EventKind

_CLICK: Final = int(EventKind.REC_CLICK)

ReachSketches = dict[ReachKey, tuple[bytes, bytes]]


def updated_reach(
    repository: AttributionRepository,
    touches: TouchpointColumns,
    codes: ShopperCodes,
    days: LocalDays,
) -> ReachSketches:
    """Return the crowds, shown and clicked, that `touches` grow, as they are then."""
    fresh = _fresh(touches, codes, days)
    stored = repository.crowds(fresh)
    grown: ReachSketches = {}
    for place, (shown, clicked) in fresh.items():
        before = stored.get(place, (NOBODY, NOBODY))
        after = (merge((before[0], shown)), merge((before[1], clicked)))
        if after != before:
            grown[place] = after
    return grown


def _fresh(
    touches: TouchpointColumns, codes: ShopperCodes, days: LocalDays
) -> Mapping[ReachKey, tuple[bytes, bytes]]:
    if not touches.seqs:
        return {}
    quarters = (np.array(touches.times, np.int64) // QUARTER_MS).tolist()
    places: dict[tuple[int, str | None, str | None], int] = {}
    numbers = [
        places.setdefault(place, len(places))
        for place in zip(quarters, touches.widgets, touches.sources, strict=True)
    ]
    shoppers = codes.of(touches.shoppers)
    clicked = np.array(touches.kinds, np.int64) == _CLICK
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(places)))[:-1]
    parts: dict[ReachKey, list[tuple[bytes, bytes]]] = defaultdict(list)
    for (quarter, widget, source), rows in zip(places, np.split(order, ends), strict=True):
        who, clicks = shoppers[rows], clicked[rows]
        key = (days.of(quarter * QUARTER_MS), widget or "", source or "")
        parts[key].append((sketch(who[~clicks]), sketch(who[clicks])))
    return {
        key: (merge(one[0] for one in both), merge(one[1] for one in both))
        for key, both in parts.items()
    }
