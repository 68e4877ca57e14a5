"""Sold-out rescue: replacements lead the list of a product that cannot be bought."""

import pytest

from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.sold_out_replacements import (
    starts_with_replacement,
)
from productrecs.records.merchandising.rule import (
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

TITLES = {
    "dome": "Dome tent two persons",
    "tunnel": "Tunnel tent four persons",
    "dome-3": "Dome tent three persons",
    "luxury": "Dome tent palace",
    "gone": "Dome tent two persons green",
    "pegs": "Steel pegs",
    "lamp": "Tent lamp",
    "mat": "Sleeping mat",
    "loner": "Gift card",
    "lonely": "Voucher",
}
PRICES = {"dome": 100, "tunnel": 220, "dome-3": 120, "luxury": 900, "gone": 100}
NUMBERS = {name: number for number, name in enumerate(TITLES)}
TENTS = {"tunnel", "dome-3", "luxury"}  # that can be bought


def camping(
    visits: list[list[str]] | None = None, settings: StoreSettings | None = None
) -> StoreState:
    """Return a store whose product "dome" is bought with pegs, lamp and mat."""
    rows = CatalogRows()
    for name, title in TITLES.items():
        tents = ["camping", "tents"] if "tent " in title else ["camping", "parts"]
        rows.add(
            name,
            [] if name in {"loner", "lonely"} else tents,
            price=PRICES.get(name, 10),
            stock=0 if name in {"dome", "gone", "loner"} else 5,
            title=title,
        )
    together = [["dome", "pegs"], ["dome", "lamp"], ["dome", "mat"], ["loner", "mat"]] * 4
    return small_shop(
        rows,
        baskets=[[NUMBERS[one] for one in basket] for basket in together],
        visits=[[NUMBERS[one] for one in visit] for visit in visits or [["pegs", "mat"]]],
        trending=[NUMBERS["mat"]],
        settings=settings,
    )


def listed(shop: StoreState, num: int = 4) -> list[str]:
    request = RecommendationRequest(Source.MIX, num, "dome")
    picks = recommend(shop, request, (), NOW)
    scores = [pick.score for pick in picks]
    assert scores == sorted(scores, reverse=True)
    names = [shop.catalog.ids[pick.item] or "" for pick in picks]
    assert len(set(names)) == len(names)
    return names


def test_half_of_the_list_can_replace_it_and_companions_follow() -> None:
    names = listed(camping())

    assert names[:2] == ["dome-3", "tunnel"]
    assert set(names[2:]) <= {"pegs", "lamp", "mat"}


def test_closest_in_words_and_price_leads() -> None:
    assert listed(camping(), num=1) == ["dome-3"]


def test_similar_visits_decide_between_close_products() -> None:
    visits = [["dome", "tunnel"], ["dome", "tunnel", "pegs"], ["dome", "tunnel"]]

    assert listed(camping(visits=visits), num=1) == ["tunnel"]


OFF = StoreSettings(replace_sold_out=False)
UNCHANGED = {
    "a product that can be bought": (None, RecommendationRequest(Source.MIX, 4, "tunnel")),
    "the setting is off": (OFF, RecommendationRequest(Source.MIX, 4, "dome")),
    "bought together": (None, RecommendationRequest(Source.BUY, 4, "dome")),
    "a cart": (None, RecommendationRequest(Source.MIX, 4, None, ("dome",))),
    "an unknown product": (None, RecommendationRequest(Source.MIX, 4, "nothing")),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_lists_have_no_replacements(name: str) -> None:
    settings, request = UNCHANGED[name]

    explained = explain_recommendations(camping(settings=settings), request, (), NOW)

    assert explained.products
    assert all(one.replaces is None for one in explained.products)


def test_explanation_names_the_sold_out_product() -> None:
    request = RecommendationRequest(Source.MIX, 4, "dome")

    explained = explain_recommendations(camping(), request, (), NOW)

    replaces = [one.replaces for one in explained.products]
    assert replaces == ["dome", "dome", None, None]


@pytest.mark.parametrize("setting", [True, False])
def test_replacement_can_always_be_bought(*, setting: bool) -> None:
    shop = camping(settings=StoreSettings(hide_out_of_stock=setting))

    assert set(listed(shop, num=6)[:3]) == TENTS


def test_rules_and_purchases_apply_to_replacements() -> None:
    shop = camping()
    target = RuleTarget(items=(str(NUMBERS["dome-3"]),))

    obey(shop, RuleContent(RuleAction.EXCLUDE, target, places=RuleListScope()))
    assert "dome-3" not in listed(shop, num=8)
    obey(shop, RuleContent(RuleAction.BURY, target, places=RuleListScope(), strength=50.0))
    assert listed(shop, num=6)[2] == "dome-3"
    lamp = RuleTarget(items=(str(NUMBERS["lamp"]),))
    obey(shop, RuleContent(RuleAction.PIN, lamp, places=RuleListScope(), position=1))
    assert listed(shop)[:2] == ["lamp", "dome-3"]


def test_what_the_shopper_bought_replaces_nothing() -> None:
    anna = shopper("anna", bought=[NUMBERS["dome-3"]])
    request = RecommendationRequest(Source.MIX, 8, "dome")

    picks = recommend(camping(), request, (anna,), NOW)

    assert NUMBERS["dome-3"] not in [pick.item for pick in picks]


def test_product_of_no_kind_has_no_replacement() -> None:
    shop = camping()
    request = RecommendationRequest(Source.MIX, 4, "loner")

    picks = recommend(shop, request, (), NOW)

    assert shop.catalog.ids[picks[0].item] == "mat"
    assert not starts_with_replacement(shop.catalog, NUMBERS["loner"], picks)


def test_only_a_list_that_begins_with_its_kind_leads_with_a_replacement() -> None:
    shop = camping()
    picks = recommend(shop, RecommendationRequest(Source.MIX, 4, "dome"), (), NOW)

    assert starts_with_replacement(shop.catalog, NUMBERS["dome"], picks)
    assert not starts_with_replacement(shop.catalog, NUMBERS["dome"], ())
