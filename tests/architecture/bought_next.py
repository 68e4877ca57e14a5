"""Engine `bought_next`: what customers bought in the order after this one.

`test_new_engine.py` adds it to a copy of the source, as CONTRIBUTING describes.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    MAX_CANDIDATES,
    NO_RANKED,
    Arrays,
    Ints,
    Items,
    RankedItems,
    csr_offsets,
    prefixed,
    top_score_indexes,
    without_prefix,
)
from productrecs.engines.engine_protocol import (
    Engine,
    EngineEvidence,
    Explainer,
    FitFingerprint,
    FitInputs,
    ListContext,
    ListRequest,
)
from productrecs.engines.item_fingerprints import Words, hash_pairs, sum_hashes_by_run

_MIN_CUSTOMERS: Final = 2


class NextItems(NamedTuple):
    """How many customers bought `items` in the order after one with an item.

    `offsets` [n_items + 1] delimits each item's run.
    """

    offsets: Ints
    items: Items
    customers: Items

    def after(self, item: int) -> tuple[Items, Items]:
        """Return what was bought after an item, and by how many customers."""
        if not 0 <= item < len(self.offsets) - 1:
            return self.items[:0], self.customers[:0]
        run = slice(*self.offsets[item : item + 2].tolist())
        return self.items[run], self.customers[run]


class BoughtNextEngine(Engine[NextItems]):
    """Recommends what others bought later, in another order."""

    name: ClassVar = "bought_next"
    label: ClassVar = "Bought next"
    summary: ClassVar = "bought in the order after this one"
    is_evaluated: ClassVar = True
    weights: ClassVar = MappingProxyType({"product": 0.5, "cart": 0.5})

    def fingerprint(self, inputs: FitInputs) -> FitFingerprint:
        """Return what the fit depends on."""
        return inputs.purchase_fingerprint

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the pairs of items in consecutive orders of two customers or more."""
        lines = inputs.purchases
        is_counted = lines.is_active & (lines.quantities > 0)
        is_counted &= (lines.buyers != 0) & (lines.baskets >= 0)
        facts = (lines.buyers, lines.times, lines.baskets, lines.items)
        rows = zip(*(column[is_counted].tolist() for column in facts), strict=True)
        customers: dict[tuple[int, int], set[int]] = {}
        orders: dict[int, list[tuple[int, set[int]]]] = {}
        for buyer, _, basket, item in sorted(rows):
            of_buyer = orders.setdefault(buyer, [])
            if not of_buyer or of_buyer[-1][0] != basket:
                of_buyer.append((basket, set()))
            of_buyer[-1][1].add(item)
        for buyer, of_buyer in orders.items():
            for (_, first), (_, second) in pairwise(of_buyer):
                for pair in ((item, later) for item in first for later in second - first):
                    customers.setdefault(pair, set()).add(buyer)
        counts = sorted(
            (item, -len(buyers), later)
            for (item, later), buyers in customers.items()
            if len(buyers) >= _MIN_CUSTOMERS
        )
        owners, negated, items = np.array(counts, np.int64).reshape(-1, 3).T
        model = NextItems(
            csr_offsets(owners, inputs.n_items),
            items.astype(np.int32),
            (-negated).astype(np.int32),
        )
        return prefixed(self.name, model._asdict())

    def item_hashes(self, arrays: Arrays) -> Iterator[Words]:
        """Yield the hashes of what follows each item."""
        model = self.load(arrays, {})
        yield sum_hashes_by_run(
            model.offsets,
            lambda rows, _: hash_pairs(model.items[rows], model.customers[rows]),
        )

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> NextItems:
        """Return the model of the stored arrays."""
        if not arrays:
            none = np.zeros(0, np.int32)
            return NextItems(np.zeros(1, np.int64), none, none)
        return NextItems(**without_prefix(self.name, arrays))

    def candidates(self, model: NextItems, request: ListContext) -> RankedItems:
        """Return what followed the basket's items, by the number of customers."""
        runs = [model.after(item) for item in request.basket]
        if not runs:
            return NO_RANKED
        items = np.concatenate([items for items, _ in runs])
        distinct, index = np.unique(items, return_inverse=True)
        counts = np.concatenate([counts for _, counts in runs])
        sums = np.bincount(index, counts).astype(np.float32)
        best = top_score_indexes(distinct, sums, MAX_CANDIDATES)
        return RankedItems(distinct[best].astype(np.int32), sums[best])

    def explain(self, model: NextItems, request: ListRequest) -> Explainer:
        """Return a function that counts the customers who bought an item next."""

        def explain(item: int) -> EngineEvidence:
            runs = (model.after(anchor) for anchor in request.basket)
            count = sum(int(counts[items == item].sum()) for items, counts in runs)
            if not count:
                return EngineEvidence()
            return EngineEvidence(
                reasons=(f"Bought in the next order by {count} customers",)
            )

        return explain
