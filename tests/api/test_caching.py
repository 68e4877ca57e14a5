"""Response headers: caching, server timing and API version."""

import gzip
import json
import re

import pytest

from tests.support.service import Merchant, Reply

TOOK = re.compile(r"total;dur=\d+\.\d")


def get(merchant: Merchant, path: str, **headers: str) -> Reply:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    key = f"{'&' if '?' in path else '?'}key={merchant.account.publishable}"
    return merchant.client.ask("GET", path + key, headers=sent)


@pytest.mark.parametrize(
    ("path", "cache"),
    [
        ("/v1/widget-config?type=recs", "private, max-age=60"),
        ("/v1/widget-config?type=recs&type=recs", "private, max-age=60"),  # declared
        ("/v1/looks?item_id=tent", "private, no-cache"),
    ],
)
def test_a_browser_that_has_a_reply_gets_no_body_again(
    merchant: Merchant, path: str, cache: str
) -> None:
    first = get(merchant, path)
    tag = first.header("etag")
    assert tag is not None
    again = get(merchant, path, if_none_match=tag)
    other = get(merchant, path, if_none_match='"another"')

    assert (first.status, first.header("cache-control")) == (200, cache)
    assert (again.status, again.body) == (304, b"")
    assert (again.header("etag"), again.header("cache-control")) == (tag, cache)
    assert again.header("access-control-allow-origin") == "*"
    assert (other.status, other.body) == (200, first.body)


def test_a_changed_look_of_a_widget_is_another_reply(merchant: Merchant) -> None:
    path = "/v1/widget-config?type=recs"
    tag = get(merchant, path).header("etag") or ""

    body = json.dumps({"custom_css": ".card { color: red }"}).encode()
    target = "/integration/widget-config?type=recs"
    assert merchant.client.ask("PUT", target, body, merchant.server).status == 200

    assert get(merchant, path, if_none_match=tag).status == 200


@pytest.mark.parametrize(
    "path", ["/v1/search?q=tent", "/v1/search?q=tent&page=1", "/v1/looks?item_id=a"]
)
def test_what_takes_its_time_says_how_long(merchant: Merchant, path: str) -> None:
    reply = get(merchant, path)

    assert TOOK.fullmatch(reply.header("server-timing") or "")
    assert reply.header("timing-allow-origin") == "*"


def test_lists_are_too_quick_to_say_how_long_they_took(merchant: Merchant) -> None:
    assert get(merchant, "/v1/recommendations").header("server-timing") is None


@pytest.mark.parametrize(
    "path",
    [
        "/v1/recommendations",
        "/v1/recommendations?num=99",
        "/v1/search?q=a",
        "/v1/widget-config",
        "/v1/looks?item_id=a",
        "/openapi.json",
        "/nowhere",
    ],
)
def test_every_reply_says_its_version(merchant: Merchant, path: str) -> None:
    for _ in range(2):  # the second may come from what lies ready
        assert get(merchant, path).header("x-api-version") == "3.0.0"


def test_large_documents_travel_packed_to_who_reads_that(merchant: Merchant) -> None:
    plain = merchant.client.ask("GET", "/openapi.json")
    accepts = {"accept-encoding": "gzip, deflate, br"}
    packed = merchant.client.ask("GET", "/openapi.json", headers=accepts)
    tag = packed.header("etag") or ""
    again = merchant.client.ask(
        "GET", "/openapi.json", headers={**accepts, "if-none-match": tag}
    )

    assert plain.header("content-encoding") is None
    assert packed.header("content-encoding") == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 4
    assert tag != plain.header("etag")
    assert "Accept-Encoding" in (packed.header("vary") or "")
    assert again.status == 304
