"""Store tuning: reads a store's log, searches the grid, stores the result."""

from collections.abc import Callable
from typing import Final

from productrecs.core.clock import DAY_MS, Clock
from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import read_whole_log
from productrecs.training.tuning.hyperparameters import Hyperparameters
from productrecs.training.tuning.repository import (
    HyperparameterRepository,
    TunedParameters,
    TuningStatus,
    tuning_statuses,
)
from productrecs.training.tuning.time_splits import N_SPLITS
from productrecs.training.tuning.tune_copurchase import (
    CART_GRID,
    EXPONENT_GRID,
    PAGE_GRID,
    VARIANT_GRID,
    tune_copurchase_options,
)
from productrecs.training.tuning.tune_sessions import (
    ACTION_GRIDS,
    GRID,
    tune_session_options,
)

MIN_FACTS: Final = 2_000  # of a log; below, its past says nothing
RETUNE_AFTER_MS: Final = 7 * DAY_MS
RETUNE_GROWN_AFTER_MS: Final = DAY_MS  # or this much later, when the log has doubled
_TRIALS: Final = N_SPLITS * (
    3
    + sum(map(len, (*PAGE_GRID, VARIANT_GRID, *CART_GRID, *GRID, *ACTION_GRIDS.values())))
    + len(EXPONENT_GRID)
)


def stores_to_tune(database: Database, now_ms: int) -> list[StoreId]:
    """Return the stores whose hyperparameters are due for tuning."""
    with database.reading() as connection:
        standing = tuning_statuses(connection)
    return [turn.store_id for turn in standing if _is_due(turn, now_ms)]


def tune_store(
    database: Database, store: Store, clock: Clock, progress: Callable[[float], None]
) -> TunedParameters:
    """Choose and store the store's hyperparameters; `progress` is called with shares of 1.

    The same log gives the same choice.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    with database.reading() as connection:
        inputs, head = read_whole_log(TrainingRepository(connection, store.store_id))
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        progress(min(done / _TRIALS, 1.0))

    bought, products = inputs.purchases, inputs.catalog.kinds(head.numbers)[1]
    companions = tune_copurchase_options(bought, head.numbers, count, products=products)
    visits = tune_session_options(inputs.behaviour, head.numbers, count, bought=bought)
    usual = Hyperparameters()
    tuned = (("companions", companions), ("visits", visits))
    found = TunedParameters(
        Hyperparameters(companions or usual.companions, visits or usual.visits),
        tuple(name for name, options in tuned if options is not None),
        clock(),
        head.seq,
    )
    with database.transaction() as transaction:
        AccountRepository(transaction).hold(store.store_id)
        HyperparameterRepository(transaction, store.store_id).keep(found)
    progress(1.0)
    return found


def _is_due(turn: TuningStatus, now_ms: int) -> bool:
    if turn.seq < MIN_FACTS:
        return False
    if turn.chosen_at is None:
        return True
    age = abs(now_ms - turn.chosen_at)
    has_doubled = turn.seq >= 2 * (turn.applied_seq or 0)
    return age >= RETUNE_AFTER_MS or (has_doubled and age >= RETUNE_GROWN_AFTER_MS)
