"""Hyperparameters of the co-purchase engine, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopurchaseOptions:
    """Hyperparameters, tuned on earlier weeks of shops: benchmarks/quality/shop_kinds.

    A companion's strength is the chance that a basket with item i also contains item j: (c
    + prior * n_j / n) / (n_i + prior) / n_j ** exponent * season_j. c and n sum basket
    weights, min(1, large_basket / size) * 0.5 ** (age / half_life_days). season_j is item
    j's share of recent sales relative to its share of all sales, to the power `season`,
    shrunk towards 1 by `prior` baskets. With several anchors, i's vote for j is (c / (n_i
    ** (1 - lean) * n_j ** lean)) ** (2 ** doublings).
    """

    exponent: float = 0.0  # popularity discount of a companion
    prior: float = 10.0  # shrinkage towards the store's average, in baskets
    half_life_days: float = 360.0
    large_basket: int = 30  # distinct items above which a basket's weight falls
    season: float = 0.3
    season_days: float = 21.0  # window of recent sales
    lean: float = 0.3  # popularity discount with several anchors
    doublings: int = 2  # with several anchors: emphasis of strong votes over many weak ones
    siblings: float = (
        5.0  # own baskets at which half of the variants' baskets count; 0: no pooling
    )
    few_orders: int = 500  # below it, every pair counts in carts; else it needs
    least_support: int = 2  # this many common baskets, and lift above 1
    common_share: float = (
        0.5  # share of all baskets above which an item may be a free gift,
    )
    common_lift: float = 1.5  # and needs this lift in a pair
    common_orders: int = 20  # minimum number of orders for the gift rule
    places: int = 4  # length of the list head for coverage promotion
    heads: int = 2  # minimum number of list heads for each item
    least_fit: float = 0.7  # minimum score for promotion, relative to the last of the head
    considered: int = 100  # companions of an item that are candidates for promotion
    neighbours: int = 40  # companions stored for lists of one item, and as many for carts
