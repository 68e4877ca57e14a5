"""Complementary engine: products of other categories that complete a basket."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from productrecs.engines.arrays import (
    NO_RANKED,
    Arrays,
    Bools,
    Floats,
    Ints,
    Items,
    Ranked,
    Scores,
    csr_offsets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class ComplementOptions:
    """Hyperparameters: when two categories are complementary.

    An item's category is the narrowest one that it has. Two categories are complementary if
    their products co-occur in baskets more often than by chance (lift > 1), by
    `min_standard_errors` standard errors and at least `min_pair_count` times. A category
    gets complements after `min_cooccurrences` co-occurrences of its products.
    """

    min_cooccurrences: int = 20
    # Standard errors of counts that contain most pairs twice.
    min_standard_errors: float = 4.0
    min_pair_count: int = 5
    min_complements: int = 2  # a list with fewer gets best sellers of other categories
    max_complements: int = 3  # complementary categories of a category
    # Variants that are bought together in more than this share of their sales are separate
    # products.
    max_joint_share: float = 0.2


_BACKFILL_DECAY: Final = 0.5  # score of a backfilled item, relative to the one before it


class CategoryLift(NamedTuple):
    """How much likelier than by chance two categories co-occur, and in how many baskets."""

    lift: float
    baskets: int


# Names of the stored arrays that differ from their field.
_ARRAY_NAMES: Final = {
    "categories": "kinds",
    "variant_groups": "families",
    "has_complements": "told",
    "is_self_complementary": "several",
    "complement_offsets": "kind_offsets",
    "complement_items": "kind_items",
    "complement_lifts": "kind_lifts",
    "complement_baskets": "kind_baskets",
    "min_complements": "few",
}


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
        """Return the model stored as `arrays`; an older release stored none of them.

        Raises:
            KeyError: when only some exist.
        """
        if not arrays:
            return cls.empty()
        return cls(
            **{field: np.asarray(arrays[name]) for field, name in _ARRAY_NAMES.items()}
        )

    def to_arrays(self) -> Arrays:
        """Return the model as plain arrays."""
        return {name: getattr(self, field) for field, name in _ARRAY_NAMES.items()}

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

    def complements_among(self, copurchases: Ranked, basket: Sequence[int]) -> Ranked:
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
            index = self._complement_index(
                copurchases.items, excluded_categories, excluded_groups
            )
            if len(index) < len(copurchases.items):
                complements = Ranked(copurchases.items[index], copurchases.scores[index])
        if len(complements.items) >= self.min_complements[0]:
            return complements
        excluded_groups |= self._groups_of(complements.items)
        backfill = self._category_complements(
            categories,
            excluded_categories,
            excluded_groups,
            {*complements.items.tolist(), *basket},
        )
        return self._backfilled(complements, backfill)

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

    def _complement_index(
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

    def _backfilled(self, complements: Ranked, backfill: Iterator[int]) -> Ranked:
        """Return `complements` with items of `backfill`, up to `min_complements`."""
        items: list[int] = complements.items.tolist()
        scores: list[float] = complements.scores.tolist()
        score = scores[-1] if scores else 1.0
        for item in islice(backfill, int(self.min_complements[0]) - len(items)):
            score *= _BACKFILL_DECAY
            items.append(item)
            scores.append(score)
        if len(items) == len(complements.items):
            return complements
        return Ranked(np.array(items, np.int32), np.array(scores, np.float32))

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


class BoughtTogetherPairs(NamedTuple):
    """Co-purchased pairs, as one compressed sparse matrix over items.

    `offsets` [n_items + 1]; `companions` and `support` (number of baskets) [P].
    """

    offsets: Ints
    companions: Items
    support: Items


class _CategoryCooccurrence(NamedTuple):
    """Co-occurrence counts of category pairs; parallel arrays, by owner."""

    owners: Ints
    companions: Ints
    baskets: Floats  # number of baskets, summed over pairs of their items
    expected: Floats  # number of baskets by chance
    shares: Floats  # share of the owner's baskets with any other category
    noise: Floats  # random deviation of `baskets` from `expected`


def fit_complements(
    pairs: BoughtTogetherPairs,
    categories: Items,
    variant_groups: Items,
    sold: Ints,
    options: ComplementOptions | None = None,
) -> ComplementModel:
    """Return complementary categories, and the categories of which people buy several.

    `categories`, `variant_groups` and `sold` (units) [n_items]; a category below 0 and
    group 0 are unknown. A category is complementary to itself if it co-occurs with itself
    more often than by chance (lift > 1). Variants that are often bought together are
    separate products.

    Source: requirements/algorithms.md 0 and 2.1.
    """
    options = options or ComplementOptions()
    n_categories = int(categories.max(initial=-1)) + 1
    owners = np.repeat(np.arange(len(categories)), np.diff(pairs.offsets))
    variant_groups = _without_joint_variants(variant_groups, owners, pairs, sold, options)
    is_supported = pairs.support > 0  # else only their variants were co-purchased
    pair_index = np.flatnonzero(
        (categories[owners] >= 0) & (categories[pairs.companions] >= 0) & is_supported
    )
    counts = _category_cooccurrence(
        categories[owners[pair_index]].astype(np.int64),
        categories[pairs.companions[pair_index]].astype(np.int64),
        pairs.support[pair_index],
        n_categories,
        options,
    )
    is_self_complementary: Bools = np.zeros(n_categories, np.bool_)
    has_complements: Bools = np.zeros(n_categories, np.bool_)
    is_itself = (counts.owners == counts.companions) & (counts.baskets > counts.expected)
    is_self_complementary[counts.owners[is_itself]] = True
    # `baskets / shares` is the number of all co-occurrences of the owner.
    has_data = counts.baskets >= options.min_cooccurrences * counts.shares
    has_complements[counts.owners[has_data]] = True
    offsets, items, count_index = _best_complements(
        counts, categories, sold, n_categories, options
    )
    lifts = counts.baskets[count_index] / counts.expected[count_index]
    return ComplementModel(
        categories=categories,
        variant_groups=variant_groups if variant_groups.any() else variant_groups[:0],
        has_complements=has_complements,
        is_self_complementary=is_self_complementary,
        complement_offsets=offsets,
        complement_items=items,
        complement_lifts=lifts.astype(np.float32),
        complement_baskets=counts.baskets[count_index].astype(np.int32),
        min_complements=np.array([options.min_complements], dtype=np.int64),
    )


def _without_joint_variants(
    variant_groups: Items,
    owners: Ints,
    pairs: BoughtTogetherPairs,
    sold: Ints,
    options: ComplementOptions,
) -> Items:
    """Return the variant groups, 0 for items whose variants are bought together.

    `owners` is the owner of each pair.
    """
    owner_groups = variant_groups[owners]
    pair_index = np.flatnonzero(
        (owner_groups > 0) & (owner_groups == variant_groups[pairs.companions])
    )
    n_groups = int(variant_groups.max(initial=0)) + 1
    joint_sales = np.bincount(
        owner_groups[pair_index], weights=pairs.support[pair_index], minlength=n_groups
    )
    sales = np.bincount(variant_groups, weights=sold, minlength=n_groups)
    is_joint = joint_sales > options.max_joint_share * sales
    return np.where(is_joint[variant_groups], 0, variant_groups).astype(np.int32)


def _category_cooccurrence(
    owners: Ints,
    companions: Ints,
    support: Items,
    n_categories: int,
    options: ComplementOptions,
) -> _CategoryCooccurrence:
    """Return how often the categories of item pairs co-occur; parallel arrays, by pair."""
    size = max(n_categories, 1)
    codes, code_index = np.unique(owners * size + companions, return_inverse=True)
    counts = np.zeros(len(codes))
    np.add.at(counts, code_index, support)
    owner_categories, companion_categories = codes // size, codes % size
    owner_totals = np.bincount(owner_categories, weights=counts, minlength=size)
    companion_totals = np.bincount(companion_categories, weights=counts, minlength=size)
    expected = (
        owner_totals[owner_categories]
        * companion_totals[companion_categories]
        / max(float(counts.sum()), 1.0)
    )
    return _CategoryCooccurrence(
        owners=owner_categories,
        companions=companion_categories,
        baskets=counts,
        expected=expected,
        shares=counts / owner_totals[owner_categories],
        noise=options.min_standard_errors * np.sqrt(expected),
    )


def _best_complements(
    counts: _CategoryCooccurrence,
    categories: Items,
    sold: Ints,
    n_categories: int,
    options: ComplementOptions,
) -> tuple[Ints, Items, Ints]:
    """Return the best seller of each complementary category, the likeliest category first.

    The result is offsets by category, items, and indexes into `counts`.
    """
    best_sellers = _best_sellers(categories, sold, n_categories)
    is_significant = (counts.baskets > counts.expected + counts.noise) & (
        counts.baskets >= options.min_pair_count
    )
    index = np.flatnonzero(is_significant & (counts.owners != counts.companions))
    index = index[best_sellers[counts.companions[index]] >= 0]
    order = (counts.companions[index], -counts.shares[index], counts.owners[index])
    index = index[np.lexsort(order)]
    owners = counts.owners[index]
    ranks = np.arange(len(index)) - np.searchsorted(owners, owners)
    index = index[ranks < options.max_complements]
    items = best_sellers[counts.companions[index]].astype(np.int32)
    return csr_offsets(counts.owners[index], n_categories), items, index


def _best_sellers(
    categories: Items, sold: Ints, n_categories: int
) -> npt.NDArray[np.int64]:
    """Return [n_categories] the best-selling item of each category; -1 if none was sold."""
    items = np.flatnonzero((categories >= 0) & (sold > 0))
    items = items[np.lexsort((items, -sold[items], categories[items]))]
    sold_categories, first_index = np.unique(categories[items], return_index=True)
    best_sellers = np.full(n_categories, -1, dtype=np.int64)
    best_sellers[sold_categories] = items[first_index]
    return best_sellers
