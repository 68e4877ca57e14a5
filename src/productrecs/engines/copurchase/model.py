"""Which items go with these? Read from each item's fifty strongest companions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from productrecs.engines.contract import (
    NOTHING,
    Arrays,
    Ints,
    Items,
    Ranked,
    Scores,
    places_of_best,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, eq=False)
class CopurchaseModel:
    """Every item's companions, best first, as one compressed sparse matrix.

    `offsets` [n_items + 1] delimits each item's run in `companions` (item numbers),
    `scores` and `support` (in how many baskets the pair stood); `rarity` [n_items] is what
    a companion's score is multiplied by when several anchors vote.
    """

    offsets: Ints
    companions: Items
    scores: Scores
    support: Items
    rarity: Scores

    @classmethod
    def empty(cls) -> Self:
        """Return the model of a store that sold nothing: every answer is empty."""
        none, nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
        return cls(np.zeros(1, np.int64), none, nothing, none, nothing)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model that gave `arrays`.

        Raises:
            KeyError: when one of them is missing.
        """
        return cls(**{name: arrays[name] for name in cls.__dataclass_fields__})

    def to_arrays(self) -> Arrays:
        """Return the model as plain arrays, named as its fields."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def n_items(self) -> int:
        """How many item numbers the model knows; larger ones have no companions."""
        return len(self.offsets) - 1

    def neighbours(self, item: int) -> Ranked:
        """Return the item's companions, best first; none for an unknown item.

        A score is c / ((n_item + shrink) * n_companion ** exponent), so above 0.
        """
        if not 0 <= item < self.n_items:
            return NOTHING
        begin, end = self.offsets[item : item + 2].tolist()
        return Ranked(self.companions[begin:end], self.scores[begin:end])

    def baskets_of(self, anchor: int, item: int) -> int:
        """Return in how many baskets two items stood; 0 for none, or too few to count."""
        if not 0 <= anchor < self.n_items:
            return 0
        begin, end = self.offsets[anchor : anchor + 2].tolist()
        found = np.flatnonzero(self.companions[begin:end] == item)
        return int(self.support[begin + found[0]]) if len(found) else 0

    def complete(self, basket: Sequence[int], limit: int) -> Ranked:
        """Return up to `limit` items bought together with the basket, best first.

        Each distinct item of the basket votes for its companions with their scores; the
        votes are summed. Items of the basket are never returned; a basket of unknown items
        gives an empty list, never a fallback (interface 4.1, rule 2).
        """
        anchors = list(dict.fromkeys(basket))
        if len(anchors) == 1:
            items, scores = self.neighbours(anchors[0])
            return Ranked(items[:limit], scores[:limit]) if limit > 0 else NOTHING
        voices = [self.neighbours(anchor) for anchor in anchors]
        items = np.concatenate([NOTHING.items, *(voice.items for voice in voices)])
        votes = np.concatenate([NOTHING.scores, *(voice.scores for voice in voices)])
        found, where = np.unique(items, return_inverse=True)
        sums = np.bincount(where, weights=votes.astype(np.float64), minlength=len(found))
        fresh = np.isin(found, anchors, invert=True)
        found = found[fresh]
        scores = sums[fresh] * self.rarity[found]
        places = places_of_best(found, scores, limit)
        return Ranked(found[places], scores[places].astype(np.float32))
