"""Complementary engine: products of other categories that complete a basket."""

from productrecs.engines.complementary.category_cooccurrence import (
    BoughtTogetherPairs,
    fit_complements,
)
from productrecs.engines.complementary.model import ComplementModel
from productrecs.engines.complementary.options import ComplementOptions

__all__ = ["BoughtTogetherPairs", "ComplementModel", "ComplementOptions", "fit_complements"]
