"""Group commit: makes thousands of small writes per second durable in batches.

One thread per process writes. The next batch gathers while one commits; a caller is
answered once its own write is committed and on the disk. If the database can commit first
and sync later, a second thread syncs, so that this process and others can write meanwhile.
A write that cannot be stored fails alone: a failed batch is retried write by write.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

import sqlalchemy as sa

from productrecs.core.errors import (
    QueueFullError,
    StorageBrokenError,
    StorageBusyError,
    UnconfirmedWriteError,
    operator_text,
)
from productrecs.core.memory_budget import ByteClaim
from productrecs.storage.sql.database import Database

_log = logging.getLogger(__name__)

BATCH_LIMIT: Final = 500
QUEUE_LIMIT: Final = 10_000
SMALL_BATCH: Final = 8
GATHER_SECONDS: Final = 0.012
"""How long a small batch waits for more, if the previous batch had several writes."""

_POLL_SECONDS: Final = 0.003


@dataclass(slots=True)
class WriteTransaction:
    """One transaction, and the callbacks to run after its commit."""

    database: Database
    connection: sa.Connection
    after_commit: list[Callable[[], None]] = field(default_factory=list)


BatchHandler = Callable[[WriteTransaction, Hashable, Sequence[Any]], Sequence[Any]]
"""Writes several payloads of one key together; returns one result each, in order."""


class CommitWaiter(Protocol):
    """The caller that waits for a write; notified in its own event loop."""

    def done(self) -> bool:
        """Return whether the caller has stopped waiting; the write still happens."""

    def set_result(self, result: Any, /) -> None:
        """Receive the result of a durable write."""

    def set_exception(self, error: BaseException, /) -> None:
        """Receive the error that prevented the write."""


@dataclass(slots=True)
class _QueuedWrite:
    handler: BatchHandler
    key: Hashable
    payload: Any
    own_transaction: bool
    loop: asyncio.AbstractEventLoop
    waiter: CommitWaiter
    claim: ByteClaim | None


_Outcome = tuple[_QueuedWrite, Any, BaseException | None]
"""A write, its result, and the error if it failed."""


class _CommitFlusher:
    """Syncs committed writes to disk, then answers their callers."""

    def __init__(
        self, database: Database, on_broken: Callable[[StorageBrokenError], None]
    ) -> None:
        self._database = database
        self._on_broken = on_broken
        self._committed: SimpleQueue[list[_Outcome] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="flush", daemon=True)
        self._thread.start()

    def answer_once_flushed(self, outcomes: list[_Outcome]) -> None:
        """Take the answers of one transaction that was committed, or failed."""
        self._committed.put(outcomes)

    def close(self) -> None:
        """Deliver all pending answers, then stop."""
        self._committed.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        is_running = True
        while is_running:
            batches = [self._committed.get()]
            with contextlib.suppress(Empty):  # one sync covers all earlier commits
                while True:
                    batches.append(self._committed.get_nowait())
            is_running = None not in batches
            outcomes = [outcome for some in batches if some for outcome in some]
            if outcomes:
                self._flush_and_deliver(outcomes)

    def _flush_and_deliver(self, outcomes: list[_Outcome]) -> None:
        try:
            self._database.flush()
        except StorageBrokenError as error:
            self._on_broken(error)
            outcomes = [(write, None, cause or error) for write, _, cause in outcomes]
        _answer_in_event_loops(outcomes)


class GroupCommit:
    """The one writer of a process. `submit` from event loops; `close` writes the queue."""

    def __init__(
        self, database: Database, on_broken: Callable[[], None], limit: int = QUEUE_LIMIT
    ) -> None:
        """Start the thread; it calls `on_broken` when the disk cannot be trusted."""
        self._database = database
        self._on_broken = on_broken
        self._limit = limit
        # A deque without a lock: its operations are atomic. With a lock, the event loop
        # would wait while the thread holds it and waits for the GIL.
        self._waiting: deque[_QueuedWrite] = deque()
        self._wake_up = threading.Condition()
        self._is_idle = False
        self._busy_since: float | None = None
        self._closing = False
        self._last_size = 0  # of the previous batch
        self._flusher = (
            _CommitFlusher(database, self._report_broken)
            if database.syncs_after_commit
            else None
        )
        self._thread = threading.Thread(target=self._run, name="group-commit", daemon=True)
        self._thread.start()

    @property
    def depth(self) -> int:
        """The current number of queued writes."""
        return len(self._waiting)

    def submit(
        self,
        handler: BatchHandler,
        key: Hashable,
        payload: object,
        *,
        own_transaction: bool = False,
        claim: ByteClaim | None = None,
    ) -> asyncio.Future[Any]:
        """Return a future that has the result once the write is durable.

        Payloads with the same `handler` and `key` may be written together, in the order of
        submission; an `own_transaction` payload gets its own transaction. `claim` is held
        until the write is answered, even if the caller has stopped waiting.

        Raises:
            QueueFullError: when the write queue is full; nothing is queued.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.queue_for_waiter(
            handler, key, payload, future, own_transaction=own_transaction, claim=claim
        )
        return future

    def queue_for_waiter(
        self,
        handler: BatchHandler,
        key: Hashable,
        payload: object,
        waiter: CommitWaiter,
        *,
        own_transaction: bool = False,
        claim: ByteClaim | None = None,
    ) -> None:
        """Queue a write as `submit` does, and answer `waiter` in the running loop.

        Raises:
            QueueFullError: when the write queue is full; nothing is queued.
        """
        loop = asyncio.get_running_loop()
        if len(self._waiting) >= self._limit or self._closing:
            message = "too many writes are waiting; send this one again in a moment"
            raise QueueFullError(message)
        transferred = claim.transfer() if claim is not None else None
        self._waiting.append(
            _QueuedWrite(handler, key, payload, own_transaction, loop, waiter, transferred)
        )
        if self._is_idle:
            with self._wake_up:
                self._wake_up.notify()

    def close(self) -> None:
        """Write the whole queue, then stop."""
        with self._wake_up:
            self._closing = True
            self._wake_up.notify()
        self._thread.join(timeout=30)
        if self._flusher is not None:
            self._flusher.close()

    def _run(self) -> None:
        while self._wait_for_writes():
            self._wait_for_more()
            self._busy_since = time.monotonic()
            try:
                self._commit_and_answer(self._take_all())
            finally:
                self._busy_since = None

    def _wait_for_more(self) -> None:
        """Wait for more writes: a commit of several costs nearly the same as of one.

        Skip the wait for a single client that sends its writes one by one: its batches
        have one write each.
        """
        if self._last_size > 1:
            until = time.monotonic() + GATHER_SECONDS
            while len(self._waiting) < SMALL_BATCH and not self._closing:
                if time.monotonic() >= until:
                    break
                time.sleep(_POLL_SECONDS)
        self._last_size = len(self._waiting)

    def _wait_for_writes(self) -> bool:
        """Wait for a queued write; return False if the queue is empty and closed."""
        if not self._waiting:
            with self._wake_up:
                self._is_idle = True
                while not self._waiting and not self._closing:
                    self._wake_up.wait()
                self._is_idle = False
        return bool(self._waiting)

    def _take_all(self) -> list[_QueuedWrite]:
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    @property
    def busy_seconds(self) -> float:
        """How long the current batch has been written; 0 without one."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    def _commit_and_answer(self, batch: list[_QueuedWrite]) -> None:
        shared = [write for write in batch if not write.own_transaction]
        groups = [
            shared[start : start + BATCH_LIMIT]
            for start in range(0, len(shared), BATCH_LIMIT)
        ]
        groups += [[write] for write in batch if write.own_transaction]
        while groups:
            outcomes = self._commit_or_split_batch(groups.pop(0))
            for error in {error for _, _, error in outcomes}:
                if isinstance(error, StorageBusyError):
                    failed_keys = {
                        write.key for write, _, cause in outcomes if cause is error
                    }
                    outcomes += [
                        (write, None, error)
                        for write in self._take_blocked_writes(failed_keys, groups)
                    ]
            if self._flusher is None:
                _answer_in_event_loops(outcomes)
            else:
                self._flusher.answer_once_flushed(outcomes)

    def _take_blocked_writes(
        self, failed_keys: set[Hashable], groups: list[list[_QueuedWrite]]
    ) -> list[_QueuedWrite]:
        """Take writes that need the lock of a failed one out of `groups` and the queue.

        They have waited as long as the failed writes, and fail with them. On a database
        with one writer these are all writes.
        """
        locks_all = self._database.has_one_writer

        def is_blocked(write: _QueuedWrite) -> bool:
            return locks_all or write.key in failed_keys

        blocked = [write for group in groups for write in group if is_blocked(write)]
        groups[:] = [
            remaining
            for group in groups
            if (remaining := [write for write in group if not is_blocked(write)])
        ]
        waiting = self._take_all()
        self._waiting.extendleft(
            write for write in reversed(waiting) if not is_blocked(write)
        )
        return blocked + [write for write in waiting if is_blocked(write)]

    def _commit_or_split_batch(self, batch: list[_QueuedWrite]) -> list[_Outcome]:
        try:
            return self._commit(batch)
        except StorageBrokenError as error:
            self._report_broken(error)
            return [(write, None, error) for write in batch]
        except UnconfirmedWriteError as error:  # it may be stored: a retry would double it
            return [(write, None, error) for write in batch]
        except StorageBusyError as error:
            keys = {write.key for write in batch}
            if len(keys) == 1 or self._database.has_one_writer:
                return [(write, None, error) for write in batch]
            smaller_batches = [
                [write for write in batch if write.key == key] for key in keys
            ]
        except Exception as error:
            if len(batch) == 1:
                return [(batch[0], None, error)]
            smaller_batches = [[write] for write in batch]
        return [
            outcome
            for smaller_batch in smaller_batches
            for outcome in self._commit_or_split_batch(smaller_batch)
        ]

    def _report_broken(self, error: StorageBrokenError) -> None:
        _log.critical("disk sync failed", extra={"error": operator_text(error)})
        self._on_broken()

    def _commit(self, batch: list[_QueuedWrite]) -> list[_Outcome]:
        groups: dict[tuple[BatchHandler, Hashable], list[_QueuedWrite]] = {}
        for write in batch:
            groups.setdefault((write.handler, write.key), []).append(write)
        outcomes: list[_Outcome] = []
        with self._database.transaction(synced=self._flusher is None) as connection:
            work = WriteTransaction(self._database, connection)
            # All processes lock stores in the same order, which prevents deadlocks.
            for (handler, key), group in sorted(
                groups.items(), key=lambda item: repr(item[0][1])
            ):
                results = handler(work, key, [write.payload for write in group])
                outcomes += [
                    (write, result, None)
                    for write, result in zip(group, results, strict=True)
                ]
        for callback in work.after_commit:
            callback()
        return outcomes


def _answer_in_event_loops(outcomes: Iterable[_Outcome]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome[0].loop, []).append(outcome)
    for loop, own_outcomes in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_release_claims_and_answer, own_outcomes)


def _release_claims_and_answer(outcomes: list[_Outcome]) -> None:
    for pending, result, error in outcomes:
        if pending.claim is not None:
            pending.claim.release()
        if pending.waiter.done():
            continue
        if error is None:
            pending.waiter.set_result(result)
        else:
            pending.waiter.set_exception(error)
