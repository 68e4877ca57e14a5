"""HTTP exchange: one request in the dispatcher, and its reply.

It adds the common headers to every reply, and counts metered replies.
"""

import itertools
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote_to_bytes

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from productrecs.core.errors import ProductRecsError
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.http.dispatch.admission import Admission
from productrecs.http.limits.bot_detection import SHOPPER_PARAMETERS
from productrecs.http.pipeline.cors import ANY_ORIGIN_HEADERS
from productrecs.http.pipeline.error_responses import (
    LOGGED_ERROR,
    error_code_of,
    record_error_code,
    retry_after_of,
)
from productrecs.http.pipeline.etag_responses import conditional_response
from productrecs.http.pipeline.search_count_recorder import IS_BOT
from productrecs.http.pipeline.url_decoding_and_base_url import raw_path_of
from productrecs.http.transport.connection import send_in_single_write
from productrecs.http.transport.error_body import (
    JSON,
    ErrorBody,
    ErrorCode,
    FailedRequest,
    build_error_body,
)
from productrecs.http.transport.request_parser import Header, valid_request_id

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_declaration import Route

INTERFACE_VERSION: Final = "3.0.0"
"""The version of the HTTP interface; the program has its own version."""
VERSION_HEADER: Final = (b"x-api-version", INTERFACE_VERSION.encode())


_log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

_PRINTED: Final = re.compile(rb"[!-~]+")
_NO_STORE: Final[Header] = (b"cache-control", b"no-store")
_CLOSE: Final[Header] = (b"connection", b"close")
_OK: Final = 200
_NOT_MODIFIED: Final = 304
_MULTIPLE_CHOICES: Final = 300
_PROBES: Final = frozenset({"/", "/health/ready"})
_SERVER_ERROR: Final = 500
_QUIET_SECONDS: Final = 5.0  # without a 5xx of a route before its outage is over
LOGGED_REFUSALS: Final = frozenset({401, 402, 403, 413, 415, 422})
"""The statuses of calls that a shop's developer or the operator has to correct."""
_refusals: dict[tuple[str | None, int, str], OutageLogLimiter] = {}
_rejections: dict[tuple[int, str], OutageLogLimiter] = {}  # of each route and method
_TIMING_FOR_ANY_ORIGIN: Final[Header] = (b"timing-allow-origin", b"*")


