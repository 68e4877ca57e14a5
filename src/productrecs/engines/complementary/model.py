"""Complement model: reduces candidates to complementary categories, and adds their best."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from productrecs.engines.arrays import (
    NO_RANKED,
    Arrays,
    Bools,
    Ints,
    Items,
    Ranked,
    Scores,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        return self._with_kinds(fitting, basket, (kinds, single, families))

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
        about: tuple[list[int], set[int], list[int]],
    ) -> Ranked:
        """Return `found` and, up to `few`, items that complement the basket's kinds."""
        kinds, single, covered = about
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
