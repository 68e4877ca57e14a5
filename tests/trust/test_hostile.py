"""Hostile input: bodies, queries and paths are rejected, nothing worse."""

import itertools
import json
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

import fastapi
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.inside import Inside
from tests.http.hostile import (
    INTEGERS,
    MISSHAPEN,
    NOT_INTEGERS,
    NOT_PRICES,
    PRICES,
    UNREADABLE,
    priced,
    stocked,
)
from tests.schemas.test_fuzz import bodies, things
from tests.support.service import Merchant, Reply, Service, raw_request
from tests.trust.forms import violations

POSTS: Final = ("/v1/items", "/v1/orders", "/v1/events")
ORIGIN: Final = {"origin": "https://shop.example"}


def post(merchant: Merchant, path: str, body: bytes) -> Reply:
    """Post a body with both keys, as a page of any origin."""
    headers = merchant.server | ORIGIN | {"x-pub-key": merchant.account.publishable}
    return merchant.client.ask("POST", path, body, headers)


def all_wrong(replies: Iterable[tuple[str, Reply]], *allowed: int) -> list[str]:
    """Return what is wrong with each reply, a status that is not allowed included."""
    return [
        f"{name}: {wrong}"
        for name, reply in replies
        for wrong in (
            *violations(reply),
            *([] if reply.status in allowed else [f"{reply.status} {reply.body[:200]!r}"]),
        )
    ]


@pytest.mark.parametrize("path", POSTS)
def test_no_unreadable_body_does_more_than_be_refused(
    merchant: Merchant, path: str
) -> None:
    replies = {name: post(merchant, path, body) for name, body in UNREADABLE.items()}

    assert all_wrong(replies.items(), 413, 422) == []
    refused = [reply for reply in replies.values() if reply.status == 422]
    assert {one.json["detail"][0]["type"] for one in refused} == {"json_invalid"}
    assert len(refused) > len(replies) * 0.9


@pytest.mark.parametrize("path", POSTS)
def test_no_misshapen_body_does_more_than_be_refused(merchant: Merchant, path: str) -> None:
    replies = {name: post(merchant, path, body) for name, body in MISSHAPEN.items()}

    assert all_wrong(replies.items(), 413, 422) == []


def test_no_literal_that_is_no_number_is_stored(merchant: Merchant) -> None:
    bad = [priced(text) for text in NOT_PRICES] + [stocked(text) for text in NOT_INTEGERS]

    replies = [(body.decode()[:80], post(merchant, "/v1/items", body)) for body in bad]

    assert all_wrong(replies, 422) == []
    assert merchant.trending().ids == []


def test_every_literal_that_is_a_number_is_stored_as_it_is(merchant: Merchant) -> None:
    for literal, price in PRICES.items():
        assert post(merchant, "/v1/items", priced(literal)).status == 200
        (shown,) = merchant.trending().json["recommendations"]
        assert shown["price"] == (price and pytest.approx(price, rel=1e-12)), literal
    for literal in INTEGERS:
        assert post(merchant, "/v1/items", stocked(literal)).status == 200


_PART: Final = (
    *("", "a", "%", "%2", "%ff", "%00", "%ed%a0%80", "%C0%AF", "%F0%9F%98%80", "+", "é"),
    *("1", "0", "-1", "21", "1e3", "1.0", "١", "9" * 5000, "null", "true", "NaN"),
    *("mix", "MIX", "buy", "similar", "a,b,,c", "," * 60, "a" * 5000, "../x", "[1]", "{}"),
    *("'%20OR%201=1--", "<script>", ";", ";num=3", "a=b", "%0d%0aset-cookie:%20x=1"),
)
_NAMES: Final = (
    "num",
    "source",
    "item_id",
    "item_ids",
    "user_id",
    "customer_id",
    "q",
    "num[]",
)


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.trust)])
@pytest.mark.parametrize("path", ["/v1/recommendations", "/v1/trending", "/v1/search"])
def test_no_query_does_more_than_be_refused(
    merchant: Merchant, path: str, step: int
) -> None:
    pairs = [f"{name}={quote(part, safe='%')}" for name in _NAMES for part in _PART]
    queries = [
        *pairs,
        *(f"{one}&{other}" for one, other in [*itertools.pairwise(pairs)][::step]),
        *("&", "&&&", "=", "=&=", "?", "num", "num&num", "num=3&num=4", "%6eum=3"),
        *("num=3;source=buy", "&".join(pairs[:200])),
        *("a=" + "&a=" * 2_000, "user_id=" + "%00" * 100),
    ]

    replies = [
        (
            query[:80],
            merchant.client.ask("GET", f"{merchant.target(path)}&{query}", None, ORIGIN),
        )
        for query in queries
    ]

    assert all_wrong(replies, 200, 422) == []
    assert {reply.status for _, reply in replies} == {200, 422}


