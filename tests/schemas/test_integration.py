"""Integration schemas: read as the contract says; errors have a location."""

from collections.abc import Callable

import pytest

from productrecs.schemas.integration import (
    parse_connect_request,
    parse_engines_init,
    parse_recommender_settings,
)
from productrecs.schemas.validation_errors import InvalidInputError
from productrecs.tenancy.accounts.shop_connection import PluginDetails, ShopPlatform
from tests.http.hostile import MISSHAPEN

PARSERS = [parse_connect_request, parse_engines_init, parse_recommender_settings]
Refusals = list[tuple[tuple[str | int, ...], str]]


def refused(parse: Callable[[object], object], body: object) -> Refusals:
    with pytest.raises(InvalidInputError) as error:
        parse(body)
    return [(problem.loc, problem.type) for problem in error.value.problems]


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("body", MISSHAPEN)
def test_a_body_of_another_shape_is_refused(
    parse: Callable[[object], object], body: object
) -> None:
    assert refused(parse, body) == [(("body",), "model_type")]


def test_an_introduction_says_what_it_says() -> None:
    said = {"platform": "opencart", "plugin_version": "1.0", "store_url": "https://a.b"}

    assert parse_connect_request(said | {"php": "8.2"}) == PluginDetails(
        ShopPlatform.OPENCART, "1.0", "https://a.b"
    )


@pytest.mark.parametrize("unsaid", [None, ""])
def test_null_and_empty_are_left_unsaid(unsaid: str | None) -> None:
    body = {"plugin_version": unsaid, "store_url": unsaid}

    assert parse_connect_request(body | {"platform": None}) == PluginDetails()
    assert parse_engines_init({"store_url": unsaid}).store_url is None
    assert parse_engines_init({"currency": unsaid}).currency is None


def test_all_five_platforms_are_known() -> None:
    names = ("woocommerce", "prestashop", "magento", "opencart", "custom")

    assert [parse_connect_request({"platform": name}).platform for name in names] == list(
        ShopPlatform
    )


@pytest.mark.parametrize("platform", ["shopify", "WooCommerce", "", 1, True, ["custom"]])
def test_another_platform_is_refused(platform: object) -> None:
    assert refused(parse_connect_request, {"platform": platform}) == [
        (("body", "platform"), "enum")
    ]


@pytest.mark.parametrize(
    ("body", "place", "kind"),
    [
        ({"plugin_version": 1.2}, "plugin_version", "string_type"),
        ({"plugin_version": "1" * 101}, "plugin_version", "string_too_long"),
        ({"store_url": "h" * 2_049}, "store_url", "string_too_long"),
        ({"store_url": "a\0"}, "store_url", "string_nul"),
    ],
)
def test_texts_are_short_and_clean(body: object, place: str, kind: str) -> None:
    assert refused(parse_connect_request, body) == [(("body", place), kind)]


@pytest.mark.parametrize("currency", ["EUR", "eur", " usd ", "EURO", "€", "12345678"])
def test_a_currency_is_any_short_text_in_capitals(currency: str) -> None:
    assert parse_engines_init({"currency": currency}).currency == currency.strip().upper()


@pytest.mark.parametrize(
    ("currency", "kind"),
    [("EUROCENTS", "string_too_long"), ("E\0", "string_nul"), (978, "string_type")],
)
def test_anything_else_is_no_currency(currency: object, kind: str) -> None:
    assert refused(parse_engines_init, {"currency": currency}) == [
        (("body", "currency"), kind)
    ]
