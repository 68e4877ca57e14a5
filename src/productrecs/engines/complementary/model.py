"""Complement model: products of other categories that complete a basket."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    NO_RANKED,
    Arrays,
    Bools,
    Ints,
    Items,
    RankedItems,
    Scores,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BACKFILL_DECAY: Final = 0.5  # score of a backfilled item, relative to the one before it


class CategoryLift(NamedTuple):
    """How much likelier than by chance two categories co-occur, and in how many baskets."""

    lift: float
    baskets: int


@dataclass(frozen=True, slots=True, eq=False)
class ComplementModel:
    """The category of each item, and the complements of each category.

    `categories` [n_items] is -1 if unknown. `variant_groups` [n_items] is 0 for items
    without variants; its shape is [0] if no item has any. For category c, `has_complements`
    says whether it has enough co-occurrences, and `is_self_complementary` whether people
    buy several of its products together. Its complements are at
    `complement_offsets[c]:complement_offsets[c + 1]`, the likeliest first:
    `complement_items` has the best seller of each complementary category,
    `complement_lifts` and `complement_baskets` the figures of the two categories.
    """

    categories: Items
    variant_groups: Items
    has_complements: Bools
    is_self_complementary: Bools
    complement_offsets: Ints
    complement_items: Items
    complement_lifts: Scores
    complement_baskets: Items
    min_complements: Ints  # [1] as in ComplementOptions

    @classmethod
    def empty(cls) -> Self:
        """Return the model of a store without categories: every list is empty."""
        no_items, no_scores = np.zeros(0, np.int32), np.zeros(0, np.float32)
        zero_offset, no_flags = np.zeros(1, np.int64), np.zeros(0, np.bool_)
        return cls(
            no_items,
            no_items,
            no_flags,
            no_flags,
            zero_offset,
            no_items,
            no_scores,
            no_items,
            np.zeros(1, np.int64),
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model stored as `arrays`; the empty one without any.

        Raises:
            KeyError: when only some exist.
        """
        if not arrays:
            return cls.empty()
        return cls(**{part.name: np.asarray(arrays[part.name]) for part in fields(cls)})

    def to_arrays(self) -> Arrays:
        """Return the model as plain arrays, named as its fields."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def n_items(self) -> int:
        """Number of items in the model; larger numbers have no category."""
        return len(self.categories)

    def combines_with_own_category(self, item: int) -> bool:
        """Return whether people buy several products of the item's category together.

        Also true for an item of unknown category.
        """
        category = int(self.categories[item]) if item < self.n_items else -1
        return category < 0 or bool(self.is_self_complementary[category])

    def complements_of_basket(
        self, copurchases: RankedItems, basket: Sequence[int]
    ) -> RankedItems:
        """Return the items of `copurchases` that complete a basket, in their order.

        `copurchases` are best first, with numbers below `n_items`. Removed are categories
        in the basket of which people do not buy several, variants of the basket's items,
        and all but one variant of each product. With fewer than `min_complements` items
        left, complements of the basket's categories are added below them. Items of unknown
        category are never complements and have none. The list is empty if there is too
        little data on the basket's categories.
        """
        basket_items = [item for item in basket if 0 <= item < len(self.categories)]
        categories = [
            category
            for item in basket_items
            if (category := int(self.categories[item])) >= 0
        ]
        if not any(self.has_complements[category] for category in categories):
            return NO_RANKED
        excluded_categories = {
            category for category in categories if not self.is_self_complementary[category]
        }
        excluded_groups = self._groups_of(basket_items)
        complements = copurchases
        if len(copurchases.items):
            index = self._indexes_of_complements(
                copurchases.items, excluded_categories, excluded_groups
            )
            if len(index) < len(copurchases.items):
                complements = copurchases.at(index)
        if len(complements.items) >= self.min_complements[0]:
            return complements
        excluded_groups |= self._groups_of(complements.items)
        backfill = self._category_complements(
            categories,
            excluded_categories,
            excluded_groups,
            {*complements.items.tolist(), *basket},
        )
        return self._append_backfill(complements, backfill)

    def category_lift(self, anchor: int, item: int) -> CategoryLift | None:
        """Return the lift between the anchor's category and an item's; None without one."""
        if not 0 <= anchor < self.n_items or self.categories[anchor] < 0:
            return None
        begin, end = self._complement_range(int(self.categories[anchor]))
        matches = np.flatnonzero(self.complement_items[begin:end] == item)
        if not len(matches):
            return None
        index = begin + int(matches[0])
        return CategoryLift(
            float(self.complement_lifts[index]), int(self.complement_baskets[index])
        )

    def _groups_of(self, items: Items | list[int]) -> set[int]:
        """Return the variant groups of some items."""
        if not len(self.variant_groups):
            return set()
        return {group for group in self.variant_groups[items].tolist() if group}

    def _indexes_of_complements(
        self, items: Items, excluded_categories: set[int], excluded_groups: set[int]
    ) -> Ints:
        """Return indexes of the items of other categories, one of each variant group."""
        categories = self.categories.take(items)
        is_complement = categories >= 0
        for category in excluded_categories:
            is_complement &= categories != category
        index: Ints = is_complement.nonzero()[0]
        if not len(self.variant_groups):
            return index
        used_groups = set(excluded_groups)
        unique_index = []
        groups: list[int] = self.variant_groups.take(items).tolist()
        for place in index.tolist():
            group = groups[place]
            if not group or group not in used_groups:
                used_groups.add(group)
                unique_index.append(place)
        return np.array(unique_index, dtype=np.int64)

    def _append_backfill(
        self, complements: RankedItems, backfill: Iterator[int]
    ) -> RankedItems:
        """Return `complements` with items of `backfill`, up to `min_complements`.

        Their categories alone support them, which counts as one order.
        """
        items: list[int] = complements.items.tolist()
        scores: list[float] = complements.scores.tolist()
        score = scores[-1] if scores else 1.0
        for item in islice(backfill, int(self.min_complements[0]) - len(items)):
            score *= _BACKFILL_DECAY
            items.append(item)
            scores.append(score)
        known = len(complements.items)
        if len(items) == known:
            return complements
        support = complements.support if known else NO_RANKED.items
        if support is not None:
            support = np.append(support, np.ones(len(items) - known, np.int32))
        return RankedItems(np.array(items, np.int32), np.array(scores, np.float32), support)

    def _category_complements(
        self,
        categories: Sequence[int],
        excluded_categories: set[int],
        excluded_groups: set[int],
        excluded_items: set[int],
    ) -> Iterator[int]:
        """Yield the complements of `categories`, one of each variant group."""
        used_items, used_groups = set(excluded_items), set(excluded_groups)
        for category in categories:
            begin, end = self._complement_range(category)
            for item in self.complement_items[begin:end].tolist():
                item_category = int(self.categories[item])
                groups = self._groups_of([item])
                if (
                    item in used_items
                    or item_category < 0
                    or item_category in excluded_categories
                    or groups & used_groups
                ):
                    continue
                used_groups |= groups
                used_items.add(item)
                yield item

    def _complement_range(self, category: int) -> tuple[int, int]:
        """Return where the complements of a category begin and end."""
        begin, end = self.complement_offsets[category : category + 2].tolist()
        return begin, end
