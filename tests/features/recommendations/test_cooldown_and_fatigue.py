"""Purchase cooldown: the buyer of a kettle, and only they, is not shown ten kettles."""

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.records.events.event import EventKind
from productrecs.records.events.shopper_history_cache import ShopperHistory
from tests.features.recommendations.small_shop import NOW, CatalogRows, shopper, small_shop

KETTLES = range(8)
TEAS = range(8, 16)
OTHERS = range(16, 40)
ROWS = CatalogRows()
for _number in range(40):
    _kind = "Kettles" if _number < 8 else "Teas" if _number < 16 else f"Of {_number}"
    ROWS.add(f"item {_number}", [_kind])
# Who looks at a kettle looks at all of them, and at two other things; one kettle goes into
# an order, beside something else, while teas go with teas.
SHOP = small_shop(
    ROWS,
    [[kettle, 16 + kettle] for kettle in KETTLES for _ in range(4)]
    + [[tea, 8 + (tea - 7) % 8, 24 + tea % 8] for tea in TEAS for _ in range(4)],
    [[*KETTLES, 30, 31] for _ in range(20)] + [[*TEAS, 32, 33] for _ in range(20)],
    [*KETTLES, *TEAS, *OTHERS],
)


def done(kind: EventKind, item: int, days_ago: float) -> tuple[object, ...]:
    return (int(kind), 1, NOW - int(days_ago * DAY_MS), item, "s", None)


def anna(*facts: tuple[object, ...]) -> ShopperHistory:
    history = shopper("anna")
    history.apply_facts(facts)
    return history


def bought(item: int, days_ago: float = 0.05) -> tuple[object, ...]:
    return done(EventKind.BUY, item, days_ago)


def viewed(item: int, days_ago: float = 0.05) -> tuple[object, ...]:
    return done(EventKind.DETAIL_PAGE_VIEW, item, days_ago)


def listed(
    history: ShopperHistory, source: Source = Source.MIX, item: str | None = None
) -> list[int]:
    request = RecommendationRequest(source, 5, item_id=item)
    return [pick.item for pick in recommend(SHOP, request, [history], NOW)]


def kettles_in(items: list[int]) -> int:
    return sum(item in KETTLES for item in items)


@pytest.mark.parametrize("source", [Source.MIX, Source.BROWSE])
def test_who_has_just_bought_a_kettle_is_not_shown_kettles(source: Source) -> None:
    looks = listed(anna(viewed(0, 0.06)), source)
    bought_one = listed(anna(viewed(0, 0.06), bought(0)), source)

    assert kettles_in(looks) >= 2
    assert kettles_in(bought_one) == 0
    assert len(bought_one) == 5


def test_the_visit_itself_goes_on_as_it_would_have() -> None:
    just_now = anna(viewed(0, 0.01), bought(0, 0.005))

    assert kettles_in(listed(just_now)) >= 2


def test_after_two_weeks_kettles_come_again() -> None:
    assert kettles_in(listed(anna(bought(0, 13.9)))) == 0
    assert kettles_in(listed(anna(bought(0, 14.1)))) > 0


def test_another_look_at_kettles_brings_them_back() -> None:
    assert kettles_in(listed(anna(bought(0, 2.0), viewed(3, 1.0)))) > 0
    # but not one at the kettle that they have, or at something else
    assert kettles_in(listed(anna(bought(0, 2.0), viewed(0, 1.0)))) == 0
    assert kettles_in(listed(anna(bought(0, 2.0), viewed(20, 1.0)))) == 0


def test_on_the_page_of_a_kettle_there_are_kettles() -> None:
    history = anna(bought(0, 2.0))

    assert kettles_in(listed(history, item="item 3")) > 0
    assert kettles_in(listed(history, item="item 30")) == 0


def in_cart(items: list[int], source: Source = Source.MIX) -> list[int]:
    """Return the list for a cart of somebody who looked at these items."""
    basket = tuple(f"item {item}" for item in items)
    request = RecommendationRequest(source, 5, basket=basket)
    history = anna(*(viewed(item, 0.01) for item in items))
    return [pick.item for pick in recommend(SHOP, request, [history], NOW)]


