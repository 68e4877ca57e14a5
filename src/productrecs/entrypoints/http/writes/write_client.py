"""Write client: hands events and orders to the writer, and awaits the commit.

The writer is a thread of this process (`LocalWriter`), or the writer process of the service
(`RemoteWriter`). With a writer process, this interpreter serves readers only, and the
writes of all processes share one transaction instead of waiting for each other.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar, cast

from productrecs.core.errors import (
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
from productrecs.entrypoints.http.writes import write_protocol
from productrecs.storage.group_commit import QUEUE_LIMIT, GroupCommit
from productrecs.storage.store_log import StoreDeletedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from productrecs.entrypoints.http.writes.write_handlers import WriteKind
    from productrecs.storage.byte_budget import Claim
    from productrecs.storage.group_commit import BatchHandler
    from productrecs.storage.storage_health import StorageHealth

_log = logging.getLogger(__name__)

RECONNECT_SECONDS: Final = 5.0
"""How long what was not sent yet waits for the writing process to come back."""

CONFIRM_SECONDS: Final = 8.0
"""How long a request waits for its write: longer than for a database that is busy."""

_AGAIN: Final = (
    "it may be stored, now or in a moment. Send it again: an event with its event_id, an "
    "order with its order_id and a push with its Idempotency-Key count once; a deletion or "
    "a setting may be sent any number of times"
)
_RETRY_SECONDS: Final = 0.05
_Result = TypeVar("_Result")
_KNOWN: Final[Mapping[str, Callable[[str], ProductRecsError]]] = {
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


async def await_durable(write: asyncio.Future[_Result]) -> _Result:
    """Return what a write comes to, once it is durable.

    Raises:
        UnconfirmedWriteError: when that takes too long; it may be stored all the same.
    """
    try:
        async with asyncio.timeout(CONFIRM_SECONDS):
            return await write
    except TimeoutError:
        message = f"the write was not confirmed within {CONFIRM_SECONDS:.0f} s: {_AGAIN}"
        raise UnconfirmedWriteError(message) from None


class WriterProcessError(Exception):
    """The process that writes failed in a way that nobody expected; its log says how."""


class WriteClient(Protocol):
    """Takes facts to be written."""

    @property
    def depth(self) -> int:
        """How many writes wait right now."""

    @property
    def is_writer_available(self) -> bool:
        """Whether somebody is there who writes what is handed over."""

    def submit(
        self, fact: WriteKind, store_id: str, payload: object, claim: Claim | None = None
    ) -> asyncio.Future[Any]:
        """Return a future of the result, done once the write is durable.

        What `claim` holds for the payload is held until then, whoever waits for it.

        Raises:
            QueueFullError: when too many writes wait; nothing was taken.
        """

    async def start(self) -> None:
        """Begin."""

    async def close(self) -> None:
        """Let go, once all that was taken is answered."""


class LocalWriter:
    """Facts are written by this process."""

    def __init__(
        self, writer: GroupCommit, writings: Mapping[WriteKind, BatchHandler]
    ) -> None:
        """Hand over to `writer`, which somebody else closes."""
        self._writer = writer
        self._writings = writings

    @property
    def depth(self) -> int:
        """How many writes wait right now."""
        return self._writer.depth

    @property
    def is_writer_available(self) -> bool:
        """It is this process itself."""
        return True

    def submit(
        self, fact: WriteKind, store_id: str, payload: object, claim: Claim | None = None
    ) -> asyncio.Future[Any]:
        """Return a future of the result, done once the write is durable."""
        return self._writer.submit(self._writings[fact], store_id, payload, claim=claim)

    async def start(self) -> None:
        """There is nothing to begin."""

    async def close(self) -> None:
        """There is nothing to let go of."""


class _Waiting(NamedTuple):
    """A write that was handed over: who waits for it, and what it holds."""

    future: asyncio.Future[Any]
    claim: Claim | None


class RemoteWriter(asyncio.Protocol):
    """Facts are written by another process, which may die and come back.

    What it had been told and had not answered fails then, with words that say so: perhaps
    it is stored. What it had not been told waits for its successor.
    """

    def __init__(
        self, path: Path, outcomes: StorageHealth, limit: int = QUEUE_LIMIT
    ) -> None:
        """Speak to whoever listens at `path`; what it could not store is noted."""
        self._path = path
        self._outcomes = outcomes
        self._limit = limit
        self._frames = write_protocol.FrameDecoder()
        self._transport: asyncio.WriteTransport | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._unsent: list[tuple[int, bytes]] = []
        self._next = 0
        self._present = False
        self._left_at = -math.inf
        self._closing = False
        self._lost_at = 0.0
        self._connecting: asyncio.Task[None] | None = None

    @property
    def depth(self) -> int:
        """How many writes wait right now."""
        return len(self._waiting)

    @property
    def is_writer_available(self) -> bool:
        """Whether the other process said that it is there, or may be back in a moment."""
        if self._present:
            return True
        gone = asyncio.get_running_loop().time() - self._left_at
        return gone < RECONNECT_SECONDS

    def submit(
        self, fact: WriteKind, store_id: str, payload: object, claim: Claim | None = None
    ) -> asyncio.Future[Any]:
        """Return a future of the result, done once the write is durable."""
        if len(self._waiting) >= self._limit or self._closing:
            message = "too many writes are waiting; send this one again in a moment"
            raise QueueFullError(message)
        loop = asyncio.get_running_loop()
        number = self._next = self._next + 1
        if not self._unsent and self._transport is not None:
            loop.call_soon(self._send)  # with all else that comes in this turn
        self._unsent.append(
            (number, write_protocol.encode_request(number, fact, store_id, payload))
        )
        held = claim.handed_over() if claim is not None else None
        self._waiting[number] = _Waiting(loop.create_future(), held)
        return self._waiting[number].future

    async def start(self) -> None:
        """Connect; until that succeeds what is submitted waits."""
        self._lost_at = asyncio.get_running_loop().time()
        self._connecting = asyncio.create_task(self._connect())

    async def close(self) -> None:
        """Let go, once nobody waits for an answer any more."""
        self._closing = True
        while any(not one.future.done() for one in self._waiting.values()):
            await asyncio.sleep(0.01)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send what waited."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._frames = write_protocol.FrameDecoder()
        self._send()

    def connection_lost(self, _error: Exception | None) -> None:
        """Fail what the other had been told, and look for its successor."""
        self._transport = None
        if self._present:
            self._present = False
            self._left_at = asyncio.get_running_loop().time()
        unsent = {number for number, _ in self._unsent}
        message = f"the process that writes ended before it answered: {_AGAIN}"
        for number in [one for one in self._waiting if one not in unsent]:
            self._refuse(number, UnconfirmedWriteError(message))
        if not self._closing:
            loop = asyncio.get_running_loop()
            self._lost_at = loop.time()
            self._connecting = loop.create_task(self._connect())

    def data_received(self, data: bytes) -> None:
        """Answer those who wait."""
        self._present = True
        for frame in self._frames.feed(data):
            if frame[0] == write_protocol.DONE:
                for number in write_protocol.decode_done(frame):
                    self._settle(number, None)
            elif frame[0] == write_protocol.RESULT:
                self._settle(*write_protocol.decode_result(frame))
            else:
                number, name, words = write_protocol.decode_error(frame)
                error = _KNOWN.get(name, WriterProcessError)(words)
                if isinstance(error, StorageError):
                    self._outcomes.write_failed(error)
                self._refuse(number, error)

    def _settle(self, number: int, result: object) -> None:
        future = self._taken(number)
        if future is not None and not future.done():
            future.set_result(result)

    def _refuse(self, number: int, error: Exception) -> None:
        future = self._taken(number)
        if future is not None and not future.done():
            future.set_exception(error)

    def _taken(self, number: int) -> asyncio.Future[Any] | None:
        """Return who waits for an answer, and hold nothing for it any more."""
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            return None
        if waiting.claim is not None:
            waiting.claim.release()
        return waiting.future

    def _send(self) -> None:
        if self._transport is not None and self._unsent:
            self._transport.write(b"".join([frame for _, frame in self._unsent]))
            self._unsent.clear()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        while self._transport is None:
            try:
                await loop.create_unix_connection(lambda: self, str(self._path))
            except OSError:
                if loop.time() - self._lost_at > RECONNECT_SECONDS and self._unsent:
                    _log.warning("the process that writes is not there")
                    late = [number for number, _ in self._unsent]
                    self._unsent.clear()
                    message = "the process that writes is not there; send this again"
                    for number in late:
                        self._refuse(number, StorageBusyError(message))
                await asyncio.sleep(_RETRY_SECONDS)
