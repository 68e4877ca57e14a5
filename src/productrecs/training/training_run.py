"""Training run: reads a store's new log entries, fits its engines, publishes the model.

The cached trainer trains stale stores and keeps their logs in memory.
"""

import contextlib
import hashlib
import json
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.clock import HOUR_MS, Clock
from productrecs.core.idle_priority import run_at_idle_priority
from productrecs.core.ids import StoreId
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.storage.files.model_files import publish_arrays, remove_other_models
from productrecs.storage.files.object_store_snapshots import MODELS, SnapshotName
from productrecs.storage.files.snapshot_cache import SnapshotCache
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.fit_models import fit_all_models
from productrecs.training.repository import (
    TrainedModelState,
    TrainingLogHead,
    TrainingProgress,
    TrainingRepository,
    training_progress,
)
from productrecs.training.trained_models import models_folder
from productrecs.training.training_inputs import TrainingInputs
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
) -> TrainedModelState:
    """Train `store` on its whole log; return the serving model.

    The caller passes the same `inputs` again, so that the next training reads only new
    facts; empty ones give the same model.
    `progress` is called with shares of 1. The first `idle_seconds` run at idle priority
    (`core/idle_priority.py`).

    Raises:
        StoreDeletedError: when the store was deleted.
        OSError: when the model cannot be written; the last good one continues to serve.
        ObjectStoreUnavailableError: when it cannot be uploaded, with the same effect.
    """
    folder = models_folder(deps.models, store.store_id)
    with _remove_models_if_store_deleted(deps, store, folder):
        with run_at_idle_priority(
            idle_seconds
        ):  # reading needs no low latency; the rest does
            head = _read_new_log(deps, store.store_id, inputs)
            with deps.database.reading() as connection:
                tuned = HyperparameterRepository(connection, store.store_id).options()
            progress(0.5)
            now_ms = deps.clock()
            arrays = fit_all_models(inputs, head.n_items, store.settings, now_ms, tuned)
            progress(0.9)
            facts = {"store_id": store.store_id, "applied_seq": head.seq}
            model_id = publish_arrays(folder, arrays, facts, head.model_id)
        snapshot = SnapshotName(store.store_id, MODELS, model_id)
        deps.snapshots.upload_model(snapshot, head.model_id)
        model = TrainedModelState(
            model_id=model_id,
            applied_seq=head.seq,
            catalog_seq=head.catalog_seq,
            settings_hash=training_settings_hash(store.settings),
            trained_at=now_ms,
        )
        with deps.database.transaction() as transaction:
            TrainingRepository(transaction, store.store_id).serve_unless_older(model)
    # The previous model stays: a process may be about to map it.
    remove_other_models(folder, {model_id} | ({head.model_id} if head.model_id else set()))
    progress(1.0)
    return model


@contextlib.contextmanager
def _remove_models_if_store_deleted(
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


def training_settings_hash(settings: StoreSettings) -> str:
    """Return a hash of the settings that training uses."""
    fields = [settings.trending_metric, settings.trending_days, settings.language]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


def _read_new_log(
    deps: TrainingDeps, store_id: StoreId, inputs: TrainingInputs
) -> TrainingLogHead:
    with deps.database.reading() as connection:
        repository = TrainingRepository(connection, store_id)
        head = repository.existing_head()
        inputs.restart_after_removals(head.removals)
        searches = EventLogRepository(connection, store_id)
        inputs.read_log_up_to(repository, head.seq, searches=searches)
    return head


_PAUSE_FACTOR: Final = 4.0  # limits training to a fifth of a core, at low priority
_MAX_PAUSE_SECONDS: Final = 30.0
_IDLE_FACTOR: Final = 5.0  # idle-priority time per CPU second of the last training
_MAX_IDLE_SECONDS: Final = 5.0
# Each second, one in so many stores is retrained because its model is old.
_AGED_STORES_SHARE: Final = 600
_MIN_STORE_FACTS: Final = 2_000  # a cached store counts as so many facts at least


class CachingTrainer:
    """Trains stores one after another and caches the inputs of recently trained ones."""

    def __init__(self, deps: TrainingDeps) -> None:
        """Start with an empty cache of events and lines (about 30 bytes each)."""
        self._deps = deps
        self._inputs: OrderedDict[StoreId, TrainingInputs] = OrderedDict()
        self._sizes: dict[StoreId, int] = {}  # counted once a training: it takes a while
        self._paused_until: dict[StoreId, float] = {}
        self._cpu_seconds: dict[StoreId, float] = {}  # CPU seconds of the last training

    def train(self, store: Store, progress: Progress) -> TrainedModelState:
        """Return the model that now serves `store`.

        Raises:
            StoreDeletedError: when it was deleted.
            OSError: when the model cannot be written.
            ObjectStoreUnavailableError: when it could not be uploaded.
        """
        self._deps.snapshots.check_reachable()
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
        max_facts = RegisteredCache.TRAINING_INPUTS.limit
        while len(self._inputs) > 1 and sum(self._sizes.values()) > max_facts:
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
    return stale + _take_in_rotation(
        aged, -(-len(rows) // _AGED_STORES_SHARE), now_ms // 1_000
    )


def _take_in_rotation(stores: Sequence[StoreId], count: int, turn: int) -> list[StoreId]:
    """Return up to `count` of the stores, the following ones in the next turn."""
    if len(stores) <= count:
        return list(stores)
    start = turn * count % len(stores)
    return [*stores[start:], *stores[:start]][:count]


def _needs_training(progress: TrainingProgress, accounts: AccountDirectory) -> bool:
    store = accounts.by_id(progress.store_id)
    if store is None or progress.seq == 0:
        return False
    return (
        progress.applied_seq is None
        or progress.applied_seq < progress.seq
        or progress.settings_hash != training_settings_hash(store.settings)
    )
