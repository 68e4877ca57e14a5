"""Job counts: numbers of background jobs that are queued, running or dead."""

from typing import NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.job_queue import JobState
from productrecs.storage.tables import jobs


def count_jobs(connection: sa.Connection, store_id: StoreId) -> dict[JobState, int]:
    """Return the store's number of jobs in each state, including 0."""
    query = (
        sa.select(jobs.c.state, sa.func.count())
        .where(jobs.c.store_id == store_id)
        .group_by(jobs.c.state)
    )
    found = {JobState(state): int(count) for state, count in connection.execute(query)}
    return dict.fromkeys(JobState, 0) | found


def job_progress(connection: sa.Connection, store_id: StoreId, kind: str) -> float | None:
    """Return the progress (0 to 1) of the store's running job of a kind, or None."""
    query = sa.select(sa.func.coalesce(jobs.c.progress, 0.0)).where(
        jobs.c.store_id == store_id,
        jobs.c.kind == kind,
        jobs.c.state == JobState.RUNNING,
    )
    found = connection.execute(query).scalar()
    return None if found is None else float(found)


class Backlog(NamedTuple):
    """The jobs of one kind over all stores, and the due time of the first."""

    kind: str
    counts: dict[JobState, int]
    due_since: int | None  # None when none is due


def backlogs(connection: sa.Connection, now_ms: int) -> list[Backlog]:
    """Return queued, running and dead jobs by kind; `now_ms` is the machine's time."""
    query = (
        sa.select(jobs.c.kind, jobs.c.state, sa.func.count(), sa.func.min(jobs.c.run_at))
        .where(
            jobs.c.state.in_([JobState.QUEUED, JobState.RUNNING, JobState.DEAD])
        )  # has an index
        .group_by(jobs.c.kind, jobs.c.state)
        .order_by(jobs.c.kind)
    )
    found: dict[str, Backlog] = {}
    for kind, state, count, first in connection.execute(query):
        backlog = found.get(kind) or Backlog(kind, {}, None)
        backlog.counts[JobState(state)] = int(count)
        is_due = state == JobState.QUEUED and first <= now_ms
        found[kind] = backlog._replace(due_since=int(first)) if is_due else backlog
    return list(found.values())
