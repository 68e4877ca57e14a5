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
)
from productrecs.storage.byte_budget import Claim
from productrecs.storage.database import Database

_log = logging.getLogger(__name__)

BATCH_LIMIT: Final = 500
QUEUE_LIMIT: Final = 10_000
SMALL_BATCH: Final = 8
GATHER_SECONDS: Final = 0.012
"""How long a small batch waits for more, if the previous batch had several writes."""

_LOOK_SECONDS: Final = 0.003


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
class _Pending:
    many: BatchHandler
    key: Hashable
    payload: Any
    alone: bool
    loop: asyncio.AbstractEventLoop
    answer: CommitWaiter
    claim: Claim | None


_Answer = tuple[_Pending, Any, BaseException | None]
"""A write, its result, and the error if it failed."""


class _Flusher:
    """Syncs committed writes to disk, then answers their callers."""

    def __init__(
        self, database: Database, on_broken: Callable[[StorageBrokenError], None]
    ) -> None:
        self._database = database
        self._on_broken = on_broken
        self._committed: SimpleQueue[list[_Answer] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="flush", daemon=True)
        self._thread.start()

    def tell_once_flushed(self, answers: list[_Answer]) -> None:
        """Take the answers of one transaction that was committed, or failed."""
        self._committed.put(answers)

    def close(self) -> None:
        """Deliver all pending answers, then stop."""
        self._committed.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            taken = [self._committed.get()]
            with contextlib.suppress(Empty):  # one sync covers all earlier commits
                while True:
                    taken.append(self._committed.get_nowait())
            goes_on = None not in taken
            answers = [answer for some in taken if some for answer in some]
            if answers:
                self._answer(answers)

    def _answer(self, answers: list[_Answer]) -> None:
        try:
            self._database.flush()
        except StorageBrokenError as error:
            self._on_broken(error)
            answers = [(one, None, why or error) for one, _, why in answers]
        _deliver(answers)


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
        self._waiting: deque[_Pending] = deque()
        self._wake = threading.Condition()
        self._sleeps = False
        self._closing = False
        self._last_size = 0  # of the previous batch
        self._flusher = (
            _Flusher(database, self._broke) if database.syncs_after_commit else None
        )
        self._thread = threading.Thread(target=self._run, name="group-commit", daemon=True)
        self._thread.start()

    @property
    def depth(self) -> int:
        """The current number of queued writes."""
        return len(self._waiting)

    def submit(
        self,
        many: BatchHandler,
        key: Hashable,
        payload: object,
        *,
        alone: bool = False,
        claim: Claim | None = None,
    ) -> asyncio.Future[Any]:
        """Return a future that has the result once the write is durable.

        Payloads with the same `many` and `key` may be written together, in the order of
        submission; an `alone` payload gets its own transaction. `claim` is held until the
        write is answered, even if the caller has stopped waiting.

        Raises:
            QueueFullError: when the write queue is full; nothing is queued.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.put(many, key, payload, answer, alone=alone, claim=claim)
        return answer

    def put(
        self,
        many: BatchHandler,
        key: Hashable,
        payload: object,
        answer: CommitWaiter,
        *,
        alone: bool = False,
        claim: Claim | None = None,
    ) -> None:
        """Queue a write as `submit` does, and call `answer` in the running loop.

        Raises:
            QueueFullError: when the write queue is full; nothing is queued.
        """
        loop = asyncio.get_running_loop()
        if len(self._waiting) >= self._limit or self._closing:
            message = "too many writes are waiting; send this one again in a moment"
            raise QueueFullError(message)
        held = claim.handed_over() if claim is not None else None
        self._waiting.append(_Pending(many, key, payload, alone, loop, answer, held))
        if self._sleeps:
            with self._wake:
                self._wake.notify()

    def close(self) -> None:
        """Write the whole queue, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(timeout=30)
        if self._flusher is not None:
            self._flusher.close()

    def _run(self) -> None:
        while self._sleep():
            self._gather()
            self._write(self._take())

    def _gather(self) -> None:
        """Wait for more writes: a commit of several costs nearly the same as of one.

        Skip the wait for a single client that sends its writes one by one: its batches
        have one write each.
        """
        if self._last_size > 1:
            until = time.monotonic() + GATHER_SECONDS
            while len(self._waiting) < SMALL_BATCH and not self._closing:
                if time.monotonic() >= until:
                    break
                time.sleep(_LOOK_SECONDS)
        self._last_size = len(self._waiting)

    def _sleep(self) -> bool:
        """Wait for a queued write; return False if the queue is empty and closed."""
        if not self._waiting:
            with self._wake:
                self._sleeps = True
                while not self._waiting and not self._closing:
                    self._wake.wait()
                self._sleeps = False
        return bool(self._waiting)

    def _take(self) -> list[_Pending]:
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def _write(self, batch: list[_Pending]) -> None:
        together = [one for one in batch if not one.alone]
        groups = [
            together[start : start + BATCH_LIMIT]
            for start in range(0, len(together), BATCH_LIMIT)
        ]
        groups += [[one] for one in batch if one.alone]
        while groups:
            answers = self._attempt(groups.pop(0))
            for error in {error for _, _, error in answers}:
                if isinstance(error, StorageBusyError):
                    keys = {one.key for one, _, why in answers if why is error}
                    answers += [(one, None, error) for one in self._behind(keys, groups)]
            if self._flusher is None:
                _deliver(answers)
            else:
                self._flusher.tell_once_flushed(answers)

    def _behind(self, keys: set[Hashable], groups: list[list[_Pending]]) -> list[_Pending]:
        """Remove and return queued writes that need the same lock as writes of `keys`.

        They have waited as long as the failed writes, and fail with them.
        """
        everything = self._database.has_one_writer

        def is_blocked(one: _Pending) -> bool:
            return everything or one.key in keys

        late = [one for group in groups for one in group if is_blocked(one)]
        groups[:] = [
            left for group in groups if (left := [o for o in group if not is_blocked(o)])
        ]
        waiting = self._take()
        self._waiting.extendleft(one for one in reversed(waiting) if not is_blocked(one))
        return late + [one for one in waiting if is_blocked(one)]

    def _attempt(self, batch: list[_Pending]) -> list[_Answer]:
        try:
            return self._commit(batch)
        except StorageBrokenError as error:
            self._broke(error)
            return [(one, None, error) for one in batch]
        except StorageBusyError as error:
            keys = {one.key for one in batch}
            if len(keys) == 1 or self._database.has_one_writer:
                return [(one, None, error) for one in batch]
            parts = [[one for one in batch if one.key == key] for key in keys]
        except Exception as error:
            if len(batch) == 1:
                return [(batch[0], None, error)]
            parts = [[one] for one in batch]
        return [answer for part in parts for answer in self._attempt(part)]

    def _broke(self, error: StorageBrokenError) -> None:
        _log.critical("disk sync failed", extra={"error": str(error)})
        self._on_broken()

    def _commit(self, batch: list[_Pending]) -> list[_Answer]:
        groups: dict[tuple[BatchHandler, Hashable], list[_Pending]] = {}
        for one in batch:
            groups.setdefault((one.many, one.key), []).append(one)
        answers: list[_Answer] = []
        with self._database.transaction(synced=self._flusher is None) as connection:
            work = WriteTransaction(self._database, connection)
            # All processes lock stores in the same order, which prevents deadlocks.
            for (many, key), group in sorted(
                groups.items(), key=lambda item: repr(item[0][1])
            ):
                results = many(work, key, [one.payload for one in group])
                answers += [(one, r, None) for one, r in zip(group, results, strict=True)]
        for callback in work.after_commit:
            callback()
        return answers


def _deliver(answers: Iterable[_Answer]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
    for answer in answers:
        by_loop.setdefault(answer[0].loop, []).append(answer)
    for loop, mine in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, mine)


def _settle(answers: list[_Answer]) -> None:
    for pending, result, error in answers:
        if pending.claim is not None:
            pending.claim.release()
        if pending.answer.done():
            continue
        if error is None:
            pending.answer.set_result(result)
        else:
            pending.answer.set_exception(error)
