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
    """When two kinds count as bought together; a kind is the narrowest category.

    Their products met in baskets more often than chance would have it (lift > 1), by
    `sureness` standard errors and at least `least_met` times. What goes with a kind
    is asked once its products met others `enough` times.
    """

    enough: int = 20
    sureness: float = 4.0  # of counts in which most pairs stand twice, from either side
    least_met: int = 5
    few: int = 2  # complements: with fewer, what goes with the kind completes the list
    partners: int = 3  # kinds from which that comes, the likeliest first
    collected: float = (
        0.2  # of a product's sales, with its own variants: beyond, each is a product
    )


_OF_KIND: Final = 0.5  # of the last score: what goes with the kind stands below all else


class CategoryLift(NamedTuple):
    """How much likelier two kinds are bought together than by chance, and how often."""

    lift: float
    baskets: int


@dataclass(frozen=True, slots=True, eq=False)
class ComplementModel:
    """Of which kind each item is, and which kinds go together.

    `kinds` [n_items] is -1 where none is known. Items of one family are variants of one
    product: `families` [n_items], 0 for none; [0] where no product has variants. Of kind k,
    `told[k]` says whether it met others often enough, `several[k]` whether people buy
    several of it; what goes with it lies at `kind_offsets[k]:kind_offsets[k + 1]`, the
    likeliest first: a product each in `kind_items`, with `kind_lifts` and `kind_baskets` of
    its kind beside k.
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
        none, nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
        nowhere, never = np.zeros(1, np.int64), np.zeros(0, np.bool_)
        return cls(
            none, none, never, never, nowhere, none, nothing, none, np.zeros(1, np.int64)
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model that gave `arrays`; an older release's model has none of them.

        Raises:
            KeyError: when only some are there.
        """
        if not arrays:
            return cls.empty()
        return cls(**{one.name: np.asarray(arrays[one.name]) for one in fields(cls)})

    def to_arrays(self) -> Arrays:
        """Return the model as plain arrays, named as its fields."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def n_items(self) -> int:
        """How many item numbers the model knows; larger ones are of no kind."""
        return len(self.kinds)

    def among(self, found: Ranked, basket: Sequence[int]) -> Ranked:
        """Return those of `found` that complete a basket, in their order.

        `found` is what goes with the basket, best first, numbers below `n_items`. Nothing
        stays that is of a kind in the basket of which people do not buy several, no variant
        of what is in it, and one variant each of all else. Where fewer than `few` stay,
        what goes with the basket's kinds follows, below all of them. What is of no known
        kind may be the same in other words: it completes nothing, nothing completes it.
        The list is also empty while there is too little data on the basket's kinds.
        """
        known = [one for one in basket if 0 <= one < len(self.kinds)]
        kinds = [kind for one in known if (kind := int(self.kinds[one])) >= 0]
        if not any(self.told[kind] for kind in kinds):
            return NO_RANKED
        single = {kind for kind in kinds if not self.several[kind]}
        families = self.families[known].tolist() if len(self.families) else []
        fitting = found
        if len(found.items):
            places = self._fitting(found.items, single, families)
            if len(places) < len(found.items):
                fitting = Ranked(found.items[places], found.scores[places])
        if len(fitting.items) >= self.few[0]:
            return fitting
        return self._with_kinds(fitting, basket, kinds, single, families)

    def category_lift(self, anchor: int, item: int) -> CategoryLift | None:
        """Return the lift of an item beside the anchor's kind; None without one."""
        if not 0 <= anchor < self.n_items or self.kinds[anchor] < 0:
            return None
        begin, end = self._of_kind(int(self.kinds[anchor]))
        found = np.flatnonzero(self.kind_items[begin:end] == item)
        if not len(found):
            return None
        at = begin + int(found[0])
        return CategoryLift(float(self.kind_lifts[at]), int(self.kind_baskets[at]))

    def _fitting(self, items: Items, single: set[int], covered: list[int]) -> Ints:
        """Return places of items of other kinds than `single`, one of each family.

        Families in `covered` get none.
        """
        kinds = self.kinds.take(items)
        fits = kinds >= 0
        for kind in single:
            fits &= kinds != kind
        places: Ints = fits.nonzero()[0]
        if not len(self.families):
            return places
        seen = {family for family in covered if family}
        chosen = []
        families: list[int] = self.families.take(items).tolist()
        for place in places.tolist():
            family = families[place]
            if not family or family not in seen:
                seen.add(family)
                chosen.append(place)
        return np.array(chosen, dtype=np.int64)

    def _with_kinds(
        self,
        found: Ranked,
        basket: Sequence[int],
        kinds: list[int],
        single: set[int],
        covered: list[int],
    ) -> Ranked:
        """Return `found` and, up to `few`, items that complement the basket's kinds."""
        items: list[int] = found.items.tolist()
        scores: list[float] = found.scores.tolist()
        if len(self.families):
            covered = [*covered, *self.families.take(found.items).tolist()]
        score = scores[-1] if scores else 1.0
        more = self._beside(kinds, single, covered, {*items, *basket})
        for item in islice(more, int(self.few[0]) - len(items)):
            score *= _OF_KIND
            items.append(item)
            scores.append(score)
        if len(items) == len(found.items):
            return found
        return Ranked(np.array(items, np.int32), np.array(scores, np.float32))

    def _beside(
        self,
        kinds: Sequence[int],
        single: set[int],
        covered: Sequence[int],
        taken: set[int],
    ) -> Iterator[int]:
        """Yield complements of `kinds`, filtered as in `_fitting`, without `taken`."""
        seen, has_families = (
            {family for family in covered if family},
            len(self.families) > 0,
        )
        for kind in kinds:
            begin, end = self._of_kind(kind)
            for item in self.kind_items[begin:end].tolist():
                own = int(self.kinds[item])
                family = int(self.families[item]) if has_families else 0
                if item in taken or own < 0 or own in single or family in seen:
                    continue
                if family:
                    seen.add(family)
                taken.add(item)
                yield item

    def _of_kind(self, kind: int) -> tuple[int, int]:
        begin, end = self.kind_offsets[kind : kind + 2].tolist()
        return begin, end


