"""Key misuse log: leaked secret keys and foreign origins, stored in the background."""

import re
from collections.abc import Sequence
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId
from productrecs.entrypoints.http.writes.write_behind import WriteBehind
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.key_misuse.misuse import KeyMisuse, MisuseKind
from productrecs.tenancy.accounts.key_misuse.repository import store_key_misuse

FLUSH_SECONDS: Final = 2.0
_ORIGIN: Final = re.compile(r"https?://[^\s/?#@\x00-\x20]{1,240}", re.ASCII)
_STRANGE: Final = ""


class KeyMisuseLog:
    """What this process saw, on its way to the database; nobody waits for it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Begin with nothing seen."""
        self._database = database
        self._clock = clock
        self.write_behind = WriteBehind(
            self._store, what="sightings", seconds=FLUSH_SECONDS
        )

    def note(self, store_id: StoreId, sign: MisuseKind, origin: bytes | None) -> None:
        """Note what was seen, and on a page of which origin, if it names one."""
        told = "" if origin is None else origin.decode("latin-1")
        value = told if _ORIGIN.fullmatch(told) else _STRANGE
        self.write_behind.noted.note(KeyMisuse(store_id, sign, value, self._clock()))

    def _store(self, batch: Sequence[KeyMisuse]) -> None:
        with self._database.transaction(synced=False) as transaction:
            store_key_misuse(transaction, batch)
