"""Arm assigner: chooses the arm of a test that a shopper is in; records the exposure later.

The arm is assigned at once and stored in the background. A failure never fails a reply:
without the database, this process's memory decides, else the id alone.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.clock import Clock
from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.records.experiments.arm_assignment import (
    ArmSplit,
    Exposure,
    draw_arm,
)
from productrecs.records.experiments.exposures.repository import (
    NOBODY,
    StoredIdentity,
    read_stored_identity,
)
from productrecs.storage.sql.dialects import RawReader

_log = logging.getLogger(__name__)

BACKOFF_SECONDS: Final = 2.0  # pause after the database did not answer

Read = Callable[[Callable[[RawReader], StoredIdentity]], Awaitable[StoredIdentity]]


class ArmAssigner:
    """Assigns shoppers to the arms of tests, and records exposures."""

    def __init__(
        self,
        write_later: Callable[[Exposure], None],
        clock: Clock,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start empty; `seconds` is the clock of the pause."""
        self._clock = clock
        self._seconds = seconds
        self._units: OrderedDict[tuple[StoreId, str], str] = OrderedDict()
        self._retry_at = 0.0
        self._write_later = write_later

    async def stored_identity_or_nobody(
        self, store_id: StoreId, identities: Sequence[str], read: Read
    ) -> StoredIdentity:
        """Return the stored data about a shopper; nothing while the database is away.

        `read` runs a short read of the database.
        """
        if self._seconds() >= self._retry_at:
            try:
                return await read(
                    lambda reader: read_stored_identity(reader, store_id, identities)
                )
            except StorageError:
                self._retry_at = self._seconds() + BACKOFF_SECONDS
            except Exception:
                _log.exception("holdout lookup failed")
                self._retry_at = self._seconds() + BACKOFF_SECONDS
        return NOBODY

    def assign_and_record(
        self,
        store_id: StoreId,
        split: ArmSplit,
        identities: Sequence[str],
        stored: StoredIdentity,
    ) -> str:
        """Return the arm of a shopper in a test, and record the exposure."""
        unit = self._randomization_unit(store_id, identities, stored)
        arm = draw_arm(store_id, split, unit)
        now_ms = self._clock()
        for name in dict.fromkeys((*identities, *stored.names)):
            self._write_later(Exposure(store_id, name, split.name, arm, unit, now_ms))
            self._cache_unit((store_id, name), unit)
        return arm

    def _randomization_unit(
        self, store_id: StoreId, identities: Sequence[str], stored: StoredIdentity
    ) -> str:
        if stored.unit is not None:
            return stored.unit
        for name in identities:
            if (unit := self._units.get((store_id, name))) is not None:
                return unit
        return stored.session or identities[-1]

    def _cache_unit(self, unit_key: tuple[StoreId, str], unit: str) -> None:
        self._units[unit_key] = unit
        self._units.move_to_end(unit_key)
        if len(self._units) > RegisteredCache.HOLDOUT_UNITS.limit:
            self._units.popitem(last=False)
