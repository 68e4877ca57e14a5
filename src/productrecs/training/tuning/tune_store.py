"""Store tuning: searches the grid of session options on the store's own log."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS, Clock
from productrecs.core.ids import StoreId
from productrecs.engines.arrays import Floats
from productrecs.engines.browse import InteractionType, SessionIndex, SessionOptions
from productrecs.records.events.event import EventKind
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.training.engine_fitters import fit_session_index
from productrecs.training.group_visits_and_orders import (
    VisitSteps,
    steps_of_visits,
)
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import (
    Behaviour,
    Purchases,
    read_whole_log,
    select_rows,
)
from productrecs.training.tuning.grid_search import (
    N_SPLITS,
    TimeSplit,
    TuningTrial,
    grid_search,
    time_splits,
)
from productrecs.training.tuning.hyperparameters import Changes, Hyperparameters
from productrecs.training.tuning.repository import (
    HyperparameterRepository,
    TunedParameters,
    TuningStatus,
    tuning_statuses,
)

MAX_EVENTS: Final = 1_000_000  # the newest
_STEPS: Final = 5  # of a visit, the newest
_SHOWN: Final = 20

# None makes an answer slower: more neighbours than usual are not tried.
GRID: Final[tuple[tuple[Changes, ...], ...]] = (
    tuple({"days_scale": days} for days in (7.0, 20.0, 150.0)),
    tuple({"distance_scale": places} for places in (0.2, 1.0, 3.0)),
    tuple({"returns": share} for share in (0.0, 1.0)),
    tuple({"match_scale": one, "vote_scale": one} for one in (1.5, 2.5, 6.0)),
    tuple({"rarity": power} for power in (0.3, 2.0)),
    tuple({"neighbours": most} for most in (100, 250)),
    ({"backward": 0.5},),
)
ACTION_GRIDS: Final[Mapping[InteractionType, tuple[Changes, ...]]] = MappingProxyType(
    {
        InteractionType.CLICKED: tuple({"clicked": times} for times in (0.5, 1.5)),
        InteractionType.CARTED: tuple({"carted": times} for times in (0.5, 2.0, 6.0)),
        InteractionType.BOUGHT: tuple({"bought": times} for times in (0.3, 3.0)),
    }
)
"""Tried when such interactions occur in the test visits."""


class VisitSplit(NamedTuple):
    """A test split of visits, and the behaviour before it."""

    stretch: TimeSplit
    before: Behaviour


def tune_session_options(
    done: Behaviour,
    n_items: int,
    on_trial: Callable[[], None],
    usual: SessionOptions | None = None,
    bought: Purchases | None = None,
) -> SessionOptions | None:
    """Return the session hyperparameters; None when there is too little data.

    `bought` marks the steps of visits that were purchases: no targets. `on_trial` is
    called after each trial.
    """
    newest = _newest(done)
    walks = steps_of_visits(newest if bought is None else with_purchases(newest, bought))
    parts = [
        VisitSplit(stretch, select_rows(newest, newest.times < stretch.since_ms))
        for stretch in time_splits(walks.groups)
    ]
    if not parts:
        return None

    def judge(options: SessionOptions) -> TuningTrial:
        scores = []
        for stretch, before in parts:
            index = fit_session_index(before, n_items, options)
            scores.append(_scores(index, walks, stretch))
            on_trial()
        return TuningTrial(tuple(scores))

    done_there = set(walks.interactions.tolist())
    tried = [
        values for interaction, values in ACTION_GRIDS.items() if interaction in done_there
    ]
    return grid_search(usual or SessionOptions(), [*GRID, *tried], judge)[0]


def _newest(done: Behaviour) -> Behaviour:
    if len(done.times) <= MAX_EVENTS:
        return done
    since = np.partition(done.times, -MAX_EVENTS)[-MAX_EVENTS]
    return select_rows(done, done.times >= since)


def with_purchases(done: Behaviour, bought: Purchases) -> Behaviour:
    """Return the behaviour, with the purchases since its first fact."""
    known = bought.standing & (bought.quantities > 0) & (bought.visitors != 0)
    known &= bought.times >= done.times.min(initial=2**62)
    kinds = np.full(int(known.sum()), EventKind.BUY, np.int8)
    return Behaviour(
        times=np.concatenate((done.times, bought.times[known])),
        kinds=np.concatenate((done.kinds, kinds)),
        items=np.concatenate((done.items, bought.items[known])),
        visitors=np.concatenate((done.visitors, bought.visitors[known])),
    )


def _scores(index: SessionIndex, walks: VisitSteps, stretch: TimeSplit) -> Floats:
    """Return each visit's mean score: was the next product listed, and how early?"""
    scores = np.zeros(len(stretch.test_groups))
    for number, visit in enumerate(stretch.test_groups.tolist()):
        seen, (firsts, interactions) = walks.groups.contents(visit), walks.actions_in(visit)
        steps = [
            step for step in range(1, len(seen)) if firsts[step] < InteractionType.BOUGHT
        ]
        steps = steps[-_STEPS:]
        for step in steps:
            past = seen[:step]
            most = _most(past, interactions) if index.weights_interactions else {}
            shown = index.next_items(
                past, stretch.since_ms, _SHOWN, interactions=most
            ).items
            found = np.flatnonzero(shown == seen[step])
            if len(found):
                scores[number] += 1.0 + 1.0 / (1.0 + int(found[0]))
        scores[number] /= 2 * max(len(steps), 1)
    return scores


def _most(past: list[int], interactions: list[int]) -> dict[int, int]:
    """Return the most that was done with each item of a visit, beside looking."""
    found: dict[int, int] = {}
    for item, interaction in zip(past, interactions, strict=False):
        if interaction > found.get(item, InteractionType.VIEWED):
            found[item] = interaction
    return found


MIN_FACTS: Final = 2_000  # of a log; below, its past says nothing
RETUNE_AFTER_MS: Final = 7 * DAY_MS
RETUNE_GROWN_AFTER_MS: Final = DAY_MS  # or this much later, when the log has doubled
_TRIALS: Final = N_SPLITS * (1 + sum(map(len, (*GRID, *ACTION_GRIDS.values()))))


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

    visits = tune_session_options(
        inputs.behaviour, head.numbers, count, bought=inputs.purchases
    )
    found = TunedParameters(
        Hyperparameters() if visits is None else Hyperparameters(visits),
        () if visits is None else ("visits",),
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
