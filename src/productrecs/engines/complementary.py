"""Complementary engine: products of other categories that complete a basket."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
    """Hyperparameters: when two kinds are complementary; a kind is the narrowest category.

    Their products must co-occur in baskets more often than by chance (lift > 1), by
    `min_standard_errors` standard errors and at least `min_pair_count` times. A kind gets
    complements after `min_neighbours` co-occurrences of its products.
    """

    min_neighbours: int = 20
    min_standard_errors: float = (
        4.0  # standard errors of counts that contain most pairs twice
    )
    min_pair_count: int = 5
    min_complements: int = (
        2  # minimum number of complements; with fewer, best sellers are added
    )
    partners: int = 3  # complementary kinds that supply them, the likeliest first
    collected: float = 0.2  # maximum share of sales with own variants, to be one product


_OF_KIND: Final = 0.5  # score of the first added item, relative to the last score before it


class CategoryLift(NamedTuple):
    """How much likelier than by chance two kinds co-occur, and in how many baskets."""

    lift: float
    baskets: int


@dataclass(frozen=True, slots=True, eq=False)
class ComplementModel:
    """The kind of each item, and the complementary kinds of each kind.

    `kinds` [n_items] is -1 if unknown. `category_sets` [n_items] are variant groups, 0 for
    none; its shape is [0] if no product has variants. For kind k, `told[k]` is whether it
    has enough co-occurrences, and `several[k]` whether people buy several of it. Its
    complements are at `kind_offsets[k]:kind_offsets[k + 1]`, the likeliest first: one
    product per kind in `kind_items`, with the `kind_lifts` and `kind_baskets` of its kind.
    """

    kinds: Items
    families: Items
    told: Bools
    several: Bools
    kind_offsets: Ints
    kind_items: Items
    kind_lifts: Scores
    kind_baskets: Items
    few: Ints  # [1] as in ComplementOptions

    @classmethod
    def empty(cls) -> Self:
        """Return the model of a store without categories: every answer is empty."""
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
        return cls(**{one.name: np.asarray(arrays[one.name]) for one in fields(cls)})

    def to_arrays(self) -> Arrays:
        """Return the model as plain arrays, named as its fields."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def n_items(self) -> int:
        """Number of items in the model; larger numbers have no kind."""
        return len(self.kinds)

    def complements_among(self, found: Ranked, basket: Sequence[int]) -> Ranked:
        """Return the items of `found` that complete a basket, in their order.

        `found` are co-purchases, best first, with numbers below `n_items`. Removed are
        kinds in the basket of which people do not buy several, variants of the basket's
        items, and all but one variant of each product. With fewer than `min_complements`
        items left, complements of the basket's kinds are added below them. Items of unknown
        kind are never complements and have none. The list is empty if there is too little
        data on the basket's kinds.
        """
        basket_items = [one for one in basket if 0 <= one < len(self.kinds)]
        kinds = [kind for one in basket_items if (kind := int(self.kinds[one])) >= 0]
        if not any(self.told[kind] for kind in kinds):
            return NO_RANKED
        single = {kind for kind in kinds if not self.several[kind]}
        category_sets = self.families[basket_items].tolist() if len(self.families) else []
        fitting = found
        if len(found.items):
            places = self._fitting(found.items, single, category_sets)
            if len(places) < len(found.items):
                fitting = Ranked(found.items[places], found.scores[places])
        if len(fitting.items) >= self.few[0]:
            return fitting
        return self._with_kinds(fitting, basket, kinds, single, category_sets)

    def category_lift(self, anchor: int, item: int) -> CategoryLift | None:
        """Return the lift between the anchor's kind and an item's; None without one."""
        if not 0 <= anchor < self.n_items or self.kinds[anchor] < 0:
            return None
        begin, end = self._of_kind(int(self.kinds[anchor]))
        found = np.flatnonzero(self.kind_items[begin:end] == item)
        if not len(found):
            return None
        index = begin + int(found[0])
        return CategoryLift(float(self.kind_lifts[index]), int(self.kind_baskets[index]))

    def _fitting(self, items: Items, single: set[int], covered_sets: list[int]) -> Ints:
        """Return indexes of items of other kinds than `single`, one of each variant group.

        Variant groups in `covered_sets` are skipped.
        """
        kinds = self.kinds.take(items)
        fits = kinds >= 0
        for kind in single:
            fits &= kinds != kind
        places: Ints = fits.nonzero()[0]
        if not len(self.families):
            return places
        used_sets = {category_set for category_set in covered_sets if category_set}
        chosen = []
        category_sets: list[int] = self.families.take(items).tolist()
        for place in places.tolist():
            category_set = category_sets[place]
            if not category_set or category_set not in used_sets:
                used_sets.add(category_set)
                chosen.append(place)
        return np.array(chosen, dtype=np.int64)

    def _with_kinds(
        self,
        found: Ranked,
        basket: Sequence[int],
        kinds: list[int],
        single: set[int],
        covered_sets: list[int],
    ) -> Ranked:
        """Return `found` with complements of the basket's kinds up to `min_complements`."""
        items: list[int] = found.items.tolist()
        scores: list[float] = found.scores.tolist()
        if len(self.families):
            covered_sets = [*covered_sets, *self.families.take(found.items).tolist()]
        score = scores[-1] if scores else 1.0
        from_categories = self._from_paired_categories(
            kinds, single, covered_sets, {*items, *basket}
        )
        for item in islice(from_categories, int(self.few[0]) - len(items)):
            score *= _OF_KIND
            items.append(item)
            scores.append(score)
        if len(items) == len(found.items):
            return found
        return Ranked(np.array(items, np.int32), np.array(scores, np.float32))

    def _from_paired_categories(
        self,
        kinds: Sequence[int],
        single: set[int],
        covered_sets: Sequence[int],
        excluded: set[int],
    ) -> Iterator[int]:
        """Yield complements of `kinds`, filtered as in `_fitting`, without `excluded`."""
        used_sets, has_category_sets = (
            {category_set for category_set in covered_sets if category_set},
            len(self.families) > 0,
        )
        for kind in kinds:
            begin, end = self._of_kind(kind)
            for item in self.kind_items[begin:end].tolist():
                category = int(self.kinds[item])
                category_set = int(self.families[item]) if has_category_sets else 0
                if (
                    item in excluded
                    or category < 0
                    or category in single
                    or category_set in used_sets
                ):
                    continue
                if category_set:
                    used_sets.add(category_set)
                excluded.add(item)
                yield item

    def _of_kind(self, kind: int) -> tuple[int, int]:
        begin, end = self.kind_offsets[kind : kind + 2].tolist()
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
    expected: Floats
    shares: Floats  # share of the owner's baskets with any other category
    noise: Floats  # random deviation of `baskets` from `by_chance`


