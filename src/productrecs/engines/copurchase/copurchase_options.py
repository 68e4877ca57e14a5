"""Co-purchase options: the hyperparameters of counting, judging and listing pairs."""

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
    # Own baskets at which half of the variants' baskets count; 0: no pooling.
    siblings: float = 5.0
    needs_evidence: bool = True  # pairs that chance explains are in no list and cart
    false_discoveries: float = 0.05  # share of such pairs that a list may hold by accident
    chance: float = 0.05  # the same for a single common basket, if categories are unknown
    places: int = 4  # length of the list head for coverage promotion
    heads: int = 2  # minimum number of list heads for each item
    least_fit: float = 0.7  # minimum score for promotion, relative to the last of the head
    considered: int = 100  # companions of an item that are candidates for promotion
    neighbours: int = 40  # companions stored for lists of one item, and as many for carts
