"""Warnings: replies name what was sent and ignored, and values that look wrong."""

import json
from typing import Any, Final

import pytest

from tests.support.service import Merchant

VIEW: Final = {"event": "detail-page-view", "item_id": "tent", "session_id": "s_1"}
BUY: Final = VIEW | {"event": "buy", "order_id": "A-1", "value": 5, "currency": "EUR"}
ORDER: Final = {"order_id": "A-1", "items": [{"item_id": "tent", "price": 5}]}


@pytest.fixture
def merchant(merchant: Merchant) -> Merchant:
    """Return a fresh store with an item."""
    assert "warnings" not in merchant.push({"id": "tent", "price": 5}).json
    return merchant


def check(reply: Any, *expected: str) -> None:
    assert reply.status == 200, reply
    warnings = reply.json.get("warnings", [])
    assert len(warnings) == len(expected), warnings
    for warning, part in zip(warnings, expected, strict=True):
        assert part in warning


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"colour": "red"}, ["field 'colour' was ignored; did you mean 'color'?"]),
        ({"name": "Tent"}, ["did you mean 'title'?"]),
        ({"stok_qty": 3}, ["did you mean 'stock_qty'?"]),
        ({"weight_of_box": 3}, ["field 'weight_of_box' was ignored"]),
        ({"price": -5, "cost": "-1"}, ["price is negative", "cost is negative"]),
        ({"title": "Tent", "list_price": 9, "price": 0, "attributes": {"x": 1}}, []),
    ],
)
def test_a_push_names_what_looks_wrong(
    merchant: Merchant, fields: dict[str, object], expected: list[str]
) -> None:
    check(merchant.push({"id": "tent", **fields}), *expected)


def test_a_push_counts_a_warning_of_many_items_and_a_replay_repeats_it(
    merchant: Merchant,
) -> None:
    items = [{"id": str(number), "colour": "red"} for number in range(1_000)]
    body = json.dumps({"items": items}).encode()
    headers = merchant.server | {"idempotency-key": "k"}
    first, replay = (
        merchant.client.ask("POST", "/v1/items", body, headers) for _ in range(2)
    )

    check(first, "'color'? (1,000 times)")
    assert replay.json == first.json


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (VIEW | {"color": "red"}, ["field 'color' was ignored"]),
        (VIEW | {"product_id": "tent"}, ["did you mean 'item_id'?"]),
        (BUY | {"currency": "EURO"}, ["'EURO' is not a code of ISO 4217"]),
        (BUY | {"value": -5}, ["value is negative"]),
        (VIEW | {"user_id": "anna@example.com"}, ["user_id looks like an e-mail address"]),
        (BUY, []),
    ],
)
@pytest.mark.parametrize("is_array", [False, True])
def test_an_event_names_what_looks_wrong(
    merchant: Merchant, body: dict[str, object], expected: list[str], *, is_array: bool
) -> None:
    reply = merchant.track(*[body, VIEW] if is_array else [body])

    check(reply, *expected)


@pytest.mark.parametrize(
    ("fields", "line", "expected"),
    [
        ({"customer_id": "c"}, {}, ["did you mean 'user_id'?"]),
        ({}, {"unit_price": 5}, ["did you mean 'price'?"]),
        (
            {"customer_id": "c"},
            {"name": "Tent"},
            ["did you mean 'user_id'?", "field 'name' was ignored"],
        ),
        ({"currency": "EURO"}, {}, ["'EURO' is not a code of ISO 4217"]),
        ({}, {"price": -5}, ["price is negative", "total is negative"]),
        ({"user_id": "anna@example.com"}, {}, ["user_id looks like an e-mail address"]),
        ({"user_id": "c", "currency": "eur"}, {"quantity": 2, "total": 9}, []),
        ({"currency": "POINTS"}, {}, []),
    ],
)
def test_an_order_names_what_looks_wrong(
    merchant: Merchant,
    fields: dict[str, object],
    line: dict[str, object],
    expected: list[str],
) -> None:
    check(merchant.order("A-1", {"item_id": "tent", **line}, **fields), *expected)


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("recommendations", {"itemid": "tent"}, ["did you mean 'item_id'?"]),
        (
            "recommendations",
            {"limit": "3"},
            ["'limit' was ignored; did you mean 'num'"],
        ),
        ("recommendations", {"item_id": "tent", "num": "3", "shown": "2"}, []),
        ("recommendations", {"_": "1764400000"}, []),  # only avoids caches
        ("trending", {"item_id": "tent"}, ["parameter 'item_id' was ignored"]),
        ("trending", {"num": "3", "exclude": "a"}, []),
        ("search", {"query": "tent"}, ["did you mean 'q'?"]),
        ("search", {"q": "tent", "brand": "Acme"}, ["'brand' was ignored; a filter is"]),
        ("search", {"q": "tent", "collapse": "true", "suggest": "2"}, []),
        (
            "recommendations",
            {"identity": "x", "user_id": "c", "itemid": "tent"},
            ["the identity of customer", "did you mean 'item_id'?"],
        ),
    ],
)
def test_a_list_names_parameters_that_it_lacks(
    merchant: Merchant, path: str, query: dict[str, str], expected: list[str]
) -> None:
    check(merchant.client.ask("GET", merchant.target(f"/v1/{path}", **query)), *expected)
