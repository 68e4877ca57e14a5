"""Top items of a category: its members, the most popular first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.arrays import Ints, Items


def category_top_items(members: Items | Ints, ranks: Items, limit: int) -> Items:
    """Return up to `limit` of the distinct item numbers `members`, the most popular first.

    `ranks` [any length] holds each item's place in the order of popularity, 0 the best; an
    item beyond its end comes after all others. Equal ranks stand by item number. A category
    of a million members costs one partition, not a sort.
    """
    places = np.full(len(members), np.iinfo(np.int32).max, dtype=np.int32)
    known = members < len(ranks)
    places[known] = ranks[members[known]]
    if len(members) > 4 * limit > 0:
        bar = np.partition(places, limit - 1)[limit - 1]
        members, places = members[places <= bar], places[places <= bar]
    order = np.lexsort((members, places))[: max(limit, 0)]
    return members[order].astype(np.int32)
