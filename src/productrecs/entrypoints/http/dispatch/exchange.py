"""HTTP exchange: one request in the dispatcher, and its reply.

Every reply gets its common headers here, whoever made it, and a metered reply is counted
here.
"""

import logging
import time
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any, Final, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from productrecs.entrypoints.http.dispatch.api_version import VERSION_HEADER as VERSION
from productrecs.entrypoints.http.pipeline.conditional_response import conditional_response
from productrecs.entrypoints.http.pipeline.cors import ANY_ORIGIN_HEADERS
from productrecs.entrypoints.http.pipeline.urls import parse_plain_query, raw_path_of
from productrecs.entrypoints.http.transport.asgi_cycle import send_in_single_write
from productrecs.entrypoints.http.transport.error_body import (
    JSON,
    ErrorBody,
    ErrorCode,
    FailedRequest,
    build_error_body,
)
from productrecs.entrypoints.http.transport.header_cache import Header, valid_request_id

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.authentication import Caller, Route
    from productrecs.tenancy.billing.call_meter import Meter

_log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

_NO_STORE: Final[Header] = (b"cache-control", b"no-store")
_CLOSE: Final[Header] = (b"connection", b"close")
_OK: Final = 200
_UNCHANGED: Final = 304
_FIRST_FAILURE: Final = 300
_SERVER_ERROR: Final = 500
_ANY_PAGE: Final[Header] = (b"timing-allow-origin", b"*")


