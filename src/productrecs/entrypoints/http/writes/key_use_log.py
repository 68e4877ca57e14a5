"""Key use log: when secret keys were last used, stored in the background."""

from collections.abc import Sequence
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId
from productrecs.entrypoints.http.writes.write_behind import WriteBehind
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.api_keys import KeyUse
from productrecs.tenancy.accounts.repository import store_key_uses

FLUSH_SECONDS: Final = 5.0


class KeyUseLog:
    """Records the uses of secret keys, one in ten minutes of each, with write-behind."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Start empty."""
        self._database = database
        self._clock = clock
        self.write_behind = WriteBehind(self._store, what="key uses", seconds=FLUSH_SECONDS)

    def note(self, store_id: StoreId, key_id: str) -> None:
        """Record that a key was used now."""
        self.write_behind.noted.note(KeyUse(store_id, key_id, self._clock()))

    def _store(self, batch: Sequence[KeyUse]) -> None:
        with self._database.transaction(synced=False) as transaction:
            store_key_uses(transaction, batch)
