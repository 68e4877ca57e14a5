"""How long may a client keep us waiting, and how much may it send before it has asked?

uvicorn parses HTTP and runs the application; it sets no limit on a client that sends its
request a byte a minute, never ends its headers or never reads the reply. These limits cost
nothing while a request is answered: a look every few seconds finds the slow ones, and the
idle ones too, for which uvicorn would set a timer after each reply.
"""

import asyncio
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from weakref import ref

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from productrecs.core.ids import random_text
from productrecs.entrypoints.http.admission import Admission, Limits
from productrecs.entrypoints.http.errors import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    OVERLOADED,
    Answer,
    Asked,
    refusal,
)
from productrecs.entrypoints.http.heads import Head, Heads

if TYPE_CHECKING:
    from productrecs.entrypoints.http.line import Line

HEAD_LIMIT_BYTES: Final = 64 * 1024
WHOLE: Final = "productrecs.whole"

AtOnce = Callable[[bytes, Head, str], bytes | None]


def answer_whole(scope: MutableMapping[str, Any], reply: bytes) -> bool:
    """Send a complete reply in one write; return whether that was possible.

    uvicorn's own way checks each header again and writes twice: a third of the time that a
    kept reply takes. Where anything is out of the ordinary (HEAD, the last reply of a
    connection, a client that does not read, another server) nothing is sent.
    """
    found: ref[RequestResponseCycle] | None = scope.get(WHOLE)
    cycle = None if found is None else found()
    if (
        cycle is None
        or cycle.response_started
        or cycle.disconnected
        or not cycle.keep_alive
        or cycle.flow.write_paused
        or cycle.scope["method"] == "HEAD"
    ):
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.transport.write(reply)
    cycle.message_event.set()
    cycle.on_response()
    return True


class Draining:
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


class State(ServerState):
    """What the connections of one process share.

    `at_once` may return the whole reply to a GET of a target with a head, from an address;
    None leaves the request to the application. Calls may have to wait in the `line`.
    `heads` are those that were answered so before.
    """

    def __init__(self, draining: Draining, limits: Limits | None = None) -> None:
        """Begin without connections."""
        super().__init__()
        self.draining = draining
        self.admission = Admission(limits)
        self.at_once: AtOnce = _never
        self.heads = Heads()
        self.line: Line | None = None


@dataclass(frozen=True, slots=True)
class Patience:
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


