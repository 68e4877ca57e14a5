"""Complementary engine: products of other categories that complete a basket."""

from productrecs.engines.complementary.complement_training import (
    BoughtTogetherPairs,
    ComplementOptions,
    fit_complements,
)
from productrecs.engines.complementary.engine import (
    ComplementAndCopurchaseModel,
    ComplementaryEngine,
)
from productrecs.engines.complementary.model import CategoryLift, ComplementModel

__all__ = [
    "BoughtTogetherPairs",
    "CategoryLift",
    "ComplementAndCopurchaseModel",
    "ComplementModel",
    "ComplementOptions",
    "ComplementaryEngine",
    "fit_complements",
]