def _lines(headers: Iterable[Header]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


_ABOUT: Final = (
    b"content-length: %d\r\nx-request-id: %b\r\n" + _lines((VERSION, _NO_STORE)) + b"%b\r\n"
)
_HEAD: Final = STATUS_LINE[_OK] + b"content-type: application/json\r\n" + _ABOUT
_OPEN_LINES: Final = _lines(ANY_ORIGIN_HEADERS)


def raw_response(body: bytes, request_id: bytes, own: Iterable[Header]) -> bytes:
    """Return a success with a JSON body as it goes over the wire; `own` are its headers."""
    lines = _OPEN_LINES if own is ANY_ORIGIN_HEADERS else _lines(own)
    return _HEAD % (len(body), request_id, lines) + body


def raw_error_response(
    why: ErrorCode, form: ErrorBody, request_id: bytes, own: Iterable[Header]
) -> bytes:
    """Return a refusal as it goes over the wire; `own` are its headers."""
    kind = STATUS_LINE[why.status] + b"content-type: " + form.content_type + b"\r\n"
    about = _ABOUT % (len(form.body), request_id, _lines(own))
    return kind + about + form.body


class ServerInfo(Protocol):
    """What a request asks of the gate that it came through."""

    @property
    def is_draining(self) -> bool:
        """Whether the process is shutting down: connections should not be kept."""

    def base_of(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the address that a request came to."""

    def new_request_id(self) -> bytes:
        """Return an id that no other request of any process has."""

    def retry_after(self) -> bytes:
        """Return after how many seconds a refused request may come again."""


class HttpExchange:
    """One request on its way through the gate, and how it is answered."""

    __slots__ = (
        "_gate",
        "_request_id",
        "_send",
        "allow",
        "caller",
        "cors",
        "headers",
        "limits",
        "meter",
        "query",
        "route",
        "scope",
        "started",
        "started_at",
        "status",
    )

    def __init__(
        self, gate: ServerInfo, scope: Scope, headers: dict[bytes, bytes], send: Send
    ) -> None:
        """Begin with what came in; nothing is answered yet."""
        self._gate = gate
        self._send = send
        self.scope = scope
        self.headers = headers
        self.query = parse_plain_query(scope["query_string"])
        self._request_id = valid_request_id(headers) or gate.new_request_id()
        self.caller: Caller | None = None
        self.cors: Sequence[Header] = ANY_ORIGIN_HEADERS
        self.limits: Sequence[Header] = ()  # what the reply says of plan and pace
        self.meter: Meter | None = None  # that counts the reply, if it is a success
        self.allow = ""
        self.route: Route | None = None
        self.started = False
        self.status = 0  # of the answer, once it has begun
        self.started_at = time.monotonic()

    @property
    def request_id(self) -> str:
        """The id that the reply, the log and an error's body carry."""
        return self._request_id.decode()

    def facts(self, status: int) -> dict[str, object]:
        """Return what the log says of this request: nothing of keys or shoppers."""
        return {
            "request_id": self.request_id,
            "method": self.scope["method"],
            "path": self.scope["path"] if self.route else "(unknown)",
            "status": status,
            "store": self.caller.store.store_id if self.caller else None,
            "ms": round((time.monotonic() - self.started_at) * 1000, 1),
        }

    async def reply(
        self,
        status: int,
        body: bytes,
        extra: Iterable[Header] = (),
        content_type: bytes = JSON,
        cache: Header = _NO_STORE,
    ) -> None:
        """Answer with a JSON body (or none), unless an answer has begun."""
        if self.started:
            return
        self.started = True
        self.status = status
        if self.meter is not None and status < _FIRST_FAILURE:
            self.meter.count()
        if self.route is not None and self.route.sends_timing:
            extra = (*extra, *self._timing())
        if status == _OK and cache is _NO_STORE and self._answered_whole(body, extra):
            return
        about = [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
        headers = [
            *(() if status == _UNCHANGED else about),  # it would tell of another body
            (b"x-request-id", self._request_id),
            VERSION,
            cache,
            *self.cors,
            *self.limits,
            *extra,
        ]
        if self._gate.is_draining:
            headers.append(_CLOSE)
        await self._send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        await self._send({"type": "http.response.body", "body": body})
        if status >= _SERVER_ERROR:
            _log.warning("a request was refused", extra=self.facts(status))

    async def reply_conditional(self, body: bytes, seconds: int) -> None:
        """Answer with a body that the caller may keep so long, and then ask about."""
        sent = self.headers.get(b"if-none-match")
        it = conditional_response(body, seconds, sent.decode("latin-1") if sent else None)
        extra, cache = [(b"etag", it.tag.encode())], (b"cache-control", it.cache)
        await self.reply(it.status, it.body, extra, cache=cache)

    def _timing(self) -> tuple[Header, Header]:
        """Return how long the answer took here, for the browser's own tools."""
        took = (time.monotonic() - self.started_at) * 1000
        return (b"server-timing", b"total;dur=%.1f" % took), _ANY_PAGE

    def _answered_whole(self, body: bytes, extra: Iterable[Header]) -> bool:
        if self._gate.is_draining:
            return False
        own = (*self.cors, *self.limits, *extra) if self.limits or extra else self.cors
        return send_in_single_write(self.scope, raw_response(body, self._request_id, own))

    async def refuse(self, why: ErrorCode, detail: str, after: int | None = None) -> None:
        """Answer with an error's body; `after` so many seconds it may come again."""
        extra: list[Header] = []
        if why.is_transient:
            wait = self._gate.retry_after() if after is None else b"%d" % after
            extra.append((b"retry-after", wait))
        if why.status == 401:  # noqa: PLR2004 - HTTP
            extra.append((b"www-authenticate", b'Bearer realm="productrecs"'))
        if self.allow:
            extra.append((b"allow", self.allow.encode()))
        asked = FailedRequest(
            self.request_id,
            self._gate.base_of(self.headers),
            raw_path_of(self.scope),
            self.headers.get(b"accept", b""),
        )
        form = build_error_body(why, detail, asked)
        await self.reply(why.status, form.body, extra, form.content_type)

    async def forward(self, message: Message) -> None:
        """Send what a declared route answers, with the headers that every reply has."""
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            added = [(b"x-request-id", self._request_id), VERSION]
            added += (*self.cors, *self.limits)
            if self.route is not None and self.route.sends_timing:
                added += self._timing()
            if self.meter is not None and self.status < _FIRST_FAILURE:
                self.meter.count()
            if not any(name == b"cache-control" for name, _ in message["headers"]):
                added.append(_NO_STORE)  # only pages say otherwise
            if self._gate.is_draining:
                added.append(_CLOSE)
            message = {**message, "headers": [*message["headers"], *added]}
            if message["status"] >= _SERVER_ERROR:
                _log.warning("a request was refused", extra=self.facts(message["status"]))
        await self._send(message)
