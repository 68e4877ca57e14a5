"""Error replies: each has its form, and the connection stays usable."""

import json
import re
from typing import Final

import pytest

from tests.api.routes import TABLE
from tests.support.service import Client, Merchant, Reply, Service, raw_request

OURS: Final = re.compile(r"[0-9a-f]{20}")
VIEW: Final = b'{"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}'
KIB, MIB = 1024, 1024 * 1024


@pytest.fixture
def client(service: Service) -> Client:
    return service.client()


def check_refusal(reply: Reply, status: int, code: str) -> None:
    assert reply.status == status, reply
    assert set(reply.json) == {"detail", "code", "doc_url", "request_id"}
    assert reply.json["code"] == code
    assert re.fullmatch(rf"http://[^/]+/docs-md/errors\.md#{code}", reply.json["doc_url"])
    assert reply.json["request_id"] == reply.header("x-request-id")
    assert len(reply.json["detail"]) > 10
    assert reply.header("content-type") == "application/json"
    assert reply.header("access-control-allow-origin") == "*"


def padded(body: bytes, size: int) -> bytes:
    return body + b" " * (size - len(body))


@pytest.mark.parametrize("path", ["/v1/events", "/v1/orders"])
def test_a_body_refused_by_its_length_does_not_spoil_the_connection(
    merchant: Merchant, path: str
) -> None:
    target = f"{path}?key={merchant.account.publishable}"

    for _ in range(3):
        check_refusal(
            merchant.client.ask("POST", target, b" " * 3_000_000), 413, "body_too_large"
        )

        assert merchant.trending().status == 200  # on the same connection


@pytest.mark.parametrize(
    "path",
    [
        "/v2/recommendations",
        "/v1/recommendations/",
        "/v1//recommendations",
        "/v1/items/",
        "/nothing",
        "/v1",
        "//",
        "/%2e%2e/etc/passwd",
        "/../../etc/passwd",
        "/favicon.ico",
        "/v1/Trending",
        "/v1/nothing",
        "/%00",
        "/%ff",
        "/openapi.json/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_address_where_nothing_is_says_so(
    client: Client, path: str, method: str
) -> None:
    check_refusal(client.ask(method, path), 404, "not_found")


@pytest.mark.parametrize(("path"), sorted({path for _, path in TABLE}))
def test_a_method_that_a_path_does_not_answer_is_named_with_those_it_does(
    client: Client, path: str
) -> None:
    allowed = {method for method, own in TABLE if own == path}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - allowed:
        reply = client.ask(method, path.replace("{item_id}", "a"))

        check_refusal(reply, 405, "method_not_allowed")
        assert set((reply.header("allow") or "").split(", ")) == allowed


def test_a_request_id_that_is_valid_comes_back_and_another_is_replaced(
    client: Client,
) -> None:
    for target in ("/health/live", "/v1/trending", "/nowhere", "/v1/items"):
        for given in ("abc", "A-1_b.2", "x" * 128):
            reply = client.ask("GET", target, None, {"x-request-id": given})
            assert reply.header("x-request-id") == given
        for given in ("", "x" * 129, "a b", "<script>", "é", '"', "a/b", "a,b"):
            reply = client.ask("GET", target, None, {"x-request-id": given})
            assert OURS.fullmatch(reply.header("x-request-id") or "")


def test_no_two_requests_have_the_same_id(service: Service) -> None:
    clients = [*service.clients_of_every_worker(), service.client()]

    seen = [
        client.ask("GET", "/health/live").header("x-request-id")
        for _ in range(50)
        for client in clients
    ]

    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("path", "body", "limit"),
    [
        ("/v1/events", VIEW, 64 * KIB),
        ("/v1/events", b"[%s]" % VIEW, MIB),
        ("/v1/events", b"\xef\xbb\xbf \r\n[%s]" % VIEW, MIB),
        ("/v1/orders", b'{"order_id": "A", "items": [{"item_id": "a"}]}', MIB),
        ("/v1/items", b'{"items": []}', 32 * MIB),
    ],
)
def test_a_body_may_be_as_long_as_its_limit_and_no_longer(
    merchant: Merchant, path: str, body: bytes, limit: int
) -> None:
    headers = merchant.server | {"x-pub-key": merchant.account.publishable}
    exact = merchant.client.ask("POST", path, padded(body, limit), headers)
    longer = merchant.client.ask("POST", path, padded(body, limit + 1), headers)

    assert exact.status == 200, exact
    check_refusal(longer, 413, "body_too_large")


