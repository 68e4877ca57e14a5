"""Training run: reads a store's new log entries, fits its engines, publishes the model.

The cached trainer trains stale stores and keeps their logs in memory.
"""

import contextlib
import hashlib
import json
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import Cache
from productrecs.core.clock import DAY_MS, HOUR_MS, Clock
from productrecs.core.idle_priority import run_at_idle_priority
from productrecs.core.ids import StoreId
from productrecs.engines.arrays import Ints
from productrecs.engines.browse import SessionOptions
from productrecs.engines.buy_again import usual_intervals
from productrecs.engines.click_boosts import (
    PURCHASE,
    ClickBoostModel,
    ClickBoostOptions,
    fit_click_boosts,
)
from productrecs.engines.complementary import ComplementModel
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    CopurchaseOptions,
    ItemSets,
)
from productrecs.engines.partition_jobs import HERE, Runner
from productrecs.engines.popularity import TrendingSales, rank_trending
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.storage.files.model_files import publish_arrays, remove_other_models
from productrecs.storage.files.snapshot_cache import SnapshotCache
from productrecs.storage.files.snapshots import MODELS, SnapshotName
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.behaviour_summary import (
    BehaviourSummary,
    BehaviourTask,
    summarize_behaviour,
)
from productrecs.training.engine_fitters import (
    fit_bundle_candidates,
    fit_cart_model,
    fit_complement_model,
    fit_copurchase_model,
)
from productrecs.training.interest_signals import Choices, Interactions, fit_indicators
from productrecs.training.item_fingerprints import item_fingerprints
from productrecs.training.partitioned_shopper_events import Behaviour
from productrecs.training.repository import (
    TrainedModel,
    TrainingHead,
    TrainingProgress,
    TrainingRepository,
    training_progress,
)
from productrecs.training.search.repository import SearchEventRepository
from productrecs.training.trained_models import models_folder
from productrecs.training.training_inputs import TrainingInputs, bought_rows
from productrecs.training.tuning.repository import HyperparameterRepository

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class TrainingDeps:
    """The database, model folder and clock that training uses."""

    database: Database
    models: Path
    clock: Clock
    snapshots: SnapshotCache = field(default_factory=SnapshotCache)


def train_store(
    deps: TrainingDeps,
    store: Store,
    inputs: TrainingInputs,
    progress: Progress,
    idle_seconds: float = 0.0,
    runner: Runner = HERE,
) -> TrainedModel:
    """Train `store` on its whole log; return the serving model.

    The caller passes the same `inputs` again, so that the next training reads only new
    facts; empty ones give the same model, and so does every `runner` of the fit's jobs.
    `progress` is called with shares of 1. The first `idle_seconds` run at idle priority
    (`core/idle_priority.py`).

    Raises:
        StoreDeletedError: when the store was deleted.
        OSError: when the model cannot be written; the last good one continues to serve.
        ObjectStoreUnavailableError: when it cannot be uploaded, with the same effect.
    """
    folder = models_folder(deps.models, store.store_id)
    with _remove_if_store_deleted(deps, store, folder):
        with run_at_idle_priority(
            idle_seconds
        ):  # reading needs no low latency; the rest does
            head, tuned = _read_new_log(deps, store, inputs)
            progress(0.5)
            now_ms = deps.clock()
            arrays = fit(inputs, head.numbers, store.settings, now_ms, tuned, runner)
            progress(0.9)
            facts = {"store_id": store.store_id, "applied_seq": head.seq}
            model_id = publish_arrays(folder, arrays, facts, head.model_id)
        snapshot = SnapshotName(store.store_id, MODELS, model_id)
        deps.snapshots.publish(snapshot, head.model_id)
        model = TrainedModel(
            model_id=model_id,
            applied_seq=head.seq,
            catalog_seq=head.catalog_seq,
            settings_hash=settings_hash(store.settings),
            trained_at=now_ms,
        )
        with deps.database.transaction() as transaction:
            TrainingRepository(transaction, store.store_id).serve(model)
    remove_other_models(folder, _models_to_keep(head, model_id))
    progress(1.0)
    return model


