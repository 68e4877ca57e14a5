"""Leases: a task that only one process of all machines may do at a time.

The holder renews its lease while it works; when it dies, the lease expires and another
process takes it. A process that stood still may believe that it still holds the lease, so
what it writes must be safe beside another's, as by a compare-and-set.
"""

import secrets
from typing import Final

import sqlalchemy as sa

from productrecs.core.clock import SECOND_MS, Clock
from productrecs.core.ids import INSTALLATION
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.tables import leases

LEASE_MS: Final = 15 * SECOND_MS


class Lease:
    """One process's claim to a task; it expires by a clock that all machines share."""

    def __init__(self, database: Database, task: str, clock: Clock) -> None:
        """Claim nothing yet."""
        self._database = database
        self._task = task
        self._clock = clock
        self._holder = secrets.token_hex(16)

    def take_or_renew(self) -> bool:
        """Take or renew the lease; return whether this process holds it.

        Raises:
            StorageError: when the database cannot be written.
        """
        now = self._clock()
        with self._database.transaction(synced=False) as transaction:
            row = upsert(transaction, leases).values(
                store_id=INSTALLATION,
                task=self._task,
                holder=self._holder,
                expires_at=now + LEASE_MS,
            )
            free = sa.or_(
                leases.c.holder == self._holder,
                leases.c.expires_at <= now,
                leases.c.expires_at > now + 2 * LEASE_MS,  # its clock was set back since
            )
            query = row.on_conflict_do_update(
                index_elements=[leases.c.store_id, leases.c.task],
                set_={
                    "holder": row.excluded.holder,
                    "expires_at": row.excluded.expires_at,
                },
                where=free,
            ).returning(leases.c.task)
            return transaction.execute(query).first() is not None

    def release(self) -> None:
        """Let another process take the lease at once, if this one holds it.

        Raises:
            StorageError: when the database cannot be written; the lease then expires.
        """
        with self._database.transaction(synced=False) as transaction:
            transaction.execute(
                leases.delete().where(
                    leases.c.store_id == INSTALLATION,
                    leases.c.task == self._task,
                    leases.c.holder == self._holder,
                )
            )
