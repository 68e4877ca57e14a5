"""Where are shoppers' photos looked at? By children of this process, two at a time.

Nothing of a photo is kept: its bytes live as long as the request, in memory alone.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from productrecs.core.errors import QueueFullError
from productrecs.records.pictures.viewer import Viewer
from productrecs.records.pictures.weights import DETECTOR, EMBEDDER, read_model_file
from productrecs.training.visual.embedding import embedding_of

Result = TypeVar("Result")

_THREADS: Final = 2
_MOST_WAITING: Final = 24
"""More would wait longer than anybody who took a photo does, and take memory meanwhile."""


class Seeing:
    """The threads that look at photos, each with a child that may be killed."""

    def __init__(self, detector: Path | None = None, embedder: Path | None = None) -> None:
        """Start none yet; the first photos do.

        Raises:
            ModelFileError: when a model of the operator's cannot be used.
        """
        model = None if embedder is None else read_model_file(embedder, EMBEDDER)
        self.embedding = embedding_of(model)
        self._detector, self._embedder = detector, embedder
        if detector is not None:
            read_model_file(detector, DETECTOR)
        self._threads = ThreadPoolExecutor(_THREADS, "seeing")
        self._own = threading.local()
        self._viewers: list[Viewer] = []
        self._waiting = 0

    def check_room(self) -> None:
        """Let another photo come in, before its body is read.

        Raises:
            QueueFullError: when too many wait already.
        """
        if self._waiting >= _MOST_WAITING:
            message = "too many photos at once; send this one again"
            raise QueueFullError(message)

    async def run(self, work: Callable[[Viewer], Result]) -> Result:
        """Return what `work` returns, once its turn has come.

        Raises:
            QueueFullError: when too many wait already.
        """
        self.check_room()
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: work(self._viewer()))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for the photos in hand, and let the children go."""
        self._threads.shutdown()
        for viewer in self._viewers:
            viewer.close()

    def _viewer(self) -> Viewer:
        found: Viewer | None = getattr(self._own, "viewer", None)
        if found is None:
            found = self._own.viewer = Viewer(
                detector=self._detector, embedder=self._embedder
            )
            self._viewers.append(found)
        return found