@contextlib.contextmanager
def _remove_if_store_deleted(
    deps: TrainingDeps, store: Store, folder: Path
) -> Iterator[None]:
    """Delete all model files of a store that is deleted while the block runs.

    The deletion also removes the folder, maybe while a model is written into it.

    Raises:
        StoreDeletedError: when it was deleted.
    """
    try:
        yield
    except (OSError, StoreDeletedError) as error:
        with deps.database.reading() as connection:
            if TrainingRepository(connection, store.store_id).head() is not None:
                raise
        shutil.rmtree(folder, ignore_errors=True)
        message = f"{store.domain} was deleted while it was trained"
        raise StoreDeletedError(message) from error


def fit(
    inputs: TrainingInputs,
    n_items: int,
    settings: StoreSettings,
    now_ms: int,
    tuned: CopurchaseOptions | None = None,
    runner: Runner = HERE,
) -> dict[str, npt.NDArray[Any]]:
    """Return every engine's arrays, named `engine.array`, for numbers below `n_items`.

    Co-purchases use the default hyperparameters unless there are `tuned` ones.
    """
    since_ms = now_ms - settings.trending_days * DAY_MS
    visits = SessionOptions()
    behaviour = summarize_behaviour(
        inputs.events,
        inputs.indicators.signals,
        BehaviourTask(n_items, visits.longest, since_ms, now_ms),
        visits,
        runner,
    )
    # First what needs much memory for small results: the models below stay in memory.
    indicators = _interest_indicators(inputs, behaviour.choices, now_ms)
    behaviour = behaviour._replace(choices=[])
    click_boosts = _search_click_boosts(inputs, settings, now_ms)
    models, cart_model, complements, item_sets = _fit_purchase_models(
        inputs, behaviour.carts, n_items, tuned or CopurchaseOptions(), now_ms, runner
    )
    copurchase_arrays, session_arrays = models.to_arrays(), behaviour.sessions.to_arrays()
    cart_arrays = {} if cart_model is None else cart_model.to_arrays()
    copurchase_models = [
        one.to_arrays() for one in (*models, cart_model) if one is not None
    ]
    return {
        **copurchase_arrays,
        **{f"browse.{name}": array for name, array in session_arrays.items()},
        **{f"carts.{name}": array for name, array in cart_arrays.items()},
        **{f"complementary.{name}": a for name, a in complements.to_arrays().items()},
        **{f"sets.{name}": array for name, array in item_sets.to_arrays().items()},
        "marks": item_fingerprints(session_arrays, copurchase_models),
        **{f"choices.{name}": array for name, array in click_boosts},
        **{f"signs.{name}": array for name, array in indicators},
        "intervals": _repurchase_intervals(inputs, n_items),
        "trending": _trending(inputs, behaviour, settings, since_ms, now_ms),
    }


def _fit_purchase_models(
    inputs: TrainingInputs,
    in_carts: Behaviour,
    n_items: int,
    options: CopurchaseOptions,
    now_ms: int,
    runner: Runner,
) -> tuple[CopurchaseModels, CopurchaseModel | None, ComplementModel, ItemSets]:
    """Return the models of purchases: the cached ones, if nothing was bought.

    Orders decay relative to the newest purchase, not `now_ms`, so time alone changes
    nothing.
    """
    purchases, cache = inputs.purchases, inputs.fit_cache
    categories, variants = inputs.catalog.categories_and_variants(n_items)
    past_times = purchases.times[purchases.times <= now_ms]
    newest_ms = int(past_times.max()) if len(past_times) else now_ms
    models = cache.get_or_fit(
        "copurchase",
        (purchases, variants),
        (n_items, newest_ms, options),
        lambda: fit_copurchase_model(
            purchases, n_items, newest_ms, options, variants, runner
        ),
    )
    cart_event_count = len(in_carts.items)  # only grows
    cart_model = cache.get_or_fit(
        "carts",
        (purchases, categories, variants),
        (n_items, newest_ms, options, cart_event_count),
        lambda: fit_cart_model(inputs, in_carts, n_items, newest_ms, options, runner),
    )
    model_for_complements = cart_model or models.widest
    complements = cache.get_or_fit(
        "complementary",
        (purchases, categories, variants, model_for_complements),
        n_items,
        lambda: fit_complement_model(model_for_complements, inputs, n_items),
    )
    item_sets = cache.get_or_fit(
        "sets",
        (purchases, models),
        (n_items, newest_ms),
        lambda: fit_bundle_candidates(models.plain, purchases, newest_ms),
    )
    return models, cart_model, complements, item_sets


