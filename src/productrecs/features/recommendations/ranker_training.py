"""Ranker training: learns an order from clicks, and backtests it before it serves.

The log is split by time. Engine models are trained on the first part, the ranker on the
second, and the third decides whether the new order would have been better.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import visitor_hash
from productrecs.engines.arrays import Floats
from productrecs.engines.fusion import fuse
from productrecs.engines.ranking import TreeEnsemble
from productrecs.engines.ranking.ranker_training import (
    RankingData,
    examination_probabilities,
    fit_ranker,
    ranking_gains,
)
from productrecs.features.recommendations.backtest import (
    Interval,
    confidence_interval,
)
from productrecs.features.recommendations.candidates import with_complements
from productrecs.features.recommendations.learned_ranking import (
    FEATURES,
    RankingInput,
    ranking_features,
)
from productrecs.features.recommendations.recipes import PageType, recipe_of
from productrecs.features.recommendations.recommendation_request import Engine, Source
from productrecs.features.recommendations.serving_state import (
    BasketCandidates,
    EligibleItems,
)
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.repository import RankingRepository, StoredRanker
from productrecs.training.shown_lists import ShownList, ShownListReader
from productrecs.training.stores_due_for_ranker import MINIMUM_DATA, MinimumData
from productrecs.training.trained_models import TrainedModels
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import fit
from productrecs.training.tuning.hyperparameter_search import Hyperparameters

WINDOW_DAYS: Final = 60
MAX_LISTS: Final = 30_000
_ENGINE_TRAINING_SHARE: Final = (
    0.2  # share of the lists before which the engines are trained
)
_TEST_SHARE: Final = 0.3  # share of the other lists that form the test part: the last ones
CONFIDENCE: Final = 0.99  # level of the interval; high because the test repeats daily
MIN_GAIN: Final = 0.02  # minimum lower bound: allows for underestimated examination
_VISIT_ITEMS: Final = 9
_CANDIDATES: Final = 60


@dataclass(frozen=True, slots=True)
class RankerBacktest:
    """Result of the training and its backtest; no `gain` without enough data.

    `gain` is relative to the present order: clicks weighted by their position.
    """

    lists: int  # shown
    shown: int  # products in them
    clicks: int
    asked: int = 0  # number of lists in the test part
    gain: Interval | None = None
    serves: bool = False
    weights: dict[str, int] | None = None  # number of tree branches that use each feature


@dataclass(frozen=True, slots=True)
class RankerTrainingData:
    """Training data of a store's ranker, beside the shown lists of its log."""

    store: Store
    catalog: CatalogView
    inputs: TrainingInputs
    constants: Hyperparameters = field(
        default_factory=Hyperparameters
    )  # training data of its engines


def train_ranker(
    database: Database,
    training_data: RankerTrainingData,
    now_ms: int,
    minimum: MinimumData = MINIMUM_DATA,
    threads: int = 1,
) -> RankerBacktest:
    """Train a ranker from a store's clicks, store it, and return its backtest.

    It serves only if the 99 % interval of its gain is above two per cent.

    Raises:
        RankingLibraryMissingError: when the training library cannot be loaded.
    """
    store = training_data.store
    reader = _read_shown_lists(database, store, now_ms)
    shown, clicks = sum(reader.shown), sum(reader.clicked)
    result, trees = RankerBacktest(reader.lists, shown, clicks), TreeEnsemble.none()
    if shown >= minimum.shown and clicks >= minimum.clicks:
        lists = reader.with_outcome[-MAX_LISTS:]
        data = _ranking_data(lists, training_data, now_ms)
        examination = examination_probabilities(
            np.array(reader.shown), np.array(reader.clicked)
        )
        result, trees = _backtest_and_train(result, data, examination, threads)
    ranker = StoredRanker(
        now_ms,
        result.serves,
        asdict(result),
        {name: array.tolist() for name, array in trees.to_arrays().items()},
    )
    with database.transaction() as transaction:
        AccountRepository(transaction).lock(store.store_id)
        RankingRepository(transaction, store.store_id).store(ranker)
    return result