def _header_lines(headers: Iterable[Header]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


_COMMON_LINES: Final = (
    b"content-length: %d\r\nx-request-id: %b\r\n"
    + _header_lines((VERSION_HEADER, _NO_STORE))
    + b"%b\r\n"
)
_OK_LINES: Final = STATUS_LINE[_OK] + b"content-type: application/json\r\n" + _COMMON_LINES
_ANY_ORIGIN_LINES: Final = _header_lines(ANY_ORIGIN_HEADERS)


def raw_ok_response(
    body: bytes, request_id: bytes, extra_headers: Iterable[Header]
) -> bytes:
    """Return the bytes of a 200 response with a JSON body."""
    lines = (
        _ANY_ORIGIN_LINES
        if extra_headers is ANY_ORIGIN_HEADERS
        else _header_lines(extra_headers)
    )
    return _OK_LINES % (len(body), request_id, lines) + body


def raw_error_response(
    code: ErrorCode,
    error_body: ErrorBody,
    request_id: bytes,
    extra_headers: Iterable[Header],
) -> bytes:
    """Return the bytes of an error response."""
    start = STATUS_LINE[code.status] + b"content-type: " + error_body.content_type + b"\r\n"
    lines = _COMMON_LINES % (len(error_body.body), request_id, _header_lines(extra_headers))
    return start + lines + error_body.body


def parse_plain_query(query_string: bytes) -> dict[str, str] | None:
    """Return the parameters of a query string; None if it is unusual.

    Unusual: a repeated name, text that is not UTF-8, or characters that no URL may contain.
    The declared route handles those.
    """
    parameters: dict[str, str] = {}
    if not query_string:
        return parameters
    if not _PRINTED.fullmatch(query_string):
        return None
    for pair in query_string.decode("ascii").split("&"):
        name, separator, value = pair.partition("=")
        if not separator or name in parameters or "%" in name or "+" in name:
            return None
        if "%" in value or "+" in value:
            try:
                value = unquote_to_bytes(value.replace("+", " ")).decode()
            except UnicodeDecodeError:
                return None
        parameters[name] = value
    return parameters


def without_shopper_parameters(query_string: bytes) -> bytes:
    """Return a query string without the parameters that name the shopper."""
    return b"&".join(
        pair
        for pair in query_string.split(b"&")
        if pair.partition(b"=")[0].decode("latin-1") not in SHOPPER_PARAMETERS
    )


def request_id_generator() -> Callable[[], bytes]:
    """Return a function that returns ids unique across processes."""
    prefix, numbers = secrets.token_hex(6).encode(), itertools.count()
    return lambda: b"%b%08x" % (prefix, next(numbers))


class ExchangeDispatcher(Protocol):
    """The dispatcher, as far as an exchange needs it."""

    new_request_id: Callable[[], bytes]

    @property
    def is_draining(self) -> bool:
        """Whether the process is shutting down: connections should close."""

    def base_url_of(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the base URL of a request."""

    def random_retry_after(self) -> bytes:
        """Return the Retry-After of a refused request, in seconds."""


class HttpExchange:
    """One request and its response."""

    __slots__ = (
        "_request_id",
        "_send",
        "_server",
        "admission",
        "allow",
        "headers",
        "query",
        "route",
        "scope",
        "started",
        "started_at",
        "status",
    )

    def __init__(
        self,
        server_info: ExchangeDispatcher,
        scope: Scope,
        headers: dict[bytes, bytes],
        send: Send,
    ) -> None:
        """Start unanswered."""
        self._server = server_info
        self._send = send
        self.scope = scope
        self.headers = headers
        self.query = parse_plain_query(scope["query_string"])
        self._request_id = valid_request_id(headers) or server_info.new_request_id()
        self.admission = Admission()  # until it is decided
        self.allow = ""
        self.route: Route | None = None
        self.started = False
        self.status = 0  # of the response, once it has started
        self.started_at = time.monotonic()

    @property
    def request_id(self) -> str:
        """The id in the reply, the log and an error's body."""
        return self._request_id.decode()

    def log_fields(self, status: int) -> dict[str, object]:
        """Return the log fields of this request: no keys, no shoppers."""
        return {
            "request_id": self.request_id,
            "method": self.scope["method"],
            "path": self.scope["path"] if self.route else "(unknown)",
            "status": status,
            "store": self.admission.caller.store.store_id
            if self.admission.caller
            else None,
            "ms": round((time.monotonic() - self.started_at) * 1000, 1),
            **self.scope.get(LOGGED_ERROR, {}),
        }

    def log_server_error_or_recovery(self) -> None:
        """Log a 5xx: a route's first, one a minute and the end; others at debug.

        A probe of a service that starts or stops is expected.
        """
        route_and_method = id(self.route), self.scope["method"]
        if self.status < _SERVER_ERROR:
            outage = _rejections.get(route_and_method)
            if outage is not None and outage.should_log_recovery(_QUIET_SECONDS):
                _log.info("requests accepted again", extra=self.log_fields(self.status))
            return
        is_probe = self.route is not None and self.scope["path"] in _PROBES
        is_due = (
            not is_probe
            and _rejections.setdefault(
                route_and_method, OutageLogLimiter()
            ).should_log_failure()
        )
        level = logging.WARNING if is_due else logging.DEBUG
        _log.log(level, "request rejected", extra=self.log_fields(self.status))

    def log_refusal(self) -> None:
        """Log the first refusal of a store, route and code, then one a minute."""
        caller, error = self.admission.caller, self.scope.get(LOGGED_ERROR, {})
        store_id = caller.store.store_id if caller else None
        kind = store_id, id(self.route), error.get("code", "")
        if _refusals.setdefault(kind, OutageLogLimiter()).should_log_failure():
            _log.info("request refused", extra=self.log_fields(self.status))

    def remove_shopper_and_mark_as_bot(self) -> None:
        """Answer a bot as a call without a shopper, whose searches are not counted."""
        query = without_shopper_parameters(self.scope["query_string"])
        self.scope["query_string"], self.scope[IS_BOT] = query, True
        self.query = parse_plain_query(query)

    async def reply(
        self,
        status: int,
        body: bytes,
        extra_headers: Iterable[Header] = (),
        content_type: bytes = JSON,
        cache_header: Header = _NO_STORE,
    ) -> None:
        """Answer with a JSON body (or none), unless a response has started."""
        if self.started:
            return
        self._record_start_and_meter(status)
        if self.route is not None and self.route.sends_timing:
            extra_headers = (*extra_headers, *self._server_timing_headers())
        is_plain = status == _OK and cache_header is _NO_STORE
        if is_plain and self._try_single_write(body, extra_headers):
            return
        body_headers = [
            (b"content-type", content_type),
            (b"content-length", b"%d" % len(body)),
        ]
        headers = [
            *(
                () if status == _NOT_MODIFIED else body_headers
            ),  # they describe a body; a 304 has none
            (b"x-request-id", self._request_id),
            VERSION_HEADER,
            cache_header,
            *self.admission.cors_headers,
            *self.admission.limit_headers,
            *extra_headers,
        ]
        if self._server.is_draining:
            headers.append(_CLOSE)
        await self._send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        await self._send({"type": "http.response.body", "body": body})

    def _record_start_and_meter(self, status: int) -> None:
        """Record that the response has started; a success counts for the plan."""
        self.started = True
        self.status = status
        if self.admission.meter is not None and status < _MULTIPLE_CHOICES:
            self.admission.meter.count_call()

    async def reply_conditional(self, body: bytes, max_age_seconds: int) -> None:
        """Answer with a body that browsers may cache, and revalidate by its ETag."""
        sent = self.headers.get(b"if-none-match")
        response = conditional_response(
            body, max_age_seconds, sent.decode("latin-1") if sent else None
        )
        etag_headers = [(b"etag", response.tag.encode())]
        cache_header = (b"cache-control", response.cache)
        await self.reply(
            response.status, response.body, etag_headers, cache_header=cache_header
        )

    def _server_timing_headers(self) -> tuple[Header, Header]:
        """Return the Server-Timing headers, for the browser's developer tools."""
        duration_ms = (time.monotonic() - self.started_at) * 1000
        return (b"server-timing", b"total;dur=%.1f" % duration_ms), _TIMING_FOR_ANY_ORIGIN

    def _try_single_write(self, body: bytes, extra_headers: Iterable[Header]) -> bool:
        if self._server.is_draining:
            return False
        added_headers = (
            (*self.admission.cors_headers, *self.admission.limit_headers, *extra_headers)
            if self.admission.limit_headers or extra_headers
            else self.admission.cors_headers
        )
        return send_in_single_write(
            self.scope, raw_ok_response(body, self._request_id, added_headers)
        )

    async def refuse(
        self, code: ErrorCode, detail: str, retry_after_seconds: int | None = None
    ) -> None:
        """Answer with an error body."""
        record_error_code(self.scope, code)
        extra_headers: list[Header] = []
        if code.is_transient:
            wait = self._server.random_retry_after()
            if retry_after_seconds is not None:
                wait = b"%d" % retry_after_seconds
            extra_headers.append((b"retry-after", wait))
        if code.status == 401:  # noqa: PLR2004 - HTTP
            extra_headers.append((b"www-authenticate", b'Bearer realm="productrecs"'))
        if self.allow:
            extra_headers.append((b"allow", self.allow.encode()))
        request_fields = FailedRequest(
            self.request_id,
            self._server.base_url_of(self.headers),
            raw_path_of(self.scope),
            self.headers.get(b"accept", b""),
        )
        error_body = build_error_body(code, detail, request_fields)
        await self.reply(
            code.status, error_body.body, extra_headers, error_body.content_type
        )

    async def refuse_expected_error(self, error: ProductRecsError) -> None:
        """Answer with the status and code of an expected error."""
        await self.refuse(error_code_of(error), str(error), retry_after_of(error))

    async def forward_with_common_headers(self, message: Message) -> None:
        """Send the reply of a declared route, with the headers that every reply has."""
        if message["type"] == "http.response.start":
            self._record_start_and_meter(message["status"])
            added_headers = [(b"x-request-id", self._request_id), VERSION_HEADER]
            added_headers += (*self.admission.cors_headers, *self.admission.limit_headers)
            if self.route is not None and self.route.sends_timing:
                added_headers += self._server_timing_headers()
            if not any(name == b"cache-control" for name, _ in message["headers"]):
                added_headers.append(_NO_STORE)  # only pages set their own
            if self._server.is_draining:
                added_headers.append(_CLOSE)
            message = {**message, "headers": [*message["headers"], *added_headers]}
        await self._send(message)
