"""Parsers under comparison: raw bytes read by ours, by h11 and by uvicorn.

Each way returns the requests that were read, in order, and whether the connection was
refused. The bytes may come in any pieces.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from productrecs.http.transport.connection import (
    DrainFlag,
    HttpConnection,
    SharedTransportState,
)
from productrecs.http.transport.request_parser import HEAD_LIMIT_BYTES

_TURNS: Final = 40  # of the event loop, for the requests of one piece
# A 2xx would say that a tunnel begins, where the method is CONNECT.
_H11_REPLY: Final = h11.Response(status_code=404, headers=[("content-length", "0")])
_ABSOLUTE: Final = re.compile(rb"(?i)https?://[^/?]*")


class Read(NamedTuple):
    """One request as a server reads it."""

    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class ParseOutcome(NamedTuple):
    """What a connection came to."""

    requests: list[Read]
    refusal: str  # empty where nothing was refused

    @property
    def bodies(self) -> list[bytes]:
        """The bodies, in order."""
        return [one.body for one in self.requests]


class _Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self._is_closing = False

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    def write(self, data: Any) -> None:
        self.written += data

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class _Application:
    def __init__(self) -> None:
        self.requests: list[Read] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            if not message["more_body"]:
                break
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        headers = _headers(scope["headers"])
        self.requests.append(Read(scope["method"].encode(), target, headers, body))
        headers_sent = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers_sent})
        await send({"type": "http.response.body", "body": b""})


@cache
def _config() -> Config:
    config = Config(_Application(), log_config=None, access_log=False, lifespan="off")
    config.load()
    return config


async def _serve(pieces: Sequence[bytes], *, stock: bool) -> tuple[ParseOutcome, bytes]:
    loop = asyncio.get_running_loop()
    protocol: HttpToolsProtocol = (
        HttpToolsProtocol(_config(), ServerState(), {}, loop)
        if stock
        else HttpConnection(_config(), SharedTransportState(DrainFlag()), {}, loop)
    )
    application = protocol.app = _Application()
    transport = _Transport()
    protocol.connection_made(transport)
    for piece in pieces:
        if not transport.is_closing():  # a closed transport reads no more
            protocol.data_received(piece)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    protocol.connection_lost(ConnectionResetError())
    for _ in range(3):
        await asyncio.sleep(0)
    replies = transport.written.split(b"HTTP/1.1 ")[1:]
    refusals = [one for one in replies if not one.startswith((b"200", b"100"))]
    refusal = _refusal(refusals[0]) if refusals else ""
    return ParseOutcome(application.requests, refusal), transport.written


def _refusal(reply: bytes) -> str:
    """Return the status and the code of a reply that ends the connection."""
    lines, _, body = reply.partition(b"\r\n\r\n")
    assert b"\r\nconnection: close" in lines, reply
    said = body.decode()
    return lines[:3].decode() + " " + (json.loads(said)["code"] if said[0] == "{" else said)


def served(*pieces: bytes, stock: bool = False) -> ParseOutcome:
    """Return what our connection reads; with `stock`, that of uvicorn with httptools."""
    return asyncio.run(_serve(pieces, stock=stock))[0]


def written(*pieces: bytes) -> bytes:
    """Return all that our connection writes."""
    return asyncio.run(_serve(pieces, stock=False))[1]


def by_h11(data: bytes) -> ParseOutcome:
    """Return what h11 reads, as a server that answers each request once it is whole.

    An empty line before a request is passed over, which h11 does not do by itself.
    """
    requests: list[Read] = []
    try:
        while data:
            found = _one_by_h11(data.removeprefix(b"\r\n"))
            if found is None:
                break
            request, data = found
            requests.append(request)
    except h11.RemoteProtocolError as error:
        return ParseOutcome(requests, str(error) or "refused")
    return ParseOutcome(requests, "")


def _one_by_h11(data: bytes) -> tuple[Read, bytes] | None:
    """Return a request and what comes after it on the connection; None while not whole."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT_BYTES)
    connection.receive_data(data)
    request: h11.Request | None = None
    body = b""
    while not isinstance(event := connection.next_event(), h11.EndOfMessage):
        if isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        else:
            return None
    assert request is not None
    rest = connection.trailing_data[0]
    connection.send(_H11_REPLY)
    connection.send(h11.EndOfMessage())
    return _read(request, body), rest if connection.our_state is h11.DONE else b""


def _read(request: h11.Request, body: bytes) -> Read:
    target = request.target
    if absolute := _ABSOLUTE.match(target):
        target = target[absolute.end() :]
        target = target if target.startswith(b"/") else b"/" + target
    target = target.rstrip(b"?") if target.count(b"?") == 1 else target
    return Read(request.method, target, _headers(request.headers), body)


def _headers(given: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
    """Return headers in one spelling: h11 writes the coding in small letters."""
    coding = b"transfer-encoding"
    return tuple(
        (name, value.lower() if name == coding else value) for name, value in given
    )
