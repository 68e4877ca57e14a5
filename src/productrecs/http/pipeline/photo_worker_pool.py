"""Photo worker pool: two child processes analyse photos, fairly among stores.

Stores are served round robin: a store with many photos delays the others only by the photos
that run already. No photo is stored: its bytes are in memory during the request only.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from productrecs.core.errors import QueueFullError
from productrecs.core.ids import StoreId
from productrecs.records.pictures.onnx_model_file import (
    DETECTOR,
    EMBEDDER,
    read_model_file,
)
from productrecs.training.visual.photo_search_client import PhotoWorkerClient
from productrecs.training.visual.picture_encoders import PictureEncoders

Result = TypeVar("Result")

_THREADS: Final = 2
_MAX_WAITING: Final = 24
"""A longer queue would wait too long for shoppers, and use memory."""


def _queue_full_error() -> QueueFullError:
    return QueueFullError("too many photos at once; retry")


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


class PhotoWorkerPool:
    """Threads for photo searches, each with its own child process."""

    def __init__(
        self,
        detectors: Sequence[Path] = (),
        encoders: PictureEncoders | None = None,
        text_reader: Path | None = None,
    ) -> None:
        """Start no process; the first photos start them.

        Raises:
            ModelFileError: when a model that a setting names cannot be used.
        """
        for detector in detectors:
            read_model_file(detector, DETECTOR)
        if encoders is not None and encoders.setting is not None:
            read_model_file(encoders.setting, EMBEDDER)
        self._detectors = detectors
        self._encoders = encoders
        self._text_reader = text_reader
        self._threads = ThreadPoolExecutor(_THREADS, "seeing")
        self._local = threading.local()
        self._clients: list[PhotoWorkerClient] = []
        self._queue = StoreFairQueue(_THREADS, _MAX_WAITING)

    def check_capacity(self, store_id: StoreId) -> None:
        """Check that a photo of a store may enter, before its body is read.

        Raises:
            QueueFullError: when too many wait already.
        """
        self._queue.check_capacity(store_id)

    async def run(
        self, store_id: StoreId, action: Callable[[PhotoWorkerClient], Result]
    ) -> Result:
        """Return the result of `action`, run when it is its store's turn.

        Raises:
            QueueFullError: when too many wait already.
        """
        await self._queue.acquire(store_id)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self._threads, lambda: action(self._get_or_create_thread_client())
            )
        finally:
            self._queue.release()

    def close(self) -> None:
        """Wait for running photos, and stop the processes."""
        self._threads.shutdown()
        for client in self._clients:
            client.close()

    def _get_or_create_thread_client(self) -> PhotoWorkerClient:
        found: PhotoWorkerClient | None = getattr(self._local, "client", None)
        if found is None:
            found = self._local.client = PhotoWorkerClient(
                self._detectors, self._encoders, text_reader=self._text_reader
            )
            self._clients.append(found)
        return found
