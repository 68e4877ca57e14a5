"""Hyperparameters of the complementary engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ComplementOptions:
    """When two kinds count as bought together; a kind is the narrowest category.

    Their products met in baskets more often than chance would have it (lift > 1), by
    `sureness` standard errors and at least `least_met` times. What goes with a kind
    is asked once its products met others `enough` times.
    """

    enough: int = 20
    sureness: float = 4.0  # of counts in which most pairs stand twice, from either side
    least_met: int = 5
    few: int = 2  # complements: with fewer, what goes with the kind completes the list
    partners: int = 3  # kinds from which that comes, the likeliest first
    collected: float = (
        0.2  # of a product's sales, with its own variants: beyond, each is a product
    )
