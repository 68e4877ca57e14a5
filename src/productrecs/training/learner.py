"""Who trains in this process? Keeps each store's log as arrays: next time is short."""

import time
from collections import OrderedDict
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.tenancy.accounts.store import Store
from productrecs.training.fit import Progress, Workshop, train_store
from productrecs.training.inputs import TrainingInputs
from productrecs.training.repository import TrainedModel

FACTS_KEPT: Final = 20_000_000
_REST_FACTOR: Final = 4.0  # a fifth of a core at most, at a low priority
_LONGEST_REST_SECONDS: Final = 30.0


class Learner:
    """Trains stores one after another; the least recently trained are forgotten first."""

    def __init__(self, workshop: Workshop, facts_kept: int = FACTS_KEPT) -> None:
        """Keep up to `facts_kept` events and lines in memory (about 30 bytes each)."""
        self._workshop = workshop
        self._facts_kept = facts_kept
        self._inputs: OrderedDict[StoreId, TrainingInputs] = OrderedDict()
        self._rest_until: dict[StoreId, float] = {}

    def train(self, store: Store, progress: Progress) -> TrainedModel:
        """Return the model that now serves `store`.

        Raises:
            StoreGoneError: when it was deleted.
            OSError: when the model cannot be written.
        """
        started = time.monotonic()
        # Taken out while it is read on: a failure half-way begins afresh next time.
        inputs = self._inputs.pop(store.store_id, None) or TrainingInputs()
        model = train_store(self._workshop, store, inputs, progress)
        self._inputs[store.store_id] = inputs
        self._forget()
        took = time.monotonic() - started
        rest = min(_REST_FACTOR * took, _LONGEST_REST_SECONDS)
        self._rest_until[store.store_id] = time.monotonic() + rest
        return model

    def is_resting(self, store_id: StoreId) -> bool:
        """Return whether the store was trained so lately that the machine needs a rest."""
        return time.monotonic() < self._rest_until.get(store_id, 0.0)

    def _forget(self) -> None:
        while len(self._inputs) > 1 and self._size() > self._facts_kept:
            self._inputs.popitem(last=False)

    def _size(self) -> int:
        return sum(inputs.size for inputs in self._inputs.values())
