"""Photo pool: photos are analysed by two child processes, fairly among stores.

Stores are served round robin: a store with many photos delays the others only by the photos
that run already. No photo is stored: its bytes are in memory during the request only.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from productrecs.core.errors import QueueFullError
from productrecs.core.ids import StoreId
from productrecs.records.pictures.onnx_model_file import (
    DETECTOR,
    ModelFile,
    read_model_file,
)
from productrecs.training.visual.photo_search_client import PhotoWorkerClient

Result = TypeVar("Result")

_THREADS: Final = 2
_MOST_WAITING: Final = 24
"""A longer queue would wait too long for shoppers, and use memory."""


def _too_many() -> QueueFullError:
    return QueueFullError("too many photos at once; retry")


class FairQueue:
    """A queue that is fair between stores, with a limit on running and waiting tasks.

    Each store's tasks run in order, and stores take turns. When it is full, the newest
    task of the store with most waiting ones is dropped for a task of a store with
    fewer.
    """

    def __init__(self, at_once: int, most_waiting: int) -> None:
        """Start empty."""
        self._free = at_once
        self._most_waiting = most_waiting
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}  # by turns
        self._count = 0

    def check_room(self, store: Hashable) -> None:
        """Check that a task of a store may enter.

        Raises:
            QueueFullError: when it would be dropped at once.
        """
        if self._count >= self._most_waiting and not self._has_fewer(store):
            raise _too_many()

    async def take(self, store: Hashable) -> None:
        """Wait for a store's turn; the caller has to `give_back`.

        Raises:
            QueueFullError: when the queue is full, or drops this task for another store.
        """
        if self._free:
            self._free -= 1
            return
        self.check_room(store)
        if self._count >= self._most_waiting:
            self._send_last_away()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(store, deque()).append(turn)
        self._count += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Start the next task."""
        while self._waiting:
            store = next(iter(self._waiting))
            turns = self._waiting.pop(store)
            turn = turns.popleft()
            self._count -= 1
            if turns:
                self._waiting[store] = turns  # at the end of the rotation
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _has_fewer(self, store: Hashable) -> bool:
        most = max(map(len, self._waiting.values()), default=0)
        return len(self._waiting.get(store, ())) + 1 < most

    def _send_last_away(self) -> None:
        store = max(self._waiting, key=lambda one: len(self._waiting[one]))
        turn = self._waiting[store].pop()
        self._count -= 1
        if not turn.done():
            turn.set_exception(_too_many())


class PhotoPool:
    """Threads for photo searches, each with its own child process."""

    def __init__(
        self, detector: Path | None = None, embedder: ModelFile | None = None
    ) -> None:
        """Start no process; the first photos start them.

        Raises:
            ModelFileError: when the operator's detector cannot be used.
        """
        if detector is not None:
            read_model_file(detector, DETECTOR)
        self._detector = detector
        self._embedder = None if embedder is None else embedder.path
        self._threads = ThreadPoolExecutor(_THREADS, "seeing")
        self._own = threading.local()
        self._lookouts: list[PhotoWorkerClient] = []
        self._turns = FairQueue(_THREADS, _MOST_WAITING)

    def check_room(self, store_id: StoreId) -> None:
        """Check that a photo of a store may enter, before its body is read.

        Raises:
            QueueFullError: when too many wait already.
        """
        self._turns.check_room(store_id)

    async def run(
        self, store_id: StoreId, work: Callable[[PhotoWorkerClient], Result]
    ) -> Result:
        """Return the result of `work`, run when it is its store's turn.

        Raises:
            QueueFullError: when too many wait already.
        """
        await self._turns.take(store_id)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: work(self._lookout()))
        finally:
            self._turns.give_back()

    def close(self) -> None:
        """Wait for running photos, and stop the processes."""
        self._threads.shutdown()
        for lookout in self._lookouts:
            lookout.close()

    def _lookout(self) -> PhotoWorkerClient:
        found: PhotoWorkerClient | None = getattr(self._own, "lookout", None)
        if found is None:
            found = self._own.lookout = PhotoWorkerClient(self._detector, self._embedder)
            self._lookouts.append(found)
        return found