def _repurchase_intervals(inputs: TrainingInputs, n_items: int) -> Ints:
    """Return each item's usual interval between two purchases by one buyer, in ms."""
    purchases = inputs.purchases

    def fit_intervals() -> Ints:
        is_counted = (
            purchases.is_active & (purchases.quantities > 0) & (purchases.buyers != 0)
        )
        lines = (
            purchases.buyers[is_counted],
            purchases.items[is_counted],
            purchases.times[is_counted],
        )
        return usual_intervals(*lines, n_items)

    return inputs.fit_cache.get_or_fit("intervals", (purchases,), n_items, fit_intervals)


def _search_click_boosts(
    inputs: TrainingInputs, settings: StoreSettings, now_ms: int
) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return the click boosts of searches, by query intent."""
    clicks = inputs.searches.interactions(now_ms, bought_rows(inputs.purchases))
    intents = inputs.searches.intents(LanguageAnalyzer(settings.language))
    intent_numbers = {
        intent: number for number, intent in enumerate(dict.fromkeys(intents))
    }
    queries = np.array([intent_numbers[intent] for intent in intents], dtype=np.int64)
    clicks_by_intent = clicks._replace(queries=queries[clicks.queries])
    model = ClickBoostModel.of(
        fit_click_boosts(clicks_by_intent, ClickBoostOptions()), list(intent_numbers)
    )
    return model.to_arrays().items()


def _interest_indicators(
    inputs: TrainingInputs, choices: Sequence[Choices], now_ms: int
) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return the interest indicators of categories, brands and colours."""
    lines = inputs.purchases
    is_purchase = lines.is_active & (lines.quantities > 0) & (lines.buyers != 0)
    purchases = Interactions(
        lines.buyers[is_purchase],
        lines.times[is_purchase],
        lines.items[is_purchase].astype(np.int64),
        np.full(int(is_purchase.sum()), PURCHASE),
    )
    return fit_indicators(inputs.indicators, choices, purchases, now_ms).to_arrays().items()


def settings_hash(settings: StoreSettings) -> str:
    """Return a hash of the settings that training uses."""
    fields = [settings.trending_metric, settings.trending_days, settings.language]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


def _trending(
    inputs: TrainingInputs,
    behaviour: BehaviourSummary,
    settings: StoreSettings,
    since_ms: int,
    now_ms: int,
) -> npt.NDArray[np.int32]:
    purchases = inputs.purchases
    is_active = purchases.is_active
    sales = TrendingSales(
        items=purchases.items[is_active],
        baskets=purchases.baskets[is_active],
        units=purchases.quantities[is_active],
        revenue=np.nan_to_num(purchases.totals[is_active]),
        times=purchases.times[is_active],
    )
    recent_sales = sales.between(since_ms, now_ms)
    earlier_sales = sales.between(-1, since_ms)
    metric = settings.trending_metric
    return rank_trending(
        recent_sales, behaviour.carted, behaviour.viewed, metric, earlier_sales
    )


def _read_new_log(
    deps: TrainingDeps, store: Store, inputs: TrainingInputs
) -> tuple[TrainingHead, CopurchaseOptions]:
    with deps.database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        head = repository.existing_head()
        inputs.follow(head.removals)
        searches = SearchEventRepository(connection, store.store_id)
        inputs.read_on(repository, head.seq, searches=searches)
        tuned = HyperparameterRepository(connection, store.store_id).options()
    return head, tuned


def _models_to_keep(head: TrainingHead, model_id: str) -> set[str]:
    # The previous model stays: a process may be about to map it.
    return {model_id} | ({head.model_id} if head.model_id else set())


_PAUSE_FACTOR: Final = 4.0  # limits training to a fifth of a core, at low priority
_MAX_PAUSE_SECONDS: Final = 30.0
_IDLE_FACTOR: Final = 5.0  # idle-priority time per CPU second of the last training
_MAX_IDLE_SECONDS: Final = 5.0
# Each second, one in so many stores is retrained because its model is old.
_AGED_STORES_SHARE: Final = 600
_MIN_STORE_FACTS: Final = 2_000  # a cached store counts as so many facts at least


