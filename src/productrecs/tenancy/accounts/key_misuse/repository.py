"""Key misuse repository: SQL of a store's observed misuses."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.dialects import upsert
from productrecs.storage.tables import sightings
from productrecs.tenancy.accounts.key_misuse.misuse import KeyMisuse, MisuseKind
from productrecs.tenancy.accounts.repository import AccountRepository

MAX_STORED: Final = 50
"""The most misuses stored per store: strangers choose the origins they send."""


def store_key_misuse(transaction: sa.Connection, batch: Sequence[KeyMisuse]) -> None:
    """Store sightings of any stores; the first and the last time of each are kept."""
    # One order of rows in every process: no deadlock between their locks.
    ordered = sorted(batch, key=lambda one: one.key)
    for store_id, rows in AccountRepository(transaction).lock_each(ordered):
        KeyMisuseRepository(transaction, store_id).add(rows)


class KeyMisuseRepository:
    """What was seen of one store, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def all(self, since_ms: int = 0) -> list[KeyMisuse]:
        """Return the misuses since, each with its last time, the newest first."""
        query = (
            sa.select(sightings)
            .where(sightings.c.store_id == self._store_id, sightings.c.last_at >= since_ms)
            .order_by(sightings.c.last_at.desc(), sightings.c.value)
        )
        return [
            KeyMisuse(self._store_id, MisuseKind(row.kind), row.value, row.last_at)
            for row in self._transaction.execute(query)
        ]

    def add(self, batch: Sequence[KeyMisuse]) -> None:
        """Store sightings; of new ones no more than fit."""
        known = {(one.sign, one.value) for one in self.all()}
        for one in batch:
            if (one.sign, one.value) not in known and len(known) >= MAX_STORED:
                continue
            known.add((one.sign, one.value))
            row = upsert(self._transaction, sightings).values(
                store_id=self._store_id,
                kind=one.sign.value,
                value=one.value,
                first_at=one.seen_at,
                last_at=one.seen_at,
            )
            query = row.on_conflict_do_update(
                index_elements=[
                    sightings.c.store_id,
                    sightings.c.kind,
                    sightings.c.value,
                ],
                set_={"last_at": row.excluded.last_at},
            )
            self._transaction.execute(query)

    def forget(self, sign: MisuseKind) -> None:
        """Delete all records of one kind: the owner has solved it."""
        query = sightings.delete().where(
            sightings.c.store_id == self._store_id, sightings.c.kind == sign.value
        )
        self._transaction.execute(query)