@pytest.mark.parametrize("source", [Source.MIX, Source.BROWSE])
def test_a_cart_with_a_kettle_is_shown_no_kettles(source: Source) -> None:
    assert kettles_in(listed(anna(viewed(0, 0.01)), source, item="item 0")) >= 2
    assert kettles_in(in_cart([0], source)) == 0
    assert kettles_in(in_cart([0, 20], source)) == 0
    assert len(in_cart([0], source)) == 5


def test_a_cart_is_shown_more_of_what_people_buy_several_of() -> None:
    assert sum(item in TEAS for item in in_cart([8])) >= 2


@pytest.mark.parametrize("together", [2, 3])
def test_a_cart_is_shown_the_very_kettle_that_orders_show_with_its_own(
    together: int,
) -> None:
    is_shown = together > 2
    orders = [[kettle, 16 + kettle] for kettle in KETTLES for _ in range(40)]
    shop = small_shop(ROWS, [*orders, *[[0, 1]] * together], [], list(OTHERS))
    request = RecommendationRequest(Source.MIX, 5, basket=("item 0",))

    explanation = explain_recommendations(shop, request, [], NOW)

    shown = [one.item_id for one in explanation.products]
    assert [one for one in shown if one in {f"item {n}" for n in KETTLES}] == (
        ["item 1"] if is_shown else []
    )
    assert ("item 1" in {one.item_id for one in explanation.struck}) != is_shown
    page = RecommendationRequest(Source.MIX, 5, item_id="item 0")
    just_bought = [pick.item for pick in recommend(shop, page, [anna(bought(0, 1.0))], NOW)]
    assert 1 in just_bought  # on the page of a kettle there are kettles


def test_the_explanation_says_why_a_second_kettle_is_not_shown_beside_a_cart() -> None:
    request = RecommendationRequest(Source.MIX, 5, basket=("item 0",))

    explanation = explain_recommendations(SHOP, request, [anna(viewed(0, 0.01))], NOW)

    assert {one.item_id: one.why for one in explanation.struck}["item 1"] == "resting"


def test_who_buys_of_a_kind_again_is_shown_it() -> None:
    once, again = anna(bought(0, 1.0)), anna(bought(0, 60.0), bought(1, 1.0))
    same_day = anna(bought(0, 1.1), bought(1, 1.0))

    assert kettles_in(listed(once)) == 0
    assert kettles_in(listed(again)) > 0
    assert kettles_in(listed(same_day)) == 0


def test_of_what_people_buy_several_there_is_more() -> None:
    shown = listed(anna(viewed(8, 0.06), bought(8)))

    assert sum(item in TEAS for item in shown) >= 2


def test_the_buy_source_lists_what_was_bought_together() -> None:
    history = anna(bought(0))

    assert listed(history, Source.BUY) == listed(shopper("ben", [], [0]), Source.BUY)
    assert listed(history, Source.BUY) == [16]


def test_kettles_come_before_an_empty_place() -> None:
    rows = CatalogRows()
    for number in range(6):
        rows.add(f"item {number}", ["Kettles"])
    shop = small_shop(rows, [], [list(range(6))] * 5, list(range(6)))
    request = RecommendationRequest(Source.MIX, 5)

    picks = recommend(shop, request, [anna(bought(0))], NOW)

    assert sorted(pick.item for pick in picks) == [1, 2, 3, 4, 5]


def test_scores_still_fall_and_the_explanation_says_why() -> None:
    request = RecommendationRequest(Source.MIX, 20)

    explanation = explain_recommendations(SHOP, request, [anna(viewed(0), bought(0))], NOW)

    scores = [product.score for product in explanation.products]
    rests = {product.item_id: product.rests for product in explanation.products}
    assert scores == sorted(scores, reverse=True)
    struck = {one.item_id: one.why for one in explanation.struck}
    assert rests["item 30"] is None
    assert struck["item 1"] == "resting"
    assert all(rests[f"item {one}"] == 0.3 for one in KETTLES if f"item {one}" in rests)
