"""Store tuning: searches the grid of co-purchase and session options on its own log."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS, Clock
from productrecs.core.ids import StoreId
from productrecs.engines.arrays import Floats
from productrecs.engines.browse import InteractionType, SessionIndex, SessionOptions
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    CopurchaseOptions,
    VariantGroups,
)
from productrecs.records.events.event import EventKind
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.training.engine_fitters import fit_copurchase_model, fit_session_index
from productrecs.training.group_visits_and_orders import (
    ItemGroups,
    VisitSteps,
    group_orders,
    steps_of_visits,
)
from productrecs.training.partitioned_shopper_events import Behaviour, select_rows
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import Purchases, read_log
from productrecs.training.tuning.hyperparameter_search import (
    N_SPLITS,
    Changes,
    Hyperparameters,
    TimeSplit,
    TuningTrial,
    grid_search,
    time_splits,
)
from productrecs.training.tuning.repository import (
    HyperparameterRepository,
    TunedParameters,
    TuningStatus,
    tuning_statuses,
)

MAX_LINES: Final = 300_000  # newest lines; more do not change the result
_ANCHORS: Final = 10  # anchors per order
_SHORT_LIST, _LONG_LIST = 4, 10  # list lengths: visible at once, and after scrolling
_MIN_CART: Final = 3
_HIDDEN_STEP: Final = 7_919  # a prime; selects the hidden product of a cart

_SHAPES: Final[tuple[Changes, ...]] = (
    {"prior": 2.0},
    {"prior": 10.0},
    {"prior": 20.0, "least_fit": 0.6},
    {"prior": 40.0, "least_fit": 0.5},
    {"exponent": 0.1},
    {"exponent": 0.3, "prior": 2.0},  # near cosine
)
"""Weak shrinkage, shrinkage towards popularity, and near cosine."""
PAGE_GRID: Final[tuple[tuple[Changes, ...], ...]] = (
    tuple(
        {**shape, "half_life_days": days, "season": power}
        for shape in _SHAPES
        for days in (90.0, 360.0, 3_600.0)
        for power in (0.0, 0.3)
    ),
    tuple({"large_basket": size} for size in (10, 100)),
)
VARIANT_GRID: Final[tuple[Changes, ...]] = tuple({"siblings": n} for n in (0.0, 20.0))
CART_GRID: Final[tuple[tuple[Changes, ...], ...]] = (
    tuple({"lean": share} for share in (0.15, 0.45)),
    tuple({"doublings": times} for times in (1, 3)),
)
_MAX_ORDER_LINES: Final = 100  # lines of an order; larger ones are too slow
_PLAIN_COUNTS: Final = CopurchaseOptions(
    prior=0.0,
    half_life_days=1e9,
    large_basket=10**9,
    season=0.0,
    siblings=0.0,
    places=0,
)


class OrderSplit(NamedTuple):
    """Orders of a test split, and the lines before it."""

    split: TimeSplit
    before: Purchases


def tune_copurchase_options(
    purchases: Purchases,
    n_items: int,
    on_trial: Callable[[], None],
    current: CopurchaseOptions | None = None,
    variants: VariantGroups | None = None,
) -> CopurchaseOptions | None:
    """Return the co-purchase hyperparameters; None when there is too little data.

    `on_trial` is called after each trial. `variants` are the variant groups. Options with a
    lower catalog coverage than plain counts are rejected.
    """
    orders = group_orders(purchases)
    splits = [
        OrderSplit(split, _training_lines(purchases, split.since_ms))
        for split in time_splits(orders)
    ]
    if not splits:
        return None

    fit_model = partial(fit_copurchase_model, n_items=n_items, variants=variants)

    def evaluate_pages(options: CopurchaseOptions) -> TuningTrial:
        model = partial(fit_model, options=options)
        return _evaluate_copurchase(orders, splits, model, _page_scores, on_trial)

    def evaluate_carts(options: CopurchaseOptions) -> TuningTrial:
        model = partial(fit_model, options=options)
        return _evaluate_copurchase(orders, splits, model, _cart_scores, on_trial)

    page_grid = (
        PAGE_GRID
        if variants is None or not variants.groups.any()
        else (*PAGE_GRID, VARIANT_GRID)
    )
    baseline_coverage = evaluate_pages(_PLAIN_COUNTS).shown
    best, _ = grid_search(
        current or CopurchaseOptions(), page_grid, evaluate_pages, baseline_coverage
    )
    best, _ = grid_search(best, CART_GRID, evaluate_carts)
    return best


def _training_lines(purchases: Purchases, until_ms: int) -> Purchases:
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


def _evaluate_copurchase(
    orders: ItemGroups,
    splits: list[OrderSplit],
    fit_model: Callable[..., CopurchaseModels],
    scores_of: Callable[[CopurchaseModel, list[list[int]], set[int]], Floats],
    on_trial: Callable[[], None],
) -> TuningTrial:
    scores, shown_count, item_count = [], 0, 0
    for split, before in splits:
        model = fit_model(before, now_ms=split.since_ms).widest
        baskets = [orders.contents(order) for order in split.test_groups.tolist()]
        shown_items: set[int] = set()
        scores.append(scores_of(model, baskets, shown_items))
        shown_count += len(shown_items)
        item_count += len(np.unique(before.items))
        on_trial()
    return TuningTrial(tuple(scores), shown_count / max(item_count, 1))


def _page_scores(
    model: CopurchaseModel, baskets: list[list[int]], shown_items: set[int]
) -> Floats:
    """Return each order's share of pages with a hit, in short and in long lists.

    The items of the short lists are added to `shown_items`.
    """
    lists: dict[int, list[int]] = {}
    scores = np.zeros(len(baskets))
    for number, order in enumerate(baskets):
        anchors, content = order[:_ANCHORS], set(order)
        for anchor in anchors:
            if anchor not in lists:
                lists[anchor] = model.complete([anchor], _LONG_LIST).items.tolist()
                shown_items.update(lists[anchor][:_SHORT_LIST])
            shown = lists[anchor]
            hits = not content.isdisjoint(shown[:_SHORT_LIST])
            scores[number] += hits + (hits or not content.isdisjoint(shown))
        scores[number] /= 2 * len(anchors)
    return scores


def _cart_scores(
    model: CopurchaseModel, baskets: list[list[int]], shown_items: set[int]
) -> Floats:
    """Return for each order of three or more items whether the hidden one was listed."""
    scores = []
    for number, order in enumerate(baskets):
        if len(order) < _MIN_CART:
            continue
        hidden_item = order[number * _HIDDEN_STEP % len(order)]
        shown = model.complete(
            [item for item in order if item != hidden_item], _LONG_LIST
        ).items
        shown_items.update(shown.tolist())
        scores.append(float(hidden_item in shown))
    return np.array(scores) if scores else np.zeros(1)


MAX_EVENTS: Final = 1_000_000  # newest events
_STEPS: Final = 5  # newest steps of a visit
_LIST_LENGTH: Final = 20

# No option is slower than the defaults: larger neighbourhoods are not searched.
GRID: Final[tuple[tuple[Changes, ...], ...]] = (
    tuple({"days_scale": days} for days in (7.0, 20.0, 150.0)),
    tuple({"distance_scale": places} for places in (0.2, 1.0, 3.0)),
    tuple({"returns": share} for share in (0.0, 1.0)),
    tuple({"match_scale": one, "vote_scale": one} for one in (1.5, 2.5, 6.0)),
    tuple({"rarity": power} for power in (0.3, 2.0)),
    tuple({"neighbours": count} for count in (100, 250)),
    ({"backward": 0.5},),
)
ACTION_GRIDS: Final[Mapping[InteractionType, tuple[Changes, ...]]] = MappingProxyType(
    {
        InteractionType.CLICKED: tuple({"clicked": times} for times in (0.5, 1.5)),
        InteractionType.CARTED: tuple({"carted": times} for times in (0.5, 2.0, 6.0)),
        InteractionType.BOUGHT: tuple({"bought": times} for times in (0.3, 3.0)),
    }
)
"""Searched only if such interactions occur in the test visits."""


class VisitSplit(NamedTuple):
    """A test split of visits, and the behaviour before it."""

    split: TimeSplit
    before: Behaviour


def tune_session_options(
    behaviour: Behaviour,
    n_items: int,
    on_trial: Callable[[], None],
    current: SessionOptions | None = None,
    purchases: Purchases | None = None,
) -> SessionOptions | None:
    """Return the session hyperparameters; None when there is too little data.

    `purchases` marks steps that were purchases, which are no targets. `on_trial` is called
    after each trial.
    """
    recent = _newest_events(behaviour)
    visits = steps_of_visits(
        recent if purchases is None else with_purchases(recent, purchases)
    )
    splits = [
        VisitSplit(split, select_rows(recent, recent.times < split.since_ms))
        for split in time_splits(visits.groups)
    ]
    if not splits:
        return None

    def evaluate(options: SessionOptions) -> TuningTrial:
        scores = []
        for split, before in splits:
            index = fit_session_index(before, n_items, options)
            scores.append(_visit_scores(index, visits, split))
            on_trial()
        return TuningTrial(tuple(scores))

    test_interactions = set(visits.interactions.tolist())
    action_grids = [
        values
        for interaction, values in ACTION_GRIDS.items()
        if interaction in test_interactions
    ]
    return grid_search(current or SessionOptions(), [*GRID, *action_grids], evaluate)[0]


def _newest_events(behaviour: Behaviour) -> Behaviour:
    if len(behaviour.times) <= MAX_EVENTS:
        return behaviour
    since = np.partition(behaviour.times, -MAX_EVENTS)[-MAX_EVENTS]
    return select_rows(behaviour, behaviour.times >= since)


def with_purchases(behaviour: Behaviour, purchases: Purchases) -> Behaviour:
    """Return the behaviour, including purchases since its first fact."""
    is_purchase = (
        purchases.is_active & (purchases.quantities > 0) & (purchases.visitors != 0)
    )
    is_purchase &= purchases.times >= behaviour.times.min(initial=2**62)
    kinds = np.full(int(is_purchase.sum()), EventKind.BUY, np.int8)
    return Behaviour(
        times=np.concatenate((behaviour.times, purchases.times[is_purchase])),
        kinds=np.concatenate((behaviour.kinds, kinds)),
        items=np.concatenate((behaviour.items, purchases.items[is_purchase])),
        visitors=np.concatenate((behaviour.visitors, purchases.visitors[is_purchase])),
    )


def _visit_scores(index: SessionIndex, visits: VisitSteps, split: TimeSplit) -> Floats:
    """Return each visit's mean score, by the rank of the next product in the list."""
    scores = np.zeros(len(split.test_groups))
    for number, visit in enumerate(split.test_groups.tolist()):
        viewed, (first_interactions, interactions) = (
            visits.groups.contents(visit),
            visits.actions_in(visit),
        )
        steps = [
            step
            for step in range(1, len(viewed))
            if first_interactions[step] < InteractionType.BOUGHT
        ]
        steps = steps[-_STEPS:]
        for step in steps:
            prefix = viewed[:step]
            strongest = (
                _strongest_interactions(prefix, interactions)
                if index.weights_interactions
                else {}
            )
            shown = index.next_items(
                prefix, split.since_ms, _LIST_LENGTH, interactions=strongest
            ).items
            ranks = np.flatnonzero(shown == viewed[step])
            if len(ranks):
                scores[number] += 1.0 + 1.0 / (1.0 + int(ranks[0]))
        scores[number] /= 2 * max(len(steps), 1)
    return scores


