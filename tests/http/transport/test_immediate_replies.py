"""Immediate replies: which requests are answered before the application, in which order."""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest
from uvicorn.config import Config

from productrecs.http.limits.load_shedding import ListRequestQueue as Waiting
from productrecs.http.limits.load_shedding import LoadShedder
from productrecs.http.transport import request_parser
from productrecs.http.transport.connection import (
    ClientTimeouts,
    DrainFlag,
    HttpConnection,
    SharedTransportState,
)

SHORT = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nshort"


def get(path: str = "/short", more: str = "", version: str = "1.1") -> bytes:
    return f"GET {path} HTTP/{version}\r\nhost: shop\r\n{more}\r\n".encode()


async def application(scope: Any, _receive: Any, send: Any) -> None:
    """Say which address was asked for, a moment later."""
    await asyncio.sleep(0)
    body = scope["path"].encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@dataclass
class RecordedConnection:
    """One connection and what was written to it."""

    draining: DrainFlag = field(default_factory=DrainFlag)
    targets: list[bytes] = field(default_factory=list)
    written: bytes = b""

    def __post_init__(self) -> None:
        """Open the connection."""
        self.transport = mock.Mock(spec=asyncio.Transport)
        self.transport.is_closing.return_value = False
        self.transport.get_extra_info.return_value = None
        self.transport.write.side_effect = self._write
        config = Config(application, log_config=None, access_log=False, lifespan="off")
        config.load()
        self.state = SharedTransportState(self.draining)
        self.state.fast_path = self._answer
        self.connection = HttpConnection(config, self.state, {}, asyncio.get_running_loop())
        self.connection.connection_made(self.transport)

    def _answer(self, target: bytes, _headers: object, _address: str) -> bytes | None:
        self.targets.append(target)
        return SHORT if target.startswith((b"/short", b"/v1/list")) else None

    def _write(self, data: bytes) -> None:
        self.written += data

    async def send(self, data: bytes) -> list[bytes]:
        """Let bytes come in; return the bodies that went out, in order."""
        self.connection.data_received(data)
        for _ in range(20):
            await asyncio.sleep(0)
        parts = self.written.split(b"HTTP/1.1 200 OK")[1:]
        return [part.partition(b"\r\n\r\n")[2] for part in parts]


async def bodies_of(*sent: bytes) -> list[bytes]:
    recorded = RecordedConnection()
    for part in sent:
        bodies = await recorded.send(part)
    return bodies


def test_a_request_is_answered_before_it_reaches_the_application() -> None:
    assert asyncio.run(bodies_of(get(), get("/long"), get())) == [
        b"short",
        b"/long",
        b"short",
    ]


def test_requests_that_come_together_are_answered_in_their_order() -> None:
    together = get("/short") + get("/long") + get("/short/2") + get("/short/3")

    assert asyncio.run(bodies_of(together)) == [
        b"short",
        b"/long",
        b"/short/2",
        b"/short/3",
    ]


def test_one_of_those_that_come_together_is_answered_at_once() -> None:
    """The others wait their turn, so that nobody holds the loop with a list of requests."""
    assert asyncio.run(bodies_of(get() * 3)) == [b"short", b"/short", b"/short"]


def test_a_request_in_two_parts_is_answered_at_once() -> None:
    request = get()

    assert asyncio.run(bodies_of(request[:20], request[20:])) == [b"short"]


@pytest.mark.parametrize(
    "request_",
    [
        get(more="connection: close\r\n"),
        get(version="1.0"),
        get(version="1.0", more="connection: keep-alive\r\n"),
        get().replace(b"GET", b"HEAD"),
        get().replace(b"GET", b"POST"),
        get().replace(b"GET", b"OPTIONS"),
    ],
)
def test_what_is_no_plain_get_is_left_to_the_application(request_: bytes) -> None:
    async def asked_targets() -> list[bytes]:
        recorded = RecordedConnection()
        await recorded.send(request_)
        return recorded.targets

    assert asyncio.run(asked_targets()) == []


def test_a_process_that_stops_leaves_it_to_the_application_which_parts() -> None:
    async def after_the_end() -> tuple[list[bytes], bool]:
        recorded = RecordedConnection()
        await recorded.send(get())
        recorded.draining.begin()
        recorded.connection.close_after_reply()
        await recorded.send(get())
        return recorded.targets, recorded.transport.close.called

    targets, is_closed = asyncio.run(after_the_end())

    assert targets == [b"/short"]
    assert is_closed


