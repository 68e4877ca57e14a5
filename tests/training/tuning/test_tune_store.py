"""Hyperparameter tuning: deterministic, and only where history supports it."""

import json
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from productrecs.core.ids import StoreId
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.storage.files.model_files import open_arrays
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import insights
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.training_inputs import OrderLineArrays, TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from productrecs.training.tuning import tune_store
from productrecs.training.tuning.repository import (
    TUNED_INSIGHT,
    HyperparameterRepository,
    TunedParameters,
    changes_from_defaults,
)
from productrecs.training.tuning.tune_store import (
    RETUNE_AFTER_MS,
    RETUNE_GROWN_AFTER_MS,
    TrialScores,
    is_significantly_better,
    stores_to_tune,
    tune_copurchase_options,
)
from tests.records.orders.import_support import NOON, new_store_id
from tests.training.test_incremental import Life

DAY: Final = 86_400_000
N_ITEMS: Final = 120
ORDERS: Final = 2_400


def bought(contents: list[list[int]], hours_apart: int = 4) -> OrderLineArrays:
    """Return orders one after the other."""
    codes = np.repeat(np.arange(len(contents)), [len(one) for one in contents])
    items = np.array([item for one in contents for item in one], np.int32)
    return OrderLineArrays(
        line_seqs=np.arange(len(items)),
        baskets=codes,
        items=items,
        quantities=np.ones(len(items), np.int64),
        totals=np.ones(len(items)),
        times=codes * hours_apart * 3_600_000,
        is_active=np.ones(len(items), np.bool_),
        buyers=np.zeros(len(items), np.int64),
        visitors=np.zeros(len(items), np.int64),
    )


def fashions(changing_every: int) -> list[list[int]]:
    """Return orders of two products that go together until fashion changes."""
    rng = np.random.default_rng(5)
    made = []
    for number in range(ORDERS):
        era = number // changing_every
        first = int(rng.integers(N_ITEMS))
        step = 1 + (7 * era) % 50
        made.append([first, (first + step) % N_ITEMS, int(rng.integers(N_ITEMS))])
    return [list(dict.fromkeys(one)) for one in made]


def nothing() -> None:
    """Take no note of progress."""


