"""Lists follow their recipe: fused, filtered, backfilled, and never padded for buy."""

from array import array
from collections.abc import Mapping

import numpy as np
import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.engines.browse import fit_sessions
from productrecs.engines.copurchase import VariantGroups, fit_copurchase
from productrecs.engines.registry import BROWSE, BUY, TRENDING
from productrecs.engines.trending_and_category import TrendingModel
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.trending import trending_list
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.trained_models import TrainedModels, empty_models
from tests.support.stores import new_store

NOW = 1_772_366_400_000
CATALOG: Mapping[str, Mapping[str, object]] = {
    "tent": {"categories": ("camp",), "price": 100.0},
    "peg": {"categories": ("camp",), "price": 1.0},
    "lantern": {"categories": ("camp", "light"), "price": 20.0},
    "rope": {"categories": ("climb",), "price": 30.0},
    "bolt": {"categories": ("climb",), "price": 5.0},
    "sold": {"categories": ("camp",), "stock_qty": 0},
    "later": {"categories": ("camp",), "available_from": "2099-01-01"},
}
NAMES = list(CATALOG)
TENT, PEG, LANTERN, ROPE, BOLT, SOLD, LATER = range(len(NAMES))


def models(
    baskets: list[list[int]], visits: list[list[int]], trending: list[int]
) -> TrainedModels:
    def columns(groups: list[list[int]]) -> tuple[list[int], list[int]]:
        codes = [code for code, group in enumerate(groups) for _ in group]
        return codes, [item for group in groups for item in group]

    orders, bought = columns(baskets)
    sessions, seen = columns(visits)
    pairs = fit_copurchase(
        np.array(orders, np.int64), np.array(bought, np.int32), None, len(NAMES)
    )
    index = fit_sessions(
        np.array(sessions, np.int64),
        np.array(seen, np.int32),
        NOW - DAY_MS + np.arange(len(seen), dtype=np.int64),
        len(NAMES),
    )
    return (
        empty_models()
        .replacing(BUY, pairs)
        .replacing(BROWSE, index)
        .replacing(TRENDING, TrendingModel.from_ranking(np.array(trending, np.int32)))
    )


@pytest.fixture
def shop(sqlite_database: Database) -> StoreState:
    store = new_store(sqlite_database)
    patches = [ItemPatch(name, fields) for name, fields in CATALOG.items()]
    with sqlite_database.transaction() as transaction:
        upsert_items(
            StoreLogTransaction(sqlite_database, transaction, store.store_id), patches, NOW
        )
    view = CatalogView(StoreId(store.store_id), StoreSettings().zone, lambda _: b"")
    reader = sqlite_database.raw_reader()
    view.refresh(reader, 1)
    reader.close()
    learned = models(
        baskets=[[TENT, PEG], [TENT, PEG], [TENT, LANTERN], [ROPE, BOLT], [TENT, SOLD]],
        visits=[[TENT, LANTERN, ROPE], [TENT, LANTERN], [ROPE, BOLT], [PEG, BOLT]],
        trending=[BOLT, ROPE, PEG, TENT],
    )
    return StoreState(view, learned, StoreSettings())


def names(picks: list[Pick]) -> list[str]:
    return [NAMES[pick.item] for pick in picks]


def ask(
    shop: StoreState,
    source: Source = Source.MIX,
    num: int = 4,
    *histories: ShopperHistory,
    **about: object,
) -> list[Pick]:
    identities = tuple(history.person for history in histories)
    request = RecommendationRequest(source, num, identities=identities, **about)  # type: ignore[arg-type]  # a test's shorthand
    return recommend(shop, request, histories, NOW)


def past_of(person: str, recent: list[int], bought: list[int]) -> ShopperHistory:
    times = array("q", range(NOW - DAY_MS, NOW - DAY_MS + len(bought)))
    return ShopperHistory(person, 1, array("q", recent), array("q", bought), times)


def anna(recent: list[int], bought: list[int]) -> ShopperHistory:
    return past_of("anna", recent, bought)


def test_buy_is_never_padded(shop: StoreState) -> None:
    assert names(ask(shop, Source.BUY, 20, item_id="tent")) == ["peg", "lantern"]
    assert ask(shop, Source.BUY, 20, item_id="later") == []
    assert ask(shop, Source.BUY) == []


def test_buy_without_an_anchor_takes_the_shoppers_own_orders(shop: StoreState) -> None:
    picks = ask(shop, Source.BUY, 4, anna([ROPE], [ROPE]))

    assert names(picks) == ["bolt"]
    assert picks[0].engine is EngineName.BUY


@pytest.mark.parametrize("source", [Source.MIX, Source.BROWSE, Source.SIMILAR])
def test_other_sources_fill_up_with_everything_that_may_be_shown(
    shop: StoreState, source: Source
) -> None:
    picks = ask(shop, source, 20, item_id="tent")

    assert sorted(names(picks)) == ["bolt", "lantern", "peg", "rope"]
    scores = [pick.score for pick in picks]
    assert scores == sorted(scores, reverse=True)


