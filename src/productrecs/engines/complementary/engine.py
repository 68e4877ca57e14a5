"""Engine `complementary`: co-purchases that are of other categories than the basket."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.array_types_and_sorting import (
    MAX_CANDIDATES,
    NO_RANKED,
    Arrays,
    RankedItems,
    prefixed,
    without_prefix,
)
from productrecs.engines.complementary.complement_training import (
    BoughtTogetherPairs,
    fit_complements,
)
from productrecs.engines.complementary.model import ComplementModel
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    companion_hashes,
    fit_widest_copurchase,
)
from productrecs.engines.engine_protocol import (
    CategoryPairLift,
    Engine,
    EngineEvidence,
    Explainer,
    FitFingerprint,
    FitInputs,
    ListContext,
    ListRequest,
    shared_basket_counts,
)
from productrecs.engines.item_fingerprints import Words

_CARTS: Final = "carts"


class ComplementAndCopurchaseModel:
    """The complement model, and the co-purchases that it chooses from.

    `pairs` are those of orders and carts, or of orders if carts add nothing.
    """

    __slots__ = ("complete", "model", "pairs")

    def __init__(
        self,
        model: ComplementModel,
        orders: CopurchaseModels,
        carts: CopurchaseModel | None = None,
    ) -> None:
        """Start with nothing computed; most lists share a few baskets."""
        self.model, self.pairs = model, carts or orders.widest
        copurchases = orders.pooled_copurchases
        if carts is not None:
            copurchases = partial(carts.complete, limit=MAX_CANDIDATES)

        @memoized(RegisteredCache.BASKET_CANDIDATES)
        def complete(basket: tuple[int, ...]) -> RankedItems:
            """Return the complements of a basket, best first; none without categories."""
            if not model.n_items:
                return NO_RANKED
            return model.complements_of_basket(copurchases(basket), basket)

        self.complete = complete


class ComplementaryEngine(Engine[ComplementAndCopurchaseModel]):
    """Recommends what completes a basket; it needs the products' categories."""

    name: ClassVar = "complementary"
    label: ClassVar = "Completes it"
    summary: ClassVar = "bought together, from another category"
    is_evaluated: ClassVar = True

    def fingerprint(self, inputs: FitInputs) -> FitFingerprint:
        """Return what the fit depends on; the number of cart events only grows."""
        objects, values = inputs.purchase_fingerprint
        return FitFingerprint(objects, (values, inputs.cart_event_count))

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the complements, and the co-purchases with carts if these add any."""
        if not inputs.has_categories:
            return prefixed(self.name, ComplementModel.empty().to_arrays())
        carts = self._fit_copurchase_with_carts(inputs)
        pairs = carts or CopurchaseModels.from_arrays(fitted_arrays).widest
        model = ComplementModel.empty()
        if len(pairs.companions):
            purchases = inputs.purchases
            sold = purchases.items[purchases.is_active & (purchases.quantities > 0)]
            model = fit_complements(
                BoughtTogetherPairs(pairs.offsets, pairs.companions, pairs.support),
                inputs.categories,
                inputs.variants.groups,
                np.bincount(sold, minlength=inputs.n_items),
            )
        cart_arrays = {} if carts is None else prefixed(_CARTS, carts.to_arrays())
        return {**cart_arrays, **prefixed(self.name, model.to_arrays())}

    @staticmethod
    def _fit_copurchase_with_carts(inputs: FitInputs) -> CopurchaseModel | None:
        lines = inputs.order_lines_with_visit_carts()
        if lines is None:
            return None
        return fit_widest_copurchase(
            *lines[:3],
            inputs.n_items,
            inputs.copurchase_options,
            lines.buyers,
            inputs.variants,
        )

    def item_hashes(self, arrays: Arrays) -> Iterator[Words]:
        """Yield the hashes of the pairs with carts."""
        if carts := without_prefix(_CARTS, arrays):
            yield companion_hashes(carts)

    def load(
        self, arrays: Arrays, loaded_models: Mapping[str, Any]
    ) -> ComplementAndCopurchaseModel:
        """Return the complements, above the co-purchases of `buy`."""
        model, carts = without_prefix(self.name, arrays), without_prefix(_CARTS, arrays)
        return ComplementAndCopurchaseModel(
            ComplementModel.from_arrays(model),
            loaded_models["buy"],
            CopurchaseModel.from_arrays(carts) if carts else None,
        )

    def candidates(
        self, model: ComplementAndCopurchaseModel, request: ListContext
    ) -> RankedItems:
        """Return the complements of the anchors."""
        return model.complete(request.anchors)

    def explain(
        self, model: ComplementAndCopurchaseModel, request: ListRequest
    ) -> Explainer:
        """Return a function that names common baskets, else the lift of the categories."""

        def explain(item: int) -> EngineEvidence:
            completes = shared_basket_counts(
                model.pairs.shared_basket_count, request.anchors, item
            )
            if completes:
                return EngineEvidence(completes=completes)
            for anchor in request.anchors:
                lift = model.model.category_lift(anchor, item)
                if lift is not None:
                    return EngineEvidence(
                        goes_with=CategoryPairLift(anchor, lift.baskets, lift.lift)
                    )
            return EngineEvidence()

        return explain
