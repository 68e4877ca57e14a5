"""Write client: the one way for an API process to write.

Events and orders go to the writer process of the service, if there is one: it writes those
of all API processes in one transaction, and API processes stay free to read. Changes of the
catalog, of settings and of uploads are functions that run in a thread of this process.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from productrecs.core.errors import (
    RETRY_ADVICE,
    DamagedDatabaseError,
    ProductRecsError,
    QueueFullError,
    ReadOnlyStorageError,
    StorageBrokenError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    UnconfirmedWriteError,
    UnsafeStorageError,
)
from productrecs.processes.process_messages import FrameDecoder
from productrecs.serving.writes.background_writes import BackgroundWriter
from productrecs.serving.writes.write_messages import (
    WriteFailed,
    WriteKind,
    WriteResult,
    WritesDone,
    decode_reply,
    encode_request,
)
from productrecs.storage.sql.group_commit import QUEUE_LIMIT, GroupCommit
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from productrecs.core.memory_budget import ByteClaim
    from productrecs.serving.writes.background_writes import BackgroundRecord
    from productrecs.storage.sql.database import Database
    from productrecs.storage.sql.group_commit import BatchHandler
    from productrecs.storage.sql.storage_failures import StorageFailures

_log = logging.getLogger(__name__)

RECONNECT_SECONDS: Final = 5.0
"""How long unsent writes wait for the writer process to come back."""

CONFIRM_SECONDS: Final = 8.0
"""How long a request waits for its write: longer than a busy database takes."""

_RETRY_SECONDS: Final = 0.05
_EXIT_DELAY_SECONDS: Final = 0.3
_EX_SOFTWARE: Final = 70
_ERRORS: Final[Mapping[str, Callable[[str], ProductRecsError]]] = {
    kind.__name__: kind
    for kind in (
        StorageBusyError,
        StorageFullError,
        StorageBrokenError,
        ReadOnlyStorageError,
        DamagedDatabaseError,
        UnsafeStorageError,
        StorageError,
        UnconfirmedWriteError,
        QueueFullError,
        StoreDeletedError,
    )
}


class WriterProcessError(Exception):
    """The writer process failed unexpectedly; its log has the details."""


class WriteClient:
    """The one way for an API process to write.

    `submit_write` is acknowledged: its result arrives once the write is durable.
    `write_later` is not acknowledged: a bounded buffer in memory is stored soon.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[WriteKind, BatchHandler],
        address: Path | None = None,
    ) -> None:
        """Send events and orders to the writer process at `address`, if there is one."""
        self._failures = database.failures
        self._handlers = handlers
        self._local = GroupCommit(database, exit_after_disk_failure)
        self._remote: WriterProcessClient | None = None
        self.background = BackgroundWriter(database)
        if address is not None:
            self._remote = WriterProcessClient(address, database.failures)
        else:
            database.checkpoint_in_background()

    @property
    def depth(self) -> int:
        """How many writes are pending."""
        return self._local.depth + (self._remote.depth if self._remote else 0)

    @property
    def is_writer_available(self) -> bool:
        """Whether the writer process is up."""
        return self._remote is None or self._remote.is_writer_available

    def submit_write(
        self,
        kind: WriteKind,
        store_id: str,
        payload: object,
        claim: ByteClaim | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Submit a write at once, and return an awaitable of its result.

        The memory of `claim` is held until the write is durable, even without an awaiter.
        Awaiting raises `UnconfirmedWriteError` on a timeout; the write may still be stored.

        Raises:
            QueueFullError: when too many writes are pending; nothing was submitted.
        """
        future: asyncio.Future[Any]
        if self._remote is None or kind is WriteKind.CHANGE:
            future = self._local.submit(
                self._handlers[kind],
                store_id,
                payload,
                own_transaction=kind is WriteKind.CHANGE,
                claim=claim,
            )
        else:
            future = self._remote.submit(kind, store_id, payload, claim)
        return self._await_and_record_confirmation(future)

    def write_later(self, record: BackgroundRecord) -> None:
        """Store a record in the background, soon; never blocks and never fails."""
        self.background.add(record)

    async def start(self) -> None:
        """Start to connect and to store in the background."""
        self.background.start()
        if self._remote is not None:
            await self._remote.start()

    async def close(self) -> None:
        """Close after every submitted write is answered and every record is stored."""
        await self.background.close()
        if self._remote is not None:
            await self._remote.close()
        await asyncio.to_thread(self._local.close)

    async def _await_and_record_confirmation(self, write: asyncio.Future[Any]) -> Any:
        try:
            async with asyncio.timeout(CONFIRM_SECONDS):
                result = await write
        except TimeoutError:
            timeout_message = f"the write was not confirmed within {CONFIRM_SECONDS:.0f} s"
            error = UnconfirmedWriteError(f"{timeout_message}: {RETRY_ADVICE}")
            self._failures.record_write_failure(error)
            raise error from None
        self._failures.record_confirmed_write()
        return result


def exit_after_disk_failure() -> None:
    """Exit this process, from any thread, so that it acknowledges no more writes.

    The supervisor restarts it. The delay lets pending requests get their 503.
    """
    _log.critical("disk sync failed")
    threading.Timer(_EXIT_DELAY_SECONDS, os._exit, (_EX_SOFTWARE,)).start()


class _PendingWrite(NamedTuple):
    """A submitted write: its future and its memory claim."""

    future: asyncio.Future[Any]
    claim: ByteClaim | None


class WriterProcessClient(asyncio.Protocol):
    """Client of the writer process, which may crash and be restarted.

    After a crash, sent writes without an answer fail as unconfirmed: they may be stored.
    Unsent writes wait for the next writer process.
    """

    def __init__(
        self, path: Path, failures: StorageFailures, limit: int = QUEUE_LIMIT
    ) -> None:
        """Connect to the writer at `path`; failed writes are recorded in `failures`."""
        self._path = path
        self._failures = failures
        self._limit = limit
        self._frames = FrameDecoder()
        self._transport: asyncio.WriteTransport | None = None
        self._pending: dict[int, _PendingWrite] = {}
        self._unsent: list[tuple[int, bytes]] = []
        self._next = 0
        self._is_connected = False
        self._disconnected_at = -math.inf
        self._is_closing = False
        self._loss_logged_at = 0.0
        self._connecting: asyncio.Task[None] | None = None

    @property
    def depth(self) -> int:
        """How many writes are pending."""
        return len(self._pending)

    @property
    def is_writer_available(self) -> bool:
        """Whether the writer process is up, or was until a few seconds ago."""
        if self._is_connected:
            return True
        seconds_gone = asyncio.get_running_loop().time() - self._disconnected_at
        return seconds_gone < RECONNECT_SECONDS

    def submit(
        self,
        kind: WriteKind,
        store_id: str,
        payload: object,
        claim: ByteClaim | None = None,
    ) -> asyncio.Future[Any]:
        """Return a future of the result, done once the write is durable."""
        if len(self._pending) >= self._limit or self._is_closing:
            message = "too many writes are waiting; send this one again in a moment"
            raise QueueFullError(message)
        loop = asyncio.get_running_loop()
        number = self._next = self._next + 1
        if not self._unsent and self._transport is not None:
            loop.call_soon(self._send)  # batched with the other writes of this iteration
        self._unsent.append((number, encode_request(number, kind, store_id, payload)))
        transferred = claim.transfer() if claim is not None else None
        self._pending[number] = _PendingWrite(loop.create_future(), transferred)
        return self._pending[number].future

    async def start(self) -> None:
        """Start to connect; writes wait until that succeeds."""
        self._loss_logged_at = asyncio.get_running_loop().time()
        self._connecting = asyncio.create_task(self._connect_with_retries())

    async def close(self) -> None:
        """Close, once every submitted write is answered."""
        self._is_closing = True
        while any(
            not pending_write.future.done() for pending_write in self._pending.values()
        ):
            await asyncio.sleep(0.01)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send waiting writes."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._frames = FrameDecoder()
        self._send()

    def connection_lost(self, _error: Exception | None) -> None:
        """Fail writes that were sent, and reconnect."""
        self._transport = None
        if self._is_connected:
            self._is_connected = False
            self._disconnected_at = asyncio.get_running_loop().time()
        unsent = {number for number, _ in self._unsent}
        message = f"the process that writes ended before it answered: {RETRY_ADVICE}"
        for number in [number for number in self._pending if number not in unsent]:
            error = UnconfirmedWriteError(message)
            self._failures.record_write_failure(error)
            self._fail(number, error)
        if not self._is_closing:
            loop = asyncio.get_running_loop()
            self._loss_logged_at = loop.time()
            self._connecting = loop.create_task(self._connect_with_retries())

    def data_received(self, data: bytes) -> None:
        """Resolve the futures of answered writes."""
        self._is_connected = True
        for frame in self._frames.feed(data):
            reply = decode_reply(frame)
            if isinstance(reply, WriteFailed):
                error = _ERRORS.get(reply.error, WriterProcessError)(reply.reason)
                if isinstance(error, StorageError):
                    self._failures.record_write_failure(error)
                self._fail(reply.number, error)
                continue
            self._failures.record_confirmed_write()  # also for writes without an awaiter
            if isinstance(reply, WritesDone):
                for number in reply.numbers:
                    self._resolve(number, None)
            elif isinstance(reply, WriteResult):
                self._resolve(reply.number, reply.receipt)

    def _resolve(self, write_number: int, result: object) -> None:
        future = self._release(write_number)
        if future is not None and not future.done():
            future.set_result(result)

    def _fail(self, write_number: int, error: Exception) -> None:
        future = self._release(write_number)
        if future is not None and not future.done():
            future.set_exception(error)

    def _release(self, write_number: int) -> asyncio.Future[Any] | None:
        """Remove a pending write and release its memory; return its future."""
        waiting = self._pending.pop(write_number, None)
        if waiting is None:
            return None
        if waiting.claim is not None:
            waiting.claim.release()
        return waiting.future

    def _send(self) -> None:
        if self._transport is not None and self._unsent:
            self._transport.write(b"".join([frame for _, frame in self._unsent]))
            self._unsent.clear()

    async def _connect_with_retries(self) -> None:
        loop = asyncio.get_running_loop()
        while self._transport is None:
            try:
                await loop.create_unix_connection(lambda: self, str(self._path))
            except OSError:
                if loop.time() - self._loss_logged_at > RECONNECT_SECONDS and self._unsent:
                    _log.warning("writer unavailable")
                    unsent = [number for number, _ in self._unsent]
                    self._unsent.clear()
                    message = "the process that writes is not there; send this again"
                    for number in unsent:
                        self._fail(number, StorageBusyError(message))
                await asyncio.sleep(_RETRY_SECONDS)
