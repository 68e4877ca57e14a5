"""Store tuning: a grid search of the options for lists of one product, on past orders.

The best of many values looks better by chance (multiple comparisons), so a change needs a
significant gain in each time split, and a minimum gain.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS, Clock
from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Floats, Ints
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseOptions,
    VariantGroups,
    fit_copurchase,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.stored_insights import InsightCoverage, insight_coverages
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.training.order_and_cart_lines import order_lines
from productrecs.training.partitioned_shopper_events import select_rows
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import OrderLineArrays, read_log_without_searches
from productrecs.training.tuning.repository import (
    TUNED_INSIGHT,
    Changes,
    HyperparameterRepository,
    TunedParameters,
    with_changes,
)
from productrecs.training.visit_and_order_items import VisitOrOrderItems, group_orders

MAX_LINES: Final = 300_000  # newest lines; more do not change the result
_ANCHORS: Final = 10  # anchors per order
_SHORT_LIST, _LONG_LIST = 4, 10  # list lengths: visible at once, and after scrolling

GRID: Final[tuple[Changes, ...]] = tuple(
    {**shape, "half_life_days": days}
    for shape in ({"prior": 20.0, "least_fit": 0.6}, {"prior": 40.0, "least_fit": 0.5})
    for days in (90.0, 360.0, 3_600.0)
)
"""Stronger shrinkage towards popularity: what sets of real orders have chosen."""
_MAX_ORDER_LINES: Final = 100  # lines of an order; larger ones are too slow
_PLAIN_COUNTS: Final = CopurchaseOptions(
    prior=0.0,
    half_life_days=1e9,
    large_basket=10**9,
    season=0.0,
    siblings=0.0,
    places=0,
)
N_SPLITS: Final = 2
SPLIT_SHARE: Final = 0.1  # of all orders, per split
MIN_GROUPS: Final = 200  # minimum orders per test split
MAX_GROUPS: Final = 1_000
MIN_STANDARD_ERRORS: Final = 2.5  # standard errors
MIN_GAIN: Final = 0.005  # minimum gain of the score


@dataclass(frozen=True, slots=True)
class TrialScores:
    """Scores of one set of options, by time split and test case, and catalog coverage."""

    scores: tuple[Floats, ...]
    coverage: float = 0.0  # share of the trained products

    @property
    def mean(self) -> float:
        """The mean over all test cases."""
        return float(np.concatenate(self.scores).mean())


Evaluate = Callable[[CopurchaseOptions], TrialScores]


def is_significantly_better(trial: TrialScores, baseline: TrialScores) -> bool:
    """Return whether a trial is significantly better than another, in each split."""
    gains = [
        own_score - baseline_score
        for own_score, baseline_score in zip(trial.scores, baseline.scores, strict=True)
    ]
    if any(float(gain.mean()) <= 0 for gain in gains):
        return False
    all_gains = np.concatenate(gains)
    error = float(all_gains.std()) / math.sqrt(len(all_gains))
    gain = float(all_gains.mean())
    return gain > MIN_STANDARD_ERRORS * error and gain > MIN_GAIN * baseline.mean


def grid_search(evaluate: Evaluate, min_coverage: float) -> CopurchaseOptions:
    """Return the defaults, or the best of the changes to them that is clearly better.

    Changes with a catalog coverage below `min_coverage` are rejected.
    """
    defaults = CopurchaseOptions()
    default_trial = evaluate(defaults)
    best, best_mean = defaults, 0.0
    for options in [with_changes(defaults, changes) for changes in GRID]:
        trial = evaluate(options)
        if (
            is_significantly_better(trial, default_trial)
            and trial.coverage >= min_coverage
            and trial.mean > best_mean
        ):
            best, best_mean = options, trial.mean
    return best


class HeldOutOrderSample(NamedTuple):
    """A sample of the orders of one held-out period; `since_ms` is the period's start."""

    since_ms: int
    test_groups: Ints  # indexes of groups


