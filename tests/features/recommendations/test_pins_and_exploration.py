"""Exploration: some lists show new products, stable for a day, with known probability."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.core.clock import DAY_MS
from productrecs.engines.item_impression_stats import ItemStats
from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.recommend import Decision, decide
from productrecs.features.recommendations.recommendation_request import (
    Engine,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import exploration_day
from productrecs.records.merchandising.rule import RuleAction, RuleContent, RuleTarget
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.features.recommendations.small_shop import (
    NOW,
    Rows,
    obey,
    obey_nothing,
    shopper,
    small_shop,
)

if TYPE_CHECKING:
    from productrecs.features.recommendations.serving_state import StoreState

KNOWN, NEW, ELSEWHERE = range(8), range(8, 14), range(14, 20)
REQUEST = RecommendationRequest(Source.MIX, 4, item_id="item 0")


def new_shop(percent: float = 20.0, shown: int = 1_000) -> StoreState:
    """Return a shop whose items 8 to 13 are new, and of the category of all before."""
    rows = Rows()
    for item in range(20):
        rows.add(f"item {item}", ["tents" if item in {*KNOWN, *NEW} else "pans", "all"])
    visits = [[0, one] for one in range(1, 8) for _ in range(9 - one)]
    settings = StoreSettings(explore_percent=percent)
    shop = small_shop(rows, [], visits, [1, 2, 3], settings)
    stats = ItemStats().plus([(False, one, 2, shown) for one in (*KNOWN, *ELSEWHERE)])
    shop.models = replace(shop.models, impression_stats=stats)
    return shop


SHOP = new_shop()


def asked(
    who: int,
    request: RecommendationRequest = REQUEST,
    day: int = 0,
    shop: StoreState = SHOP,
) -> Decision:
    return decide(shop, request, [shopper(f"u{who}")], NOW + day * DAY_MS)


def test_the_share_of_lists_is_the_stores_and_their_last_place_is_taken() -> None:
    plain = [pick.item for pick in asked(0, shop=new_shop(0)).picks]
    lists = [asked(who) for who in range(800)]
    tried = [one for one in lists if one.explored is not None]

    assert 0.17 < len(tried) / 800 < 0.23
    for one in lists:
        items = [pick.item for pick in one.picks]
        assert items[:3] == plain[:3]
        assert (items[3] in NEW) == (one.explored is not None)
        assert one.picks[3].score <= one.picks[2].score
    assert {one.picks[3].engine for one in tried} == {Engine.CATEGORY}


def test_each_is_tried_with_the_chance_that_is_told() -> None:
    told: dict[int, float] = {}
    tries: Counter[int] = Counter()
    for who in range(2_500):
        tried = asked(who).explored
        if tried is not None:
            tries[tried.pick.item] += 1
            told[tried.pick.item] = tried.probability

    assert set(tries) == set(NEW)
    assert sum(told.values()) == pytest.approx(0.2)
    for item, times in tries.items():
        assert times / 2_500 == pytest.approx(told[item], abs=0.015)


def test_a_list_is_the_same_all_day_and_another_list_tries_on_another_day() -> None:
    def triers(day: int) -> set[int]:
        return {who for who in range(300) if asked(who, day=day).explored is not None}

    assert triers(0) == triers(0)
    assert triers(0) != triers(1)


def test_where_nobody_is_known_any_new_product_is_tried() -> None:
    nobody = RecommendationRequest(Source.MIX, 4)
    tried = [decide(SHOP, nobody, [], NOW + day * DAY_MS).explored for day in range(200)]

    found = [one.pick for one in tried if one is not None]

    assert found
    assert {pick.item for pick in found} <= set(NEW)
    assert {pick.engine for pick in found} == {Engine.TRENDING}


@pytest.mark.parametrize("shown", [4, 6, None])
def test_new_product_takes_the_last_place_that_the_page_shows(shown: int | None) -> None:
    request = RecommendationRequest(Source.MIX, 8, item_id="item 0", shown=shown)
    tried = [one for who in range(300) if (one := asked(who, request)).explored]

    assert tried
    for one in tried:
        assert one.explored is not None
        assert one.explored.place == min(shown or 8, len(one.picks)) - 1
        assert one.picks[one.explored.place] == one.explored.pick


@pytest.mark.parametrize(
    "request_",
    [
        RecommendationRequest(Source.BUY, 4, item_id="item 0"),
        RecommendationRequest(Source.MIX, 4, basket=("item 0",)),
        RecommendationRequest(Source.MIX, 2, item_id="item 0"),
        RecommendationRequest(Source.MIX, 4, item_id="item 15"),
    ],
    ids=["buy", "cart", "two", "nothing new"],
)
def test_some_lists_never_try(request_: RecommendationRequest) -> None:
    assert not any(asked(who, request_).explored for who in range(300))


def test_a_store_that_does_not_tell_what_it_shows_tries_nothing() -> None:
    silent = new_shop(shown=70)

    assert not any(asked(who, shop=silent).explored for who in range(300))


def test_lists_that_try_nothing_need_not_change_with_the_day() -> None:
    silent, never = new_shop(shown=70), new_shop(0)

    days = [exploration_day(SHOP, NOW + day * DAY_MS) for day in range(3)]

    assert len(set(days)) == 3
    assert exploration_day(silent, NOW) == exploration_day(never, NOW) == 0


def test_what_a_rule_excludes_is_not_tried_and_a_pin_keeps_its_place() -> None:
    shop = new_shop()
    obey(shop, RuleContent(RuleAction.EXCLUDE, RuleTarget(items=("8", "9"))))
    tried = {one.pick.item for who in range(600) if (one := asked(who, shop=shop).explored)}
    obey(shop, RuleContent(RuleAction.PIN, RuleTarget(items=("15",)), position=4))
    pinned = [asked(who, shop=shop) for who in range(300)]
    obey_nothing(shop)

    assert tried == set(NEW) - {8, 9}
    assert not any(one.explored for one in pinned)
    assert {one.picks[3].item for one in pinned} == {15}


def test_what_turned_out_badly_is_tried_less() -> None:
    shop = new_shop()
    stats = shop.models.impression_stats.plus(
        [(False, 8, 1, 90), (False, 9, 1, 90), (True, 9, 1, 9)]
    )
    shop.models = replace(shop.models, impression_stats=stats)

    items, promise = shop.eligible(NOW, "product", "mix").cold_start_items("tents")

    by_item = dict(zip(items.tolist(), (promise / promise.sum()).tolist(), strict=True))
    assert by_item[8] < by_item[10] < by_item[9]
    assert np.isclose(by_item[10], by_item[11])


def test_that_it_is_a_try_is_told() -> None:
    who = next(who for who in range(100) if asked(who).explored is not None)

    told = explain_recommendations(SHOP, REQUEST, [shopper(f"u{who}")], NOW)

    assert [one.tried is not None for one in told.products] == [False] * 3 + [True]
