"""Hyperparameters of the co-purchase engine: defaults, and what each of them means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopurchaseOptions:
    """Constants chosen on two months before the one that benchmarks/quality tests on.

    A pair's strength is c / ((n_i + shrink) * n_j ** exponent) * season_j, c and n counted
    with each basket's weight: min(1, large_basket / size) * 0.5 ** (age / half_life_days).
    season_j is how much of what is bought lately item j is, beside its share of all time,
    to the power `season`. Of several anchors, i's vote for j is
    (c / (n_i ** (1 - lean) * n_j ** lean)) ** (2 ** doublings).
    """

    exponent: float = 0.15  # how much a companion's popularity is held against it
    shrink: float = 20.0  # baskets of doubt against rare anchors
    half_life_days: float = 180.0
    large_basket: int = 30  # distinct items from which on a basket counts for less
    season: float = 0.3
    season_days: float = 21.0  # what "lately" means
    lean: float = (
        0.3  # of several anchors: how much a companion's popularity is held against
    )
    doublings: int = 2  # of several anchors: how much one strong voice outweighs many weak
    alike: float = 0.4  # how much a companion loses to a similar one ranked above it
    siblings: float = (
        5.0  # own baskets with which an item counts half of its variants' too; 0: none
    )
    few_orders: int = 500  # below it one common basket is enough, and lift is not asked
    least_support: int = 2  # common baskets from which on a pair is believed
    common_share: float = (
        0.2  # of all baskets: who is in more, is perhaps a gift with each,
    )
    common_lift: float = 1.5  # and goes only with what it is so much likelier with
    common_orders: int = 20  # baskets from which on that is asked
    places: int = 4  # the head of a list, in some of which every item should stand:
    heads: int = 2  # in how many
    least_fit: float = 0.2  # beside the score of the last there, to be given that place
    considered: int = 100  # companions of an item, of which one may be given that place
    neighbours: int = 50  # kept
