"""Write server: the writer process, which commits the writes of all API processes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from typing import TYPE_CHECKING, Any, Final, cast

import uvloop

from productrecs.core.errors import ProductRecsError
from productrecs.core.memory_budget import MIB, ByteBudget
from productrecs.processes.process_messages import FrameDecoder, ReadyMessage, encode_frame
from productrecs.serving.writes.write_client import exit_after_disk_failure
from productrecs.serving.writes.write_handlers import write_handlers
from productrecs.serving.writes.write_messages import (
    WriteFailed,
    WriteKind,
    WriteResult,
    WritesDone,
    decode_payload,
    decode_request,
)
from productrecs.storage.sql.group_commit import GroupCommit

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from productrecs.services import Services
    from productrecs.storage.sql.group_commit import BatchHandler

_log = logging.getLogger(__name__)

STOP_SECONDS: Final = 40.0
MEMORY_FACTOR: Final = 3
"""Memory of a decoded payload, as a multiple of its packed size."""
_SWITCH_SECONDS: Final = 0.0005
_TICK_SECONDS: Final = 1.0
_LOOP_SECONDS: Final = 10.0
_BATCH_SECONDS: Final = 120.0
"""A batch that is written for longer hangs; the database's own waits are shorter."""


class _RemoteFuture:
    """Future of a write that replies to the API process."""

    __slots__ = ("_connection", "_number")

    def __init__(self, connection: _ApiConnection, number: int) -> None:
        self._connection = connection
        self._number = number

    def done(self) -> bool:
        """Whether the API process is gone."""
        return self._connection.is_lost

    def set_result(self, result: Any) -> None:
        """Send the result."""
        self._connection.send_result(self._number, result)

    def set_exception(self, error: BaseException) -> None:
        """Send the error."""
        self._connection.send_error(self._number, error)


class _ApiConnection(asyncio.Protocol):
    """The connection of one API process."""

    def __init__(
        self,
        writer: GroupCommit,
        handlers: Mapping[WriteKind, BatchHandler],
        budget: ByteBudget,
        on_close: Callable[[Any], None],
    ) -> None:
        self._writer = writer
        self._budget = budget
        self._handlers = handlers
        self._on_close = on_close
        self._decoder = FrameDecoder()
        self._done_numbers: list[int] = []
        self._frames_to_send: list[bytes] = []
        self._transport: asyncio.WriteTransport | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def is_lost(self) -> bool:
        """Whether the API process is gone."""
        return self._transport is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send `ReadyMessage`: the writer is up."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(encode_frame(ReadyMessage()))

    def connection_lost(self, _error: Exception | None) -> None:
        """Close; writes that were received are still committed."""
        self._transport = None
        self._on_close(self)

    def data_received(self, data: bytes) -> None:
        """Receive writes."""
        for frame in self._decoder.feed(data):
            request = decode_request(frame)
            size = MEMORY_FACTOR * memoryview(request.payload).nbytes
            try:
                with self._budget.claim(request.store_id).grow(size) as claim:
                    payload = decode_payload(request)
                    reply = _RemoteFuture(self, request.number)
                    handler = self._handlers[request.kind]
                    self._writer.queue_for_waiter(
                        handler, request.store_id, payload, reply, claim=claim
                    )
            except ProductRecsError as error:
                self.send_error(request.number, error)

    def send_result(self, write_number: int, result: Any) -> None:
        """Queue a result, to be sent at the end of this loop iteration."""
        self._schedule_send()
        if result is None:
            self._done_numbers.append(write_number)
        else:
            self._frames_to_send.append(encode_frame(WriteResult(write_number, result)))

    def send_error(self, write_number: int, error: BaseException) -> None:
        """Queue an error, to be sent at the end of this loop iteration."""
        if not isinstance(error, ProductRecsError):
            _log.error("write failed", exc_info=error)
        self._schedule_send()
        failed = WriteFailed(write_number, type(error).__name__, str(error))
        self._frames_to_send.append(encode_frame(failed))

    def _schedule_send(self) -> None:
        if not self._done_numbers and not self._frames_to_send:
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        frames, self._frames_to_send = self._frames_to_send, []
        if self._done_numbers:
            frames.append(encode_frame(WritesDone(self._done_numbers)))
            self._done_numbers = []
        if self._transport is not None:
            self._transport.write(b"".join(frames))


class WriteServer:
    """Serves until `stop` is called and every API process has disconnected."""

    def __init__(self, services: Services, listener: socket.socket) -> None:
        """Accept connections from `listener`."""
        self._services = services
        self._listener = listener
        self._connections: set[_ApiConnection] = set()
        self._is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._writer: GroupCommit | None = None
        self._ticked_at = time.monotonic()

    def is_responsive(self) -> bool:
        """Return whether the event loop runs and the writes advance; thread-safe."""
        if self._writer is None:
            return True
        is_looping = time.monotonic() - self._ticked_at < _LOOP_SECONDS
        return is_looping and self._writer.busy_seconds < _BATCH_SECONDS

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ticked_at = time.monotonic()
        loop.call_later(_TICK_SECONDS, self._tick, loop)

    def run(self) -> None:
        """Serve until `stop`, then until every API process has disconnected."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._services.database.checkpoint_in_background()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve_until_stopped())

    def stop(self) -> None:
        """Stop once every API process has disconnected; thread-safe."""
        self._is_stopping = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has already ended
                self._loop.call_soon_threadsafe(self._changed.set)

    async def _serve_until_stopped(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        writer = GroupCommit(self._services.database, exit_after_disk_failure)
        self._tick(loop)
        self._writer = writer
        handlers = write_handlers(self._services)
        budget = ByteBudget(self._services.settings.request_memory * MIB)

        def disconnected(connection: _ApiConnection) -> None:
            self._connections.discard(connection)
            self._changed.set()

        def connect() -> _ApiConnection:
            connection = _ApiConnection(writer, handlers, budget, disconnected)
            self._connections.add(connection)
            return connection

        server = await loop.create_unix_server(connect, sock=self._listener)
        while not self._is_stopping:
            await self._wait_for_change()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                while self._connections:
                    await self._wait_for_change()
        server.close()
        await asyncio.to_thread(writer.close)

    async def _wait_for_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()
