"""Cached trainer: trains stale stores and caches their logs in memory."""

import time
from collections import OrderedDict
from typing import Final

from productrecs.core.cache_registry import Cache
from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import (
    TrainedModel,
    TrainingProgress,
    training_progress,
)
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import (
    Progress,
    TrainingDeps,
    settings_hash,
    train_store,
)

_PAUSE_FACTOR: Final = 4.0  # limits training to a fifth of a core, at low priority
_MAX_PAUSE_SECONDS: Final = 30.0
_IDLE_FACTOR: Final = 5.0  # idle-priority time per CPU second of the last training
_MAX_IDLE_SECONDS: Final = 5.0


class Trainer:
    """Trains stores one after another and caches the inputs of recently trained ones."""

    def __init__(
        self, deps: TrainingDeps, max_facts: int = Cache.TRAINING_INPUTS.limit
    ) -> None:
        """Cache up to `max_facts` events and lines in memory (about 30 bytes each)."""
        self._deps = deps
        self._max_facts = max_facts
        self._inputs: OrderedDict[StoreId, TrainingInputs] = OrderedDict()
        self._paused_until: dict[StoreId, float] = {}
        self._cpu_seconds: dict[StoreId, float] = {}  # CPU seconds of the last training

    def train(self, store: Store, progress: Progress) -> TrainedModel:
        """Return the model that now serves `store`.

        Raises:
            StoreDeletedError: when it was deleted.
            OSError: when the model cannot be written.
        """
        spent = time.thread_time()
        # Not in the cache while it is read: after a failure the next training starts over.
        inputs = self._inputs.pop(store.store_id, None) or TrainingInputs()
        cpu_seconds = self._cpu_seconds.get(
            store.store_id, 0.0
        )  # the first has normal priority
        idle_seconds = min(_IDLE_FACTOR * cpu_seconds, _MAX_IDLE_SECONDS)
        model = train_store(self._deps, store, inputs, progress, idle_seconds)
        self._inputs[store.store_id] = inputs
        self._evict()
        cpu_seconds = self._cpu_seconds[store.store_id] = time.thread_time() - spent
        pause = min(_PAUSE_FACTOR * cpu_seconds, _MAX_PAUSE_SECONDS)
        self._paused_until[store.store_id] = time.monotonic() + pause
        return model

    def is_paused(self, store_id: StoreId) -> bool:
        """Return whether the store was trained too recently to be trained again."""
        return time.monotonic() < self._paused_until.get(store_id, 0.0)

    def _evict(self) -> None:
        while len(self._inputs) > 1 and self._size() > self._max_facts:
            evicted, _ = self._inputs.popitem(last=False)
            self._cpu_seconds.pop(evicted, None)  # its next training reads the whole log

    def _size(self) -> int:
        return sum(inputs.size for inputs in self._inputs.values())


def stale_stores(
    database: Database, accounts: AccountDirectory, now_ms: int
) -> list[StoreId]:
    """Return the stores whose model is older than their log or settings.

    Time windows slide without new events, so a model is also stale after an hour.
    """
    with database.reading() as connection:
        rows = training_progress(connection)
    return [row.store_id for row in rows if _is_stale(row, accounts, now_ms)]


def _is_stale(row: TrainingProgress, accounts: AccountDirectory, now_ms: int) -> bool:
    store = accounts.by_id(row.store_id)
    if store is None or row.seq == 0:
        return False
    return (
        row.applied_seq is None
        or row.applied_seq < row.seq
        or row.settings_hash != settings_hash(store.settings)
        or abs(now_ms - (row.trained_at or 0)) >= HOUR_MS
    )
