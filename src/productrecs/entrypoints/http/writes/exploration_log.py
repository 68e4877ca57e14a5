"""Exploration log: explored items of served lists, stored in the background."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.entrypoints.http.writes.write_behind import WriteBehind
from productrecs.features.recommendations.recommend import Decision
from productrecs.records.experiments.holdouts_and_explorations import Exploration
from productrecs.records.experiments.repository import store_explorations
from productrecs.storage.database import Database

FLUSH_SECONDS: Final = 1.0


class ExplorationLog:
    """Records explored items of lists, with write-behind."""

    def __init__(self, database: Database) -> None:
        """Start empty."""
        self._database = database
        self.write_behind = WriteBehind(
            self._store, what="tries of lists", seconds=FLUSH_SECONDS
        )

    def note(self, store_id: StoreId, decision: Decision, now_ms: int) -> None:
        """Record the explored item of a list, if it has one."""
        tried, context = decision.tried, decision.context
        if tried is None:
            return
        day = datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
        self.write_behind.noted.note(
            Exploration(
                store_id=store_id,
                day=day,
                shopper=context.person,
                about=context.anchors[0] if context.anchors else -1,
                item=tried.pick.item,
                place=tried.place + 1,
                chance=tried.chance,
                first_at=now_ms,
            )
        )

    def _store(self, batch: Sequence[Exploration]) -> None:
        with self._database.transaction(synced=False) as transaction:
            store_explorations(transaction, batch)