def fit_complements(
    pairs: BoughtTogetherPairs,
    kinds: Items,
    category_sets: Items,
    sold: Ints,
    options: ComplementOptions | None = None,
) -> ComplementModel:
    """Return complementary categories, and the categories of which people buy several.

    `kinds`, `category_sets` and `sold` (units) [n_items]; a kind below 0 and family 0 are
    unknown. A kind is complementary to itself if it co-occurs with itself more often than
    by chance (lift > 1). Variants that are often bought together are separate products.

    Source: requirements/algorithms.md 0 and 2.1.
    """
    chosen = options or ComplementOptions()
    n_items, n_kinds = len(kinds), int(kinds.max(initial=-1)) + 1
    owners = np.repeat(np.arange(n_items), np.diff(pairs.offsets))
    category_sets = _without_collected(category_sets, owners, pairs, sold, chosen)
    is_supported = pairs.support > 0  # else only their variants were co-purchased
    with_category = np.flatnonzero(
        (kinds[owners] >= 0) & (kinds[pairs.companions] >= 0) & is_supported
    )
    counts = _category_cooccurrence(
        kinds[owners[with_category]].astype(np.int64),
        kinds[pairs.companions[with_category]].astype(np.int64),
        pairs.support[with_category],
        n_kinds,
        chosen,
    )
    sells_several: Bools = np.zeros(n_kinds, np.bool_)
    has_category: Bools = np.zeros(n_kinds, np.bool_)
    itself = (counts.owners == counts.companions) & (counts.baskets > counts.expected)
    sells_several[counts.owners[itself]] = True
    has_category[counts.owners[counts.baskets >= chosen.min_neighbours * counts.shares]] = (
        True  # all co-occurrences
    )
    kind_offsets, kind_items, pair_index = _partners(counts, kinds, sold, n_kinds, chosen)
    return ComplementModel(
        kinds=kinds,
        families=category_sets if category_sets.any() else category_sets[:0],
        told=has_category,
        several=sells_several,
        kind_offsets=kind_offsets,
        kind_items=kind_items,
        kind_lifts=(counts.baskets[pair_index] / counts.expected[pair_index]).astype(
            np.float32
        ),
        kind_baskets=counts.baskets[pair_index].astype(np.int32),
        few=np.array([chosen.min_complements], dtype=np.int64),
    )