class BoughtTogetherPairs(NamedTuple):
    """What was bought together, as one compressed sparse matrix over items.

    `offsets` [n_items + 1]; `companions` and `support` (in how many baskets) [P].
    """

    offsets: Ints
    companions: Items
    support: Items


class _CategoryCooccurrence(NamedTuple):
    """Co-occurrence counts of category pairs; parallel arrays, by owner."""

    owners: Ints
    companions: Ints
    baskets: Floats  # in how many baskets, summed over pairs of their items
    by_chance: Floats
    shares: Floats  # of the owner's baskets with any other category
    noise: Floats  # random deviation of `baskets` from `by_chance`


def fit_complements(
    pairs: BoughtTogetherPairs,
    kinds: Items,
    families: Items,
    sold: Ints,
    options: ComplementOptions | None = None,
) -> ComplementModel:
    """Return complementary categories, and those of which several are bought at a time.

    `kinds`, `families` and `sold` (how often) [n_items]; a kind below 0 and family 0 are
    unknown. A kind goes with itself when it co-occurs with itself more often than by
    chance (lift > 1). Variants that are often bought together are products of their own.

    Source: requirements/algorithms.md 0 and 2.1.
    """
    chosen = options or ComplementOptions()
    n_items, n_kinds = len(kinds), int(kinds.max(initial=-1)) + 1
    owners = np.repeat(np.arange(n_items), np.diff(pairs.offsets))
    families = _without_collected(families, owners, pairs, sold, chosen)
    is_supported = pairs.support > 0  # else their variants alone did
    named = np.flatnonzero(
        (kinds[owners] >= 0) & (kinds[pairs.companions] >= 0) & is_supported
    )
    counts = _category_cooccurrence(
        kinds[owners[named]].astype(np.int64),
        kinds[pairs.companions[named]].astype(np.int64),
        pairs.support[named],
        n_kinds,
        chosen,
    )
    several: Bools = np.zeros(n_kinds, np.bool_)
    is_known: Bools = np.zeros(n_kinds, np.bool_)
    itself = (counts.owners == counts.companions) & (counts.baskets > counts.by_chance)
    several[counts.owners[itself]] = True
    is_known[counts.owners[counts.baskets >= chosen.enough * counts.shares]] = (
        True  # all that they met
    )
    kind_offsets, kind_items, which = _partners(counts, kinds, sold, n_kinds, chosen)
    return ComplementModel(
        kinds=kinds,
        families=families if families.any() else families[:0],
        told=is_known,
        several=several,
        kind_offsets=kind_offsets,
        kind_items=kind_items,
        kind_lifts=(counts.baskets[which] / counts.by_chance[which]).astype(np.float32),
        kind_baskets=counts.baskets[which].astype(np.int32),
        few=np.array([chosen.few], dtype=np.int64),
    )


