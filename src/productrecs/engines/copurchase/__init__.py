"""What is bought together? Learned from baskets alone, and never padded."""

from productrecs.engines.copurchase.fit import Bought, fit_copurchase
from productrecs.engines.copurchase.model import CopurchaseModel, warm_up
from productrecs.engines.copurchase.options import CopurchaseOptions
from productrecs.engines.copurchase.variants import Products

__all__ = [
    "Bought",
    "CopurchaseModel",
    "CopurchaseOptions",
    "Products",
    "fit_copurchase",
    "warm_up",
]
