"""Engines `recently_viewed`, `new` and `bundle`: they list what a request gives."""

from collections.abc import Mapping
from typing import Any, ClassVar

from productrecs.engines.array_types_and_sorting import (
    Arrays,
    RankedItems,
    prefixed,
    without_prefix,
)
from productrecs.engines.copurchase import CopurchaseModels, ItemSets, fit_item_sets
from productrecs.engines.engine_protocol import (
    MAX_ORDER,
    Engine,
    FitFingerprint,
    FitInputs,
    ListRequest,
)
from productrecs.engines.rank_fusion import ranked_by_position


class RecentlyViewedEngine(Engine[None]):
    """Lists what the shopper viewed, newest first."""

    name: ClassVar = "recently_viewed"
    label: ClassVar = "Viewed before"
    summary: ClassVar = "viewed by this shopper before"
    guide: ClassVar = "placements"
    is_trained: ClassVar = False

    def candidates(self, model: None, request: ListRequest) -> RankedItems:
        """Return the shopper's latest items, newest first."""
        return ranked_by_position(dict.fromkeys(reversed(request.recent)))


class NewEngine(Engine[None]):
    """Lists the newest products."""

    name: ClassVar = "new"
    label: ClassVar = "New"
    summary: ClassVar = "newest in the catalog"
    guide: ClassVar = "placements"
    is_trained: ClassVar = False

    def candidates(self, model: None, request: ListRequest) -> RankedItems:
        """Return the newest visible items."""
        return ranked_by_position(request.eligible.newest(MAX_ORDER).tolist())


class BundleEngine(Engine[ItemSets]):
    """Lists an accepted bundle; its model holds sets that a merchant may accept."""

    name: ClassVar = "bundle"
    label: ClassVar = "Bundle"
    summary: ClassVar = "in an accepted bundle with the product"
    guide: ClassVar = "bundles"
    is_trained: ClassVar = False

    def fingerprint(self, inputs: FitInputs) -> FitFingerprint:
        """Return what the fit depends on."""
        return inputs.purchase_fingerprint

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the sets of items that orders contain together."""
        pairs, lines = (
            CopurchaseModels.from_arrays(fitted_arrays).plain,
            inputs.order_lines(),
        )
        sets = fit_item_sets(pairs, *lines)
        return prefixed(self.name, sets.to_arrays())

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> ItemSets:
        """Return the sets of the stored arrays."""
        return ItemSets.from_arrays(without_prefix(self.name, arrays))

    def candidates(self, model: ItemSets, request: ListRequest) -> RankedItems:
        """Return the missing parts of a bundle that the list can show whole."""
        return ranked_by_position(request.missing_bundle_parts())
