"""Job totals: outcomes of all jobs by kind; they remain after job rows are deleted."""

from enum import StrEnum
from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.storage.dialects import upsert
from productrecs.storage.tables.account_tables import job_totals

_ALL_STORES: Final = "*"  # rows of the installation, not of a store


class JobOutcome(StrEnum):
    """The outcome of one attempt at a job."""

    DONE = "done"
    RETRIED = "retried"  # it failed, and will be retried
    DEAD = "dead"  # the last attempt failed


class JobTotals(NamedTuple):
    """The jobs of one kind: attempts by outcome, and their total duration."""

    kind: str
    done: int
    retried: int
    dead: int
    milliseconds: int
    done_at: int | None  # time of the last success, by the machine's clock


def record_attempt(
    transaction: sa.Connection, kind: str, ending: JobOutcome, took_ms: int, now_ms: int
) -> None:
    """Add one attempt, in the transaction that ends it."""
    counts = {one.value: int(one is ending) for one in JobOutcome}
    row = upsert(transaction, job_totals).values(
        store_id=_ALL_STORES,
        kind=kind,
        milliseconds=max(0, took_ms),
        done_at=now_ms if ending is JobOutcome.DONE else None,
        **counts,
    )
    added = {name: job_totals.c[name] + row.excluded[name] for name in counts}
    query = row.on_conflict_do_update(
        index_elements=[job_totals.c.store_id, job_totals.c.kind],
        set_={
            **added,
            "milliseconds": job_totals.c.milliseconds + row.excluded.milliseconds,
            "done_at": sa.func.coalesce(row.excluded.done_at, job_totals.c.done_at),
        },
    )
    transaction.execute(query)


def all_totals(connection: sa.Connection) -> list[JobTotals]:
    """Return the totals of every kind that has run."""
    columns = [job_totals.c[name] for name in JobTotals._fields]
    query = (
        sa.select(*columns)
        .where(job_totals.c.store_id == _ALL_STORES)
        .order_by(job_totals.c.kind)
    )
    return [JobTotals(*row) for row in connection.execute(query)]