def _read_shown_lists(database: Database, store: Store, now_ms: int) -> ShownListReader:
    reader, since_ms = ShownListReader(), now_ms - WINDOW_DAYS * DAY_MS
    with database.reading() as connection, database.reading() as other_connection:
        facts = RankingRepository(connection, store.store_id).facts(since_ms)
        purchases = RankingRepository(other_connection, store.store_id).purchases(since_ms)
        reader.read(facts, purchases)
    return reader


def _backtest_and_train(
    result: RankerBacktest, data: RankingData, examination: Floats, threads: int
) -> tuple[RankerBacktest, TreeEnsemble]:
    """Return the backtest on the last lists, and trees trained on all lists."""
    test_start = len(data) - int(len(data) * _TEST_SHARE)
    test = data.slice(test_start, len(data))
    candidate = fit_ranker(data.slice(0, test_start), threads)
    gains, current_gains = ranking_gains(test, candidate.score(test.rows), examination)
    gain = confidence_interval(gains / current_gains.mean(), test.persons, CONFIDENCE)
    serves = gain.low > MIN_GAIN
    trees = fit_ranker(data, threads) if serves else TreeEnsemble.none()
    counts = np.bincount(candidate.traits, minlength=len(FEATURES)).tolist()
    backtest = RankerBacktest(
        lists=result.lists,
        shown=result.shown,
        clicks=result.clicks,
        asked=len(test),
        gain=gain,
        serves=serves,
        weights=dict(zip(FEATURES, counts, strict=True)),
    )
    return backtest, trees


def _ranking_data(
    lists: Sequence[ShownList], training_data: RankerTrainingData, now_ms: int
) -> RankingData:
    """Return the features of all but the first lists, by engines trained on the first."""
    catalog, settings = training_data.catalog, training_data.store.settings
    lists = [shown for shown in lists if max(shown.items) < len(catalog)]
    first = int(len(lists) * _ENGINE_TRAINING_SHARE)
    since_ms = lists[first].ts
    arrays = fit(
        training_data.inputs.before(since_ms),
        len(catalog),
        settings,
        since_ms,
        training_data.constants,
    )
    visible = catalog.visible(now_ms, hide_sold_out=False)
    eligible = EligibleItems(catalog, TrainedModels.of("", arrays), visible, None)
    usable = lists[first:]
    companions = BasketCandidates(eligible.models)
    rows = [_list_features(shown, eligible, companions, settings) for shown in usable]
    sizes = [len(shown.items) for shown in usable]
    return RankingData(
        rows=np.concatenate(rows),
        offsets=np.concatenate(([0], np.cumsum(sizes))),
        places=np.array([place for shown in usable for place in shown.places], np.int64),
        outcomes=np.array(
            [outcome for shown in usable for outcome in shown.outcomes], np.int64
        ),
        persons=np.array([visitor_hash(shown.person) for shown in usable], np.int64),
    )


def _list_features(
    shown: ShownList,
    eligible: EligibleItems,
    companions: BasketCandidates,
    settings: StoreSettings,
) -> Floats:
    """Return the features of a list's products as of the moment when it was made."""
    models = companions.models
    page_type = PageType.SHOPPER if shown.page is None else PageType.PRODUCT
    recent = shown.recent[-_VISIT_ITEMS:]
    basket = (shown.page,) if shown.page is not None else tuple(dict.fromkeys(shown.recent))
    candidates = {
        Engine.BROWSE: models.sessions.next_items(
            recent, shown.ts, _CANDIDATES, visitor_hash(shown.person)
        ),
        Engine.BUY: companions.copurchases(basket),
    }
    recipe = recipe_of(Source.MIX, settings)
    weights, ranked = with_complements(companions, recipe, page_type, basket, candidates)
    lists = [engine_candidates.items for engine_candidates in ranked]
    items_by_engine = dict(zip(weights, lists, strict=True))
    fused = fuse(lists, tuple(weights.values()))
    ranking_input = RankingInput(
        candidates=items_by_engine,
        blend=dict(zip(fused.items.tolist(), fused.scores.tolist(), strict=True)),
        about=shown.page
        if shown.page is not None
        else next(iter(reversed(shown.recent)), None),
        recent=shown.recent,
        ignored=shown.ignored,
    )
    items = np.array(shown.items, np.int64)
    return ranking_features(eligible, items, np.array(shown.rates), ranking_input, shown.ts)
