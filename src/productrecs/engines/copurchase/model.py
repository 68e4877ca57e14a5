"""Co-purchase model: each item's strongest companions, and lists made from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import numpy as np

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.array_types_and_sorting import (
    MAX_CANDIDATES,
    NO_RANKED,
    Arrays,
    Bytes,
    Floats,
    Ints,
    Items,
    RankedItems,
    Scores,
    prefixed,
    without_prefix,
)
from productrecs.engines.copurchase.companion_lookup import (
    ARRAY_DTYPES,
    CompanionArrays,
    best_companions,
)
from productrecs.engines.copurchase.pair_evidence import CERTAIN
from productrecs.engines.item_fingerprints import (
    Words,
    hash_pairs,
    mix_bits,
    sum_hashes_by_run,
    to_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_DERIVED_FIELD: Final = "layout"
_PLAIN: Final = "copurchase"
_POOLED: Final = "pooled"
_SHARED: Final = "shared"


@dataclass(frozen=True, slots=True, eq=False)
class CopurchaseModel:
    """Every item's companions, best first, as one compressed sparse matrix.

    `offsets` [n_items + 1] delimits each item's run in `companions` (item numbers),
    `scores`, `support` (number of common baskets) and `likeness` (the pair's cosine; 0 for
    a pair that does not count in carts). `lean` [n_items] and `constants` [1] are as in
    `CompanionArrays`. `shared` is the number of common baskets of both variant groups;
    empty in a model without pooling. `evidence` is as `PairGrader` judges; pairs that
    chance explains come last, and teach only which categories are bought together.
    """

    offsets: Ints
    companions: Items
    scores: Scores
    support: Items
    likeness: Scores
    lean: Scores
    constants: Floats
    evidence: Bytes
    shared: Items = field(default_factory=lambda: np.zeros(0, np.int32))
    layout: CompanionArrays = field(init=False)

    def __post_init__(self) -> None:
        """Lay the arrays out as the evaluators read them: contiguous and read-only."""
        plain_arrays = [
            np.ascontiguousarray(getattr(self, name), kind).view()
            for name, kind in zip(CompanionArrays._fields, ARRAY_DTYPES, strict=True)
        ]
        for view in plain_arrays:
            view.flags.writeable = False
        object.__setattr__(self, "layout", CompanionArrays(*plain_arrays))

    @classmethod
    def empty(cls) -> Self:
        """Return the model of a store without sales: every answer is empty."""
        no_items, no_scores = np.zeros(0, np.int32), np.zeros(0, np.float32)
        zero_offset = np.zeros(1, np.int64)
        return cls(
            *(zero_offset, no_items, no_scores, no_items, no_scores, no_scores),
            constants=np.zeros(1),
            evidence=np.zeros(0, np.int8),
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model stored as `arrays`.

        Raises:
            KeyError: when one is missing.
        """
        return cls(**{name: arrays[name] for name in cls._stored_fields()})

    def to_arrays(self) -> Arrays:
        """Return the model as plain arrays, named as its fields."""
        return {name: getattr(self, name) for name in self._stored_fields()}

    @property
    def n_items(self) -> int:
        """Number of items in the model; larger numbers have no companions."""
        return len(self.offsets) - 1

    def evident_companions(self, item: int) -> RankedItems:
        """Return the item's evident companions, best first; none for an unknown item.

        A score is the strength of `CopurchaseOptions`, above 0.
        """
        if not 0 <= item < self.n_items:
            return NO_RANKED
        begin, end = self.offsets[item : item + 2].tolist()
        end = begin + int(np.count_nonzero(self.evidence[begin:end]))
        rows = slice(begin, end)
        support = self.support[rows]
        if len(self.shared):
            support = np.maximum(support, self.shared[rows])
        return RankedItems(self.companions[rows], self.scores[rows], support)

    def shared_basket_count(self, anchor: int, item: int) -> int:
        """Return the number of common baskets of two items; 0 for none or too few.

        For items with variants, baskets of the variant groups count.
        """
        if not 0 <= anchor < self.n_items:
            return 0
        begin, end = self.offsets[anchor : anchor + 2].tolist()
        matches = np.flatnonzero(self.companions[begin:end] == item)
        if not len(matches):
            return 0
        index = begin + int(matches[0])
        shared = self.shared[index] if len(self.shared) else 0
        return int(max(self.support[index], shared))

    def companions_with_certain_evidence(self, item: int) -> Items:
        """Return the companions of an item that its own orders are enough evidence for."""
        if not 0 <= item < self.n_items:
            return self.companions[:0]
        begin, end = self.offsets[item : item + 2].tolist()
        is_certain = self.evidence[begin:end] == CERTAIN
        certain: Items = self.companions[begin:end][is_certain]
        return certain

    def evident_companions_with_basket_counts(
        self, anchor: int
    ) -> Iterator[tuple[int, int]]:
        """Yield an item's companions, best first, each with the number of common baskets.

        Pairs that chance explains are left out: best sellers co-occur with everything.
        """
        if 0 <= anchor < self.n_items:
            begin, end = self.offsets[anchor : anchor + 2].tolist()
            is_evident = self.likeness[begin:end] > 0
            items = self.companions[begin:end][is_evident].tolist()
            yield from zip(items, self.support[begin:end][is_evident].tolist(), strict=True)

    def complete(
        self, basket: Sequence[int], limit: int, weights: Mapping[int, float] | None = None
    ) -> RankedItems:
        """Return up to `limit` items bought together with the basket, best first.

        A single item's companions are ranked by strength. With several items, each votes
        for its companions, weighted by `weights` (default 1). Items of the basket are never
        returned; a basket of unknown items gives an empty list, never a fallback (interface
        4.1, rule 2).
        """
        basket_items = [item for item in dict.fromkeys(basket) if 0 <= item < self.n_items]
        if limit <= 0 or not basket_items:
            return NO_RANKED
        if len(basket_items) == 1:
            return self.evident_companions(basket_items[0]).at(slice(limit))
        anchors = np.array(basket_items, dtype=np.int64)
        anchor_weights = np.ones(len(basket_items))
        if weights is not None:
            anchor_weights[:] = [weights.get(item, 1.0) for item in basket_items]
        return RankedItems(*best_companions(self.layout, anchors, anchor_weights, limit))

    @classmethod
    def _stored_fields(cls) -> list[str]:
        return [name for name in cls.__dataclass_fields__ if name != _DERIVED_FIELD]


