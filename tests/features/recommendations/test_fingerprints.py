"""List fingerprints: a backfilled list changes exactly when its fingerprint does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from productrecs.features.recommendations.fingerprints import ListFingerprint
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.request import (
    Engine,
    RecommendationRequest,
    Source,
)
from tests.features.recommendations.small_shop import NOW, Rows, small_shop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.features.recommendations.serving_state import StoreState

ITEMS = 60
BASKETS = [[0, 1], [0, 2], [3, 4]]
PAGE = RecommendationRequest(Source.MIX, 6, item_id="item-0")
CART = RecommendationRequest(Source.MIX, 9, basket=("item-0", "item-3"))


def shop_where(trending: Sequence[int]) -> StoreState:
    """Return a shop in which products of three categories trend in this order."""
    rows = Rows()
    for number in range(ITEMS):
        rows.add(f"item-{number}", [("mugs", "pots", "pans")[number % 3], "all"])
    return small_shop(rows, BASKETS, [], trending)


def listed(shop: StoreState, asked: RecommendationRequest) -> list[tuple[int, Engine]]:
    return [(pick.item, pick.engine) for pick in recommend(shop, asked, [], NOW)]


def test_while_what_fills_a_list_up_stays_so_does_the_list() -> None:
    rng = np.random.default_rng(8)
    order = list(range(ITEMS))
    stayed = changed = 0
    for _ in range(150):
        rng.shuffle(order)
        later = [*order]
        one, other = sorted(rng.choice(ITEMS, 2, replace=False).tolist())
        later[one], later[other] = later[other], later[one]
        for asked in (PAGE, CART):
            before, after = shop_where(order), shop_where(later)
            engines = {engine for _, engine in listed(before, asked)}
            marks = [
                ListFingerprint(shop, asked, NOW).filling(engines)
                for shop in (before, after)
            ]
            if marks[0] == marks[1]:
                stayed += 1
                assert listed(before, asked) == listed(after, asked)
            else:
                changed += 1

    assert stayed > 50
    assert changed > 50


def test_only_who_filled_the_list_up_is_asked() -> None:
    order = list(range(ITEMS))
    # Of another category than the page's, so that it moves what trends alone.
    moved = [*order[3:], *order[:3]]
    before, after = (ListFingerprint(shop_where(one), PAGE, NOW) for one in (order, moved))

    assert before.filling({Engine.TRENDING}) != after.filling({Engine.TRENDING})
    assert before.filling({Engine.BUY}) == after.filling({Engine.BUY})


def test_of_what_a_call_is_about_and_nobody_knows_nothing_is_told() -> None:
    shop = shop_where(range(ITEMS))
    unknown = RecommendationRequest(Source.MIX, 6, item_id="never pushed")
    nothing = RecommendationRequest(Source.MIX, 6)

    assert ListFingerprint(shop, unknown, NOW).own() is None
    assert ListFingerprint(shop, nothing, NOW).own() is None
