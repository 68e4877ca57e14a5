"""Purchase history in `browse`: purchases count, not only recent views."""

from productrecs.core.clock import DAY_MS
from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    RecommendationRequest,
    Source,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.features.recommendations.small_shop import NOW, CatalogRows, shopper, small_shop

ROWS = CatalogRows()
for _number in range(9):
    ROWS.add(f"item {_number}", [f"of {_number}"])
SHOP = small_shop(ROWS, [[0, 1]] * 3 + [[0, 2]] * 2, [[5, 6]] * 3, [7, 8])
REQUEST = RecommendationRequest(Source.BROWSE, 3)


def test_mix_leads_with_what_somebody_keeps_buying_where_it_may() -> None:
    settings = StoreSettings(allow_repeat_recommendations=True)
    shop = small_shop(ROWS, [[0, 1]] * 3, [[3, 4, 5, 6, 7, 8]] * 3, [7, 8], settings)
    request = RecommendationRequest(Source.MIX, 3)
    keeper, browser = shopper("anna", [0, 3], [0, 1, 0]), shopper("ben", [0, 3], [0, 1])
    keeper.bought_at[-1] += DAY_MS

    kept = [pick.item for pick in recommend(shop, request, [keeper], NOW)]
    browsed = [pick.item for pick in recommend(shop, request, [browser], NOW)]

    assert kept[:2] == [0, 1]
    assert set(browsed) <= {4, 5, 6, 7, 8}


def test_browse_goes_by_what_a_shopper_bought_beside_their_visit() -> None:
    bought = recommend(SHOP, REQUEST, [shopper("anna", [0], [0])], NOW)
    both = recommend(SHOP, REQUEST, [shopper("ben", [0, 5], [0])], NOW)
    seen = recommend(SHOP, REQUEST, [shopper("cleo", [5])], NOW)

    assert [pick.item for pick in bought] == [1, 2, 7]
    assert [pick.engine for pick in bought[:2]] == [EngineName.BROWSE] * 2
    assert [pick.item for pick in both] == [6, 1, 2]
    assert [pick.item for pick in seen] == [6, 5, 7]


def test_the_explanation_names_what_a_product_was_bought_with() -> None:
    explanation = explain_recommendations(SHOP, REQUEST, [shopper("anna", [0], [0])], NOW)

    with_it = {
        one.item_id: one.bought_with for one in explanation.products if one.bought_with
    }
    assert {name: found[0].baskets for name, found in with_it.items()} == {
        "item 1": 3,
        "item 2": 2,
    }


def test_what_was_bought_long_ago_counts_less_than_what_was_bought_lately() -> None:
    shop = small_shop(ROWS, [[0, 1]] * 3 + [[2, 3]] * 4, [[5, 6]] * 3, [7, 8])
    anna, ben = shopper("anna", [2, 0], [2, 0]), shopper("ben", [2, 0], [0, 2])
    for one in (anna, ben):
        one.bought_at[-1] += 300 * DAY_MS

    lists = [
        [pick.item for pick in recommend(shop, REQUEST, [one], NOW)] for one in (anna, ben)
    ]

    assert [one[:2] for one in lists] == [[1, 3], [3, 1]]
