"""Job counts: how many background jobs wait, run or have failed."""

from typing import NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.job_queue import JobState
from productrecs.storage.tables import jobs


def count_jobs(connection: sa.Connection, store_id: StoreId) -> dict[JobState, int]:
    """Return how many jobs of the store stand in each state, none being 0."""
    query = (
        sa.select(jobs.c.state, sa.func.count())
        .where(jobs.c.store_id == store_id)
        .group_by(jobs.c.state)
    )
    found = {JobState(state): int(count) for state, count in connection.execute(query)}
    return dict.fromkeys(JobState, 0) | found


def job_progress(connection: sa.Connection, store_id: StoreId, kind: str) -> float | None:
    """Return how far the store's running job of a kind is, 0 to 1; None when none runs."""
    query = sa.select(sa.func.coalesce(jobs.c.progress, 0.0)).where(
        jobs.c.store_id == store_id,
        jobs.c.kind == kind,
        jobs.c.state == JobState.RUNNING,
    )
    found = connection.execute(query).scalar()
    return None if found is None else float(found)


class Backlog(NamedTuple):
    """The jobs of one kind over all stores, and since when the first of them is due."""

    kind: str
    counts: dict[JobState, int]
    due_since: int | None  # None when none is due


def backlogs(connection: sa.Connection, now_ms: int) -> list[Backlog]:
    """Return what waits, runs or was given up, by kind; `now_ms` is the machine's time."""
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
