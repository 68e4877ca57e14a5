"""Server: one process listens, and stops without failing a request.

Graceful shutdown: readiness turns to 503 and every reply has `Connection: close`. The
process still accepts connections for the drain period, so that load balancers can react.
Then the kernel drops new connections, the accept queue is emptied, the socket is closed,
and every request that has arrived is answered.
"""

import asyncio
import contextlib
import ctypes
import logging
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Final

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from productrecs.http.limits.connection_limits import MaxConnections
from productrecs.http.transport.accept_balancer import AcceptBalancer
from productrecs.http.transport.connection import (
    ClientTimeouts,
    DrainFlag,
    HttpConnection,
    SharedTransportState,
)

_log = logging.getLogger(__name__)

Application = Callable[[Any, Any, Any], Awaitable[None]]

TIMEOUT_CHECK_SECONDS: Final = 1.0
FIRST_REQUEST_SECONDS: Final = 1.0
SETTLE_SECONDS: Final = 0.1  # longer than a TCP handshake
MAX_OPEN_FILES: Final = 65_536
BACKLOG: Final = 2_048


@dataclass(frozen=True, slots=True)
class HttpServerOptions:
    """Stop times, client timeouts, connection limits and the supervisor's socket.

    `parent_fd` is the descriptor of a socket whose other end the supervisor holds. A byte
    from it means that the whole service stops. When it closes, the process is an orphan and
    stops too. A supervised process leaves the terminal's interrupt and a second signal to
    the supervisor.
    """

    drain_seconds: float = 1.0
    finish_seconds: float = 30.0
    timeouts: ClientTimeouts = field(default_factory=ClientTimeouts)
    limits: MaxConnections = field(default_factory=MaxConnections)
    parent_fd: int | None = None
    on_check: Callable[[], None] = lambda: None  # called once a second by the event loop


