"""Co-purchase tuning: options that predict a store's later orders best.

The questions: the other products of an order, given each of up to ten of its products; and
one product of each order of three or more that is missing in the cart.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Floats
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    CopurchaseOptions,
    VariantGroups,
)
from productrecs.training.fitters import fit_copurchase_model
from productrecs.training.group_visits_and_orders import ItemGroups, group_orders
from productrecs.training.training_inputs import Purchases, select_rows
from productrecs.training.tuning.grid_search import (
    TuningTrial,
    first_wide_enough,
    grid_search,
)
from productrecs.training.tuning.hyperparameters import Changes
from productrecs.training.tuning.time_splits import TimeSplit, time_splits

MAX_LINES: Final = 300_000  # the newest: more would not change what is chosen
_ANCHORS: Final = 10  # of an order
_SHORT, _LONG = 4, 10  # lists: what is seen at once, and what a shopper may scroll to
_LEAST_CART: Final = 3
_OTHER_ONE: Final = 7_919  # a prime: which product of a cart is hidden
_WIDER: Final = 1.3  # beside what plain counting shows of the catalog, that is enough
_PRICE: Final = 0.015  # of all hits, the most that this may cost

PAGE_GRID: Final[tuple[tuple[Changes, ...], ...]] = (
    tuple({"half_life_days": days} for days in (60.0, 540.0)),
    tuple({"large_basket": size} for size in (10, 100)),
    tuple({"season": power} for power in (0.0, 0.6)),
)
VARIANT_GRID: Final[tuple[Changes, ...]] = tuple({"siblings": n} for n in (0.0, 20.0))
CART_GRID: Final[tuple[tuple[Changes, ...], ...]] = (
    tuple({"lean": share} for share in (0.15, 0.45)),
    tuple({"doublings": times} for times in (1, 3)),
)
EXPONENT_GRID: Final[tuple[Changes, ...]] = tuple(
    {"exponent": power} for power in (0.05, 0.1, 0.15, 0.2, 0.3)
)
_LARGEST_COUNTED: Final = 100  # lines of an order: larger ones take most of the time
_COUNTING: Final = CopurchaseOptions(
    exponent=0.0,
    shrink=0.0,
    half_life_days=1e9,
    large_basket=10**9,
    season=0.0,
    alike=0.0,
    siblings=0.0,
    few_orders=10**9,
    common_share=1.0,
    places=0,
)


class OrderSplit(NamedTuple):
    """A stretch's orders, and the lines before it."""

    stretch: TimeSplit
    before: Purchases


def tune_copurchase_options(
    bought: Purchases,
    n_items: int,
    on_trial: Callable[[], None],
    usual: CopurchaseOptions | None = None,
    products: VariantGroups | None = None,
) -> CopurchaseOptions | None:
    """Return the co-purchase hyperparameters; None when there is too little data.

    `on_trial` is called after each trial. `products`: which items are variants of one.
    """
    groups = group_orders(bought)
    parts = [
        OrderSplit(stretch, _before(bought, stretch.since_ms))
        for stretch in time_splits(groups)
    ]
    if not parts:
        return None

    learned = partial(fit_copurchase_model, n_items=n_items, products=products)

    def on_pages(options: CopurchaseOptions) -> TuningTrial:
        by_these = partial(learned, options=options)
        return _judged(groups, parts, by_these, _page_scores, on_trial)

    def in_carts(options: CopurchaseOptions) -> TuningTrial:
        by_these = partial(learned, options=options)
        return _judged(groups, parts, by_these, _cart_scores, on_trial)

    pages = (
        PAGE_GRID
        if products is None or not products.families.any()
        else (*PAGE_GRID, VARIANT_GRID)
    )
    best, _ = grid_search(usual or CopurchaseOptions(), pages, on_pages)
    enough = _WIDER * on_pages(_COUNTING).shown
    best = first_wide_enough(best, EXPONENT_GRID, on_pages, enough, _PRICE)
    best, _ = grid_search(best, CART_GRID, in_carts)
    return best


def _before(bought: Purchases, until_ms: int) -> Purchases:
    """Return the newest lines from before a moment, but those of very large orders."""
    earlier = select_rows(bought, bought.times < until_ms)
    _, where = np.unique(earlier.baskets, return_inverse=True)
    earlier = select_rows(earlier, np.bincount(where)[where] <= _LARGEST_COUNTED)
    if len(earlier.times) <= MAX_LINES:
        return earlier
    since = np.partition(earlier.times, -MAX_LINES)[-MAX_LINES]
    return select_rows(earlier, earlier.times >= since)


def _judged(
    groups: ItemGroups,
    parts: list[OrderSplit],
    learned: Callable[..., CopurchaseModels],
    scores_of: Callable[[CopurchaseModel, list[list[int]], set[int]], Floats],
    on_trial: Callable[[], None],
) -> TuningTrial:
    scores, shown, known = [], 0, 0
    for stretch, before in parts:
        model = learned(before, now_ms=stretch.since_ms).widest
        baskets = [groups.contents(order) for order in stretch.test_groups.tolist()]
        shown_items: set[int] = set()
        scores.append(scores_of(model, baskets, shown_items))
        shown += len(shown_items)
        known += len(np.unique(before.items))
        on_trial()
    return TuningTrial(tuple(scores), shown / max(known, 1))


def _page_scores(
    model: CopurchaseModel, baskets: list[list[int]], shown_items: set[int]
) -> Floats:
    """Return each order's share of pages with a hit, in short lists and in long ones.

    The items of the short lists are added to `shown_items`.
    """
    lists: dict[int, list[int]] = {}
    scores = np.zeros(len(baskets))
    for number, order in enumerate(baskets):
        anchors, content = order[:_ANCHORS], set(order)
        for anchor in anchors:
            if anchor not in lists:
                lists[anchor] = model.complete([anchor], _LONG).items.tolist()
                shown_items.update(lists[anchor][:_SHORT])
            shown = lists[anchor]
            hits = not content.isdisjoint(shown[:_SHORT])
            scores[number] += hits + (hits or not content.isdisjoint(shown))
        scores[number] /= 2 * len(anchors)
    return scores


def _cart_scores(
    model: CopurchaseModel, baskets: list[list[int]], shown_items: set[int]
) -> Floats:
    """Return for each order of three or more whether its hidden product was listed."""
    scores = []
    for number, order in enumerate(baskets):
        if len(order) < _LEAST_CART:
            continue
        hidden = order[number * _OTHER_ONE % len(order)]
        shown = model.complete([item for item in order if item != hidden], _LONG).items
        shown_items.update(shown.tolist())
        scores.append(float(hidden in shown))
    return np.array(scores) if scores else np.zeros(1)