class Connection(HttpToolsProtocol):
    """One client's connection."""

    def __init__(
        self,
        config: Config,
        server_state: State,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Be ready for the transport."""
        super().__init__(config, server_state, app_state, _loop)
        self._state = server_state
        self._draining = server_state.draining
        self._admission = server_state.admission
        self.waiting: list[bytes] = []  # of what came, the pieces that are not read yet
        self._requests = 0
        self._may_answer_at_once = False
        self._piece = b""  # where the present head began, if nothing came before it there
        self._is_in_message = False
        self._is_in_head = False
        self._head_bytes = 0
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
        return not self._is_in_head and not self.is_answering

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless it has to wait."""
        line = self._state.line
        if line is None or not line.takes(self, data):
            self.take(data)

    def take_waiting(self) -> None:
        """Parse the first piece that waits, unless the client is gone."""
        if self.transport.is_closing():
            self.waiting.clear()
            return
        data = self.waiting.pop(0)
        if not self.waiting:
            self.flow.resume_reading()
        self.take(data)

    def come_no_further(self) -> None:
        """Read no more until what waits is read."""
        self.flow.pause_reading()

    def take(self, data: bytes) -> None:
        """Parse what came; a head without end is refused."""
        self._may_answer_at_once = True
        if not self._is_in_message:
            if self._is_answered_as_before(data):
                return
            self._piece = data
        went_on = self._is_in_head or self.is_fresh
        super().data_received(data)
        self._piece = b""
        if not self._is_in_head:
            self._head_bytes = 0
            return
        # Where another head begins, most of what came may be the body before it: that of a
        # request that was refused unread comes all the same.
        self._head_bytes += len(data) if went_on else 1
        if self._head_bytes > HEAD_LIMIT_BYTES and not self.transport.is_closing():
            self._refuse(HEADERS_TOO_LARGE, "send fewer or shorter headers")

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        super().on_message_begin()
        self._is_in_message = self._is_in_head = True

    def on_headers_complete(self) -> None:
        """Start to answer; the last request of a connection when the process stops."""
        if self._is_answered_at_once():
            self._came()
            return
        super().on_headers_complete()
        # A plain reference would make a circle, for the cycle holds the scope: what every
        # request left behind then stopped all others for 20 ms whenever it was collected.
        cast("dict[str, Any]", self.scope)[WHOLE] = ref(self.cycle)
        self._came()
        if self._draining:
            self.part()

    def on_message_complete(self) -> None:
        """Note that the body is whole, where the application waits for it."""
        self._is_in_message = False
        if self.cycle is not None:
            super().on_message_complete()

    def _came(self) -> None:
        if self._requests == 0:
            self._admission.heard(self)
        self._requests += 1
        self._is_in_head = False
        self._body_bytes = 0

    def _is_answered_as_before(self, data: bytes) -> bool:
        """Answer a call whose head came before, unparsed; return whether that was done."""
        found = self._state.heads.find(data)
        if found is None or not self._is_free() or not self._answers(*found):
            return False
        self._came()
        return True

    def _is_answered_at_once(self) -> bool:
        """Answer where nothing has to be waited for; return whether that was done.

        One request of those that came together at most: the event loop has others.
        """
        parser = self.parser
        if (
            not self._may_answer_at_once
            or not self._is_free()
            or parser.get_method() != b"GET"
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
        ):
            return False
        head = Head.of(self.headers)
        if not self._answers(self.url, head):
            return False
        self._state.heads.learn(self._piece, self.url, head)
        return True

    def _is_free(self) -> bool:
        """Whether a reply may be sent right now."""
        return not (
            self.is_answering
            or self._draining
            or self.flow.write_paused
            or self.transport.is_closing()
        )

    def _answers(self, target: bytes, head: Head) -> bool:
        """Answer a GET if that is possible at once; return whether it was."""
        reply = self._state.at_once(target, head, self._address)
        self._may_answer_at_once = False  # whatever came of it
        if reply is None:
            return False
        self.transport.write(reply)
        self._state.total_requests += 1
        return True

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Go on with the next request, if one waits already."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    def part(self) -> None:
        """Let the connection end with the answer in hand, which says so."""
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close at once when idle, else with the answer to the request that is coming."""
        if self._head_bytes == 0 and not self.waiting:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the form that every refusal has."""
        self._refuse(BAD_REQUEST, msg)

    def is_overdue(self, now: float, patience: Patience) -> bool:
        """Return whether the client has kept us waiting for longer than it may.

        Ask every few seconds, with the same clock; what did not change in between counts.
        """
        wait = self._waits_for(patience)
        if wait != self._wait:
            self._wait, self._wait_began = wait, now
        return wait is not None and now - self._wait_began > wait.seconds

    def _waits_for(self, patience: Patience) -> _Wait | None:
        if self.transport.is_closing() or self.flow.write_paused:
            unread = self.transport.get_write_buffer_size()
            return _Wait(patience.reading, "reading", unread)
        if self.waiting:
            return None  # it waits for us
        if not self.is_answering:
            if self.is_fresh or self._is_in_head:
                return _Wait(patience.head, "head", self._requests)
            return _Wait(patience.idle, "idle", self._requests)
        if self.cycle.more_body and not self.flow.read_paused:
            came = self._body_bytes // patience.body_bytes
            return _Wait(patience.body, "body", (self._requests, came))
        return None

    def _refuse(self, why: Answer, detail: str) -> None:
        request_id = random_text(20)
        body = refusal(why, detail, Asked(request_id)).body
        lines = (
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"x-request-id: " + request_id.encode(),
            b"access-control-allow-origin: *",  # of whichever store it would have been
            b"cache-control: no-store",
            b"connection: close",
            *((b"retry-after: 1",) if why.is_passing else ()),
        )
        self.transport.write(STATUS_LINE[why.status] + b"\r\n".join((*lines, b"", body)))
        self.transport.close()
