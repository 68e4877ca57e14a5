"""Placements: each strategy's products, filters, limits, fallback and minimum."""

import json
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from productrecs.core.clock import DAY_MS
from productrecs.engines.registry import BUY_AGAIN
from productrecs.features.recommendations.explain import explain_placement
from productrecs.features.recommendations.placement_lists import (
    build_placement_requests,
    recommend_placement,
)
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.merchandising.rule import (
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
)
from productrecs.records.placements.placement import (
    Placement,
    PlacementContent,
    RelativeFilter,
    Strategy,
)
from tests.features.recommendations.small_shop import (
    NOW,
    CatalogRows,
    obey,
    obey_nothing,
    shopper,
    small_shop,
)

# id: category, brand, price, list price, when it was created
ITEMS: Final = {
    "tent": ("camp", "Acme", 100.0, None, 1),
    "peg": ("camp", "Acme", 9.0, 12.0, 2),
    "mat": ("camp", "Bora", 90.0, None, 3),
    "lamp": ("light", "Bora", 20.0, 30.0, 4),
    "torch": ("light", "Acme", 95.0, None, 5),
    "candle": ("light", "Cole", 4.0, None, 6),
    "boot": ("shoes", "Cole", 110.0, None, 7),
    "sock": ("shoes", "Cole", 8.0, None, 8),
}
NAMES: Final = list(ITEMS)
TENT, PEG, MAT, LAMP, TORCH, CANDLE, BOOT, SOCK = range(len(NAMES))


@pytest.fixture(scope="module")
def shop() -> StoreState:
    """Return a shop in which tents go with pegs and lamps, and candles are bought again."""
    rows = CatalogRows()
    for number, (item_id, one) in enumerate(ITEMS.items()):
        category, brand, price, list_price, created = one
        where = (json.dumps([category]), None, None, created)
        attributes = (brand, "[]", "[]", "[]", "[]", list_price, "[]")
        row = (number, item_id, True, 1, item_id.title(), None, None, price, None, None)
        rows.items.append(row + where + attributes)
    made = small_shop(
        rows,
        baskets=[[TENT, PEG], [TENT, PEG], [TENT, LAMP], [BOOT, SOCK]],
        visits=[[TENT, MAT, LAMP], [TENT, MAT], [BOOT, SOCK]],
        trending=[SOCK, TORCH, LAMP, TENT, PEG],
    )
    intervals = np.zeros(len(NAMES), np.int64)
    intervals[CANDLE] = 30 * DAY_MS
    made.models = made.models.replacing(BUY_AGAIN, intervals)
    return made


def placed(
    shop: StoreState, content: PlacementContent, *histories: ShopperHistory, **call: Any
) -> list[str]:
    """Return the ids of a placement's list; its explanation must name the same."""
    identities = tuple(history.person for history in histories)
    request = RecommendationRequest(Source.MIX, call.pop("num", 0), identities=identities)
    placement = Placement("here", content, 1, 0, 0)
    requests = build_placement_requests(
        shop, placement, request._replace(**call), histories
    )
    picks = recommend_placement(shop, requests, histories, NOW)
    scores = [pick.score for pick in picks]
    assert scores == sorted(scores, reverse=True)
    explained = explain_placement(shop, requests, histories, NOW)
    ids = [NAMES[pick.item] for pick in picks]
    assert [one.item_id for one in explained.products] == ids
    return ids


ANNA: Final = shopper("anna", [BOOT, LAMP, TENT])
BEN: Final = shopper("ben", [TENT], [CANDLE], at=NOW - 29 * DAY_MS)
ONLY: Final = PlacementContent(num=4)


@pytest.mark.parametrize(
    ("strategy", "histories", "call", "expected"),
    [
        ("buy", (), {"item_id": "tent"}, ["peg", "lamp"]),
        ("similar", (), {}, []),  # needs the page's product
        ("complementary", (), {"item_id": "tent"}, ["peg", "lamp"]),
        ("recently_viewed", (ANNA,), {}, ["tent", "lamp", "boot"]),
        ("recently_viewed", (ANNA,), {"item_id": "tent"}, ["lamp", "boot"]),
        ("recently_viewed", (ANNA,), {"excluded": ("lamp",)}, ["tent", "boot"]),
        ("recently_viewed", (), {}, []),
        ("buy_again", (BEN,), {}, ["candle"]),
        ("buy_again", (ANNA,), {}, []),
        ("new", (), {}, ["sock", "boot", "candle", "torch"]),
        ("new", (), {"item_id": "boot", "num": 2}, ["sock", "candle"]),
        ("trending", (), {}, ["sock", "torch", "lamp", "tent"]),
        ("on_sale", (), {}, ["lamp", "peg"]),
        ("top_of_category", (), {"item_id": "candle"}, ["torch", "lamp"]),
        ("top_of_category", (ANNA,), {}, ["tent", "peg", "mat"]),
        ("top_of_category", (), {}, []),
        ("top_of_brand", (), {"item_id": "tent"}, ["torch", "peg"]),
        ("top_of_brand", (), {"basket": ("boot",)}, ["sock", "candle"]),
    ],
)
def test_a_strategy_chooses_the_products(
    shop: StoreState,
    strategy: str,
    histories: tuple[ShopperHistory, ...],
    call: dict[str, Any],
    expected: list[str],
) -> None:
    content = replace(ONLY, strategy=Strategy(strategy))

    assert placed(shop, content, *histories, **call) == expected


