"""By which constants do we count? The defaults, and what each of them means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopurchaseOptions:
    """Constants chosen on a month before the one that benchmarks/quality tests on.

    A pair's strength is c / ((n_i + shrink) * n_j ** exponent), c and n counted with each
    basket's weight: min(1, large_basket / size) * 0.5 ** (age / half_life_days).
    """

    exponent: float = 0.1  # how much a companion's popularity is held against it
    exponent_several: float = 0.3  # the same when several anchors vote
    shrink: float = 20.0  # baskets of doubt against rare anchors, felt only among several
    half_life_days: float = 180.0
    large_basket: int = 30  # distinct items from which on a basket counts for less
    few_orders: int = 500  # below it one common basket is enough, and lift is not asked
    least_support: int = 2  # common baskets from which on a pair is believed
    neighbours: int = 50