class Trainer:
    """Trains stores one after another and caches the inputs of recently trained ones."""

    def __init__(
        self, deps: TrainingDeps, max_facts: int = Cache.TRAINING_INPUTS.limit
    ) -> None:
        """Cache up to `max_facts` events and lines in memory (about 30 bytes each)."""
        self._deps = deps
        self._max_facts = max_facts
        self._inputs: OrderedDict[StoreId, TrainingInputs] = OrderedDict()
        self._sizes: dict[StoreId, int] = {}  # counted once a training: it takes a while
        self._paused_until: dict[StoreId, float] = {}
        self._cpu_seconds: dict[StoreId, float] = {}  # CPU seconds of the last training

    def train(self, store: Store, progress: Progress) -> TrainedModel:
        """Return the model that now serves `store`.

        Raises:
            StoreDeletedError: when it was deleted.
            OSError: when the model cannot be written.
            ObjectStoreUnavailableError: when it could not be uploaded.
        """
        self._deps.snapshots.check()
        started_at = time.thread_time()
        # Not in the cache while it is read: after a failure the next training starts over.
        inputs = self._inputs.pop(store.store_id, None)
        self._sizes.pop(store.store_id, None)
        if inputs is None:
            inputs = TrainingInputs(self._deps.models)
        cpu_seconds = self._cpu_seconds.get(
            store.store_id, 0.0
        )  # the first has normal priority
        idle_seconds = min(_IDLE_FACTOR * cpu_seconds, _MAX_IDLE_SECONDS)
        model = train_store(self._deps, store, inputs, progress, idle_seconds)
        self._inputs[store.store_id] = inputs
        self._sizes[store.store_id] = inputs.size + _MIN_STORE_FACTS
        self._evict()
        cpu_seconds = self._cpu_seconds[store.store_id] = time.thread_time() - started_at
        pause = min(_PAUSE_FACTOR * cpu_seconds, _MAX_PAUSE_SECONDS)
        self._paused_until[store.store_id] = time.monotonic() + pause
        return model

    def is_paused(self, store_id: StoreId) -> bool:
        """Return whether the store was trained too recently to be trained again."""
        return time.monotonic() < self._paused_until.get(store_id, 0.0)

    def _evict(self) -> None:
        while len(self._inputs) > 1 and sum(self._sizes.values()) > self._max_facts:
            evicted, _ = self._inputs.popitem(last=False)
            del self._sizes[evicted]
            self._cpu_seconds.pop(evicted, None)  # its next training reads the whole log


def stale_stores(
    database: Database, accounts: AccountDirectory, now_ms: int
) -> list[StoreId]:
    """Return the stores to train now: their model is older than their log or settings.

    Time windows slide without new events, so a model is also stale after an hour. Stores
    that are stale only for that reason are returned a few at a time, so that the trainings
    of quiet stores never delay those of stores with new events.
    """
    with database.reading() as connection:
        rows = training_progress(connection)
    stale = [row.store_id for row in rows if _needs_training(row, accounts)]
    stale_ids = set(stale)
    aged = [
        row.store_id
        for row in rows
        if row.seq
        and row.store_id not in stale_ids
        and abs(now_ms - (row.trained_at or 0)) >= HOUR_MS
        and accounts.by_id(row.store_id) is not None
    ]
    return stale + _rotate(aged, -(-len(rows) // _AGED_STORES_SHARE), now_ms // 1_000)


def _rotate(stores: Sequence[StoreId], count: int, turn: int) -> list[StoreId]:
    """Return up to `count` of the stores, the following ones in the next turn."""
    if len(stores) <= count:
        return list(stores)
    start = turn * count % len(stores)
    return [*stores[start:], *stores[:start]][:count]


def _needs_training(row: TrainingProgress, accounts: AccountDirectory) -> bool:
    store = accounts.by_id(row.store_id)
    if store is None or row.seq == 0:
        return False
    return (
        row.applied_seq is None
        or row.applied_seq < row.seq
        or row.settings_hash != settings_hash(store.settings)
    )
