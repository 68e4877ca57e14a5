"""Recurring jobs: enqueues a store's job once per interval, over all workers.

The last run of each task is a database row: it survives restarts, and exactly one of many
workers takes each run.
"""

import zlib
from collections.abc import Sequence

import sqlalchemy as sa

from productrecs.core.clock import MINUTE_MS, Clock
from productrecs.core.ids import INSTALLATION, StoreId
from productrecs.storage.jobs.job_queue import JobQueue, NewJob
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.tables import stores
from productrecs.storage.sql.tables.account_and_job_tables import duties


class RecurringJobEnqueuer:
    """Enqueues the jobs of periodic tasks, for all stores. Uses the machine's clock."""

    def __init__(self, database: Database, queue: JobQueue, clock: Clock) -> None:
        """Record runs in `database` and enqueue jobs in `queue`."""
        self._database = database
        self._queue = queue
        self._clock = clock

    def enqueue_due(
        self,
        task: str,
        every_ms: int,
        new_jobs: Sequence[NewJob],
        *,
        overdue_ms: int = 0,
        spread: bool = False,
    ) -> int:
        """Enqueue the jobs of stores for which `task` is due; return the number.

        A later run has to be due for `overdue_ms`. With `spread` the first run of a store
        is later: at a moment of the interval that its id decides.

        A store's task runs at most once every `every_ms`, for any number of workers and
        restarts. Runs missed while no worker ran are skipped, and so is a store whose last
        job still waits for a worker. If no task is due, it only reads.
        """
        if not new_jobs:
            return 0
        is_due = _is_due(self._clock(), every_ms, overdue_ms)
        with self._database.reading() as connection:
            query = sa.select(duties.c.store_id, is_due).where(duties.c.duty == task)
            known = {row[0]: bool(row[1]) for row in connection.execute(query)}
        due = [job for job in new_jobs if known.get(job.store_id, True)]
        if due:  # thousands may wait for long: to enqueue them again would take their time
            waiting = self._queue.stores_with_waiting_job(task)
            due = [job for job in due if job.store_id not in waiting]
        if not due:
            return 0
        with self._database.transaction() as transaction:
            existing = _lock_existing_stores(transaction, [job.store_id for job in due])
            # One order, so that two workers cannot deadlock on each other's rows.
            enqueued = [
                job
                for job in sorted(due, key=lambda job: job.store_id)
                if job.store_id in existing
                and self._take_run_and_set_next(
                    transaction, job, every_ms, is_due, spread and job.store_id not in known
                )
            ]
            for job in enqueued:
                self._queue.enqueue(transaction, job)
        return len(enqueued)

    def _take_run_and_set_next(
        self,
        transaction: sa.Connection,
        job: NewJob,
        every_ms: int,
        is_due: sa.ColumnElement[bool],
        is_spread_first: bool,  # noqa: FBT001 - the only caller computes it
    ) -> bool:
        """Set the next run; return whether this one is due; the first spread one is not."""
        now = self._clock()
        wait_ms = (
            _first_wait_ms(job.kind, every_ms, job.store_id)
            if is_spread_first
            else every_ms
        )
        row = upsert(transaction, duties).values(
            store_id=job.store_id, duty=job.kind, due_at=now + wait_ms
        )
        query = row.on_conflict_do_update(
            index_elements=[duties.c.store_id, duties.c.duty],
            set_={"due_at": row.excluded.due_at},
            where=is_due,
        ).returning(duties.c.duty)
        return transaction.execute(query).first() is not None and not is_spread_first


def _first_wait_ms(task: str, every_ms: int, store_id: StoreId) -> int:
    return zlib.crc32(f"{task} {store_id}".encode()) * every_ms >> 32


def _lock_existing_stores(
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


def _is_due(now: int, every_ms: int, overdue_ms: int) -> sa.ColumnElement[bool]:
    # A due time later than this was written before the clock was set back.
    latest_due = now + 2 * every_ms + MINUTE_MS
    return sa.or_(duties.c.due_at <= now - overdue_ms, duties.c.due_at > latest_due)
