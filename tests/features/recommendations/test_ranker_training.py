"""Ranker training: clicks order lists where a test shows that it is better."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from productrecs.engines.item_impression_stats import ItemStats
from productrecs.engines.ranking import TreeEnsemble, kernel
from productrecs.entrypoints.http.schemas.product_cards_and_replies import make_card
from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.learned_ranking import FEATURES
from productrecs.features.recommendations.ranker_training import (
    RankerTrainingData,
    train_ranker,
)
from productrecs.features.recommendations.recommend import Decision, decide
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.storage.sequence_and_item_numbers import StoreLog
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.repository import RankingRepository, TrainingRepository
from productrecs.training.stores_due_for_ranker import MinimumData
from productrecs.training.trained_models import TrainedModels, models_folder
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from tests.features.recommendations.small_shop import NOW, Rows, shopper, small_shop

if TYPE_CHECKING:
    from pathlib import Path

    from productrecs.features.recommendations.ranker_training import RankerBacktest
    from productrecs.features.recommendations.serving_state import StoreState
    from productrecs.storage.database import Database

ITEMS = 30
LENGTH = 6
LISTS = 900


def life(*, tells: bool, seed: int = 2) -> list[NewEvent]:
    """Return what a store tells of 900 lists; people click a third of the products, or any.

    How far down people look is the same in both worlds.
    """
    rng = np.random.default_rng(seed)
    told = []
    for number in range(LISTS):
        person, at = f"u{number}", NOW - (LISTS - number) * 600_000
        page, *shown = rng.permutation(ITEMS)[: LENGTH + 1].tolist()
        told.append(event(EventKind.DETAIL_PAGE_VIEW, page, person, at))
        for place, item in enumerate(shown, 1):
            told.append(event(EventKind.REC_IMPRESSION, item, person, at + 1, place))
        for place, item in enumerate(shown, 1):
            drawn = (0.8 if item % 3 == 0 else 0.1) if tells else 0.35
            if rng.random() < drawn / place:
                told.append(event(EventKind.REC_CLICK, item, person, at + 2, place))
    return told


def event(
    kind: EventKind, item: int, person: str, at: int, place: int | None = None
) -> NewEvent:
    return NewEvent(
        kind, item_id=f"i{item}", user_id=person, ts_ms=at, position=place, widget="recs"
    )


def learned(
    database: Database, folder: Path, told: list[NewEvent], enough: MinimumData
) -> tuple[RankerBacktest, TrainedModels]:
    """Return what was found of an order in a store, and what it serves then."""
    store, _ = register_store(database, Registration("shop.example"), lambda: NOW)
    with database.transaction() as transaction:
        log = StoreLog(database, transaction, store.store_id)
        ingest_events(log, [[one] for one in told], NOW)
    inputs = TrainingInputs()
    with database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        head = repository.head()
        assert head is not None
        inputs.read_on(repository, head.seq)
    catalog = CatalogView(store.store_id, ZoneInfo("UTC"), make_card)
    reader = database.raw_reader()
    catalog.refresh(reader, 1)
    reader.close()

    found = train_ranker(database, RankerTrainingData(store, catalog, inputs), NOW, enough)

    workshop = TrainingDeps(database, folder, lambda: NOW)
    model = train_store(workshop, store, TrainingInputs(), lambda _: None)
    with database.reading() as connection:
        stored = RankingRepository(connection, store.store_id).load()
    assert stored is not None
    assert stored.serves == found.serves
    assert stored.report["clicks"] == found.clicks
    return found, TrainedModels.load(models_folder(folder, store.store_id), model.model_id)


FEW = MinimumData(clicks=100, shown=1_000)


def test_where_clicks_tell_something_they_order_the_stores_lists(
    database: Database, tmp_path: Path
) -> None:
    found, models = learned(database, tmp_path, life(tells=True), FEW)

    assert (found.lists, found.shown) == (LISTS, LISTS * LENGTH)
    assert found.gain is not None
    assert found.gain.low > 0
    assert found.serves
    assert len(models.trees)
    rates = models.impression_stats.rates(np.arange(ITEMS))
    rows = np.zeros((ITEMS, len(FEATURES)))
    rows[:, FEATURES.index("its click rate relative to all products")] = rates
    served = kernel.score(*models.trees.to_arrays().values(), rows)  # type: ignore[call-arg]  # six arrays
    assert np.array_equal(served, models.trees.score(rows))  # mapped from files, too
    clicked, others = np.sort(rates)[-10:].min(), np.sort(rates)[:20].max()
    assert clicked > others
    assert set(np.argsort(-models.trees.score(rows))[:8]) <= set(np.argsort(-rates)[:10])


def test_where_clicks_tell_nothing_the_blend_stays(
    sqlite_database: Database, tmp_path: Path
) -> None:
    found, models = learned(sqlite_database, tmp_path, life(tells=False), FEW)

    assert found.gain is not None
    assert found.gain.low < 0
    assert not found.serves
    assert not len(models.trees)


def test_a_store_of_few_clicks_is_not_asked(
    sqlite_database: Database, tmp_path: Path
) -> None:
    found, models = learned(
        sqlite_database, tmp_path, life(tells=True)[:500], MinimumData()
    )

    assert found.gain is None
    assert not found.serves
    assert not len(models.trees)


NAMES = [f"item {number}" for number in range(9)]
REQUEST = RecommendationRequest(Source.MIX, 6, item_id="item 0")


def click_shop(**settings: bool) -> StoreState:
    """Return a shop whose trees put first what is clicked more: items of high numbers."""
    rows = Rows()
    for name in NAMES:
        rows.add(name, [f"of {name}"])
    pairs = [[0, one] for one in range(1, 9) for _ in range(12 - one)]
    shop = small_shop(rows, pairs, pairs, [3], StoreSettings(**settings))  # type: ignore[arg-type]  # switches only
    stats = ItemStats().plus([(False, one, 1, 300) for one in range(9)])
    rates = stats.plus([(True, one, 1, 4 * one) for one in range(9)])
    trait = FEATURES.index("its click rate relative to all products")
    bounds = [rates.rates(np.array([one]))[0] + 1e-9 for one in range(1, 8)]
    trees = {
        "traits": [trait] * 7,
        "bounds": bounds,
        "left": [-1 - 2 * one for one in range(7)],
        "right": [-2 - 2 * one for one in range(7)],
        "values": [0.0, 1.0] * 7,
        "roots": list(range(7)),
    }
    shop.models = replace(
        shop.models, impression_stats=rates, trees=TreeEnsemble.from_arrays(trees)
    )
    return shop


def asked(request: RecommendationRequest = REQUEST, **settings: bool) -> Decision:
    return decide(click_shop(**settings), request, [shopper("anna", [5])], NOW)


def test_the_learned_order_is_shown_and_who_earned_a_product_stays() -> None:
    blend, ordered = asked(learned_order=False), asked()

    assert not blend.is_learned
    assert ordered.is_learned
    assert [pick.item for pick in blend.picks] != [8, 7, 6, 5, 4, 3]
    assert [pick.item for pick in ordered.picks] == [8, 7, 6, 5, 4, 3]
    engines = {
        int(item): blend.ranking.engines[leader]
        for item, leader in zip(blend.ranking.items, blend.ranking.leaders, strict=True)
    }
    assert all(pick.engine is engines[pick.item] for pick in ordered.picks)
    scores = [pick.score for pick in ordered.picks]
    assert scores == sorted(scores, reverse=True)
    assert scores == [pick.score for pick in blend.picks]


@pytest.mark.parametrize(
    "request_",
    [
        RecommendationRequest(Source.MIX, 6, basket=("item 0",)),
        RecommendationRequest(Source.BUY, 6, item_id="item 0"),
        RecommendationRequest(Source.BROWSE, 6, item_id="item 0"),
    ],
    ids=["cart", "buy", "browse"],
)
def test_other_lists_keep_their_own_order(request_: RecommendationRequest) -> None:
    told, plain = asked(request_), asked(request_, learned_order=False)

    assert not told.is_learned
    assert told.picks == plain.picks


def test_what_a_shopper_is_tired_of_still_sinks() -> None:
    anna = shopper("anna", [5])
    for _ in range(20):
        anna.shown.show(8, NOW)

    items = [pick.item for pick in decide(click_shop(), REQUEST, [anna], NOW).picks]

    assert items[:4] == [7, 6, 5, 4]


def test_that_clicks_ordered_a_list_is_told() -> None:
    told = explain_recommendations(click_shop(), REQUEST, [shopper("anna", [5])], NOW)

    assert told.is_learned
