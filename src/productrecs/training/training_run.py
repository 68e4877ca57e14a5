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
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import Cache
from productrecs.core.clock import DAY_MS, HOUR_MS, Clock
from productrecs.core.idle_priority import run_at_idle_priority
from productrecs.core.ids import StoreId
from productrecs.engines.arrays import Arrays, Ints
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
from productrecs.engines.engine_spec import Facts
from productrecs.engines.partition_jobs import HERE, Runner, index_ranges
from productrecs.engines.popularity import TrendingSales, rank_trending
from productrecs.engines.ranking import TreeEnsemble
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.storage.database import Database
from productrecs.storage.model_files import publish_arrays, remove_other_models
from productrecs.storage.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.snapshot_cache import SnapshotCache
from productrecs.storage.snapshots import MODELS, SnapshotName
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
    is_in_order,
)
from productrecs.training.engine_specs import OWN_MODELS
from productrecs.training.interest_signals import Choices, Interactions, fit_indicators
from productrecs.training.partitioned_shopper_events import Behaviour
from productrecs.training.repository import (
    RankingRepository,
    TrainedModel,
    TrainingHead,
    TrainingProgress,
    TrainingRepository,
    training_progress,
)
from productrecs.training.search.repository import SearchEventRepository
from productrecs.training.stores_due_for_ranker import impressions_and_clicks
from productrecs.training.trained_models import models_folder
from productrecs.training.training_inputs import TrainingInputs, bought_rows
from productrecs.training.tuning.hyperparameter_search import Hyperparameters
from productrecs.training.tuning.repository import HyperparameterRepository

Words = npt.NDArray[np.uint64]

_MIX_ONE: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_TWO: Final = np.uint64(0xBF58476D1CE4E5B9)
_HASH_SHIFT: Final = np.uint64(29)
_BLOCK: Final = 4_000_000  # entries that are hashed at once


def item_fingerprints(
    browse: Arrays, bought: Sequence[Arrays], other_arrays: Sequence[Ints] = ()
) -> Ints:
    """Return the fingerprint [n_items] of each item, from the arrays of these engines.

    `bought` holds the arrays of each co-purchase model, at least one; `other_arrays` the
    fingerprints [n_items] of engines with their own models.

    Equal fingerprints mean equal evidence, except for one chance in 2^64.
    """
    session_hashes = _sums(browse["offsets"], partial(_place_hashes, browse["items"]))
    session_hashes = _hashed(session_hashes + _hashed(_words(browse["owners"])))
    postings = browse["postings"]
    viewed = _sums(
        browse["posting_offsets"], lambda rows, _: session_hashes[postings[rows]]
    )
    hashes = _hashed(viewed + _hashed(_companion_hashes(bought[0])))
    for other_array in bought[1:]:
        hashes = _hashed(hashes + _companion_hashes(other_array))
    for fingerprints in other_arrays:
        hashes = _hashed(hashes + _words(fingerprints))
    return hashes.view(np.int64)


def _place_hashes(items: npt.NDArray[Any], rows: slice, offsets: Ints) -> Words:
    """Return the hash of each item and its place in its session."""
    places = np.arange(len(items[rows])) - np.repeat(offsets[:-1], np.diff(offsets))
    return _hashed(_words(items[rows]) * _MIX_ONE + _words(places))


def _companion_hashes(model: Arrays) -> Words:
    def hashes_of(rows: slice, _: Ints) -> Words:
        hashes = _words(model["companions"][rows]) * _MIX_ONE
        hashes += _words(model["support"][rows])
        hashes = _hashed(hashes) + _words(model["evidence"][rows])
        if len(model["shared"]):  # pooled baskets of variants
            hashes = _hashed(hashes) + _words(model["shared"][rows])
        return _hashed(hashes)

    return _sums(model["offsets"], hashes_of)


def _words(numbers: npt.NDArray[Any]) -> Words:
    return numbers.astype(np.int64).view(np.uint64) + np.uint64(1)


