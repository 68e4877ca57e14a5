"""Complements in `mix`: under their own source, where categories show them."""

from dataclasses import replace

import numpy as np
import pytest

from productrecs.engines.complementary import (
    BoughtTogetherPairs,
    ComplementAndCopurchaseModel,
    ComplementModel,
    fit_complements,
)
from productrecs.engines.copurchase import CopurchaseModel, fit_copurchase
from productrecs.engines.registry import BUY, COMPLEMENTARY
from productrecs.features.recommendations.explain import (
    BoughtTogetherCount,
    ComplementaryCategoryPair,
    ExplainedProduct,
    explain_recommendations,
)
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from tests.features.recommendations.small_shop import NOW, CatalogRows, shopper, small_shop

NAMES = ["tent", "other-tent", "stove", "new-tent", "mat", "pot", "gift"]
TENT, OTHER, STOVE, NEW, MAT, POT, GIFT = range(7)
KINDS = {TENT: "Tents", OTHER: "Tents", NEW: "Tents", STOVE: "Stoves", MAT: "Mats"}
BASKETS = [*[[TENT, OTHER]] * 2, *[[TENT, STOVE]] * 60, *[[OTHER, MAT]] * 45, [STOVE, POT]]
ALONE = [[one] for one in (POT, GIFT)] * 180


def completing(bought: CopurchaseModel) -> ComplementModel:
    names = sorted(set(KINDS.values()))
    kinds = np.array(
        [names.index(KINDS[one]) if one in KINDS else -1 for one in range(7)], np.int32
    )
    pairs = BoughtTogetherPairs(bought.offsets, bought.companions, bought.support)
    sold = np.bincount([item for one in BASKETS for item in one], minlength=7)
    return fit_complements(pairs, kinds, np.zeros(7, np.int32), sold)


@pytest.fixture
def plain() -> StoreState:
    """Return the shop before any category pair says which kinds complete one another."""
    rows = CatalogRows()
    for number, name in enumerate(NAMES):
        rows.add(name, ["All", KINDS[number]] if number in KINDS else [])
    return small_shop(rows, BASKETS + ALONE, visits=[], trending=[GIFT])


@pytest.fixture
def shop(plain: StoreState) -> StoreState:
    model = completing(plain.models.copurchase)
    complements = ComplementAndCopurchaseModel(model, plain.models.of(BUY))
    return replace(plain, models=plain.models.replacing(COMPLEMENTARY, complements))


def picks(shop: StoreState, *cart: str, source: Source = Source.MIX) -> list[Pick]:
    page = cart[0] if len(cart) == 1 else None
    basket = () if page else cart
    return recommend(shop, RecommendationRequest(source, 4, page, basket), (), NOW)


def why(shop: StoreState, item: str, page: str) -> ExplainedProduct:
    request = RecommendationRequest(Source.MIX, 4, page)
    products = explain_recommendations(shop, request, (), NOW).products
    return next(one for one in products if one.item_id == item)


def test_on_a_page_what_completes_comes_before_another_of_the_same(
    shop: StoreState,
) -> None:
    found = picks(shop, "tent")

    assert [(one.item, one.engine) for one in found[:2]] == [
        (STOVE, EngineName.COMPLEMENTARY),
        (OTHER, EngineName.BUY),
    ]


def test_a_cart_is_completed_but_not_by_another_of_what_is_in_it(shop: StoreState) -> None:
    found = {one.item: one.engine for one in picks(shop, "tent", "mat")}

    assert found[STOVE] is EngineName.COMPLEMENTARY
    assert found[OTHER] is EngineName.BUY


def test_an_item_without_purchases_is_completed_by_what_goes_with_its_kind(
    shop: StoreState,
) -> None:
    found = picks(shop, "new-tent")
    stove = why(shop, "stove", "new-tent")

    assert found[0] == (STOVE, EngineName.COMPLEMENTARY, found[0].score)
    assert stove.completes == ()
    assert isinstance(stove.goes_with, ComplementaryCategoryPair)
    assert (stove.goes_with.category, stove.goes_with.beside) == ("Stoves", "Tents")
    assert stove.goes_with.baskets >= 60
    assert stove.goes_with.lift > 1


def test_buy_is_as_it_was(plain: StoreState, shop: StoreState) -> None:
    for cart in (("tent",), ("tent", "mat"), ("new-tent",)):
        buy = {"source": Source.BUY}
        assert picks(shop, *cart, **buy) == picks(plain, *cart, **buy)


def test_where_nothing_completes_the_list_is_as_it_was(
    plain: StoreState, shop: StoreState
) -> None:
    for cart in (("pot",), ("gift",), ("pot", "gift"), ("unknown",)):
        assert picks(shop, *cart) == picks(plain, *cart)
    anna = (shopper("anna", [TENT], [STOVE]),)
    request = RecommendationRequest(Source.MIX, 4)
    assert recommend(shop, request, anna, NOW) == recommend(plain, request, anna, NOW)


def test_control_a_page_with_something_to_complete_is_not_as_it_was(
    plain: StoreState, shop: StoreState
) -> None:
    assert picks(shop, "tent") != picks(plain, "tent")


def test_the_explanation_names_the_evidence_of_a_complement(shop: StoreState) -> None:
    stove = why(shop, "stove", "tent")

    assert stove.source is EngineName.COMPLEMENTARY
    assert stove.completes == (BoughtTogetherCount("tent", 60),)
    assert stove.goes_with is None
    assert {voice.engine for voice in stove.voices} == {
        EngineName.COMPLEMENTARY,
        EngineName.BUY,
    }
    assert sum(voice.share or 0 for voice in stove.voices) == pytest.approx(stove.score)


def test_what_lay_in_the_cart_beside_what_was_bought_counts(shop: StoreState) -> None:
    baskets = [*BASKETS, *ALONE, *[[TENT, MAT]] * 30]
    codes = np.repeat(np.arange(len(baskets)), [len(one) for one in baskets])
    items = np.array([item for one in baskets for item in one], np.int32)
    carts = fit_copurchase(codes, items, None, 7).plain
    complements = ComplementAndCopurchaseModel(
        completing(carts), shop.models.of(BUY), carts
    )
    shop.models = shop.models.replacing(COMPLEMENTARY, complements)

    found = {one.item: one.engine for one in picks(shop, "tent")}
    assert found[MAT] is EngineName.COMPLEMENTARY
    assert why(shop, "mat", "tent").completes == (BoughtTogetherCount("tent", 30),)
    assert why(shop, "mat", "tent").bought_with == ()
