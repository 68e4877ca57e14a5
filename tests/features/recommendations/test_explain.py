"""Explanations: the list that is served, with correct reasons."""

import itertools
from typing import Any

import pytest

from productrecs.engines.engine_protocol import SimilarVisitViews
from productrecs.features.recommendations import explain as module
from productrecs.features.recommendations.explain import (
    AppliedRule,
    BoughtTogetherCount,
    CandidateRefusalReason,
    HiddenProduct,
    explain_recommendations,
    explain_trending,
)
from productrecs.features.recommendations.recommend import decide_list, recommend
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.trending import trending_list
from productrecs.records.catalog.availability import UnavailableReason
from productrecs.records.catalog.item_filters import parse_filters
from productrecs.records.merchandising.rule import (
    ListKind,
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.features.recommendations.small_shop import (
    NOW,
    CatalogRows,
    obey,
    shopper,
    small_shop,
)

TENT, PEG, LAMP, ROPE, BOLT, SOLD, GIFT = range(7)
NAMES = ["tent", "peg", "lamp", "rope", "bolt", "sold", "gift"]


@pytest.fixture
def shop() -> StoreState:
    rows = CatalogRows()
    for number, name in enumerate(NAMES):
        group = ["camp"] if number in {TENT, PEG, LAMP} else ["climb"]
        rows.add(name, group, stock=0 if number == SOLD else None)
    return small_shop(
        rows,
        baskets=[*[[TENT, PEG]] * 3, [TENT, LAMP], [TENT, SOLD], [ROPE, BOLT]],
        visits=[[TENT, LAMP, ROPE], [TENT, LAMP], [ROPE, BOLT], [PEG, BOLT]],
        trending=[BOLT, ROPE, PEG, TENT],
    )


def requests() -> list[RecommendationRequest]:
    found = []
    for source, item_id, basket, num in itertools.product(
        Source, [None, *NAMES], [(), ("rope",), ("tent", "bolt", "unknown")], [1, 4, 20]
    ):
        if source is not Source.SIMILAR or item_id:
            found.append(RecommendationRequest(source, num, item_id, basket))
    return found


RULES = (
    RuleContent(
        RuleAction.EXCLUDE,
        RuleTarget(items=(str(LAMP),)),
        places=RuleListScope((ListKind.CART,)),
    ),
    RuleContent(RuleAction.BOOST, RuleTarget(items=(str(GIFT), str(ROPE)))),
    RuleContent(RuleAction.PIN, RuleTarget(items=(str(PEG),)), position=2),
)


@pytest.mark.parametrize("rules", [(), RULES])
def test_what_is_explained_is_what_is_served(
    shop: StoreState, rules: tuple[RuleContent, ...]
) -> None:
    if rules:
        obey(shop, *rules)
    shoppers = [(), (shopper("anna", [TENT, ROPE], [BOLT]),), (shopper("ben", [GIFT]),)]
    lists = 0
    for request, histories in itertools.product(requests(), shoppers):
        served = recommend(shop, request, histories, NOW)
        products = explain_recommendations(shop, request, histories, NOW).products
        assert [(one.item_id, one.source, one.score) for one in products] == [
            (NAMES[pick.item], pick.engine, pick.score) for pick in served
        ]
        lists += bool(served)
    for num in (1, 4, 20):
        products = explain_trending(shop, num, NOW).products
        assert [(one.item_id, one.score) for one in products] == [
            (NAMES[pick.item], pick.score) for pick in trending_list(shop, num, NOW)
        ]
    assert lists > 500


def test_control_a_second_implementation_would_be_noticed(
    shop: StoreState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def otherwise(*arguments: Any) -> Any:
        decision = decide_list(*arguments)
        return decision._replace(picks=decision.picks[::-1])

    monkeypatch.setattr(module, "decide_list", otherwise)

    with pytest.raises(AssertionError):
        test_what_is_explained_is_what_is_served(shop, ())


def explained(shop: StoreState, source: Source = Source.MIX, **about: Any) -> Any:
    histories = about.pop("histories", ())
    request = RecommendationRequest(source, 4, **about)
    return explain_recommendations(shop, request, histories, NOW)


def test_who_spoke_for_a_product_and_how_loudly(shop: StoreState) -> None:
    explanation = explained(shop, item_id="tent")
    lamp = next(one for one in explanation.products if one.item_id == "lamp")

    assert (explanation.source, explanation.page_type, explanation.anchors) == (
        "mix",
        "product",
        ("tent",),
    )
    assert dict(explanation.weights) == {"browse": 1.0, "buy": 0.8}
    assert explanation.proposals["browse"] == 2
    assert {voice.engine for voice in lamp.voices} == {EngineName.BROWSE, EngineName.BUY}
    assert sum(voice.share or 0 for voice in lamp.voices) == pytest.approx(lamp.score)
    assert lamp.bought_with == (BoughtTogetherCount("tent", 1),)
    assert lamp.seen_by == SimilarVisitViews(visits=2, of=2)
    assert lamp.trending_rank is None


def test_one_engine_alone_has_no_share(shop: StoreState) -> None:
    first = explained(shop, Source.BUY, item_id="tent").products[0]

    assert (first.item_id, first.voices[0].rank, first.voices[0].share) == ("peg", 1, None)
    assert first.voices[0].score == first.score
    assert first.bought_with == (BoughtTogetherCount("tent", 3),)
    assert first.trending_rank == 3


@pytest.mark.parametrize(("source", "has_variants"), [("mix", True), ("buy", False)])
def test_common_baskets_say_whether_variants_count(
    source: str, *, has_variants: bool
) -> None:
    rows = CatalogRows()
    for name, title in (("tent", "Tent"), ("red", "Lamp, red"), ("blue", "Lamp, blue")):
        rows.add(name, title=title)
    shop = small_shop(rows, [[0, 1], [0, 1], [0, 2]], visits=[], trending=[0])

    products = explained(shop, Source(source), item_id="tent").products

    lamp = next(one for one in products if one.item_id == "red")
    assert [one.has_variants for one in lamp.bought_with] == [has_variants]


def test_what_fills_says_by_what(shop: StoreState) -> None:
    explanation = explained(shop, Source.BROWSE, item_id="gift")

    assert {one.source for one in explanation.products} == {
        EngineName.CATEGORY,
        EngineName.TRENDING,
    }
    first = explanation.products[0]
    assert (first.item_id, first.category, first.trending_rank) == ("bolt", "climb", 1)
    assert explanation.products[-1].category is None


def test_what_was_struck_out_and_why(shop: StoreState) -> None:
    obey(
        shop,
        RuleContent(RuleAction.EXCLUDE, RuleTarget(items=(str(LAMP),)), name="no lamps"),
        RuleContent(RuleAction.PIN, RuleTarget(items=(str(TENT),)), position=1),
    )
    anna = shopper("anna", [LAMP], [PEG])

    explanation = explained(shop, item_id="tent", histories=(anna,))

    why = {one.item_id: one.why for one in explanation.struck}
    assert why == {
        "tent": CandidateRefusalReason.ASKED_ABOUT,
        "peg": CandidateRefusalReason.BOUGHT,
        "lamp": CandidateRefusalReason.EXCLUDED,
        "sold": UnavailableReason.SOLD_OUT,
    }
    lamp = next(one for one in explanation.struck if one.item_id == "lamp")
    assert lamp.rules == (AppliedRule(1, "no lamps", RuleAction.EXCLUDE, 1.0),)
    assert explanation.recent == ("lamp",)


def test_the_explanation_names_the_rules_that_moved_a_product(shop: StoreState) -> None:
    obey(
        shop,
        RuleContent(RuleAction.BOOST, RuleTarget(items=(str(ROPE),)), strength=4.0),
        RuleContent(RuleAction.PIN, RuleTarget(items=(str(GIFT),)), position=1),
    )

    products = {one.item_id: one for one in explained(shop, item_id="tent").products}

    assert products["gift"].pinned_by == 2
    assert products["gift"].source is EngineName.TRENDING
    assert products["rope"].rules == (
        AppliedRule(1, "boost 3 by 4", RuleAction.BOOST, 4.0),
    )
    assert products["rope"].pinned_by is None


def test_products_below_the_last_place_are_counted(shop: StoreState) -> None:
    request = RecommendationRequest(Source.BUY, 1, "tent")

    assert explain_recommendations(shop, request, (), NOW).below == 1


def test_the_explanation_says_in_one_word_why_an_item_is_hidden(shop: StoreState) -> None:
    shop.settings = StoreSettings(hide_out_of_stock=False)
    shop.catalog._remove(PEG, "peg")  # noqa: SLF001 - what a refresh does after a deletion
    shop.catalog.version += 1

    explanation = explained(shop, Source.BUY, item_id="tent")

    assert explanation.struck[0] == HiddenProduct(
        None, UnavailableReason.DELETED, explanation.struck[0].voices
    )
    assert "sold" in {one.item_id for one in explanation.products}


def test_the_explanation_separates_a_filter_of_the_call_from_a_rule(
    shop: StoreState,
) -> None:
    obey(shop, RuleContent(RuleAction.EXCLUDE, RuleTarget(items=(str(LAMP),))))
    filters = parse_filters(["categories:climb"])

    explanation = explained(shop, Source.BUY, item_id="tent", filters=filters)
    trending = explain_trending(shop, 3, NOW, filters)

    why = {one.item_id: one.why for one in explanation.struck}
    assert (why["peg"], why["lamp"]) == (
        CandidateRefusalReason.FILTERED,
        CandidateRefusalReason.EXCLUDED,
    )
    assert explanation.products == ()
    assert [one.item_id for one in trending.products][:2] == ["bolt", "rope"]


def test_the_explanation_of_trending_names_its_rules(shop: StoreState) -> None:
    obey(
        shop,
        RuleContent(RuleAction.EXCLUDE, RuleTarget(items=(str(ROPE),))),
        RuleContent(RuleAction.PIN, RuleTarget(items=(str(GIFT),)), position=2),
    )

    explanation = explain_trending(shop, 3, NOW)

    assert [one.item_id for one in explanation.products] == ["bolt", "gift", "peg"]
    assert [one.trending_rank for one in explanation.products] == [1, None, 3]
    assert explanation.products[1].pinned_by == 2
    assert [(one.item_id, one.why) for one in explanation.struck] == [
        ("rope", CandidateRefusalReason.EXCLUDED)
    ]


def test_an_item_seen_before_is_explained_by_how_often_shoppers_go_back() -> None:
    rows = CatalogRows()
    for name in NAMES:
        rows.add(name, ["camp"])
    going_back = [[TENT, LAMP, TENT, ROPE], [LAMP, ROPE, LAMP]] * 200
    shop = small_shop(rows, baskets=[], visits=going_back, trending=[BOLT])
    anna = shopper("anna", [PEG, ROPE])

    by_id = {
        one.item_id: one
        for one in explained(shop, Source.BROWSE, histories=(anna,)).products
    }

    # 400 of 600 steps that have an item two steps back go there; 500 more are doubt.
    assert by_id["peg"].return_share == pytest.approx(400 / (600 + 500))
    assert by_id["peg"].seen_by.visits == 0
    assert by_id["lamp"].return_share is None