def _hashed(words: Words) -> Words:
    """Return words whose every bit depends on all input bits."""
    words = (words ^ (words >> _HASH_SHIFT)) * _MIX_TWO
    hashed: Words = (words ^ (words >> _HASH_SHIFT)) * _MIX_ONE
    return hashed


def _sums(offsets: npt.NDArray[Any], hashes_of: Callable[[slice, Ints], Words]) -> Words:
    """Return the sum (modulo 2^64) of the hashes of each run, including empty runs.

    `hashes_of` gets the entries of some runs, and where each of them starts and ends.
    """
    sums = np.zeros(len(offsets) - 1, np.uint64)
    for begin, end in index_ranges(offsets, _BLOCK):
        starts = offsets[begin : end + 1] - offsets[begin]
        words = hashes_of(slice(int(offsets[begin]), int(offsets[end])), starts)
        totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)))
        sums[begin:end] = totals[starts[1:]] - totals[starts[:-1]]
    return sums


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
    with _remove_on_failure(deps, store, folder):
        with run_at_idle_priority(
            idle_seconds
        ):  # reading needs no low latency; the rest does
            head, constants = _read_on(deps, store, inputs)
            progress(0.5)
            now_ms = deps.clock()
            arrays = fit(inputs, head.numbers, store.settings, now_ms, constants, runner)
            arrays |= _order(deps, store)
            progress(0.9)
            facts = {"store_id": store.store_id, "applied_seq": head.seq}
            facts |= impressions_and_clicks(inputs.trials)
            model_id = publish_arrays(folder, arrays, facts, head.model_id)
        uploaded = SnapshotName(store.store_id, MODELS, model_id)
        deps.snapshots.publish(uploaded, head.model_id)
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
def _remove_on_failure(deps: TrainingDeps, store: Store, folder: Path) -> Iterator[None]:
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


def _order(deps: TrainingDeps, store: Store) -> dict[str, npt.NDArray[Any]]:
    """Return the trees of the store's ranker, if its backtest showed a gain."""
    with deps.database.reading() as connection:
        stored = RankingRepository(connection, store.store_id).load()
    if stored is None or not stored.serves:
        return {}
    trees = TreeEnsemble.from_arrays(stored.trees)
    return {f"trees.{name}": array for name, array in trees.to_arrays().items()}


def fit(
    inputs: TrainingInputs,
    n_items: int,
    settings: StoreSettings,
    now_ms: int,
    constants: Hyperparameters | None = None,
    runner: Runner = HERE,
) -> dict[str, npt.NDArray[Any]]:
    """Return every engine's arrays, named `engine.array`, for numbers below `n_items`.

    Engines use their default hyperparameters unless `constants` has others.
    """
    hyperparameters = constants or Hyperparameters()
    since_ms = now_ms - settings.trending_days * DAY_MS
    visits = hyperparameters.visits
    behaviour = summarize_behaviour(
        inputs.events,
        inputs.signs.signals,
        BehaviourTask(n_items, visits.longest, since_ms, now_ms),
        visits,
        runner,
    )
    # First what needs much memory for small results: the models below stay in memory.
    signs = _interest_indicators(inputs, behaviour.choices, now_ms)
    behaviour = behaviour._replace(choices=[])
    choices = _choices(inputs, settings, now_ms)
    models, carts, complements, item_sets = _bought(
        inputs, behaviour.carts, n_items, hyperparameters.companions, now_ms, runner
    )
    bought, viewed = models.to_arrays(), behaviour.sessions.to_arrays()
    carted = {} if carts is None else carts.to_arrays()
    pairs = [one.to_arrays() for one in (*models, carts) if one is not None]
    own_models, fingerprints = _own_models(inputs, n_items, now_ms)
    return {
        **bought,
        **{f"browse.{name}": array for name, array in viewed.items()},
        **{f"carts.{name}": array for name, array in carted.items()},
        **{f"complementary.{name}": a for name, a in complements.to_arrays().items()},
        **{f"sets.{name}": array for name, array in item_sets.to_arrays().items()},
        **own_models,
        "marks": item_fingerprints(viewed, pairs, fingerprints),
        "personal_search": np.array(astuple(hyperparameters.search), np.float64),
        **{f"choices.{name}": array for name, array in choices},
        **{f"signs.{name}": array for name, array in signs},
        **{f"trials.{name}": array for name, array in _trials(inputs, n_items)},
        "intervals": _intervals(inputs, n_items),
        "trending": _trending(inputs, behaviour, settings, since_ms, now_ms),
    }


