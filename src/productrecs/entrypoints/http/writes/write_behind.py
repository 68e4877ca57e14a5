"""Write-behind: what replies record is stored in the background, in batches.

Nothing here can fail a reply. What cannot be stored now waits, up to a limit; beyond it
the rest is lost, and logged as lost.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Generic

from productrecs.core.errors import StorageError
from productrecs.records.experiments.write_behind import T, WriteBehindBuffer

_log = logging.getLogger(__name__)

LAST_FLUSH_SECONDS: Final = 3.0  # how long a stop waits for the last flush
_BATCH: Final = 1_000


class WriteBehind(Generic[T]):
    """A write-behind buffer: records are stored periodically, in batches."""

    def __init__(
        self, store: Callable[[Sequence[T]], None], *, what: str, seconds: float
    ) -> None:
        """Start empty; `store` writes a batch, every `seconds`."""
        self._store = store
        self._what = what
        self._seconds = seconds
        self._logged_lost = 0
        self.noted = WriteBehindBuffer[T]()

    @contextlib.asynccontextmanager
    async def flush_periodically(self) -> AsyncIterator[None]:
        """Store periodically while the block runs, and the rest at its end."""
        flushing = asyncio.create_task(self._flush_forever())
        try:
            yield
        finally:
            flushing.cancel()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.to_thread(self.flush), LAST_FLUSH_SECONDS)

    def flush(self) -> None:
        """Store everything buffered; what fails stays buffered, or is counted as lost."""
        while batch := self.noted.take(_BATCH):
            try:
                self._store(batch)
            except Exception as error:
                self.noted.put_back(batch)
                expected = isinstance(error, StorageError)
                _log.log(
                    logging.WARNING if expected else logging.ERROR,
                    "write-behind flush failed",
                    extra={"what": self._what},
                    exc_info=not expected,
                )
                break
        if self.noted.lost > self._logged_lost:
            self._logged_lost = self.noted.lost
            facts = {"what": self._what, "lost": self._logged_lost}
            _log.error("write-behind records lost", extra=facts)

    async def _flush_forever(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if self.noted.depth:
                await asyncio.to_thread(self.flush)
