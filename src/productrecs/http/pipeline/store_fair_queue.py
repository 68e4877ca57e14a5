"""Store-fair queue: work on pictures waits for its store's turn, as stores take turns."""

import asyncio
from collections import deque
from collections.abc import Hashable

from productrecs.core.errors import QueueFullError


def _queue_full_error() -> QueueFullError:
    return QueueFullError("too many pictures at once; retry")


class StoreFairQueue:
    """A queue that is fair between stores, with a limit on running and waiting tasks.

    Each store's tasks run in order, and stores take turns. When it is full, the newest
    task of the store with most waiting ones is dropped for a task of a store with
    fewer.
    """

    def __init__(self, workers: int, max_waiting: int) -> None:
        """Start empty."""
        self._free = workers
        self._max_waiting = max_waiting
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}  # by turns
        self._count = 0

    def check_capacity(self, store: Hashable) -> None:
        """Check that a task of a store may enter.

        Raises:
            QueueFullError: when it would be dropped at once.
        """
        if self._count >= self._max_waiting and not self._has_fewer_than_longest(store):
            raise _queue_full_error()

    async def acquire(self, store: Hashable) -> None:
        """Wait for a store's turn; the caller has to `release`.

        Raises:
            QueueFullError: when the queue is full, or drops this task for another store.
        """
        if self._free:
            self._free -= 1
            return
        self.check_capacity(store)
        if self._count >= self._max_waiting:
            self._drop_newest_of_longest_queue()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(store, deque()).append(turn)
        self._count += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Start the next task."""
        while self._waiting:
            store = next(iter(self._waiting))
            waiters = self._waiting.pop(store)
            waiter = waiters.popleft()
            self._count -= 1
            if waiters:
                self._waiting[store] = waiters  # at the end of the rotation
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

    def _has_fewer_than_longest(self, store: Hashable) -> bool:
        longest = max(map(len, self._waiting.values()), default=0)
        return len(self._waiting.get(store, ())) + 1 < longest

    def _drop_newest_of_longest_queue(self) -> None:
        store = max(self._waiting, key=lambda store: len(self._waiting[store]))
        waiter = self._waiting[store].pop()
        self._count -= 1
        if not waiter.done():
            waiter.set_exception(_queue_full_error())
