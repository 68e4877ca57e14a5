"""Fast path: its replies equal the dispatcher's, headers included.

Each call goes over a socket twice: as it is, and with a header that closes the short way.
"""

import socket

import pytest

from tests.support.service import HOST, Merchant, Reply, Service, eventually

SLOW = {"content-length": "0"}
ITEMS = [
    {"id": f"i{n}", "title": f"Item {n}", "price": n, "categories": ["c"]} for n in range(9)
]


@pytest.fixture
def shop(merchant: Merchant) -> Merchant:
    """Return a store whose lists are not empty."""
    assert merchant.push(*ITEMS).status == 200
    eventually(lambda: merchant.recommend(item_id="i1").ids, 30)
    return merchant


def both_ways(
    merchant: Merchant, target: str, headers: dict[str, str]
) -> tuple[Reply, Reply]:
    """Return the replies of the short way and of the gate."""
    client = merchant.client
    return client.ask("GET", target, None, headers), client.ask(
        "GET", target, None, {**headers, **SLOW}
    )


def parts(reply: Reply) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return all of a reply that two requests share."""
    return (
        reply.status,
        [(k, v if k != "x-request-id" else "") for k, v in reply.headers],
        reply.body if reply.status == 200 else b"",
    )


HEADERS = [
    {},
    {"x-request-id": "mine-1"},
    {"x-request-id": "not valid!"},
    {"origin": "https://shop.example"},
    {"origin": "null"},
    {"connection": "keep-alive"},
    {"x-pub-key": "pk_of_nobody"},
    {"x-api-key": "sk_of_nobody"},
    {"authorization": "Bearer sk_of_nobody"},
    {"accept": "application/problem+json"},
    {"transfer-encoding": "identity"},
]


@pytest.mark.parametrize("headers", HEADERS, ids=str)
def test_headers_make_no_difference(shop: Merchant, headers: dict[str, str]) -> None:
    target = shop.target("/v1/recommendations", item_id="i1", num=4)

    short, gate = both_ways(shop, target, headers)

    if "transfer-encoding" not in headers:  # beside a length it is no request at all
        assert parts(short) == parts(gate)
    if headers.get("x-request-id") == "mine-1":
        assert short.header("x-request-id") == gate.header("x-request-id") == "mine-1"


@pytest.mark.parametrize(
    "target",
    [
        "/v1/recommendations",
        "/v1/recommendations?",
        "/v1/recommendations?item_id=i1",
        "/v1/recommendations?key=pk_of_nobody&item_id=i1",
        "/v1/recommendations?key=KEY&item_id=i1&item_id=i2",
        "/v1/recommendations?key=KEY&num=21",
        "/v1/recommendations?key=KEY&source=similar",
        "/v1/recommendations?key=KEY&item_id=%ff",
        "/v1/recommendations?key=KEY&item_id=i1#num=2",
        "/v1/recommendations?key=KEY&num=2?num=3",
        "/v1/recommendations/?key=KEY",
        "/v1/recommendations%3Fkey=KEY",
        "http://elsewhere/v1/recommendations?key=KEY&num=3",
    ],
)
def test_addresses_make_no_difference(shop: Merchant, target: str) -> None:
    key = shop.account.publishable

    short, gate = both_ways(shop, target.replace("KEY", key), {})

    assert parts(short) == parts(gate)


def test_a_key_in_a_header_will_do(shop: Merchant) -> None:
    headers = {"x-pub-key": shop.account.publishable}

    short, gate = both_ways(shop, "/v1/recommendations?item_id=i1", headers)

    assert short.ids
    assert parts(short) == parts(gate)


def test_a_store_with_a_list_of_origins_says_so(shop: Merchant, service: Service) -> None:
    service.run("origins", shop.account.domain, "--add", "https://shop.example")
    target = shop.target("/v1/recommendations", item_id="i1")
    origin = {"origin": "https://shop.example"}
    eventually(
        lambda: parts(shop.client.ask("GET", target, None, {}))[1].count(("vary", "Origin"))
    )

    for headers in ({}, origin, {"origin": "https://other.example"}):
        short, gate = both_ways(shop, target, headers)
        assert parts(short) == parts(gate)
        assert short.header("vary") == "Origin"


@pytest.mark.parametrize(
    "odd",
    [b"\x01", b"\x7f", b"\x80", b"\t", b"\0", b"\r", b"\n", b"\r\nx: y", b"#a", b'"<>'],
)
def test_what_no_address_may_hold_is_refused_beside_a_head_that_came_before(
    service: Service, shop: Merchant, odd: bytes
) -> None:
    key = shop.account.publishable
    target = f"/v1/recommendations?key={key}&item_id=i1".encode()

    def status(target: bytes, more: bytes = b"") -> bytes:
        with socket.create_connection((HOST, service.port), timeout=10) as raw:
            raw.sendall(b"GET " + target + b" HTTP/1.1\r\nhost: known\r\n" + more + b"\r\n")
            return raw.recv(12)

    known = [status(target) for _ in range(2)]

    assert known == [b"HTTP/1.1 200"] * 2
    assert status(target + odd) == status(target + odd, b"x-another: 1\r\n")