def test_mix_names_the_engine_that_earned_a_place(shop: StoreState) -> None:
    engines = {
        NAMES[pick.item]: pick.engine for pick in ask(shop, Source.MIX, 20, item_id="tent")
    }

    assert engines["peg"] is EngineName.BUY
    assert engines["rope"] is EngineName.BROWSE


def test_anchors_and_the_carts_items_are_never_returned(shop: StoreState) -> None:
    picks = ask(shop, Source.MIX, 20, item_id="tent", basket=("peg", "lantern", "unknown"))

    assert sorted(names(picks)) == ["bolt", "rope"]


def test_what_was_bought_comes_back_only_where_repeats_are_allowed(
    shop: StoreState,
) -> None:
    history = anna([TENT], [PEG])

    without = names(ask(shop, Source.MIX, 20, history))
    shop.settings = StoreSettings(allow_repeat_recommendations=True)
    allowed = names(ask(shop, Source.MIX, 20, history))

    assert "peg" not in without
    assert "tent" in without  # merely viewed
    assert "peg" in allowed


def test_who_may_be_shown_it_again_sees_first_what_they_keep_buying(
    shop: StoreState,
) -> None:
    shop.settings = StoreSettings(allow_repeat_recommendations=True)
    day = NOW - 30 * DAY_MS
    habit = ShopperHistory(
        "anna",
        1,
        array("q", [BOLT]),
        array("q", [ROPE, BOLT, BOLT, BOLT]),
        array("q", [day, day, day + DAY_MS, day + 2 * DAY_MS]),
    )

    picks = ask(shop, Source.MIX, 2, habit)

    assert sorted(names(picks)) == ["bolt", "rope"]
    assert {pick.engine for pick in picks} == {EngineName.BUY}
    # `buy` is what goes with their purchases or the page, and never what is rebought.
    assert "bolt" not in names(ask(shop, Source.BUY, 4, habit))
    assert names(ask(shop, Source.BUY, 4, habit, item_id="tent")) == ["peg", "lantern"]


def test_what_variants_lend_is_in_mix_and_never_in_buy(shop: StoreState) -> None:
    # The rope is a variant of the bolt, and was itself bought with nothing.
    groups = np.array([0, 0, 0, 1, 1, 0, 0], np.int32)
    lines = [(number, item) for number in range(4) for item in (BOLT, LANTERN)]
    orders, bought = np.array(lines, np.int64).T
    learned = fit_copurchase(
        orders,
        bought.astype(np.int32),
        None,
        len(NAMES),
        variants=VariantGroups(groups, np.zeros(len(NAMES), np.int32)),
    )
    unseen = models(baskets=[], visits=[], trending=[])
    shop.models = unseen.replacing(BUY, learned)

    assert names(ask(shop, Source.BUY, 4, item_id="bolt")) == ["lantern"]
    assert names(ask(shop, Source.BUY, 4, item_id="rope")) == []
    mix = ask(shop, Source.MIX, 4, item_id="rope")
    assert ("lantern", EngineName.BUY) in [(NAMES[pick.item], pick.engine) for pick in mix]


def test_both_identities_of_a_call_are_used(shop: StoreState) -> None:
    session = past_of("s_1", [ROPE], [BOLT])

    picks = ask(shop, Source.MIX, 20, anna([TENT], [PEG]), session)

    assert not {"peg", "bolt"} & set(names(picks))


def test_what_is_sold_out_is_shown_only_when_the_store_says_so(shop: StoreState) -> None:
    hidden = names(ask(shop, Source.BUY, 20, item_id="tent"))
    shop.settings = StoreSettings(hide_out_of_stock=False)

    assert "sold" not in hidden
    assert "sold" in names(ask(shop, Source.BUY, 20, item_id="tent"))


def test_nothing_known_gives_what_trends_then_the_newest(shop: StoreState) -> None:
    picks = ask(shop, Source.MIX, 20)

    assert names(picks)[:4] == ["bolt", "rope", "peg", "tent"]
    assert names(picks)[4:] == ["lantern"]
    assert {pick.engine for pick in picks} == {EngineName.TRENDING}


def test_a_category_fills_before_what_trends(shop: StoreState) -> None:
    shop.models = models(baskets=[], visits=[], trending=[BOLT, ROPE, PEG, TENT])

    picks = ask(shop, Source.MIX, 3, item_id="lantern")

    assert names(picks) == ["peg", "tent", "bolt"]
    assert [pick.engine for pick in picks] == [
        EngineName.CATEGORY,
        EngineName.CATEGORY,
        EngineName.TRENDING,
    ]


def test_trending_hides_what_costs_too_little_or_has_no_price(shop: StoreState) -> None:
    shop.settings = StoreSettings(trending_min_price=10.0, hide_out_of_stock=False)

    assert names(trending_list(shop, 20, NOW)) == ["rope", "tent", "lantern"]


def test_a_deleted_item_is_not_shown_whatever_the_models_say(shop: StoreState) -> None:
    shop.catalog._remove(PEG, "peg")  # noqa: SLF001 - what a refresh does after a deletion
    shop.catalog.version += 1

    assert "peg" not in names(ask(shop, Source.BUY, 20, item_id="tent"))
    assert "peg" not in names(trending_list(shop, 20, NOW))
