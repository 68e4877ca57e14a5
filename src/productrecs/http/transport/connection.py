"""HTTP connection: the protocol of one client connection, with its timeouts.

Our parser reads requests and uvicorn runs the application. uvicorn has no timeout for a
client that sends slowly or never reads the reply. The timeouts here add no cost to a
request: one pass per second over all connections finds the overdue ones. A complete reply
leaves in one write.
"""

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote
from weakref import ref

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from productrecs.core.ids import random_text
from productrecs.http.limits.connection_limits import ConnectionLimiter, MaxConnections
from productrecs.http.transport.error_body import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    OVERLOADED,
    ErrorCode,
    FailedRequest,
    build_error_body,
)
from productrecs.http.transport.header_cache import HeaderCache
from productrecs.http.transport.request_parser import (
    HeadersTooLargeError,
    MalformedRequestError,
    ParsedRequest,
    RequestHeaders,
    RequestParser,
)

if TYPE_CHECKING:
    from productrecs.http.limits.load_shedding import ListRequestQueue


SINGLE_WRITE_KEY: Final = "productrecs.whole"


class AsgiCycle(RequestResponseCycle):
    """One request and its response."""

    async def send(self, message: Any) -> None:
        """Close after the reply if 100 Continue was not sent: a body may follow."""
        if self.waiting_for_100_continue and not self.response_started:
            self.keep_alive = False
        await super().send(message)