@pytest.mark.parametrize("path", ["/v1/events", "/v1/orders", "/v1/items"])
def test_a_length_declared_too_large_is_refused_unread(
    service: Service, merchant: Merchant, path: str
) -> None:
    account = merchant.account
    head = (
        f"POST {path} HTTP/1.1\r\nhost: a\r\nx-pub-key: {account.publishable}\r\n"
        f"x-api-key: {account.secret}\r\ncontent-length: 1099511627776\r\n\r\n"
    )

    came = raw_request(service.port, [head.encode()], until=b"}")

    assert came.startswith(b"HTTP/1.1 413 "), came
    assert b'"body_too_large"' in came


def test_chunks_without_a_declared_length_are_cut_off_at_the_limit(
    service: Service, merchant: Merchant
) -> None:
    target = f"/v1/events?key={merchant.account.publishable}"
    head = f"POST {target} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"2000\r\n" + b" " * 0x2000 + b"\r\n"

    came = raw_request(service.port, [head.encode(), *[chunk] * 9], until=b"}")

    assert came.startswith(b"HTTP/1.1 413 "), came


@pytest.mark.parametrize("path", ["/v1/events", "/v1/orders", "/v1/items"])
@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "zstd", "identity, gzip", "x"])
def test_an_encoded_body_is_refused_whatever_it_holds(
    merchant: Merchant, path: str, coding: str
) -> None:
    headers = merchant.server | {"x-pub-key": merchant.account.publishable}

    reply = merchant.client.ask("POST", path, VIEW, headers | {"content-encoding": coding})

    check_refusal(reply, 415, "body_encoded")


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "text/plain;charset=UTF-8",
        "text/plain; charset=iso-8859-1",
        "application/json",
        "application/json; charset=utf-8",
        "application/x-www-form-urlencoded",
        "",
    ],
)
def test_a_body_is_read_alike_whatever_type_a_page_names(
    merchant: Merchant, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    key = f"?key={merchant.account.publishable}"
    order = json.dumps({"order_id": f"A-{content_type}", "items": [{"item_id": "é"}]})

    for path, body in (("/v1/events", VIEW), ("/v1/orders", order.encode())):
        assert merchant.client.ask("POST", path + key, body, headers).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n",
        b"POST /v1/events HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST /v1/events HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_not_http_is_refused_in_the_same_form(
    service: Service, sent: bytes
) -> None:
    came = raw_request(service.port, [sent], until=b"}")

    head, _, body = came.partition(b"\r\n\r\n")
    assert head.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 ")), came
    assert set(json.loads(body)) == {"detail", "code", "doc_url", "request_id"}
    assert b"x-request-id: " in head


def test_head_is_answered_like_get_without_a_body(merchant: Merchant) -> None:
    for target in (merchant.target("/v1/trending"), "/health/live", "/openapi.json"):
        got = merchant.client.ask("GET", target)
        reply = merchant.client.ask("HEAD", target)

        assert (reply.status, reply.body) == (got.status, b"")
        assert reply.header("content-length") == got.header("content-length")


@pytest.mark.parametrize(
    ("path", "status"),
    [("/v1/items", 401), ("/nothing/here", 404), ("/docs-md/none.md", 404)],
)
def test_who_asks_for_problems_gets_them_from_the_gate_and_from_routes(
    client: Client, path: str, status: int
) -> None:
    method = "POST" if path == "/v1/items" else "GET"
    problems = {"accept": "application/problem+json"}

    reply = client.ask(method, path, None, problems)

    assert reply.status == reply.json["status"] == status
    assert reply.header("content-type") == "application/problem+json"
    assert reply.json["instance"] == path
    assert reply.json["type"] == reply.json["doc_url"]
    assert reply.json["type"].endswith(f"/docs-md/errors.md#{reply.json['code']}")


def test_a_refused_schema_keeps_its_form_whatever_is_accepted(merchant: Merchant) -> None:
    target = merchant.target("/v1/recommendations", num=99)

    reply = merchant.client.ask("GET", target, None, {"accept": "application/problem+json"})

    assert reply.status == 422
    assert reply.header("content-type") == "application/json"
    assert [problem["loc"] for problem in reply.json["detail"]] == [["query", "num"]]
