"""Engine `buy`: what is bought together with a basket, in orders alone."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

from productrecs.engines.array_types_and_sorting import Arrays, RankedItems
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    companion_hashes,
    fit_copurchase,
)
from productrecs.engines.engine_protocol import (
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
from productrecs.engines.rank_fusion import fuse_ranked

_COMPANION_WEIGHT: Final = 0.3  # relative to repurchased items


class BuyEngine(Engine[CopurchaseModels]):
    """Recommends co-purchases, and what the shopper buys again."""

    name: ClassVar = "buy"
    label: ClassVar = "Bought together"
    summary: ClassVar = "bought together"
    is_evaluated: ClassVar = True
    weights: ClassVar = MappingProxyType({"product": 0.8, "cart": 1.0, "shopper": 0.4})

    def fingerprint(self, inputs: FitInputs) -> FitFingerprint:
        """Return what the fit depends on."""
        return inputs.purchase_fingerprint

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the co-purchases of the orders, without and with pooled variants."""
        lines = inputs.order_lines()
        return fit_copurchase(
            *lines[:3],
            inputs.n_items,
            inputs.copurchase_options,
            lines.buyers,
            variants=inputs.variants,
        ).to_arrays()

    def item_hashes(self, arrays: Arrays) -> Iterator[Words]:
        """Yield the hashes of both models' pairs."""
        models = CopurchaseModels.from_arrays(arrays)
        yield companion_hashes(models.plain.to_arrays())
        if models.pooled is not None:
            yield companion_hashes(models.pooled.to_arrays())

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> CopurchaseModels:
        """Return the models of the stored arrays."""
        if not arrays:
            return CopurchaseModels(CopurchaseModel.empty())
        return CopurchaseModels.from_arrays(arrays)

    def candidates(self, model: CopurchaseModels, request: ListContext) -> RankedItems:
        """Return co-purchases of the basket, below what the shopper buys again."""
        if not request.pools_variants:
            return model.copurchases(request.basket)
        copurchases, rebuyable = model.pooled_copurchases(request.basket), request.rebuyable
        if not len(rebuyable.items):
            return copurchases
        return fuse_ranked((rebuyable.items, copurchases.items), (1.0, _COMPANION_WEIGHT))

    def explain(self, model: CopurchaseModels, request: ListRequest) -> Explainer:
        """Return a function that names the products in common baskets."""
        pairs = model.widest if request.pools_variants else model.plain
        return lambda item: EngineEvidence(
            bought_with=shared_basket_counts(
                pairs.shared_basket_count, request.basket, item
            )
        )