def test_because_you_viewed_is_about_the_latest_product_that_is_not_on_the_page(
    shop: StoreState,
) -> None:
    content = replace(
        ONLY, strategy=Strategy.BECAUSE_VIEWED, title="Because you viewed {product}"
    )
    placement = Placement("here", content, 1, 0, 0)
    call = RecommendationRequest(Source.MIX, 0, item_id="tent")

    requests = build_placement_requests(shop, placement, call, (ANNA,))
    ids = placed(shop, content, ANNA, item_id="tent")

    assert requests.title(shop) == "Because you viewed Lamp"
    assert requests.main is not None
    assert requests.main.item_id == "lamp"
    assert len(ids) == 4
    assert not {"tent", "lamp"} & set(ids)
    assert placed(shop, content) == []
    assert build_placement_requests(shop, placement, call, ()).title(shop) == ""


@pytest.mark.parametrize(
    ("changes", "call", "expected"),
    [
        ({"filters": ("brand:acme",)}, {}, ["torch", "tent", "peg"]),
        ({"filters": ("brand:acme", "price:..50")}, {}, ["peg"]),
        ({"filters": ("categories:light",), "strategy": Strategy.TOP_OF_CATEGORY}, {},
         ["torch", "lamp", "candle"]),
        ({"filters": ("brand:Bora",), "strategy": Strategy.TOP_OF_BRAND}, {},
         ["lamp", "mat"]),
        ({"relative": (RelativeFilter.SIMILAR_PRICE,)}, {"item_id": "tent"},
         ["torch", "boot", "mat"]),
        ({"relative": (RelativeFilter.SAME_BRAND, RelativeFilter.SAME_CATEGORY)},
         {"item_id": "tent"}, ["peg"]),
        ({"most_per_category": 1}, {}, ["sock", "torch", "tent"]),
        ({"most_per_brand": 1}, {}, ["sock", "torch", "lamp"]),
        ({"minimum": 4, "filters": ("brand:acme",)}, {}, []),
        ({"minimum": 3, "filters": ("brand:acme",)}, {}, ["torch", "tent", "peg"]),
        ({"num": 2}, {}, ["sock", "torch"]),
        ({"num": 2}, {"num": 3}, ["sock", "torch", "lamp"]),
        ({"strategy": Strategy.ON_SALE, "fallback": Strategy.NEW}, {},
         ["lamp", "peg", "sock", "boot"]),
        ({"strategy": Strategy.ON_SALE, "fallback": Strategy.TRENDING,
          "most_per_brand": 1}, {}, ["lamp", "peg", "sock"]),
        ({"strategy": Strategy.RECENTLY_VIEWED, "fallback": Strategy.ON_SALE,
          "minimum": 3}, {}, []),
    ],
)  # fmt: skip
def test_filters_limits_and_fallback_shape_the_list(
    shop: StoreState, changes: dict[str, Any], call: dict[str, Any], expected: list[str]
) -> None:
    content = replace(ONLY, strategy=Strategy.TRENDING)

    assert placed(shop, replace(content, **changes), **call) == expected


def test_rules_hold_in_placements_and_may_name_one(shop: StoreState) -> None:
    def rule(action: RuleAction, item: int, *names: str) -> RuleContent:
        target = RuleTarget(items=(str(item),))
        position = 1 if action is RuleAction.PIN else None
        places = RuleListScope(placements=names)
        return RuleContent(action, target, places=places, position=position)

    content = replace(ONLY, strategy=Strategy.TRENDING)
    try:
        obey(
            shop,
            rule(RuleAction.EXCLUDE, SOCK),
            rule(RuleAction.PIN, MAT, "here"),
            rule(RuleAction.BURY, TORCH, "there"),
        )
        assert placed(shop, content) == ["mat", "torch", "lamp", "tent"]
    finally:
        obey_nothing(shop)
