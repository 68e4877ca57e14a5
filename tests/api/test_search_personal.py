"""Personal search: proven by the store's own searches, then only for known shoppers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.service import Merchant, eventually

if TYPE_CHECKING:
    from tests.support.service import Service

BRANDS: Final = ("Ash", "Birch", "Cedar")
SHOPPERS: Final = 330


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Return a store whose shoppers search for lamps of the brand of their chairs."""
    merchant = service.register()
    merchant.push(
        *[
            {"id": f"{kind}-{brand}", "title": f"{kind} for the house", "brand": brand}
            for kind in ("Lamp", "Chair", "Table")
            for brand in BRANDS
        ]
    )
    eventually(lambda: len(merchant.search("lamp").ids) == len(BRANDS), 30)
    for event, kind in (
        ("detail-page-view", "Chair"),
        ("detail-page-view", "Table"),
        ("search-click", "Lamp"),
    ):
        asked = {"search_query": "lamp"} if event == "search-click" else {}
        done = [
            {"event": event, "item_id": f"{kind}-{BRANDS[n % 3]}", "session_id": f"s{n}"}
            for n in range(SHOPPERS)
        ]
        merchant.track(*[one | asked for one in done[:300]])
        merchant.track(*[one | asked for one in done[300:]])
    domain = merchant.account.domain
    service.run("tune", domain)
    service.run("train", domain)
    shown = json.loads(service.run("tune", domain, "--show", "--json"))
    assert shown["changes"]["search"]["weight"] > 0
    figures = shown["personal_search"]
    assert figures["searches"] >= 100
    assert figures["reciprocal_rank_personal"] > figures["reciprocal_rank_for_anybody"]
    return merchant.through(service.client())


def first(shop: Merchant, **asked: str) -> str:
    return shop.search("lamp ", **asked).ids[0]


def follows(shop: Merchant, brand: str) -> bool:
    """Return whether each way to name and to search leads to the brand first."""
    n = BRANDS.index(brand)
    asked: list[dict[str, str]] = [
        {"user_id": f"s{n}"},
        {"session_id": f"s{n + 3}"},
        {"user_id": f"s{n}", "facets": "brand"},
        {"user_id": f"s{n}", "num": "1"},
    ]
    return all(first(shop, **one) == f"Lamp-{brand}" for one in asked)


def test_results_follow_the_shopper_once_the_merchant_allows_it(
    service: Service, shop: Merchant
) -> None:
    domain = shop.account.domain
    before = shop.search("lamp ").ids
    assert [first(shop, user_id=f"s{n}") for n in range(3)] == before[:1] * 3

    service.run("settings", domain, "personal_search=true")

    assert eventually(lambda: all(follows(shop, brand) for brand in BRANDS), 10)
    assert shop.search("lamp ").ids == before  # nobody's result is anybody's
    assert shop.search("lamp ", user_id="a stranger").ids == before
    assert shop.search("Lamp-Ash", user_id="s1").ids[0] == "Lamp-Ash"  # its id is exact
    assert shop.search("lamp ", user_id="s1\0").ids == before
    assert sorted(shop.search("lamp ", user_id="s1").ids) == sorted(before)

    service.run("settings", domain, "personal_search=false")
    assert eventually(lambda: shop.search("lamp ", user_id="s1").ids == before, 10)


def test_held_out_shoppers_find_what_anybody_finds(
    service: Service, shop: Merchant
) -> None:
    domain = shop.account.domain
    before = shop.search("lamp ").ids
    service.run("settings", domain, "personal_search=true", "holdout_percent=50")
    last = [n for n in range(60) if f"Lamp-{BRANDS[n % 3]}" != before[0]]

    def lifted() -> list[bool]:
        return [first(shop, user_id=f"s{n}") != before[0] for n in last]

    try:
        assert eventually(lambda: 5 <= sum(lifted()) <= len(last) - 5, 10)
        held = [not shop.recommend(user_id=f"s{n}").ids for n in last]
        assert held == [not one for one in lifted()]
    finally:
        service.run("settings", domain, "personal_search=false", "holdout_percent=0")
