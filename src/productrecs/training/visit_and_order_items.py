"""Visit and order items: the items of each visit or order of a store, in time order."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Self

import numpy as np

from productrecs.engines.array_types_and_sorting import Ints, Items, csr_offsets
from productrecs.engines.browse import InteractionType, sessionize
from productrecs.records.events.event import EventKind
from productrecs.training.order_and_cart_lines import counted_line_mask
from productrecs.training.partitioned_shopper_events import ShopperEventArrays
from productrecs.training.training_inputs import OrderLineArrays

INTERACTION_BY_EVENT: Final[Mapping[int, InteractionType]] = MappingProxyType(
    {
        int(EventKind.SEARCH_CLICK): InteractionType.CLICKED,
        int(EventKind.IMAGE_SEARCH_CLICK): InteractionType.CLICKED,
        int(EventKind.REC_CLICK): InteractionType.CLICKED,
        int(EventKind.ADD_TO_CART): InteractionType.CARTED,
        int(EventKind.BUY): InteractionType.BOUGHT,
    }
)
"""The interaction of each event kind other than views."""
# Distinct products of an order or a visit; larger ones are not a shopper's.
MAX_GROUP_ITEMS: Final = 50


class VisitOrOrderItems(NamedTuple):
    """Visits or orders of at least two distinct items, by their start.

    Items of group g in time order: items[offsets[g]:offsets[g + 1]].
    """

    starts: Ints  # [G] ascending, UTC ms
    offsets: Ints  # [G + 1]
    items: Items

    @classmethod
    def from_interactions(cls, group_codes: Ints, items: Items, times: Ints) -> Self:
        """Return the groups of parallel arrays [n], in any order; repeats count once."""
        if not len(group_codes):
            none = np.zeros(0, np.int64)
            return cls(none, np.zeros(1, np.int64), none.astype(np.int32))
        names, group_index = np.unique(group_codes, return_inverse=True)
        starts = np.full(len(names), np.iinfo(np.int64).max)
        np.minimum.at(starts, group_index, times)
        place = np.empty(len(names), dtype=np.int64)
        place[np.argsort(starts, kind="stable")] = np.arange(len(names))
        order = np.lexsort((times, place[group_index]))
        group, item = place[group_index][order], items[order]
        first = np.unique(group * (int(items.max()) + 1) + item, return_index=True)[1]
        first.sort()
        group, item = group[first], item[first]
        sizes = np.bincount(group, minlength=len(names))
        usable = (sizes > 1) & (sizes <= MAX_GROUP_ITEMS)
        is_kept = usable[group]
        renumbered = (np.cumsum(usable) - 1)[group[is_kept]]
        return cls(
            np.sort(starts)[usable],
            csr_offsets(renumbered, int(usable.sum())),
            item[is_kept],
        )

    def contents(self, group: int) -> list[int]:
        """Return the items of a group, in time order."""
        begin, end = self.offsets[group : group + 2].tolist()
        items: list[int] = self.items[begin:end].tolist()
        return items


def group_visits(behaviour: ShopperEventArrays) -> VisitOrOrderItems:
    """Return the visits of shoppers."""
    codes = sessionize(behaviour.visitors, behaviour.times)
    return VisitOrOrderItems.from_interactions(codes, behaviour.items, behaviour.times)


def group_orders(purchases: OrderLineArrays) -> VisitOrOrderItems:
    """Return the orders; returns and lines without an order are left out."""
    in_order = counted_line_mask(purchases)
    return VisitOrOrderItems.from_interactions(
        purchases.baskets[in_order], purchases.items[in_order], purchases.times[in_order]
    )