def _strongest_interactions(prefix: list[int], interactions: list[int]) -> dict[int, int]:
    """Return the strongest interaction above a view with each item of a visit."""
    strongest: dict[int, int] = {}
    for item, interaction in zip(prefix, interactions, strict=False):
        if interaction > strongest.get(item, InteractionType.VIEWED):
            strongest[item] = interaction
    return strongest


MIN_FACTS: Final = 2_000  # minimum facts of a log for tuning
RETUNE_AFTER_MS: Final = 7 * DAY_MS
RETUNE_GROWN_AFTER_MS: Final = DAY_MS  # minimum interval when the log has doubled
_TRIALS: Final = N_SPLITS * (
    4 + sum(map(len, (*PAGE_GRID, VARIANT_GRID, *CART_GRID, *GRID, *ACTION_GRIDS.values())))
)


def stores_to_tune(database: Database, now_ms: int) -> list[StoreId]:
    """Return the stores whose hyperparameters are due for tuning."""
    with database.reading() as connection:
        statuses = tuning_statuses(connection)
    return [status.store_id for status in statuses if _is_due(status, now_ms)]


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
        inputs, head = read_log(TrainingRepository(connection, store.store_id))
    trial_count = 0

    def count_trial() -> None:
        nonlocal trial_count
        trial_count += 1
        progress(min(trial_count / _TRIALS, 1.0))

    purchases, variants = (
        inputs.purchases,
        inputs.catalog.categories_and_variants(head.numbers)[1],
    )
    companions = tune_copurchase_options(
        purchases, head.numbers, count_trial, variants=variants
    )
    session_options = tune_session_options(
        inputs.behaviour, head.numbers, count_trial, purchases=purchases
    )
    current = Hyperparameters()
    tuned_options = (
        ("companions", companions),
        ("visits", session_options),
    )
    result = TunedParameters(
        Hyperparameters(
            companions or current.companions,
            session_options or current.visits,
        ),
        tuple(name for name, options in tuned_options if options is not None),
        clock(),
        head.seq,
    )
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store.store_id)
        HyperparameterRepository(transaction, store.store_id).store(result)
    progress(1.0)
    return result


def _is_due(status: TuningStatus, now_ms: int) -> bool:
    if status.seq < MIN_FACTS:
        return False
    if status.chosen_at is None:
        return True
    age = abs(now_ms - status.chosen_at)
    has_doubled = status.seq >= 2 * (status.applied_seq or 0)
    return age >= RETUNE_AFTER_MS or (has_doubled and age >= RETUNE_GROWN_AFTER_MS)
