"""Cached trainer: trains stores that are stale; keeps their logs in memory."""

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

_REST_FACTOR: Final = 4.0  # a fifth of a core at most, at a low priority
_LONGEST_REST_SECONDS: Final = 30.0
_CALM_FACTOR: Final = 5.0  # of what learning took of a processor last time
_LONGEST_CALM_SECONDS: Final = 5.0


class Trainer:
    """Trains stores one after another; keeps the inputs of recently trained ones."""

    def __init__(
        self, workshop: TrainingDeps, max_facts: int = Cache.TRAINING_INPUTS.limit
    ) -> None:
        """Keep up to `max_facts` events and lines in memory (about 30 bytes each)."""
        self._workshop = workshop
        self._max_facts = max_facts
        self._inputs: OrderedDict[StoreId, TrainingInputs] = OrderedDict()
        self._rest_until: dict[StoreId, float] = {}
        self._took: dict[StoreId, float] = {}  # seconds of a processor, last time

    def train(self, store: Store, progress: Progress) -> TrainedModel:
        """Return the model that now serves `store`.

        Raises:
            StoreDeletedError: when it was deleted.
            OSError: when the model cannot be written.
        """
        spent = time.thread_time()
        # Taken out while it is read on: a failure half-way begins afresh next time.
        inputs = self._inputs.pop(store.store_id, None) or TrainingInputs()
        took = self._took.get(store.store_id, 0.0)  # the first time there is a hurry
        calm = min(_CALM_FACTOR * took, _LONGEST_CALM_SECONDS)
        model = train_store(self._workshop, store, inputs, progress, calm)
        self._inputs[store.store_id] = inputs
        self._forget()
        took = self._took[store.store_id] = time.thread_time() - spent
        rest = min(_REST_FACTOR * took, _LONGEST_REST_SECONDS)
        self._rest_until[store.store_id] = time.monotonic() + rest
        return model

    def is_paused(self, store_id: StoreId) -> bool:
        """Return whether the store was trained so lately that the machine needs a rest."""
        return time.monotonic() < self._rest_until.get(store_id, 0.0)

    def _forget(self) -> None:
        while len(self._inputs) > 1 and self._size() > self._max_facts:
            forgotten, _ = self._inputs.popitem(last=False)
            self._took.pop(forgotten, None)  # next time it reads all from the beginning

    def _size(self) -> int:
        return sum(inputs.size for inputs in self._inputs.values())


def stale_stores(
    database: Database, accounts: AccountDirectory, now_ms: int
) -> list[StoreId]:
    """Return the stores whose model lags behind their log or settings.

    Windows slide even where nothing happens, so a model is also stale after an hour.
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
