"""Hyperparameters of the co-purchase engine: defaults, and what each of them means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopurchaseOptions:
    """Constants chosen on earlier weeks of several shops: benchmarks/quality/shop_kinds.

    A companion's strength is the chance that a basket with item i holds item j too:
    (c + prior * n_j / n) / (n_i + prior) / n_j ** exponent * season_j. c and n are counted
    with each basket's weight, min(1, large_basket / size) * 0.5 ** (age / half_life_days).
    season_j is how much of what is bought lately item j is, beside its share of all time,
    to the power `season`, drawn towards 1 by `prior` baskets. Of several anchors, i's vote
    for j is (c / (n_i ** (1 - lean) * n_j ** lean)) ** (2 ** doublings).
    """

    exponent: float = 0.0  # how much a companion's popularity is held against it
    prior: float = 10.0  # baskets of all the store's, before an item's own count more
    half_life_days: float = 360.0
    large_basket: int = 30  # distinct items from which on a basket counts for less
    season: float = 0.3
    season_days: float = 21.0  # what "lately" means
    lean: float = (
        0.3  # of several anchors: how much a companion's popularity is held against
    )
    doublings: int = 2  # of several anchors: how much one strong voice outweighs many weak
    siblings: float = (
        5.0  # own baskets with which an item counts half of its variants' too; 0: none
    )
    few_orders: int = 500  # below it every pair votes for a cart; else it needs
    least_support: int = 2  # so many common baskets, and more than by chance
    common_share: float = (
        0.5  # of all baskets: who is in more, is perhaps a gift with each,
    )
    common_lift: float = 1.5  # and goes only with what it is so much likelier with
    common_orders: int = 20  # baskets from which on that is asked
    places: int = 4  # the head of a list, in some of which every item should stand:
    heads: int = 2  # in how many
    least_fit: float = 0.7  # beside the score of the last there, to be given that place
    considered: int = 100  # companions of an item, of which one may be given that place
    neighbours: int = 40  # kept for lists of one item, and as many for carts
