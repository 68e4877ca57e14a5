"""HTTP connection: the protocol of one client connection, with its timeouts.

Our parser reads requests and uvicorn runs the application. uvicorn sets no limit on a
client that sends one byte a minute or never reads the reply. The timeouts here cost nothing
while a request is answered: every second, one pass over all connections finds those that
are overdue.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from productrecs.core.ids import random_text
from productrecs.entrypoints.http.limits.connection_limits import (
    ConnectionLimiter,
    ConnectionLimits,
)
from productrecs.entrypoints.http.transport.asgi_cycle import (
    AsgiCycle,
    allow_single_write,
    scope_of,
)
from productrecs.entrypoints.http.transport.error_body import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    OVERLOADED,
    ErrorCode,
    FailedRequest,
    build_error_body,
)
from productrecs.entrypoints.http.transport.header_cache import HeaderCache, RequestHead
from productrecs.entrypoints.http.transport.request_parser import (
    HeadersTooLargeError,
    MalformedRequestError,
    ParsedRequest,
    RequestParser,
)

if TYPE_CHECKING:
    from productrecs.entrypoints.http.limits.request_queue import RequestQueue

FastPathHandler = Callable[[bytes, RequestHead, str], bytes | None]


class DrainFlag:
    """True once this process is about to stop; whoever answers for it may ask."""

    def __init__(self) -> None:
        """Begin in service."""
        self._begun = False

    def begin(self) -> None:
        """Be true from now on."""
        self._begun = True

    def __bool__(self) -> bool:
        """Return whether the process is about to stop."""
        return self._begun


def _never(*_: object) -> bytes | None:
    return None


class TransportState(ServerState):
    """What the connections of one process share.

    `at_once` may return the whole reply to a GET of a target with a head, from an address;
    None leaves the request to the application. Calls may have to wait in the `line`.
    `heads` are those that were answered so before.
    """

    def __init__(self, draining: DrainFlag, limits: ConnectionLimits | None = None) -> None:
        """Begin without connections."""
        super().__init__()
        self.draining = draining
        self.admission = ConnectionLimiter(limits)
        self.at_once: FastPathHandler = _never
        self.heads = HeaderCache()
        self.line: RequestQueue | None = None


@dataclass(frozen=True, slots=True)
class ClientTimeouts:
    """For how many seconds we wait on a client."""

    idle: float = 15  # between a reply and the next request
    head: float = 10
    body: float = 30  # for the end of the body, or `body_bytes` more of it
    reading: float = 30  # without taking any of the reply
    body_bytes: int = 64 * 1024


class _Wait(NamedTuple):
    """What a connection waits for; the same wait goes on while all of it is equal."""

    seconds: float
    what: str
    mark: int | tuple[int, int]


class HttpConnection(HttpToolsProtocol):
    """One client's connection."""

    def __init__(
        self,
        config: Config,
        server_state: TransportState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Be ready for the transport."""
        super().__init__(config, server_state, app_state, _loop)
        self._state = server_state
        self._draining = server_state.draining
        self._admission = server_state.admission
        self.waiting: list[bytes] = []  # of what came, the pieces that are not read yet
        self.parser = None  # type: ignore[assignment]  # uvicorn's; ours reads instead
        self._parser = RequestParser()
        self._requests = 0
        self._may_answer_at_once = False
        self._piece = b""  # where the present head began, if nothing came before it there
        self._body_bytes = 0
        self._wait: _Wait | None = None
        self._wait_began = 0.0

    @property
    def is_answering(self) -> bool:
        """Whether a request has come whose answer is not complete."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first
        return cycle is not None and not cycle.response_complete

    @property
    def is_fresh(self) -> bool:
        """Whether no request has come yet."""
        return self._requests == 0

    def connection_made(  # type: ignore[override]  # uvicorn's own narrows it so
        self, transport: asyncio.Transport
    ) -> None:
        """Begin, or refuse at once where there are too many."""
        super().connection_made(transport)
        if not self._admission.enter(self, self._address):
            words = "too many connections are open; close some, or come again in a moment"
            self._refuse(OVERLOADED, words)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._admission.leave(self, self._address)

    def cut(self) -> None:
        """End at once, for others."""
        self.transport.abort()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def is_between_requests(self) -> bool:
        """Whether what comes next is the beginning of a request."""
        return self._parser.is_between_messages and not self.is_answering

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless it has to wait."""
        line = self._state.line
        if line is None or not line.hold_back(self, data):
            self.take(data)

    def read_waiting(self) -> None:
        """Parse the first piece that waits, unless the client is gone."""
        if self.transport.is_closing():
            self.waiting.clear()
            return
        data = self.waiting.pop(0)
        if not self.waiting:
            self.flow.resume_reading()
        self.take(data)

    def pause_client(self) -> None:
        """Read no more until what waits is read."""
        self.flow.pause_reading()

    def take(self, data: bytes) -> None:
        """Read what came, and answer what can be answered."""
        self._may_answer_at_once = True
        if self._parser.is_between_messages:
            if self._answer_by_known_header(data):
                return
            self._piece = data
        self._read(data)
        self._piece = b""

    def _read(self, data: bytes | None = None) -> None:
        """Read what came, or what is left of it; refuse what is no request."""
        try:
            if data is None:
                self._parser.go_on(self)
            else:
                self._parser.feed(data, self)
        except MalformedRequestError as error:
            self._refuse(BAD_REQUEST, str(error))
        except HeadersTooLargeError:
            self._refuse(HEADERS_TOO_LARGE, "send fewer or shorter headers")
        if self._parser.is_in_head and self.is_answering:
            self.flow.pause_reading()

    def on_request(self, request: ParsedRequest) -> None:
        """Start to answer; the last request of a connection when the process stops."""
        if not self._answer_fast(request):
            self._start(request)
        self._came()
        if self._draining:
            self.part()

    def _start(self, request: ParsedRequest) -> None:
        scope: Any = scope_of(
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

    def _came(self) -> None:
        if self._requests == 0:
            self._admission.note_request(self)
        self._requests += 1
        self._body_bytes = 0

    def _answer_by_known_header(self, data: bytes) -> bool:
        """Answer a call whose head came before, unparsed; return whether that was done."""
        found = self._state.heads.find(data)
        if found is None or not self._is_free() or not self._answers(*found):
            return False
        self._came()
        return True

    def _answer_fast(self, request: ParsedRequest) -> bool:
        """Answer where nothing has to be waited for; return whether it was done.

        One request of those that came together at most: the event loop has others.
        """
        if (
            not self._may_answer_at_once
            or request.method != b"GET"
            or not request.keeps_alive
            or not self._is_free()
            or not self._answers(request.target, request.head)
        ):
            return False
        self._state.heads.learn(self._piece, request.target, request.head)
        return True

    def _is_free(self) -> bool:
        """Whether a reply may be sent right now."""
        return not (
            self.is_answering
            or self._draining
            or self.flow.write_paused
            or self.transport.is_closing()
        )

    def _answers(self, target: bytes, head: RequestHead) -> bool:
        """Answer a GET if that is possible at once; return whether it was."""
        reply = self._state.at_once(target, head, self._address)
        self._may_answer_at_once = False  # whatever came of it
        if reply is None:
            return False
        self.transport.write(reply)
        self._state.total_requests += 1
        return True

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, unless the request is answered without it."""
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
        """Note that the body is whole, where the application waits for it."""
        if self.is_answering:
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Go on with the next request, if one waits already."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if not self._parser.is_between_messages:
            self._may_answer_at_once = False
            self._read()

    def part(self) -> None:
        """Let the connection end with the last reply to what has come, which says so."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first
        if cycle is not None and not self._parser.is_in_head:
            cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close at once when idle, else with the answer to the request that is coming."""
        if not self._parser.is_in_head and not self.waiting:
            super().shutdown()

    def is_overdue(self, now: float, patience: ClientTimeouts) -> bool:
        """Return whether the client has kept us waiting for longer than it may.

        Ask every few seconds, with the same clock; what did not change in between counts.
        """
        wait = self._waits_for(patience)
        if wait != self._wait:
            self._wait, self._wait_began = wait, now
        return wait is not None and now - self._wait_began > wait.seconds

    def _waits_for(self, patience: ClientTimeouts) -> _Wait | None:
        if self.transport.is_closing() or self.flow.write_paused:
            unread = self.transport.get_write_buffer_size()
            return _Wait(patience.reading, "reading", unread)
        if self.waiting:
            return None  # it waits for us
        if not self.is_answering:
            if self.is_fresh or self._parser.is_in_head:
                return _Wait(patience.head, "head", self._requests)
            return _Wait(patience.idle, "idle", self._requests)
        if self.cycle.more_body and not self.flow.read_paused:
            came = self._body_bytes // patience.body_bytes
            return _Wait(patience.body, "body", (self._requests, came))
        return None

    def _refuse(self, why: ErrorCode, detail: str) -> None:
        """Say why nothing more is read, and close; a request has one reply at most."""
        if self._parser.is_in_body:
            if self.cycle.response_started:
                self.transport.close()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        request_id = random_text(20)
        body = build_error_body(why, detail, FailedRequest(request_id)).body
        lines = (
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"x-request-id: " + request_id.encode(),
            b"access-control-allow-origin: *",  # of whichever store it would have been
            b"cache-control: no-store",
            b"connection: close",
            *((b"retry-after: 1",) if why.is_transient else ()),
        )
        self.transport.write(STATUS_LINE[why.status] + b"\r\n".join((*lines, b"", body)))
        self.transport.close()
