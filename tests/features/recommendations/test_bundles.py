"""Bundles: which set a page shows, when it shows none, and which sets are proposed."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from productrecs.engines.complementary import ComplementAndCopurchaseModel
from productrecs.engines.copurchase import ItemSets, fit_item_sets
from productrecs.engines.registry import BUNDLE, BUY, COMPLEMENTARY
from productrecs.features.recommendations.bundles import (
    _orders_and_lift_by_set,
    bundle_offer_of_list,
    propose_bundles,
)
from productrecs.features.recommendations.explain import explain_placement
from productrecs.features.recommendations.placement_lists import (
    build_placement_requests,
    recommend_placement,
)
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.merchandising.rule import RuleAction, RuleContent, RuleTarget
from productrecs.records.placements.bundle import (
    Bundle,
    BundleContent,
    BundleState,
    accepted_bundles_by_item,
)
from productrecs.records.placements.placement import Placement, PlacementContent, Strategy
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.features.recommendations.small_shop import (
    NOW,
    CatalogRows,
    obey,
    obey_nothing,
    shopper,
    small_shop,
)

NAMES: Final = ["tent", "mat", "stove", "lamp", "mug", "boat", "gift", "red", "blue"]
TENT, MAT, STOVE, LAMP, MUG, BOAT, GIFT, RED, BLUE = range(len(NAMES))
SOLD_OUT: Final = {BOAT}


def stored(*sets: tuple[str, ...], **content: Any) -> list[Bundle]:
    """Return stored bundles of these products."""
    return [
        Bundle(number, BundleContent(items, **content), 1, 0, 0)
        for number, items in enumerate(sets, 1)
    ]


ACCEPTED: Final = [
    *stored(
        ("mat", "tent", "stove"), ("tent", "lamp"), ("tent", "boat"), ("mug", "gift"),
        discount_percent=10.0,
    ),
    Bundle(5, BundleContent(("lamp", "stove"), discount_amount=100.0), 1, 0, 0),
    Bundle(6, BundleContent(("lamp", "mug"), state=BundleState.REJECTED), 1, 0, 0),
]  # fmt: skip


@pytest.fixture(scope="module")
def made() -> StoreState:
    """Return a shop of camping goods in which some products are bought together."""
    rows = CatalogRows()
    for number, name in enumerate(NAMES):
        title = {RED: "Trail shirt red", BLUE: "Trail shirt blue"}.get(number, name.title())
        price = None if number == GIFT else 10.0 + number
        rows.add(name, ["camp"], price, 0 if number in SOLD_OUT else 5, title)
    baskets = [
        *[[TENT, MAT, STOVE]] * 14, *[[LAMP, MUG]] * 12, *[[TENT, BOAT]] * 12,
        *[[RED, BLUE]] * 12, *[[GIFT]] * 90,
    ]  # fmt: skip
    shop = small_shop(rows, baskets, visits=[[TENT, MAT]], trending=[GIFT, MUG])
    numbers = np.repeat(np.arange(len(baskets)), [len(one) for one in baskets])
    items = np.array([item for one in baskets for item in one], np.int32)
    nothing = np.zeros(len(items), np.int64)
    sets = fit_item_sets(
        shop.models.copurchase, numbers, items, nothing.astype(np.float32), nothing
    )
    shop.models = shop.models.replacing(BUNDLE, sets)
    return shop


@pytest.fixture
def shop(made: StoreState) -> Iterator[StoreState]:
    """Return the shop with its bundles; its rules and settings are those of a new one."""
    made.bundles = accepted_bundles_by_item(ACCEPTED)
    yield made
    obey_nothing(made)
    made.settings, made.bundles = StoreSettings(), {}


def listed(
    shop: StoreState, *histories: ShopperHistory, fallback: str = "", **call: Any
) -> tuple[list[str], int | None]:
    """Return the ids of a bundle placement's list, and its bundle's number."""
    placement = call.pop("placement", {})
    content = PlacementContent(
        Strategy.BUNDLE, num=8, fallback=Strategy(fallback) if fallback else None
    )
    identities = tuple(history.person for history in histories)
    request = RecommendationRequest(Source.MIX, call.pop("num", 0), identities=identities)
    place = Placement("here", replace(content, **placement), 1, 0, 0)
    requests = build_placement_requests(shop, place, request._replace(**call), histories)
    picks = recommend_placement(shop, requests, histories, NOW)
    explanation = explain_placement(shop, requests, histories, NOW)
    assert [one.item_id for one in explanation.products] == [
        NAMES[one.item] for one in picks
    ]
    assert [one.score for one in picks] == sorted(
        (one.score for one in picks), reverse=True
    )
    assert requests.main is not None
    offer = bundle_offer_of_list(shop, requests.main, picks, NOW)
    is_bundle = {one.engine for one in picks} == {EngineName.BUNDLE}
    assert is_bundle is (offer is not None)
    assert all((one.bundle is not None) is is_bundle for one in explanation.products)
    return [NAMES[one.item] for one in picks], offer and offer.bundle.bundle_id


ANNA: Final = shopper("anna", [], [LAMP])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"item_id": "tent"}, (["lamp"], 2)),  # it begins with the page's product
        ({"item_id": "mat"}, (["tent", "stove"], 1)),
        ({"item_id": "stove"}, (["mat", "tent"], 1)),
        ({"item_id": "gift"}, ([], None)),  # without a price there is no discount
        ({"item_id": "lamp"}, (["tent"], 2)),  # bundle 5 would cost nothing
        ({"item_id": "boat"}, ([], None)),  # the page's product is sold out
        ({"item_id": "nothing"}, ([], None)),
        ({}, ([], None)),
        ({"basket": ("stove", "tent")}, (["mat"], 1)),  # more of it is in the cart
        ({"basket": ("stove", "tent", "mat")}, (["lamp"], 2)),
        ({"item_id": "tent", "excluded": ("lamp",)}, (["mat", "stove"], 1)),
        ({"item_id": "tent", "excluded": ("lamp", "mat")}, ([], None)),
        ({"item_id": "mat", "num": 1}, ([], None)),  # never a part of a set
        ({"item_id": "mat", "placement": {"most_per_category": 1}}, (["tent", "stove"], 1)),
        ({"item_id": "mat", "placement": {"filters": ("price:..11",)}}, ([], None)),
        ({"item_id": "mat", "placement": {"minimum": 3}}, ([], None)),
        ({"item_id": "tent", "fallback": "trending"}, (["lamp"], 2)),  # never mixed
        ({"item_id": "boat", "fallback": "trending"}, (["gift", "mug"], None)),
    ],
)
def test_a_page_shows_the_rest_of_a_bundle(
    shop: StoreState, call: dict[str, Any], expected: tuple[list[str], int | None]
) -> None:
    ids, number = listed(shop, **call)

    assert (ids[: len(expected[0])] if call.get("fallback") else ids, number) == expected


def test_what_was_bought_is_in_no_list_unless_repeats_are_allowed(shop: StoreState) -> None:
    assert listed(shop, ANNA, item_id="tent") == (["mat", "stove"], 1)

    shop.settings = StoreSettings(allow_repeat_recommendations=True)

    assert listed(shop, ANNA, item_id="tent") == (["lamp"], 2)


def test_rules_and_stock_hide_a_bundle_as_a_whole(shop: StoreState) -> None:
    def rule(action: RuleAction, item: int, **more: Any) -> RuleContent:
        return RuleContent(action, RuleTarget(items=(str(item),)), **more)

    shop.settings = StoreSettings(hide_out_of_stock=False, earnings_weight=1.0)
    shop.bundles = accepted_bundles_by_item(
        stored(("mat", "tent", "stove"), ("boat", "mug"))
    )
    assert listed(shop, item_id="mug") == ([], None)
    obey(shop, rule(RuleAction.EXCLUDE, STOVE))
    assert listed(shop, item_id="tent") == ([], None)
    assert listed(shop, item_id="stove") == ([], None)
    # The order of a set is the merchant's: boosts and pins do not change it.
    obey(
        shop,
        rule(RuleAction.BOOST, STOVE, strength=9.0),
        rule(RuleAction.PIN, LAMP, position=1),
    )
    assert listed(shop, item_id="mat") == (["tent", "stove"], 1)


def proposed(shop: StoreState, decided: list[Bundle]) -> dict[str, int]:
    """Return the number of orders of each proposed set."""
    found = propose_bundles(shop, decided, NOW)
    assert [one.lift > 1.5 for one in found] == [True] * len(found)
    return {" ".join(one.item_ids): one.orders for one in found}


CAMP: Final = {"tent mat stove": 14}
LIGHT: Final = {"lamp mug": 12}
WITH_TENT: Final = {"tent mat": 14, "tent stove": 14}


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        ([], CAMP | LIGHT),  # no variants, and nothing that is sold out
        (stored(("tent", "mat", "stove"), state=BundleState.REJECTED),
         LIGHT | WITH_TENT | {"mat stove": 14}),
        (stored(("mat", "stove"), state=BundleState.REJECTED), LIGHT | WITH_TENT),
        (stored(("stove", "mat", "lamp")), LIGHT | WITH_TENT),
        (stored(("mug", "gift"), proposed=("lamp", "mug")), CAMP),
    ],
)  # fmt: skip
def test_sets_are_proposed_until_the_merchant_decides(
    shop: StoreState, decided: list[Bundle], expected: dict[str, int]
) -> None:
    assert proposed(shop, decided) == expected


def test_a_proposal_follows_rules_and_people_who_buy_one_of_a_category(
    shop: StoreState,
) -> None:
    obey(shop, RuleContent(RuleAction.EXCLUDE, RuleTarget(items=(str(LAMP),))))
    assert proposed(shop, []) == CAMP
    one_category = replace(
        shop.models.of(COMPLEMENTARY).model,
        categories=np.zeros(len(NAMES), np.int32),
        is_self_complementary=np.zeros(1, np.bool_),
    )
    models = shop.models
    try:
        complements = ComplementAndCopurchaseModel(one_category, models.of(BUY))
        shop.models = models.replacing(COMPLEMENTARY, complements)
        assert proposed(shop, []) == {}
    finally:
        shop.models = models


def test_a_deleted_product_changes_no_evidence_of_other_sets(
    shop: StoreState, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, ids = ("tent", "mat"), [*shop.catalog.ids]
    members = np.array([[TENT, MAT, -1, -1], [TENT, MAT, STOVE, -1]], np.int32)
    sets = ItemSets(members, np.array([68, 13], np.int32), np.array([3.7, 2.5], np.float32))
    monkeypatch.setattr(shop, "models", shop.models.replacing(BUNDLE, sets))
    ids[STOVE] = None
    monkeypatch.setattr(shop.catalog, "ids", ids)

    orders, lift = _orders_and_lift_by_set(shop, [pair])[frozenset(pair)]
    assert (orders, round(lift, 4)) == (68, 3.7)
