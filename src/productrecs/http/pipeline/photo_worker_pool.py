"""Photo worker pool: two child processes analyse photos, fairly among stores.

Stores are served round robin: a store with many photos delays the others only by the photos
that run already. No photo is stored: its bytes are in memory during the request only.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from productrecs.core.ids import StoreId
from productrecs.http.pipeline.store_fair_queue import StoreFairQueue
from productrecs.records.pictures.onnx_model_file import (
    DETECTOR,
    EMBEDDER,
    read_model_file,
)
from productrecs.training.visual.photo_worker_owner import PhotoWorkerOwner
from productrecs.training.visual.picture_encoders import PictureEncoders

Result = TypeVar("Result")

_THREADS: Final = 2
_MAX_WAITING: Final = 24
"""A longer queue would wait too long for shoppers, and use memory."""


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
        self._clients: list[PhotoWorkerOwner] = []
        self._queue = StoreFairQueue(_THREADS, _MAX_WAITING)

    def check_capacity(self, store_id: StoreId) -> None:
        """Check that a photo of a store may enter, before its body is read.

        Raises:
            QueueFullError: when too many wait already.
        """
        self._queue.check_capacity(store_id)

    async def run(
        self, store_id: StoreId, action: Callable[[PhotoWorkerOwner], Result]
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

    def _get_or_create_thread_client(self) -> PhotoWorkerOwner:
        found: PhotoWorkerOwner | None = getattr(self._local, "client", None)
        if found is None:
            found = self._local.client = PhotoWorkerOwner(
                self._detectors, self._encoders, text_reader=self._text_reader
            )
            self._clients.append(found)
        return found