@pytest.fixture
def only_fading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try nothing but how soon orders are forgotten: the rest takes its time."""
    days = tuple({"half_life_days": one} for one in (60.0, 3_600.0))
    monkeypatch.setattr(tune_store, "GRID", days)


@pytest.mark.usefixtures("only_fading")
def test_a_store_whose_fashions_change_forgets_sooner() -> None:
    found = tune_copurchase_options(bought(fashions(600)), N_ITEMS, nothing)

    assert found is not None
    assert found.half_life_days < CopurchaseOptions().half_life_days


@pytest.mark.usefixtures("only_fading")
def test_a_store_that_stays_as_it_is_forgets_no_sooner() -> None:
    found = tune_copurchase_options(bought(fashions(10**6)), N_ITEMS, nothing)

    assert found is not None
    assert found.half_life_days >= CopurchaseOptions().half_life_days


def test_the_same_past_chooses_the_same() -> None:
    sold = bought(fashions(600))

    assert tune_copurchase_options(sold, N_ITEMS, nothing) == tune_copurchase_options(
        sold, N_ITEMS, nothing
    )


def test_too_little_past_chooses_nothing() -> None:
    assert tune_copurchase_options(bought(fashions(600)[:1_500]), N_ITEMS, nothing) is None


def test_no_choice_makes_an_answer_slower() -> None:
    assert not any({"considered", "neighbours"} & set(one) for one in tune_store.GRID)


def tried(values: list[float]) -> TrialScores:
    rng = np.random.default_rng(7)
    noise = rng.normal(0.0, 0.3, size=(2, 400))
    return TrialScores(tuple(0.5 + one + noise[at] for at, one in enumerate(values)))


def test_better_is_better_in_each_stretch_by_more_than_chance() -> None:
    usual = tried([0.0, 0.0])

    assert is_significantly_better(tried([0.02, 0.02]), usual)
    assert not is_significantly_better(tried([0.06, -0.01]), usual)  # in one stretch only
    assert not is_significantly_better(tried([0.001, 0.001]), usual)  # not worth it


def best_of_many(times: int) -> int:
    """Return how often the best of fifteen equal options is taken for better."""
    rng = np.random.default_rng(1)
    taken = 0
    for _ in range(times):
        usual = rng.random((2, 300))
        others = [TrialScores(tuple(rng.random((2, 300)))) for _ in range(15)]
        taken += any(
            is_significantly_better(one, TrialScores(tuple(usual))) for one in others
        )
    return taken


def test_luck_is_not_taken_for_better() -> None:
    assert best_of_many(60) <= 6


def test_control_without_errors_luck_is_taken_for_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tune_store, "MIN_STANDARD_ERRORS", 0.0)

    assert best_of_many(60) > 30


def test_what_was_chosen_is_kept_but_for_the_defaults(database: Database) -> None:
    store = new_store_id(database)
    chosen = TunedParameters(CopurchaseOptions(half_life_days=45.0, large_basket=10), 7, 9)

    with database.transaction() as transaction:
        HyperparameterRepository(transaction, store).store(chosen)
    with database.reading() as connection:
        repository = HyperparameterRepository(connection, store)
        found, options = repository.last_tuned(), repository.options()

    assert found == chosen
    assert options == chosen.options
    assert changes_from_defaults(options) == {"half_life_days": 45.0, "large_basket": 10}


def test_what_another_release_chose_is_passed_over(sqlite_database: Database) -> None:
    store = new_store_id(sqlite_database)
    stored = {
        "changes": {
            "companions": {"forgotten": 3.0, "large_basket": 10.0},
            "visits": {"rarity": 2.0},
        },
        "engines": ["companions", "visits"],
        "searches": [100, 0.25, 0.5],
    }
    row = {"computed_at": 7, "applied_seq": 9, "result": json.dumps(stored)}
    with sqlite_database.transaction() as transaction:
        added = insights.insert().values(store_id=store, name=TUNED_INSIGHT, **row)
        transaction.execute(added)
    with sqlite_database.reading() as connection:
        found = HyperparameterRepository(connection, store).last_tuned()

    assert found == TunedParameters(CopurchaseOptions(large_basket=10), 7, 9)


def test_whose_turn_it_is(sqlite_database: Database) -> None:
    store = new_store_id(sqlite_database)
    assert stores_to_tune(sqlite_database, NOON) == []  # too little to ask

    life = Life(sqlite_database, store, seed=1, n_items=20)
    life.go_on(2_000)
    assert stores_to_tune(sqlite_database, NOON) == [store]

    note(sqlite_database, store, seq=1_000)
    assert stores_to_tune(sqlite_database, NOON + RETUNE_GROWN_AFTER_MS - 1) == []
    assert stores_to_tune(sqlite_database, NOON + RETUNE_GROWN_AFTER_MS) == [store]

    note(sqlite_database, store, seq=10**6)
    assert stores_to_tune(sqlite_database, NOON + RETUNE_GROWN_AFTER_MS) == []
    assert stores_to_tune(sqlite_database, NOON + RETUNE_AFTER_MS) == [store]


def note(database: Database, store: StoreId, seq: int) -> None:
    chosen = TunedParameters(None, NOON, seq)
    with database.transaction() as transaction:
        HyperparameterRepository(transaction, store).store(chosen)


def test_a_training_learns_by_what_was_chosen(database: Database, tmp_path: Path) -> None:
    store_id = new_store_id(database)
    Life(database, store_id, seed=1, n_items=20).go_on(200)
    store = AccountDirectory(database).by_id(store_id)
    assert store is not None
    workshop = TrainingDeps(database, tmp_path, lambda: NOON + DAY)

    def companions() -> list[int]:
        model = train_store(workshop, store, TrainingInputs(), lambda _: None)
        arrays, _ = open_arrays(tmp_path / store_id / model.model_id)
        kept: list[int] = np.diff(arrays["copurchase.offsets"]).tolist()
        return kept

    usual = companions()
    alone = CopurchaseOptions(neighbours=1)
    with database.transaction() as transaction:
        repository = HyperparameterRepository(transaction, store_id)
        repository.store(TunedParameters(alone, NOON, 1))

    assert max(usual) > 2
    assert max(companions()) == 2  # one for lists of an item, one for carts
