"""Is whoever asks held out of a store's test? Decided at once, stored in the background.

Nothing here can fail a reply: where the database does not answer, what this process
remembers decides, and else the identity that was sent.
"""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.records.experiments.assignment import Arm, HoldoutTest, arm_of
from productrecs.records.experiments.exposures import Exposure, Exposures
from productrecs.records.experiments.repository import Met, read_met, store_exposures
from productrecs.storage.database import Database
from productrecs.storage.dialects import HotReader

_log = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 0.5
REST_SECONDS: Final = 2.0  # how long the database is left alone that did not answer
LAST_SECONDS: Final = 3.0  # what a stop waits for the rest to be stored
_BATCH: Final = 1_000
_REMEMBERED: Final = 100_000

Read = Callable[[Callable[[HotReader], Met]], Awaitable[Met]]


class Holdouts:
    """Which shoppers of this process's stores are held out, and who met which arm."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with nobody met; `seconds` times how long the database is left alone."""
        self._database = database
        self._clock = clock
        self._seconds = seconds
        self._units: OrderedDict[tuple[StoreId, str], str] = OrderedDict()
        self._away_until = 0.0
        self._told_lost = 0
        self.exposures = Exposures()

    async def is_held_out(
        self, store_id: StoreId, test: HoldoutTest, identities: Sequence[str], read: Read
    ) -> bool:
        """Return whether a call of a shopper gets an empty list, and note that they came.

        `read` runs a short read of the database.
        """
        met = await self._met(store_id, identities, read)
        unit = self._unit(store_id, identities, met)
        arm = arm_of(store_id, test, unit)
        now_ms = self._clock()
        for name in dict.fromkeys((*identities, *met.names)):
            exposure = Exposure(store_id, name, test.name, arm, unit, now_ms)
            self.exposures.note(exposure)
            self._remember((store_id, name), unit)
        return arm is Arm.HELD_OUT

    @contextlib.asynccontextmanager
    async def storing(self) -> AsyncIterator[None]:
        """Store what was noted twice a second, and the rest at the end."""
        flushing = asyncio.create_task(self._store_on())
        try:
            yield
        finally:
            flushing.cancel()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.to_thread(self.flush), LAST_SECONDS)

    def flush(self) -> None:
        """Store what waits; what cannot be stored now waits on, or is counted as lost."""
        while batch := self.exposures.take(_BATCH):
            try:
                with self._database.transaction(synced=False) as transaction:
                    store_exposures(transaction, batch)
            except Exception as error:
                self.exposures.put_back(batch)
                expected = isinstance(error, StorageError)
                _log.log(
                    logging.WARNING if expected else logging.ERROR,
                    "exposures of a holdout test could not be stored; they wait",
                    exc_info=not expected,
                )
                break
        if self.exposures.lost > self._told_lost:
            self._told_lost = self.exposures.lost
            _log.error(
                "exposures of a holdout test were lost", extra={"lost": self._told_lost}
            )

    async def _store_on(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            if self.exposures.depth:
                await asyncio.to_thread(self.flush)

    async def _met(self, store_id: StoreId, identities: Sequence[str], read: Read) -> Met:
        if self._seconds() >= self._away_until:
            try:
                return await read(lambda reader: read_met(reader, store_id, identities))
            except StorageError:
                self._away_until = self._seconds() + REST_SECONDS
            except Exception:
                _log.exception("a shopper's arm was decided without the database")
                self._away_until = self._seconds() + REST_SECONDS
        return Met((), None, None)

    def _unit(self, store_id: StoreId, identities: Sequence[str], met: Met) -> str:
        if met.unit is not None:
            return met.unit
        for name in identities:
            if (unit := self._units.get((store_id, name))) is not None:
                return unit
        return met.session or identities[-1]

    def _remember(self, who: tuple[StoreId, str], unit: str) -> None:
        self._units[who] = unit
        self._units.move_to_end(who)
        if len(self._units) > _REMEMBERED:
            self._units.popitem(last=False)