Basket: TypeAlias = "tuple[int, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class CopurchaseModels:
    """Co-purchase models, without and with the pooled baskets of variants.

    The functions return candidates for a basket, computed once: most lists share a few
    products. The returned arrays must not be changed.
    """

    plain: CopurchaseModel  # from the items' own baskets
    pooled: CopurchaseModel | None = None  # by variant group; None without variants
    copurchases: Callable[[Basket], RankedItems] = field(init=False)  # of `plain`
    pooled_copurchases: Callable[[Basket], RankedItems] = field(init=False)  # of `widest`

    def __post_init__(self) -> None:
        """Start with nothing computed."""
        plain = pooled = self._memoize_completions(self.plain)
        if self.pooled is not None:
            pooled = self._memoize_completions(self.pooled)
        object.__setattr__(self, "copurchases", plain)
        object.__setattr__(self, "pooled_copurchases", pooled)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the models that `to_arrays` stored.

        Raises:
            KeyError: when some arrays are missing.
        """
        pooled = without_prefix(_POOLED, arrays)
        return cls(
            CopurchaseModel.from_arrays(without_prefix(_PLAIN, arrays)),
            CopurchaseModel.from_arrays(pooled) if pooled else None,
        )

    @property
    def widest(self) -> CopurchaseModel:
        """The model with the highest coverage: the pooled one, if there is one."""
        return self.plain if self.pooled is None else self.pooled

    def to_arrays(self) -> Arrays:
        """Return both models' arrays."""
        pooled = {} if self.pooled is None else self.pooled.to_arrays()
        return {**prefixed(_PLAIN, self.plain.to_arrays()), **prefixed(_POOLED, pooled)}

    @staticmethod
    def _memoize_completions(model: CopurchaseModel) -> Callable[[Basket], RankedItems]:
        complete = partial(model.complete, limit=MAX_CANDIDATES)
        return memoized(RegisteredCache.BASKET_CANDIDATES)(complete)


def companion_hashes(model: Arrays) -> Words:
    """Return a hash [n_items] of each item's companions, of a model's stored arrays."""

    def hash_companion_rows(rows: slice, _: Ints) -> Words:
        hashes = hash_pairs(model["companions"][rows], model["support"][rows])
        hashes += to_words(model["evidence"][rows])
        if len(model[_SHARED]):  # pooled baskets of variants
            hashes = mix_bits(hashes) + to_words(model[_SHARED][rows])
        return mix_bits(hashes)

    return sum_hashes_by_run(model["offsets"], hash_companion_rows)