def run_server(
    create: Callable[[SharedTransportState], Application],
    listener: socket.socket,
    options: HttpServerOptions,
    on_ready: Callable[[], None],
) -> None:
    """Answer requests from `listener` until SIGTERM, then drain and return.

    `on_ready` is called once connections are accepted.

    Raises:
        SystemExit: with status 3 when the application could not start; the log says why.
    """
    _raise_file_limit()
    listener.settimeout(0)
    state = SharedTransportState(DrainFlag(), options.limits)
    config = uvicorn.Config(
        create(state),
        interface="asgi3",
        loop="uvloop",
        http=HttpConnection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        backlog=BACKLOG,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    _Server(config, state, options, on_ready).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        state: SharedTransportState,
        options: HttpServerOptions,
        on_ready: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self.server_state: SharedTransportState = state
        self._accepting: list[AcceptBalancer] = []
        self._draining = state.draining
        self._options = options
        self._on_ready = on_ready
        self._stop_requested = asyncio.Event()
        self._skip_drain = asyncio.Event()
        # With a parent, other processes may use the same socket.
        self._owns_listener = options.parent_fd is None

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop gracefully at SIGTERM, with exit status 0."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)
        if self._options.parent_fd is not None:
            loop.add_reader(self._options.parent_fd, self._on_parent_message)
        yield

    def _on_signal(self, number: int) -> None:
        supervised = self._options.parent_fd is not None
        if supervised and number == signal.SIGINT:
            return  # the terminal signals all; the supervisor decides
        if self._stop_requested.is_set() and not supervised:
            self.force_exit = True
            self._skip_drain.set()
        self._stop_requested.set()

    def _on_parent_message(self) -> None:
        parent_fd = self._options.parent_fd
        if parent_fd is None:
            return
        try:
            received = os.read(parent_fd, 1024)
        except OSError:  # such as ECONNRESET: it ended without reading our last message
            received = b""
        if not received:
            asyncio.get_running_loop().remove_reader(parent_fd)
            self._skip_drain.set()  # an orphan must free the port
        self._owns_listener = True
        self._stop_requested.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then listen."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        loop = asyncio.get_running_loop()
        admission = self.server_state.admission
        self._accepting = [
            AcceptBalancer(
                listener,
                admission,
                lambda accepted: loop.connect_accepted_socket(
                    self._new_connection, accepted
                ),
            )
            for listener in sockets or []
        ]
        self.started = True

    async def main_loop(self) -> None:
        """Serve until a stop is requested, then for the drain period."""
        self._on_ready()
        self._timeout_checks = asyncio.create_task(
            self._check_and_close_overdue_periodically()
        )
        await self._stop_requested.wait()
        _log.info(
            "server draining", extra={"connections": len(self._open_http_connections())}
        )
        self._draining.begin()
        for connection in self._open_http_connections():
            connection.close_after_reply()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._skip_drain.wait(), self._options.drain_seconds)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer requests that have arrived, stop the application."""
        await self._stop_listening(sockets or [])
        await self._finish_requests()
        self._timeout_checks.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _stop_listening(self, sockets: list[socket.socket]) -> None:
        if self._owns_listener:
            for listener in sockets:
                _drop_new_connections(listener)
            await asyncio.sleep(SETTLE_SECONDS)
        late_connections = [
            connection for listener in sockets for connection in _accept_queued(listener)
        ]
        for balancer in self._accepting:
            balancer.close()
        for listener in sockets:
            listener.close()
        for balancer in self._accepting:
            await balancer.wait_until_accepted()
        loop = asyncio.get_running_loop()
        await asyncio.gather(
            *(
                loop.connect_accepted_socket(self._new_connection, sock)
                for sock in late_connections
            )
        )

    async def _finish_requests(self) -> None:
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        state = self.server_state
        while (state.connections or state.tasks) and not self.force_exit:
            waited = loop.time() - started_at
            if waited > self._options.finish_seconds:
                _log.error("requests cancelled", extra={"requests": len(state.tasks)})
                break
            for connection in self._open_http_connections():
                # A new connection gets time to send its request.
                if not (connection.is_fresh and waited < FIRST_REQUEST_SECONDS):
                    connection.shutdown()
            await asyncio.sleep(0.02)
        for task in list(state.tasks):
            task.cancel()

    async def _check_and_close_overdue_periodically(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TIMEOUT_CHECK_SECONDS)
            self._options.on_check()
            now = loop.time()
            for connection in self._open_http_connections():
                if connection.update_wait_and_check_overdue(now, self._options.timeouts):
                    connection.transport.abort()

    def _open_http_connections(self) -> list[HttpConnection]:
        return [
            connection
            for connection in self.server_state.connections
            if isinstance(connection, HttpConnection)
        ]

    def _new_connection(self) -> HttpConnection:
        return HttpConnection(self.config, self.server_state, self.lifespan.state)


# Socket filter: load byte 13 of the TCP header (the flags) and mask SYN and ACK; drop the
# packet if only SYN is set, which starts a connection, else accept it.
_DROP_SYN: Final = b"".join(
    struct.pack("=HBBI", *step)
    for step in ((0x30, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 0))
) + struct.pack("=HBBI", 0x06, 0, 0, 0xFFFFFFFF)
_SO_ATTACH_FILTER: Final = 26


def _drop_new_connections(listener: socket.socket) -> None:
    """Let the kernel drop new SYN packets; clients retry by themselves.

    A connection that completes between our last accept and the close would be reset.
    """
    program = ctypes.create_string_buffer(_DROP_SYN, len(_DROP_SYN))
    filtering = struct.pack("HP", len(_DROP_SYN) // 8, ctypes.addressof(program))
    with contextlib.suppress(OSError):  # not Linux: the close may reset a few connections
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filtering)


def _accept_queued(listener: socket.socket) -> list[socket.socket]:
    """Return every connection in the kernel's accept queue."""
    queued = []
    with contextlib.suppress(OSError):  # empty queue, or no file descriptors left
        while True:
            queued.append(listener.accept()[0])
    return queued


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    file_limit = (
        MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    )
    if soft < file_limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (file_limit, hard))