def sample_held_out_orders(groups: VisitOrOrderItems) -> list[HeldOutOrderSample]:
    """Return a sample of each held-out period, oldest first; none with too little data."""
    count = len(groups.starts)
    size = int(count * SPLIT_SHARE)
    if size < MIN_GROUPS:
        return []
    step = -(-size // MAX_GROUPS)
    return [
        HeldOutOrderSample(int(groups.starts[first]), np.arange(first, first + size, step))
        for first in range(count - N_SPLITS * size, count, size)
    ]


class HeldOutOrderSplit(NamedTuple):
    """A held-out sample, and all order lines before its period."""

    split: HeldOutOrderSample
    before: OrderLineArrays


def tune_copurchase_options(
    purchases: OrderLineArrays,
    n_items: int,
    on_trial: Callable[[], None],
    variants: VariantGroups | None = None,
) -> CopurchaseOptions | None:
    """Return the co-purchase hyperparameters; None when there is too little data.

    `on_trial` is called after each trial. `variants` are the variant groups. Options with a
    lower catalog coverage than plain counts are rejected.
    """
    orders = group_orders(purchases)
    splits = [
        HeldOutOrderSplit(split, _training_lines(purchases, split.since_ms))
        for split in sample_held_out_orders(orders)
    ]
    if not splits:
        return None

    def evaluate(options: CopurchaseOptions) -> TrialScores:
        scores, shown_count, item_count = [], 0, 0
        for split, before in splits:
            lines = order_lines(before, split.since_ms)
            models = fit_copurchase(
                *lines[:3], n_items, options, lines.buyers, variants=variants
            )
            baskets = [orders.contents(order) for order in split.test_groups.tolist()]
            hit_shares, shown_items = _basket_hit_shares_and_short_list_items(
                models.widest, baskets
            )
            scores.append(hit_shares)
            shown_count += len(shown_items)
            item_count += len(np.unique(before.items))
            on_trial()
        return TrialScores(tuple(scores), shown_count / max(item_count, 1))

    return grid_search(evaluate, evaluate(_PLAIN_COUNTS).coverage)


def _training_lines(purchases: OrderLineArrays, until_ms: int) -> OrderLineArrays:
    """Return the newest lines before a moment, without very large orders."""
    earlier = select_rows(purchases, purchases.times < until_ms)
    _, basket_index = np.unique(earlier.baskets, return_inverse=True)
    earlier = select_rows(
        earlier, np.bincount(basket_index)[basket_index] <= _MAX_ORDER_LINES
    )
    if len(earlier.times) <= MAX_LINES:
        return earlier
    since_ms = np.partition(earlier.times, -MAX_LINES)[-MAX_LINES]
    return select_rows(earlier, earlier.times >= since_ms)


def _basket_hit_shares_and_short_list_items(
    model: CopurchaseModel, baskets: list[list[int]]
) -> tuple[Floats, set[int]]:
    """Return each basket's share of pages with a hit, and the items of the short lists.

    The share is the mean of that in short and in long lists.
    """
    shown_items: set[int] = set()
    lists: dict[int, list[int]] = {}
    scores = np.zeros(len(baskets))
    for index, basket in enumerate(baskets):
        anchors, basket_items = basket[:_ANCHORS], set(basket)
        for anchor in anchors:
            if anchor not in lists:
                lists[anchor] = model.complete([anchor], _LONG_LIST).items.tolist()
                shown_items.update(lists[anchor][:_SHORT_LIST])
            shown = lists[anchor]
            hits = not basket_items.isdisjoint(shown[:_SHORT_LIST])
            scores[index] += hits + (hits or not basket_items.isdisjoint(shown))
        scores[index] /= 2 * len(anchors)
    return scores, shown_items


MIN_FACTS: Final = 2_000  # minimum facts of a log for tuning
RETUNE_AFTER_MS: Final = 7 * DAY_MS
RETUNE_GROWN_AFTER_MS: Final = DAY_MS  # minimum interval when the log has doubled
_TRIALS: Final = N_SPLITS * (len(GRID) + 2)


def stores_to_tune(database: Database, now_ms: int) -> list[StoreId]:
    """Return the stores whose hyperparameters are due for tuning."""
    with database.reading() as connection:
        rows = insight_coverages(connection, TUNED_INSIGHT)
    return [row.store_id for row in rows if _is_tuning_due(row, now_ms)]


def tune_store(
    database: Database,
    store: Store,
    clock: Clock,
    progress: Callable[[float], None],
) -> TunedParameters:
    """Choose and store the store's hyperparameters; `progress` is called with shares of 1.

    The result is deterministic for a given log.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    with database.reading() as connection:
        inputs, head = read_log_without_searches(
            TrainingRepository(connection, store.store_id)
        )
    trial_count = 0

    def count_trial() -> None:
        nonlocal trial_count
        trial_count += 1
        progress(min(trial_count / _TRIALS, 1.0))

    variants = inputs.catalog.categories_and_variants(head.n_items)[1]
    options = tune_copurchase_options(inputs.purchases, head.n_items, count_trial, variants)
    result = TunedParameters(options, clock(), head.seq)
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store.store_id)
        HyperparameterRepository(transaction, store.store_id).store(result)
    progress(1.0)
    return result


def _is_tuning_due(coverage: InsightCoverage, now_ms: int) -> bool:
    if coverage.seq < MIN_FACTS:
        return False
    if coverage.computed_at is None:
        return True
    age = abs(now_ms - coverage.computed_at)
    has_doubled = coverage.seq >= 2 * coverage.applied_seq
    return age >= RETUNE_AFTER_MS or (has_doubled and age >= RETUNE_GROWN_AFTER_MS)