@pytest.mark.parametrize(
    ("id_in_path", "status"),
    [
        ("%ff", 400),
        ("%ed%a0%80", 400),  # half a surrogate pair
        ("%c0%af", 400),  # an overlong slash
        ("%", 404),
        ("%zz", 404),
        ("%00", 404),
        ("a%00b", 404),
        ("..", 404),
        ("../../etc/passwd", 404),
        ("%2e%2e%2f", 404),
        ("/", 404),
        ("x" * 5_000, 404),
        ("%f0%9f%98%80" * 500, 404),
        ("%25ff", 404),
    ],
)
def test_no_path_does_more_than_be_refused(
    service: Service, merchant: Merchant, id_in_path: str, status: int
) -> None:
    head = (
        f"DELETE /v1/items/{id_in_path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
        f"x-api-key: {merchant.account.secret}\r\n\r\n"
    )

    came = raw_request(service.port, [head.encode()])

    assert came.startswith(f"HTTP/1.1 {status} ".encode()), came
    assert json.loads(came.partition(b"\r\n\r\n")[2])["code"]


AWKWARD: Final = (
    *("a/b", "/", "//", "a//b", "../x", ".", "..", "a%2Fb", "%2F", "%", "%25", "a b", " a"),
    *(
        "a?b",
        "?",
        "#",
        "a#b",
        ";",
        "a;b=c",
        "+",
        "a+b",
        "&",
        "a&key=pk_x",
        "=",
        "é",
        "日本",
    ),
    *(
        "\U0001f600",
        "e\u0301",
        "\u202e",
        "\u00a0",
        "\t",
        "a\nb",
        "'",
        '"',
        "<b>",
        "\\",
        "{}",
    ),
    *("0", "-1", "1e5", "None", "null", "x" * 255, "\U0001f600" * 255, "\ufeff", "\uffff"),
)


def check_round_trip(merchant: Merchant, item_id: str) -> None:
    pushed = merchant.push({"id": item_id, "title": item_id})
    assert pushed.status == 200, (item_id, pushed.body)
    assert pushed.json["created"] == 1
    assert merchant.trending(num=20).ids == [item_id]
    assert merchant.recommend(item_id=item_id).ids == []  # the anchor itself

    deleted = merchant.delete(item_id)

    assert (deleted.status, deleted.json) == (200, {"ok": True, "id": item_id})
    assert merchant.trending(num=20).ids == []
    again = merchant.delete(item_id)
    assert (again.status, again.json["code"]) == (404, "item_unknown")
    assert violations(again) == []


def test_an_item_of_any_id_is_pushed_shown_and_deleted(merchant: Merchant) -> None:
    for item_id in AWKWARD:
        check_round_trip(merchant, item_id)


legal_ids = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    min_size=1,
    max_size=255,
)
many_cases = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@settings(many_cases, max_examples=60)
@given(item_id=legal_ids)
def test_an_item_of_a_random_id_is_pushed_shown_and_deleted(
    merchant: Merchant, item_id: str
) -> None:
    check_round_trip(merchant, item_id)


@settings(many_cases, max_examples=150)
@given(path=st.sampled_from(POSTS), body=bodies)
def test_random_bytes_are_stored_or_refused(
    merchant: Merchant, path: str, body: bytes
) -> None:
    assert all_wrong([(path, post(merchant, path, body))], 200, 400, 413, 422) == []


@settings(many_cases, max_examples=250)
@given(path=st.sampled_from(POSTS), value=things)
def test_random_values_are_stored_or_refused(
    merchant: Merchant, path: str, value: object
) -> None:
    body = json.dumps(value).encode()

    assert all_wrong([(path, post(merchant, path, body))], 200, 400, 413, 422) == []


@pytest.mark.trust
@settings(many_cases, max_examples=5_000)
@given(item_id=legal_ids)
def test_items_of_five_thousand_random_ids_are_pushed_shown_and_deleted(
    merchant: Merchant, item_id: str
) -> None:
    check_round_trip(merchant, item_id)


@pytest.mark.trust
@settings(many_cases, max_examples=20_000)
@given(path=st.sampled_from(POSTS), body=st.one_of(bodies, things))
def test_random_bodies_are_stored_or_refused_at_length(
    merchant: Merchant, path: str, body: object
) -> None:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()

    assert all_wrong([(path, post(merchant, path, sent))], 200, 400, 413, 422) == []


class _StockItem(pydantic.BaseModel):
    id: str
    price: float | None = None


class _StockPush(pydantic.BaseModel):
    items: list[_StockItem]


def _stock_application() -> fastapi.FastAPI:
    """Return what one gets who writes the route the way tutorials do."""
    application = fastapi.FastAPI()

    @application.post("/v1/items")
    async def push(body: _StockPush) -> dict[str, int]:
        return {"created": len(body.items)}

    @application.get("/health/ready")
    async def ready() -> dict[str, bool]:
        return {"ok": True}

    return application


def test_control_a_stock_application_fails_on_the_same_bodies() -> None:
    with Inside(_stock_application()) as inside:
        replies = [
            (
                name,
                inside.ask("POST", "/v1/items", body, {"content-type": "application/json"}),
            )
            for name, body in [*UNREADABLE.items(), *MISSHAPEN.items()]
        ]

    wrong = all_wrong(replies, 413, 422)
    assert [one for one in wrong if "status 500" in one]
    assert [one for one in wrong if "X-Request-Id" in one]
