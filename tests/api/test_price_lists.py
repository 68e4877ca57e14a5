"""Price lists over HTTP: lists, search and filters show the prices that a call names."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from tests.support.service import Merchant, Service, eventually

ITEMS: Final = (
    {"id": "tent", "title": "tent one", "price": 100, "prices": {
        "usd": {"price": 120, "sale_price": 90}, "group:trade": 70}},
    {"id": "rope", "title": "rope two", "price": 50, "list_price": 60,
     "prices": {"USD": 200, "USD:group:trade": {"price": 150, "list_price": 180}}},
    {"id": "lamp", "title": "lamp three", "price": 20},
    {"id": "sock", "title": "sock four"},
)  # fmt: skip
USUAL: Final = {"tent": 100, "rope": 50, "lamp": 20, "sock": None}


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Give a store with price lists that every process knows."""
    merchant = service.register()
    assert merchant.push(*ITEMS).status == 200

    def all_know() -> bool:
        return all(
            one.trending(price_list="USD").status == 200
            and len(one.search("").ids) == len(ITEMS)
            for one in service.everywhere(merchant)
        )

    eventually(all_know)
    return merchant


def prices(reply: Any) -> dict[str, float | None]:
    """Return the price of each product of a reply."""
    assert reply.status == 200, reply.body
    products = reply.json.get("results", reply.json.get("recommendations"))
    return {one["id"]: one["price"] for one in products}


def get(shop: Merchant, path: str, *, secret: bool = False, **query: Any) -> Any:
    """Return the reply to a call with either key."""
    target = f"{path}?{urlencode(query)}" if secret else shop.target(path, **query)
    return shop.client.ask("GET", target, None, shop.server if secret else {})


@pytest.mark.parametrize(
    ("price_list", "shown"),
    [
        ("USD", {"tent": 90, "rope": 200, "lamp": None, "sock": None}),
        ("group:trade", {"tent": 70, "rope": 50, "lamp": 20, "sock": None}),
        ("usd:group:Trade", {"tent": 90, "rope": 150, "lamp": None, "sock": None}),
    ],
)
@pytest.mark.parametrize("path", ["/v1/recommendations", "/v1/trending", "/v1/search"])
def test_every_list_shows_the_prices_of_the_named_list(
    shop: Merchant, path: str, price_list: str, shown: Mapping[str, float | None]
) -> None:
    query: dict[str, Any] = {"user_id": "s_eve"} if path == "/v1/recommendations" else {}
    for _ in range(3):  # computed, cached, and after the usual prices were cached
        usual = get(shop, path, **query)
        reply = get(shop, path, secret=True, price_list=price_list, **query)

        assert prices(usual) == USUAL
        assert prices(reply) == shown
        products = reply.json.get("results", reply.json.get("recommendations"))
        currencies = {one["currency"] for one in products}
        assert currencies == {"EUR" if price_list == "group:trade" else "USD"}
        assert b"currency" not in usual.body


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"filter": "price:80..100"}, ["tent"]),
        ({"filter": "on_sale:true"}, ["tent"]),
        ({"sort": "price_desc"}, ["rope", "tent", "lamp", "sock"]),
        ({"sort": "price_asc"}, ["tent", "rope", "lamp", "sock"]),
    ],
)
def test_filters_and_sorting_use_the_lists_prices(
    shop: Merchant, query: Mapping[str, str], expected: list[str]
) -> None:
    for _ in range(2):
        shown = shop.search("", price_list="USD", **query).ids
        assert shown[:2] == expected[:2]
        assert sorted(shown) == sorted(expected)
    usual = shop.search("", filter="on_sale:true").ids
    assert usual == ["rope"]
    facet = shop.search("", facets="price", price_list="USD").json["facets"]["price"]
    assert (facet["min"], facet["max"]) == (90, 200)
    if "filter" in query:
        listed = shop.recommend(price_list="USD", **query)
        assert listed.ids == shop.trending(price_list="USD", **query).ids == expected


def test_a_look_and_the_pages_own_product_have_the_lists_price(shop: Merchant) -> None:
    reply = shop.recommend(item_id="tent", anchor="true", price_list="USD")

    assert (reply.json["anchor"]["price"], reply.json["anchor"]["currency"]) == (90, "USD")
    look = shop.client.ask("GET", shop.target("/v1/looks", item_id="x", price_list="USD"))
    assert look.json == {"look": None}


