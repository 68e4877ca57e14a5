"""Header cache: which requests need no parsing because their head is known."""

from __future__ import annotations

import pytest

from productrecs.entrypoints.http.transport.header_cache import HeaderCache, RequestHead

LINES = [(b"host", b"shop"), (b"accept", b"*/*")]
REST = b" HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\n\r\n"


def call(target: bytes = b"/v1/search?q=a", rest: bytes = REST) -> bytes:
    return b"GET " + target + rest


def learned(data: bytes, lines: list[tuple[bytes, bytes]] = LINES) -> HeaderCache:
    heads = HeaderCache()
    heads.add(data, data.split(b" ")[1], RequestHead.of(lines))
    return heads


def test_a_head_that_came_before_is_known_with_any_target() -> None:
    found = learned(call()).find(call(b"/v1/recommendations?key=pk&item_id=b"))

    assert found == (b"/v1/recommendations?key=pk&item_id=b", RequestHead.of(LINES))


@pytest.mark.parametrize(
    "data",
    [
        call(rest=REST.replace(b"shop", b"other")),
        call(rest=REST.replace(b"1.1", b"1.0")),
        call(rest=REST.lower()),
        call(rest=REST[:-2]),
        call() + b"x",
        call() * 2,
        call().replace(b"GET", b"HEAD"),
        call().replace(b"/v1", b"/v2"),
        call(b"/v1/search?q=a b"),
        call()[:20],
        b"",
    ],
)
def test_anything_else_is_left_to_the_parser(data: bytes) -> None:
    assert learned(call()).find(data) is None


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (call() * 2, LINES),
        (call() + b"GET /v1", LINES),
        (call(rest=REST[:-2]), LINES),
        (call(rest=b" HTTP/1.1\nHost: shop\n\n"), LINES),
        (call(rest=REST[:-2] + b"x: " + b"y" * 3_000 + b"\r\n\r\n"), LINES),
        (call(), [*LINES, (b"x-request-id", b"mine")]),
        (call(), [*LINES, (b"content-length", b"0")]),
        (call(), [*LINES, (b"transfer-encoding", b"chunked")]),
    ],
    ids=str,
)
def test_what_is_not_one_whole_plain_call_is_not_remembered(
    data: bytes, lines: list[tuple[bytes, bytes]]
) -> None:
    heads = learned(data, lines)

    assert heads.find(data) is None
    assert heads.find(call()) is None


def test_what_a_head_stood_beside_must_be_the_target_that_was_parsed() -> None:
    heads = HeaderCache()
    heads.add(call(), b"/v1/search?q=another", RequestHead.of(LINES))

    assert heads.find(call()) is None


def test_the_oldest_of_many_heads_are_forgotten() -> None:
    heads = HeaderCache()
    rests = [REST.replace(b"shop", b"shop-%d" % n) for n in range(3_000)]
    for rest in rests:
        heads.add(call(rest=rest), b"/v1/search?q=a", RequestHead.of(LINES))

    known = [heads.find(call(rest=rest)) is not None for rest in rests]

    assert not any(known[:900])
    assert all(known[-2_000:])
