"""What did lists try? Stored in the background: no reply fails or waits for it."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId
from productrecs.features.recommendations.recommend import Decision
from productrecs.records.experiments.explorations import Exploration, Explorations
from productrecs.records.experiments.repository import store_explorations
from productrecs.storage.database import Database

_log = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1.0
LAST_SECONDS: Final = 3.0  # what a stop waits for the rest to be stored
_BATCH: Final = 1_000


class Exploring:
    """What this process's lists tried, on its way to the database."""

    def __init__(self, database: Database) -> None:
        """Begin with nothing tried."""
        self._database = database
        self._told_lost = 0
        self.tried = Explorations()

    def note(self, store_id: StoreId, decision: Decision, now_ms: int) -> None:
        """Note what a list tries, if it does."""
        tried, situation = decision.tried, decision.situation
        if tried is None:
            return
        day = datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
        self.tried.note(
            Exploration(
                store_id=store_id,
                day=day,
                shopper=situation.person,
                about=situation.anchors[0] if situation.anchors else -1,
                item=tried.pick.item,
                place=tried.place + 1,
                chance=tried.chance,
                first_at=now_ms,
            )
        )

    @contextlib.asynccontextmanager
    async def storing(self) -> AsyncIterator[None]:
        """Store what was noted each second, and the rest at the end."""
        flushing = asyncio.create_task(self._store_on())
        try:
            yield
        finally:
            flushing.cancel()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.to_thread(self.flush), LAST_SECONDS)

    def flush(self) -> None:
        """Store what waits; what cannot be stored now waits on, or is counted as lost."""
        while batch := self.tried.take(_BATCH):
            try:
                with self._database.transaction(synced=False) as transaction:
                    store_explorations(transaction, batch)
            except Exception as error:
                self.tried.put_back(batch)
                expected = isinstance(error, StorageError)
                _log.log(
                    logging.WARNING if expected else logging.ERROR,
                    "what lists tried could not be stored; it waits",
                    exc_info=not expected,
                )
                break
        if self.tried.lost > self._told_lost:
            self._told_lost = self.tried.lost
            _log.error("records of tries were lost", extra={"lost": self._told_lost})

    async def _store_on(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            if self.tried.depth:
                await asyncio.to_thread(self.flush)