def _without_collected(
    category_sets: Items,
    owners: Ints,
    pairs: BoughtTogetherPairs,
    sold: Ints,
    options: ComplementOptions,
) -> Items:
    """Return the variant groups, 0 for items whose variants are bought together.

    `owners` is the owner of each pair.
    """
    owner_sets = category_sets[owners]
    category = np.flatnonzero(
        (owner_sets > 0) & (owner_sets == category_sets[pairs.companions])
    )
    size = int(category_sets.max(initial=0)) + 1
    within_set = np.bincount(
        owner_sets[category], weights=pairs.support[category], minlength=size
    )
    bought = np.bincount(category_sets, weights=sold, minlength=size)
    collected = within_set > options.collected * bought
    return np.where(collected[category_sets], 0, category_sets).astype(np.int32)


def _category_cooccurrence(
    owners: Ints, companions: Ints, support: Items, n_kinds: int, options: ComplementOptions
) -> _CategoryCooccurrence:
    size = max(n_kinds, 1)
    codes, pair_codes_index = np.unique(owners * size + companions, return_inverse=True)
    counts = np.zeros(len(codes))
    np.add.at(counts, pair_codes_index, support)
    owner_categories, companion_categories = codes // size, codes % size
    owner_totals = np.bincount(owner_categories, weights=counts, minlength=size)
    companion_totals = np.bincount(companion_categories, weights=counts, minlength=size)
    expected_counts = (
        owner_totals[owner_categories]
        * companion_totals[companion_categories]
        / max(float(counts.sum()), 1.0)
    )
    noise = options.min_standard_errors * np.sqrt(expected_counts)
    return _CategoryCooccurrence(
        owner_categories,
        companion_categories,
        counts,
        expected_counts,
        counts / owner_totals[owner_categories],
        noise,
    )


def _partners(
    counts: _CategoryCooccurrence,
    kinds: Items,
    sold: Ints,
    n_kinds: int,
    options: ComplementOptions,
) -> tuple[Ints, Items, Ints]:
    """Return the best seller of each complementary kind, the likeliest kind first.

    The result is offsets by kind, items, and indexes into `counts`.
    """
    best = _best_sellers(kinds, sold, n_kinds)
    is_significant = (counts.baskets > counts.expected + counts.noise) & (
        counts.baskets >= options.min_pair_count
    )
    pair_index = np.flatnonzero(is_significant & (counts.owners != counts.companions))
    pair_index = pair_index[best[counts.companions[pair_index]] >= 0]
    order = (
        counts.companions[pair_index],
        -counts.shares[pair_index],
        counts.owners[pair_index],
    )
    pair_index = pair_index[np.lexsort(order)]
    owner_categories = counts.owners[pair_index]
    first = np.searchsorted(owner_categories, owner_categories)
    pair_index = pair_index[np.arange(len(pair_index)) - first < options.partners]
    items = best[counts.companions[pair_index]].astype(np.int32)
    return csr_offsets(counts.owners[pair_index], n_kinds), items, pair_index


def _best_sellers(kinds: Items, sold: Ints, n_kinds: int) -> npt.NDArray[np.int64]:
    """Return [n_kinds] the best-selling item of each kind; -1 if none was sold."""
    items = np.flatnonzero((kinds >= 0) & (sold > 0))
    items = items[np.lexsort((items, -sold[items], kinds[items]))]
    owners, first_index = np.unique(kinds[items], return_index=True)
    best = np.full(n_kinds, -1, dtype=np.int64)
    best[owners] = items[first_index]
    return best
