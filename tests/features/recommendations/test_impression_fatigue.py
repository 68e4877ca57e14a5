"""Impression fatigue: ignored products sink, per shopper, until they are clicked."""

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.features.recommendations.cooldown_and_fatigue import order_head_by_discount
from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.records.events.event import EventKind
from productrecs.records.events.shopper_history_cache import ShopperHistory
from tests.features.recommendations.small_shop import NOW, CatalogRows, shopper, small_shop

NAMES = [f"item {number}" for number in range(12)]
SHOP_ROWS = CatalogRows()
for _name in NAMES:
    SHOP_ROWS.add(_name, [f"of {_name}"])
# The lower its number, the more often an item stands with item 0.
SHOP = small_shop(
    SHOP_ROWS,
    [[0, one] for one in range(1, 9) for _ in range(2 * (12 - one))] + [[9], [10]] * 60,
    [[0, one] for one in range(1, 9) for _ in range(12 - one)],
    [9, 10, 11],
)


def listed(
    *histories: ShopperHistory,
    source: Source = Source.MIX,
    item: str | None = "item 0",
    num: int = 4,
) -> list[int]:
    request = RecommendationRequest(source, num, item_id=item)
    return [pick.item for pick in recommend(SHOP, request, histories, NOW)]


def shown(history: ShopperHistory, item: int, times: int, at: int = NOW) -> ShopperHistory:
    impression = (int(EventKind.REC_IMPRESSION), 1, at, item, "s", None)
    history.apply_facts([impression] * times)
    return history


def test_what_was_shown_often_sinks_for_its_shopper_alone() -> None:
    fresh = listed(shopper("ben"))
    tired = listed(shown(shopper("anna"), fresh[0], 8))

    assert fresh == [1, 2, 3, 4]
    assert tired[:3] == [2, 3, 4]
    assert fresh[0] not in tired
    assert listed(shopper("ben")) == fresh


def test_it_sinks_the_further_the_more_often_it_was_shown() -> None:
    places = [
        listed(shown(shopper("anna"), 1, times), num=8).index(1) for times in range(8)
    ]

    assert places == sorted(places)
    assert places[:3] == [0, 0, 0]
    assert places[-1] > places[3] > 0


def test_days_let_it_rise_again() -> None:
    weeks = [
        listed(shown(shopper("anna"), 1, 6, NOW - week * 7 * DAY_MS), num=8).index(1)
        for week in range(3)
    ]

    assert weeks == sorted(weeks, reverse=True)
    assert weeks[0] > weeks[-1] == 0


@pytest.mark.parametrize(
    "kind", [EventKind.REC_CLICK, EventKind.DETAIL_PAGE_VIEW, EventKind.ADD_TO_CART]
)
def test_taking_it_up_brings_it_back(kind: EventKind) -> None:
    tired, fresh = shown(shopper("anna"), 1, 8), shopper("ben")
    before = listed(tired, num=8)

    for history in (tired, fresh):
        history.apply_facts([(int(kind), 2, NOW, 1, "s", None)])

    assert listed(tired, num=8) == listed(fresh, num=8)
    assert listed(tired, num=8).index(1) < before.index(1)


def test_both_names_of_a_call_are_tired() -> None:
    one, other = shown(shopper("anna"), 1, 4), shown(shopper("s_anna"), 1, 4)

    assert listed(one, other, num=8).index(1) > listed(other, num=8).index(1) > 0


def test_what_fills_a_list_sinks_too() -> None:
    unknown = listed(shopper("ben"), item=None, num=3)
    tired = listed(shown(shopper("anna"), unknown[0], 20), item=None, num=3)

    assert unknown == [9, 10, 11]
    assert tired[:2] == [10, 11]


def test_nothing_is_lost_from_a_list_by_sinking() -> None:
    factors = {3: 0.1, 0: 0.2}
    sunk = order_head_by_discount(
        iter(NAMES_AND_AGAIN), lambda item: factors.get(item, 1.0), 3
    )
    assert sorted(sunk) == NAMES_AND_AGAIN
    assert list(order_head_by_discount(iter([5, 6, 7]), None, 1)) == [5, 6, 7]


NAMES_AND_AGAIN = list(range(12))


def test_what_was_bought_together_and_what_looks_alike_do_not_tire() -> None:
    assert listed(shown(shopper("anna"), 1, 40), source=Source.BUY)[0] == 1


def test_the_explanation_says_why_an_item_sank() -> None:
    request = RecommendationRequest(Source.MIX, 8, item_id="item 0")

    explanation = explain_recommendations(
        SHOP, request, [shown(shopper("anna"), 1, 5)], NOW
    )

    tired = {
        one.item_id: one.tired for one in explanation.products if one.tired is not None
    }
    assert tired == {"item 1": pytest.approx(1 / 1.45)}