def asgi_scope_of(request: ParsedRequest, connection: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ASGI scope of a request; `connection` has the connection's entries."""
    raw_path, _, query = request.target.partition(b"?")
    path = raw_path.decode("ascii")
    return {
        **connection,
        "type": "http",
        "http_version": request.version,
        "method": request.method.decode("ascii"),
        "path": unquote(path) if "%" in path else path,
        "raw_path": raw_path,
        "query_string": query,
        "headers": request.headers.lines,
    }


def allow_single_write(cycle: AsgiCycle, scope: MutableMapping[str, Any]) -> None:
    """Let `send_in_single_write` find the cycle of a scope.

    The reference is weak, because the cycle holds the scope. Garbage collection of such
    reference cycles paused all requests for 20 ms.
    """
    scope[SINGLE_WRITE_KEY] = ref(cycle)


def send_in_single_write(scope: MutableMapping[str, Any], reply: bytes) -> bool:
    """Send a complete reply in one write; return whether that was possible.

    uvicorn validates each header again and writes twice, which takes a third of the time
    of a cached reply. Nothing is sent for HEAD, for the last reply of a connection, to a
    client that does not read, or with another server.
    """
    cycle_ref: ref[AsgiCycle] | None = scope.get(SINGLE_WRITE_KEY)
    cycle = None if cycle_ref is None else cycle_ref()
    if (
        cycle is None
        or cycle.response_started
        or cycle.disconnected
        or not cycle.keep_alive
        or cycle.waiting_for_100_continue
        or cycle.flow.write_paused
        or cycle.scope["method"] == "HEAD"
    ):
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.transport.write(reply)
    cycle.message_event.set()
    cycle.on_response()
    return True


FastPathHandler = Callable[[bytes, RequestHeaders, str], bytes | None]


class DrainFlag:
    """True once this process is about to stop."""

    def __init__(self) -> None:
        """Start as false."""
        self._begun = False

    def begin(self) -> None:
        """Become true."""
        self._begun = True

    def __bool__(self) -> bool:
        """Return whether the process is about to stop."""
        return self._begun


def _no_reply(*_: object) -> bytes | None:
    return None


class SharedTransportState(ServerState):
    """State that all connections of one process share.

    `fast_path` is the fast path: it returns the whole reply to a GET from its target, its
    headers and the client's address, or None to leave it to the application.
    `request_queue` is the queue of list requests. `header_cache` has the headers of
    fast-path requests.
    """

    def __init__(self, draining: DrainFlag, limits: MaxConnections | None = None) -> None:
        """Start without connections."""
        super().__init__()
        self.draining = draining
        self.admission = ConnectionLimiter(limits)
        self.fast_path: FastPathHandler = _no_reply
        self.header_cache = HeaderCache()
        self.request_queue: ListRequestQueue | None = None


@dataclass(frozen=True, slots=True)
class ClientTimeouts:
    """How many seconds each state of a connection may last."""

    idle: float = 15  # between a reply and the next request
    head: float = 10
    body: float = 30  # until the body ends or `body_bytes` more arrive
    reading: float = 30  # while the client does not read the reply
    body_bytes: int = 64 * 1024


class _PendingWait(NamedTuple):
    """What a connection waits for; an equal value is the same wait."""

    seconds: float
    phase: str
    progress: int | tuple[int, int]


class HttpConnection(HttpToolsProtocol):
    """The asyncio protocol of one client connection."""

    def __init__(
        self,
        config: Config,
        server_state: SharedTransportState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Prepare for the transport."""
        super().__init__(config, server_state, app_state, _loop)
        self._state = server_state
        self._draining = server_state.draining
        self._admission = server_state.admission
        self.waiting: list[bytes] = []  # received chunks that are not parsed yet
        self.parser = None  # type: ignore[assignment]  # uvicorn's; ours is `_parser`
        self._parser = RequestParser()
        self._requests = 0
        self._may_use_fast_path = False
        self._chunk = b""  # the chunk that starts with the present headers
        self._body_bytes = 0
        self._wait: _PendingWait | None = None
        self._wait_started = 0.0

    @property
    def is_answering(self) -> bool:
        """Whether the reply to an arrived request is incomplete."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first
        return cycle is not None and not cycle.response_complete

    @property
    def is_fresh(self) -> bool:
        """Whether no request has arrived yet."""
        return self._requests == 0

    def connection_made(  # type: ignore[override]  # uvicorn narrows it too
        self, transport: asyncio.Transport
    ) -> None:
        """Start, or refuse the connection when there are too many."""
        super().connection_made(transport)
        if not self._admission.count_and_accept(self, self._client_address):
            words = "too many connections are open; close some, or retry in a moment"
            self._reject_and_close(OVERLOADED, words)

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        super().connection_lost(exc)
        self._admission.count_closed(self, self._client_address)

    def cut(self) -> None:
        """Close at once, to free a connection for other clients."""
        self.transport.abort()

    @property
    def _client_address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def is_between_requests(self) -> bool:
        """Whether the next byte starts a request."""
        return self._parser.is_between_messages and not self.is_answering

    def data_received(self, data: bytes) -> None:
        """Parse received data, unless it has to wait in the request queue."""
        request_queue = self._state.request_queue
        if request_queue is None or not request_queue.queue_if_busy(self, data):
            self.parse_and_answer(data)

    def parse_first_waiting_chunk(self) -> None:
        """Parse the first waiting chunk, unless the client is gone."""
        if self.transport.is_closing():
            self.waiting.clear()
            return
        data = self.waiting.pop(0)
        if not self.waiting:
            self.flow.resume_reading()
        self.parse_and_answer(data)

    def pause_client(self) -> None:
        """Stop reading until the waiting chunks are parsed."""
        self.flow.pause_reading()

    def parse_and_answer(self, data: bytes) -> None:
        """Parse received data, and start to answer complete requests."""
        self._may_use_fast_path = True
        if self._parser.is_between_messages:
            if self._try_answer_with_cached_header(data):
                return
            self._chunk = data
        self._parse_or_reject(data)
        self._chunk = b""

    def _parse_or_reject(self, data: bytes | None = None) -> None:
        """Parse received or buffered data; reject malformed requests."""
        try:
            if data is None:
                self._parser.resume(self)
            else:
                self._parser.feed(data, self)
        except MalformedRequestError as error:
            self._reject_and_close(BAD_REQUEST, str(error))
        except HeadersTooLargeError:
            self._reject_and_close(HEADERS_TOO_LARGE, "send fewer or shorter headers")
        if self._parser.is_in_head and self.is_answering:
            self.flow.pause_reading()

    def on_request(self, request: ParsedRequest) -> None:
        """Start to answer; while draining, the connection closes after this reply."""
        if not self._try_answer_fast(request):
            self._start_cycle(request)
        self._count_request_and_reset_body_bytes()
        if self._draining:
            self.close_after_reply()

    def _start_cycle(self, request: ParsedRequest) -> None:
        scope: Any = asgi_scope_of(
            request,
            {
                "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
                "server": self.server,
                "client": self.client,
                "scheme": self.scheme,
                "root_path": "",
                "state": self.app_state.copy(),
            },
        )
        self.cycle = AsgiCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=request.expects_continue,
            keep_alive=request.keeps_alive,
            on_response=self.on_response_complete,
        )
        allow_single_write(self.cycle, scope)
        self._start_asgi_task(self.cycle, self.app)

    def _count_request_and_reset_body_bytes(self) -> None:
        if self._requests == 0:
            self._admission.record_request(self)
        self._requests += 1
        self._body_bytes = 0

    def _try_answer_with_cached_header(self, data: bytes) -> bool:
        """Answer a request with cached headers; return whether it was answered."""
        found = self._state.header_cache.find_target_and_headers(data)
        if (
            found is None
            or not self._can_reply_now()
            or not self._try_write_fast_reply(*found)
        ):
            return False
        self._count_request_and_reset_body_bytes()
        return True

    def _try_answer_fast(self, request: ParsedRequest) -> bool:
        """Answer on the fast path; return whether the request was answered.

        At most one request of a chunk, because the others block the event loop.
        """
        if (
            not self._may_use_fast_path
            or request.method != b"GET"
            or not request.keeps_alive
            or not self._can_reply_now()
            or not self._try_write_fast_reply(request.target, request.headers)
        ):
            return False
        self._state.header_cache.add_if_cacheable(
            self._chunk, request.target, request.headers
        )
        return True

    def _can_reply_now(self) -> bool:
        """Whether a reply may be sent now."""
        return not (
            self.is_answering
            or self._draining
            or self.flow.write_paused
            or self.transport.is_closing()
        )

    def _try_write_fast_reply(self, target: bytes, head: RequestHeaders) -> bool:
        """Answer a GET on the fast path; return whether it was answered."""
        reply = self._state.fast_path(target, head, self._client_address)
        self._may_use_fast_path = False  # once per chunk
        if reply is None:
            return False
        self.transport.write(reply)
        self._state.total_requests += 1
        return True

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body, unless the request is already answered."""
        self._body_bytes += len(body)
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.waiting_for_100_continue = False
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """Signal to the application that the body is complete."""
        if self.is_answering:
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Continue with the next request, if one has arrived."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if not self._parser.is_between_messages:
            self._may_use_fast_path = False
            self._parse_or_reject()

    def close_after_reply(self) -> None:
        """Close after the present reply, which has `Connection: close`."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first
        if cycle is not None and not self._parser.is_in_head:
            cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close now when idle, else after the reply to the arriving request."""
        if not self._parser.is_in_head and not self.waiting:
            super().shutdown()

    def update_wait_and_check_overdue(self, now: float, timeouts: ClientTimeouts) -> bool:
        """Return whether the client is over a timeout.

        Call it every second or so, with the same clock.
        """
        wait = self._pending_wait(timeouts)
        if wait != self._wait:
            self._wait, self._wait_started = wait, now
        return wait is not None and now - self._wait_started > wait.seconds

    def _pending_wait(self, timeouts: ClientTimeouts) -> _PendingWait | None:
        if self.transport.is_closing() or self.flow.write_paused:
            unread = self.transport.get_write_buffer_size()
            return _PendingWait(timeouts.reading, "reading", unread)
        if self.waiting:
            return None  # the client waits for the reply
        if not self.is_answering:
            if self.is_fresh or self._parser.is_in_head:
                return _PendingWait(timeouts.head, "head", self._requests)
            return _PendingWait(timeouts.idle, "idle", self._requests)
        if self.cycle.more_body and not self.flow.read_paused:
            received = self._body_bytes // timeouts.body_bytes
            return _PendingWait(timeouts.body, "body", (self._requests, received))
        return None

    def _reject_and_close(self, code: ErrorCode, detail: str) -> None:
        """Send an error and close; a request has at most one reply."""
        if self._parser.is_in_body:
            if self.cycle.response_started:
                self.transport.close()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        request_id = random_text(20)
        body = build_error_body(code, detail, FailedRequest(request_id)).body
        lines = (
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"x-request-id: " + request_id.encode(),
            b"access-control-allow-origin: *",  # the store is unknown
            b"cache-control: no-store",
            b"connection: close",
            *((b"retry-after: 1",) if code.is_transient else ()),
        )
        self.transport.write(STATUS_LINE[code.status] + b"\r\n".join((*lines, b"", body)))
        self.transport.close()