@pytest.mark.parametrize(
    "path", ["/v1/recommendations", "/v1/trending", "/v1/search", "/v1/looks"]
)
@pytest.mark.parametrize(
    ("name", "secret", "status", "said"),
    [
        ("CHF", False, 422, 'no item has a price in the list CHF; known lists: USD"'),
        ("CHF", True, 422, "known lists: USD, USD:group:trade, group:trade"),
        ("group:nobody", False, 401, "secret_key_required"),
        ("group:trade", False, 401, "is of a customer group"),
        ("USD:group:trade", False, 401, "public_price_groups"),
        ("group:", False, 422, "a price list is a currency such as EUR"),
        ("{0}'; --", True, 422, "is no price list"),
        ("x" * 99, False, 422, "is no price list"),
    ],
)
def test_a_wrong_list_says_what_to_do(
    shop: Merchant, path: str, name: str, *, secret: bool, status: int, said: str
) -> None:
    reply = get(shop, path, secret=secret, price_list=name, item_id="tent")

    assert reply.status == status, reply.body
    assert said in reply.body.decode().replace("\\'", "'")
    if not secret:
        assert "trade" not in reply.json.get("detail", "") or "trade" in name


def test_the_secret_key_reads_nothing_else_that_is_for_pages(shop: Merchant) -> None:
    assert get(shop, "/v1/widget-config", secret=True, price_list="USD").status == 401


def test_a_setting_makes_a_groups_prices_public(service: Service, shop: Merchant) -> None:
    command = ["settings", shop.account.domain, "public_price_groups=club, group:Trade"]
    done = CliRunner().invoke(productrecs, [*command, "--data", str(service.folder)])
    assert done.exit_code == 0, done.output

    eventually(lambda: shop.search("", price_list="group:trade").status == 200)
    assert prices(shop.search("", price_list="group:trade"))["tent"] == 70
    assert shop.search("", price_list="group:staff").status == 401


def test_a_new_price_is_shown_within_a_second_though_lists_are_cached(
    service: Service,
) -> None:
    merchant = service.register()
    merchant.push({"id": "a", "title": "a", "price": 5, "prices": {"USD": 7, "CHF": 9}})

    def shown() -> list[dict[str, float | None]]:
        calls = (
            merchant.recommend,
            merchant.trending,
            lambda **q: merchant.search("a", **q),
        )
        replies = [call(price_list="USD") for call in calls]
        return [prices(one) if one.status == 200 else {} for one in replies]

    eventually(lambda: shown() == [{"a": 7}] * 3)
    merchant.push({"id": "a", "prices": {"USD": {"price": 8.5}}})
    eventually(lambda: shown() == [{"a": 8.5}] * 3)
    merchant.push({"id": "a", "prices": {"USD": None}})
    eventually(lambda: merchant.trending(price_list="USD").status == 422)
    assert "known lists: CHF" in merchant.trending(price_list="USD").body.decode()
    merchant.delete("a")
    eventually(lambda: b"known lists: none" in merchant.trending(price_list="CHF").body)


def test_a_widget_writes_prices_in_the_lists_currency(shop: Merchant) -> None:
    def settings(**query: str) -> dict[str, Any]:
        target = shop.target("/v1/widget-config", lang="en", **query)
        found: dict[str, Any] = shop.client.ask("GET", target).json["settings"]
        return found

    listed = settings(price_list="USD:group:trade")
    assert (listed["currency"], listed["strings"]["price"]) == ("USD", "$1,234.00")
    assert settings(price_list="group:trade")["currency"] == "EUR"
    assert "price_list" not in settings()
    wrong = shop.client.ask("GET", shop.target("/v1/widget-config", price_list="dollars"))
    assert (wrong.status, "is no price list" in wrong.json["detail"][0]["msg"]) == (
        422,
        True,
    )


def test_another_store_has_no_part_in_it(other: Merchant, shop: Merchant) -> None:
    assert shop.trending(price_list="USD").status == 200
    other.push({"id": "tent", "title": "tent", "price": 3})

    reply = other.trending(price_list="USD")

    assert (reply.status, b"known lists: none" in reply.body) == (422, True)


def test_a_store_has_at_most_fifty_lists(other: Merchant) -> None:
    names = [f"group:g{number}" for number in range(50)]
    assert other.push({"id": "a", "prices": dict.fromkeys(names, 1)}).status == 200

    refused = other.push({"id": "b", "prices": {"USD": 1}}, {"id": "c"})

    assert (refused.status, refused.json["code"]) == (400, "too_many_price_lists")
    assert other.push({"id": "a", "prices": {"group:g7": None}}).json["total"] == 1
    assert other.push({"id": "b", "prices": {"USD": 1}}).json["total"] == 2
