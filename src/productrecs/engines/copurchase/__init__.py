"""Co-purchase models: items bought together, from baskets, without backfill."""

from productrecs.engines.copurchase.copurchase_options import (
    CopurchaseOptions,
)
from productrecs.engines.copurchase.copurchase_training import (
    fit_copurchase,
    fit_widest_copurchase,
)
from productrecs.engines.copurchase.frequent_item_sets import ItemSets, fit_item_sets
from productrecs.engines.copurchase.model import (
    CopurchaseModel,
    CopurchaseModels,
    companion_hashes,
)
from productrecs.engines.copurchase.variant_pooling import VariantGroups

__all__ = [
    "CopurchaseModel",
    "CopurchaseModels",
    "CopurchaseOptions",
    "ItemSets",
    "VariantGroups",
    "companion_hashes",
    "fit_copurchase",
    "fit_item_sets",
    "fit_widest_copurchase",
]
