"""Where are shoppers' photos looked at? By processes apart from this one, two at a time.

Nothing of a photo is kept: its bytes live as long as the request, in memory alone.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from productrecs.core.errors import QueueFullError
from productrecs.records.pictures.weights import DETECTOR, EMBEDDER, read_model_file
from productrecs.training.visual.lookout import Lookout

Result = TypeVar("Result")

_THREADS: Final = 2
_MOST_WAITING: Final = 24
"""More would wait longer than anybody who took a photo does, and take memory meanwhile."""


class Seeing:
    """The threads that let photos be looked at, each with a process of its own."""

    def __init__(self, detector: Path | None = None, embedder: Path | None = None) -> None:
        """Start none yet; the first photos do.

        Raises:
            ModelFileError: when a model of the operator's cannot be used.
        """
        if embedder is not None:
            read_model_file(embedder, EMBEDDER)
        if detector is not None:
            read_model_file(detector, DETECTOR)
        self._detector, self._embedder = detector, embedder
        self._threads = ThreadPoolExecutor(_THREADS, "seeing")
        self._own = threading.local()
        self._lookouts: list[Lookout] = []
        self._waiting = 0

    def check_room(self) -> None:
        """Let another photo come in, before its body is read.

        Raises:
            QueueFullError: when too many wait already.
        """
        if self._waiting >= _MOST_WAITING:
            message = "too many photos at once; send this one again"
            raise QueueFullError(message)

    async def run(self, work: Callable[[Lookout], Result]) -> Result:
        """Return what `work` returns, once its turn has come.

        Raises:
            QueueFullError: when too many wait already.
        """
        self.check_room()
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: work(self._lookout()))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for the photos in hand, and let the processes go."""
        self._threads.shutdown()
        for lookout in self._lookouts:
            lookout.close()

    def _lookout(self) -> Lookout:
        found: Lookout | None = getattr(self._own, "lookout", None)
        if found is None:
            found = self._own.lookout = Lookout(self._detector, self._embedder)
            self._lookouts.append(found)
        return found
