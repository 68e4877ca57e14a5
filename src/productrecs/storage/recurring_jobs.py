"""Periodic tasks: enqueues a store's recurring job once per interval, over all workers.

The last run of each task is a database row: it survives restarts, and exactly one of many
workers takes each run.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from productrecs.core.clock import MINUTE_MS, Clock
from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.storage.dialects import upsert
from productrecs.storage.job_queue import INSTALLATION, JobQueue, NewJob
from productrecs.storage.tables import stores
from productrecs.storage.tables.account_tables import duties


class PeriodicTasks:
    """Periodic tasks of all stores. Uses the machine's clock."""

    def __init__(self, database: Database, queue: JobQueue, clock: Clock) -> None:
        """Record runs in `database` and enqueue jobs in `queue`."""
        self._database = database
        self._queue = queue
        self._clock = clock

    def enqueue_due(self, task: str, every_ms: int, new_jobs: Sequence[NewJob]) -> int:
        """Enqueue the jobs of stores for which `task` is due; return the number.

        A store's task runs at most once every `every_ms`, for any number of workers and
        restarts. Runs missed while no worker ran are skipped. If no task is due, it only
        reads.
        """
        now = self._clock()
        with self._database.reading() as connection:
            query = sa.select(duties.c.store_id).where(
                duties.c.duty == task, ~_is_due(now, every_ms)
            )
            waiting = set(connection.execute(query).scalars())
        due = [job for job in new_jobs if job.store_id not in waiting]
        if not due:
            return 0
        with self._database.transaction() as transaction:
            existing = _lock_existing(transaction, [job.store_id for job in due])
            # One order, so that two workers cannot deadlock on each other's rows.
            enqueued = [
                job
                for job in sorted(due, key=lambda job: job.store_id)
                if job.store_id in existing
                and self._mark_due(transaction, task, every_ms, job)
            ]
            for job in enqueued:
                self._queue.enqueue(transaction, job)
        return len(enqueued)

    def _mark_due(
        self, transaction: sa.Connection, task: str, every_ms: int, job: NewJob
    ) -> bool:
        now = self._clock()
        row = upsert(transaction, duties).values(
            store_id=job.store_id, duty=task, due_at=now + every_ms
        )
        query = row.on_conflict_do_update(
            index_elements=[duties.c.store_id, duties.c.duty],
            set_={"due_at": row.excluded.due_at},
            where=_is_due(now, every_ms),
        ).returning(duties.c.duty)
        return transaction.execute(query).first() is not None


def _lock_existing(
    transaction: sa.Connection, store_ids: Sequence[StoreId]
) -> set[StoreId]:
    """Return the stores that exist and cannot be deleted before the transaction ends."""
    query = (
        sa.select(stores.c.store_id)
        .where(stores.c.store_id.in_(store_ids))
        .order_by(stores.c.store_id)
        .with_for_update(read=True, key_share=True)
    )
    found = transaction.execute(query).scalars()
    return {INSTALLATION, *(StoreId(store_id) for store_id in found)}


def _is_due(now: int, every_ms: int) -> sa.ColumnElement[bool]:
    # A due time later than this was written before the clock was set back.
    latest_due = now + 2 * every_ms + MINUTE_MS
    return sa.or_(duties.c.due_at <= now, duties.c.due_at > latest_due)
