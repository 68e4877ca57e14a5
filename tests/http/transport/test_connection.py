"""Connection: state after a request, and timeouts for bodies."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from uvicorn.config import Config

from productrecs.http.transport import connection
from productrecs.http.transport.connection import (
    ClientTimeouts,
    DrainFlag,
    HttpConnection,
    SharedTransportState,
    send_in_single_write,
)
from productrecs.http.transport.header_cache import HeaderCache
from productrecs.http.transport.request_parser import RequestHeaders

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
REQUEST = b"GET / HTTP/1.1\r\nhost: shop\r\n\r\n"
REQUESTS = 50


async def application(scope: Any, _receive: Any, _send: Any) -> None:
    assert send_in_single_write(scope, WHOLE)


async def left_behind() -> tuple[int, int]:
    """Return how many requests were answered, and how many objects they left in circles."""
    transport = mock.Mock(spec=asyncio.Transport)
    transport.is_closing.return_value = False
    transport.get_extra_info.return_value = None
    config = Config(application, log_config=None, access_log=False, lifespan="off")
    config.load()
    loop = asyncio.get_running_loop()
    connection = HttpConnection(config, SharedTransportState(DrainFlag()), {}, loop)
    connection.connection_made(transport)
    gc.collect()
    gc.disable()
    try:
        for _ in range(REQUESTS):
            connection.data_received(REQUEST)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        answered = sum(call.args == (WHOLE,) for call in transport.write.call_args_list)
        return answered, gc.collect()
    finally:
        gc.enable()
        connection.connection_lost(None)


def test_requests_leave_no_circles_behind() -> None:
    answered, circles = asyncio.run(left_behind())

    assert answered == REQUESTS
    assert circles < REQUESTS


def test_control_a_scope_that_holds_its_cycle_leaves_one_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def held(one: object) -> Callable[[], object]:
        return lambda: one

    monkeypatch.setattr(connection, "ref", held)

    answered, circles = asyncio.run(left_behind())

    assert answered == REQUESTS
    assert circles >= REQUESTS


async def swallow(_scope: Any, receive: Any, _send: Any) -> None:
    while True:
        await receive()


async def lifetime(pieces: list[int], step_seconds: float, most_seconds: float) -> float:
    """Return after how many seconds a client is cut whose body comes in such pieces.

    A piece of so many bytes comes at each step, the same ones again and again; the limits
    are the real ones, the clock is not.
    """
    transport = mock.Mock(spec=asyncio.Transport)
    transport.is_closing.return_value = False
    transport.get_extra_info.return_value = None
    config = Config(swallow, log_config=None, access_log=False, lifespan="off")
    config.load()
    loop = asyncio.get_running_loop()
    connection = HttpConnection(config, SharedTransportState(DrainFlag()), {}, loop)
    connection.connection_made(transport)
    connection.data_received(
        b"POST /v1/events HTTP/1.1\r\nhost: shop\r\ncontent-length: 99999999\r\n\r\n"
    )
    now, steps = 0.0, 0
    try:
        while now < most_seconds:
            piece = pieces[steps % len(pieces)]
            if piece:
                connection.data_received(b"x" * piece)
            await asyncio.sleep(0)
            if connection.update_wait_and_check_overdue(now, ClientTimeouts()):
                return now
            now, steps = now + step_seconds, steps + 1
        return now
    finally:
        connection.connection_lost(None)
        for task in connection.tasks:
            task.cancel()


HOUR = 3_600.0
KIB = 1_024


@pytest.mark.parametrize(
    ("pieces", "step", "least", "most"),
    [
        ([0], 1.0, 30, 32),
        ([1], 1.0, 30, 32),
        ([KIB], 1.0, 30, 32),  # a second for each KiB was allowed: it never ended
        ([600 * KIB, *[KIB] * 3_600], 1.0, 30, 33),  # much of it came, long ago
        ([3 * KIB], 1.0, HOUR, HOUR + 2),
        ([40 * KIB, *[0] * 12], 1.0, HOUR, HOUR + 2),  # comes and goes, as in a train
    ],
    ids=["silent", "a byte", "a KiB", "slow after much", "slow", "with pauses"],
)
def test_a_body_has_to_keep_coming(
    pieces: list[int], step: float, least: float, most: float
) -> None:
    assert least <= asyncio.run(lifetime(pieces, step, HOUR)) <= most


def test_control_without_the_limit_a_slow_body_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(HttpConnection, "update_wait_and_check_overdue", lambda *_: False)

    assert asyncio.run(lifetime([KIB], 1.0, HOUR)) >= HOUR


LINES = [(b"host", b"shop"), (b"accept", b"*/*")]
REST = b" HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\n\r\n"


def call(target: bytes = b"/v1/search?q=a", rest: bytes = REST) -> bytes:
    return b"GET " + target + rest


def learned(data: bytes, lines: list[tuple[bytes, bytes]] = LINES) -> HeaderCache:
    heads = HeaderCache()
    heads.add_if_cacheable(data, data.split(b" ")[1], RequestHeaders.of(lines))
    return heads


def test_a_head_that_came_before_is_known_with_any_target() -> None:
    found = learned(call()).find_target_and_headers(
        call(b"/v1/recommendations?key=pk&item_id=b")
    )

    assert found == (b"/v1/recommendations?key=pk&item_id=b", RequestHeaders.of(LINES))


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
    assert learned(call()).find_target_and_headers(data) is None


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

    assert heads.find_target_and_headers(data) is None
    assert heads.find_target_and_headers(call()) is None


def test_what_a_head_stood_beside_must_be_the_target_that_was_parsed() -> None:
    heads = HeaderCache()
    heads.add_if_cacheable(call(), b"/v1/search?q=another", RequestHeaders.of(LINES))

    assert heads.find_target_and_headers(call()) is None


def test_the_oldest_of_many_heads_are_forgotten() -> None:
    heads = HeaderCache()
    rests = [REST.replace(b"shop", b"shop-%d" % n) for n in range(3_000)]
    for rest in rests:
        heads.add_if_cacheable(call(rest=rest), b"/v1/search?q=a", RequestHeaders.of(LINES))

    known = [heads.find_target_and_headers(call(rest=rest)) is not None for rest in rests]

    assert not any(known[:900])
    assert all(known[-2_000:])