def _own_models(
    inputs: TrainingInputs, n_items: int, now_ms: int
) -> tuple[dict[str, npt.NDArray[Any]], list[npt.NDArray[np.int64]]]:
    """Return the arrays of engines with their own models, and their fingerprints."""
    if not OWN_MODELS:
        return {}, []
    bought, interactions, in_order = (
        inputs.purchases,
        inputs.behaviour,
        is_in_order(inputs.purchases),
    )
    facts = Facts(
        *(bought.baskets[in_order], bought.items[in_order], bought.times[in_order]),
        *(interactions.visitors, interactions.items, interactions.times),
        n_items,
        now_ms,
    )
    arrays: dict[str, npt.NDArray[Any]] = {}
    fingerprints: list[npt.NDArray[np.int64]] = []
    for name, model in OWN_MODELS:
        model_arrays = model.fit(facts)
        arrays |= {f"{name}.{key}": array for key, array in model_arrays.items()}
        fingerprints.append(model.fingerprint(model_arrays, n_items))
    return arrays, fingerprints


def _bought(
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
    bought, cache = inputs.purchases, inputs.fit_cache
    kinds, products = inputs.catalog.kinds(n_items)
    past_purchases = bought.times[bought.times <= now_ms]
    newest_ms = int(past_purchases.max()) if len(past_purchases) else now_ms
    models = cache.of(
        "copurchase",
        (bought, products),
        (n_items, newest_ms, options),
        lambda: fit_copurchase_model(bought, n_items, newest_ms, options, products, runner),
    )
    carted = len(in_carts.items)  # only grows
    carts = cache.of(
        "carts",
        (bought, kinds, products),
        (n_items, newest_ms, options, carted),
        lambda: fit_cart_model(inputs, in_carts, n_items, newest_ms, options, runner),
    )
    hashes = carts or models.widest
    complements = cache.of(
        "complementary",
        (bought, kinds, products, hashes),
        n_items,
        lambda: fit_complement_model(hashes, inputs, n_items),
    )
    item_sets = cache.of(
        "sets",
        (bought, models),
        (n_items, newest_ms),
        lambda: fit_bundle_candidates(models.plain, bought, newest_ms),
    )
    return models, carts, complements, item_sets


def _intervals(inputs: TrainingInputs, n_items: int) -> Ints:
    """Return each item's usual interval between two purchases by one buyer, in ms."""
    bought = inputs.purchases

    def learn() -> Ints:
        counts = bought.is_active & (bought.quantities > 0) & (bought.buyers != 0)
        lines = bought.buyers[counts], bought.items[counts], bought.times[counts]
        return usual_intervals(*lines, n_items)

    return inputs.fit_cache.of("intervals", (bought,), n_items, learn)


def _choices(
    inputs: TrainingInputs, settings: StoreSettings, now_ms: int
) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return the click boosts of searches, by query intent."""
    choices = inputs.searches.choices(now_ms, bought_rows(inputs.purchases))
    intents = inputs.searches.intents(LanguageAnalyzer(settings.language))
    keys = {intent: number for number, intent in enumerate(dict.fromkeys(intents))}
    numbers = np.array([keys[intent] for intent in intents], dtype=np.int64)
    by_intent = choices._replace(queries=numbers[choices.queries])
    model = ClickBoostModel.of(fit_click_boosts(by_intent, ClickBoostOptions()), list(keys))
    return model.to_arrays().items()


def _interest_indicators(
    inputs: TrainingInputs, choices: Sequence[Choices], now_ms: int
) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return the interest indicators of categories, brands and colours."""
    bought = inputs.purchases
    is_purchase = bought.is_active & (bought.quantities > 0) & (bought.buyers != 0)
    purchases = Interactions(
        bought.buyers[is_purchase],
        bought.times[is_purchase],
        bought.items[is_purchase].astype(np.int64),
        np.full(int(is_purchase.sum()), PURCHASE),
    )
    return fit_indicators(inputs.signs, choices, purchases, now_ms).to_arrays().items()


def _trials(inputs: TrainingInputs, n_items: int) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return impressions and clicks by item."""
    return inputs.trials.resized(n_items).to_arrays().items()


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
    bought = inputs.purchases
    is_active = bought.is_active
    sold = TrendingSales(
        items=bought.items[is_active],
        baskets=bought.baskets[is_active],
        units=bought.quantities[is_active],
        revenue=np.nan_to_num(bought.totals[is_active]),
        times=bought.times[is_active],
    )
    sales, before = sold.between(since_ms, now_ms), sold.between(-1, since_ms)
    metric = settings.trending_metric
    return rank_trending(sales, behaviour.carted, behaviour.viewed, metric, before)


def _read_on(
    deps: TrainingDeps, store: Store, inputs: TrainingInputs
) -> tuple[TrainingHead, Hyperparameters]:
    with deps.database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        head = repository.existing_head()
        inputs.follow(head.removals)
        searches = SearchEventRepository(connection, store.store_id)
        inputs.read_on(repository, head.seq, searches=searches)
        constants = HyperparameterRepository(connection, store.store_id).constants()
    return head, constants


def _models_to_keep(head: TrainingHead, model_id: str) -> set[str]:
    # The previous model stays: a process may be about to map it.
    return {model_id} | ({head.model_id} if head.model_id else set())


_PAUSE_FACTOR: Final = 4.0  # limits training to a fifth of a core, at low priority
_MAX_PAUSE_SECONDS: Final = 30.0
_IDLE_FACTOR: Final = 5.0  # idle-priority time per CPU second of the last training
_MAX_IDLE_SECONDS: Final = 5.0
_AGED_SHARE: Final = 600  # each second one in so many stores is retrained for its age
_STORE_FACTS: Final = 2_000  # a cached store counts as so many facts at least


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
        spent = time.thread_time()
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
        self._sizes[store.store_id] = inputs.size + _STORE_FACTS
        self._evict()
        cpu_seconds = self._cpu_seconds[store.store_id] = time.thread_time() - spent
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

    Time windows slide without new events, so a model is also stale after an hour. Of the
    stores that are stale for that reason alone a few are returned at a time, in turn, so
    that the trainings of quiet stores never delay those of stores with new events.
    """
    with database.reading() as connection:
        rows = training_progress(connection)
    with_news = [row.store_id for row in rows if _has_news(row, accounts)]
    known = set(with_news)
    aged = [
        row.store_id
        for row in rows
        if row.seq
        and row.store_id not in known
        and abs(now_ms - (row.trained_at or 0)) >= HOUR_MS
        and accounts.by_id(row.store_id) is not None
    ]
    return with_news + _in_turn(aged, -(-len(rows) // _AGED_SHARE), now_ms // 1_000)


def _in_turn(stores: Sequence[StoreId], count: int, turn: int) -> list[StoreId]:
    """Return up to `count` of the stores, the following ones in the next turn."""
    if len(stores) <= count:
        return list(stores)
    start = turn * count % len(stores)
    return [*stores[start:], *stores[:start]][:count]


def _has_news(row: TrainingProgress, accounts: AccountDirectory) -> bool:
    store = accounts.by_id(row.store_id)
    if store is None or row.seq == 0:
        return False
    return (
        row.applied_seq is None
        or row.applied_seq < row.seq
        or row.settings_hash != settings_hash(store.settings)
    )