def long_turn(recorded: RecordedConnection) -> None:
    """Let calls for lists wait for the next turn."""
    pressure = LoadShedder()
    pressure.slow_iteration_at = 0.0
    recorded.state.request_queue = Waiting(pressure, lambda _: "")


def test_queued_calls_are_answered_in_their_order() -> None:
    async def waited() -> tuple[int, list[bytes]]:
        recorded = RecordedConnection()
        long_turn(recorded)
        recorded.connection.data_received(get("/v1/a"))
        recorded.connection.data_received(get("/short")[:9])
        waiting = len(recorded.connection.waiting)
        return waiting, await recorded.send(get("/short")[9:])

    assert asyncio.run(waited()) == (2, [b"/v1/a", b"/short"])


def test_a_stop_keeps_connections_with_waiting_calls_and_drops_calls_of_closed_ones() -> (
    None
):
    async def stopped() -> tuple[bool, list[bytes], list[bytes]]:
        recorded = RecordedConnection()
        long_turn(recorded)
        recorded.connection.data_received(get("/v1/a"))
        recorded.connection.shutdown()
        was_closed = recorded.transport.close.called
        bodies = await recorded.send(b"")
        recorded.connection.data_received(get("/v1/b"))
        recorded.transport.is_closing.return_value = True
        return was_closed, bodies, await recorded.send(b"")

    assert asyncio.run(stopped()) == (False, [b"/v1/a"], [b"/v1/a"])


def test_who_does_not_read_is_not_written_to() -> None:
    async def unread() -> list[bytes]:
        recorded = RecordedConnection()
        await recorded.send(get())
        recorded.connection.pause_writing()
        await recorded.send(get())
        recorded.connection.resume_writing()
        return recorded.targets

    assert asyncio.run(unread()) == [b"/short"]


def test_an_idle_connection_is_idle_after_it_too() -> None:
    async def states() -> tuple[bool, bool]:
        recorded = RecordedConnection()
        await recorded.send(get())
        return recorded.connection.is_answering, recorded.connection.is_fresh

    assert asyncio.run(states()) == (False, False)


LIST = b"/v1/list"


@pytest.mark.parametrize(
    ("sent", "bodies"),
    [
        ([get("/v1/list")] * 3, [b"short"] * 3),
        # Another request, and one in two parts, come between two that are alike.
        ([get("/v1/list"), get("/long"), get("/v1/list")], [b"short", b"/long", b"short"]),
        ([get("/v1/list"), get("/v1/list")[:9], get("/v1/list")[9:]], [b"short"] * 2),
        # The second of two waits for its turn, whether or not its head is known.
        ([get("/v1/list"), get("/v1/list") * 2], [b"short", b"short", LIST]),
        (
            [get("/v1/list"), get("/v1/wait"), get("/v1/list")],
            [b"short", b"/v1/wait", b"short"],
        ),
    ],
)
def test_calls_whose_head_came_before_are_answered_in_their_order(
    sent: list[bytes], bodies: list[bytes]
) -> None:
    assert asyncio.run(bodies_of(*sent)) == bodies


def test_a_call_whose_head_came_before_is_not_parsed() -> None:
    async def parsed() -> int:
        recorded = RecordedConnection()
        await recorded.send(get("/v1/list"))
        with mock.patch.object(request_parser, "parse_head") as read_head:
            await recorded.send(get("/v1/list?more"))
        assert recorded.targets == [LIST, LIST + b"?more"]
        return int(read_head.call_count)

    assert asyncio.run(parsed()) == 0


def test_the_unread_body_of_a_refused_call_is_not_read_as_a_call() -> None:
    """What was refused unread may still be on its way, and may look like anything."""

    async def asked_targets() -> list[bytes]:
        recorded = RecordedConnection()
        await recorded.send(get("/v1/list"))
        inner = get("/v1/list?inner")
        head = get("/refused", f"content-length: {len(inner)}\r\n")
        await recorded.send(head.replace(b"GET", b"POST"))
        assert not recorded.connection.is_answering
        await recorded.send(inner)
        await recorded.send(get("/v1/list?after"))
        return recorded.targets

    assert asyncio.run(asked_targets()) == [LIST, LIST + b"?after"]


def test_a_client_whose_call_waits_is_not_late() -> None:
    async def overdue() -> list[bool]:
        recorded = RecordedConnection()
        long_turn(recorded)
        recorded.connection.data_received(get("/v1/a"))
        is_overdue = [
            recorded.connection.update_wait_and_check_overdue(now, ClientTimeouts())
            for now in (0.0, 60.0)
        ]
        await recorded.send(b"")
        return is_overdue

    assert asyncio.run(overdue()) == [False, False]