def _without_collected(
    families: Items,
    owners: Ints,
    pairs: BoughtTogetherPairs,
    sold: Ints,
    options: ComplementOptions,
) -> Items:
    """Return the families, 0 for the items of those that are bought several at a time.

    `owners` has the owner of each pair.
    """
    mine = families[owners]
    own = np.flatnonzero((mine > 0) & (mine == families[pairs.companions]))
    size = int(families.max(initial=0)) + 1
    together = np.bincount(mine[own], weights=pairs.support[own], minlength=size)
    bought = np.bincount(families, weights=sold, minlength=size)
    collected = together > options.collected * bought
    return np.where(collected[families], 0, families).astype(np.int32)


def _category_cooccurrence(
    owners: Ints, companions: Ints, support: Items, n_kinds: int, options: ComplementOptions
) -> _CategoryCooccurrence:
    size = max(n_kinds, 1)
    codes, where = np.unique(owners * size + companions, return_inverse=True)
    counts = np.zeros(len(codes))
    np.add.at(counts, where, support)
    whose, others = codes // size, codes % size
    of_owner = np.bincount(whose, weights=counts, minlength=size)
    of_other = np.bincount(others, weights=counts, minlength=size)
    by_chance = of_owner[whose] * of_other[others] / max(float(counts.sum()), 1.0)
    noise = options.sureness * np.sqrt(by_chance)
    return _CategoryCooccurrence(
        whose, others, counts, by_chance, counts / of_owner[whose], noise
    )


def _partners(
    counts: _CategoryCooccurrence,
    kinds: Items,
    sold: Ints,
    n_kinds: int,
    options: ComplementOptions,
) -> tuple[Ints, Items, Ints]:
    """Return the best seller of each kind that goes with a kind, the likeliest first.

    As offsets by kind, items, and indexes into `counts`.
    """
    best = _best_sellers(kinds, sold, n_kinds)
    are_sure = (counts.baskets > counts.by_chance + counts.noise) & (
        counts.baskets >= options.least_met
    )
    which = np.flatnonzero(are_sure & (counts.owners != counts.companions))
    which = which[best[counts.companions[which]] >= 0]
    order = (counts.companions[which], -counts.shares[which], counts.owners[which])
    which = which[np.lexsort(order)]
    whose = counts.owners[which]
    first = np.searchsorted(whose, whose)
    which = which[np.arange(len(which)) - first < options.partners]
    items = best[counts.companions[which]].astype(np.int32)
    return csr_offsets(counts.owners[which], n_kinds), items, which


def _best_sellers(kinds: Items, sold: Ints, n_kinds: int) -> npt.NDArray[np.int64]:
    """Return [n_kinds] the item of each kind that sold best; -1 where none did."""
    items = np.flatnonzero((kinds >= 0) & (sold > 0))
    items = items[np.lexsort((items, -sold[items], kinds[items]))]
    owners, firsts = np.unique(kinds[items], return_index=True)
    best = np.full(n_kinds, -1, dtype=np.int64)
    best[owners] = items[firsts]
    return best
