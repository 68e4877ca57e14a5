"""Key misuse log: leaked secret keys and foreign origins, stored in the background."""

import re
from collections.abc import Sequence
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId
from productrecs.entrypoints.http.writes.write_behind import WriteBehind
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import KeyMisuse, MisuseKind, store_key_misuse

FLUSH_SECONDS: Final = 2.0
_ORIGIN: Final = re.compile(r"https?://[^\s/?#@\x00-\x20]{1,240}", re.ASCII)
_INVALID_ORIGIN: Final = ""


class KeyMisuseLog:
    """Records misuse of keys, with write-behind."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Start empty."""
        self._database = database
        self._clock = clock
        self.write_behind = WriteBehind(
            self._store, what="sightings", seconds=FLUSH_SECONDS
        )

    def note(self, store_id: StoreId, sign: MisuseKind, origin: bytes | None) -> None:
        """Record a misuse, and the origin of the page if it is valid."""
        text = "" if origin is None else origin.decode("latin-1")
        value = text if _ORIGIN.fullmatch(text) else _INVALID_ORIGIN
        self.write_behind.noted.note(KeyMisuse(store_id, sign, value, self._clock()))

    def _store(self, batch: Sequence[KeyMisuse]) -> None:
        with self._database.transaction(synced=False) as transaction:
            store_key_misuse(transaction, batch)
