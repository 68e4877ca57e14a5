"""Job queue: durable background jobs with leases, fencing tokens and retries.

A job is a row, written in the transaction that needs the work. A worker claims it for the
length of a lease and extends the lease while it works. When the worker dies, the lease
expires and another worker claims the job; the first one's token is then invalid.

Only one job of a key runs at a time. A second job of that key is queued, and further ones
are merged into the queued one.

Totals by kind remain after job rows are deleted.
"""

import json
import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.clock import DAY_MS, MINUTE_MS, SECOND_MS, Clock
from productrecs.core.errors import StorageBusyError
from productrecs.core.ids import StoreId, random_text
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.tables import jobs
from productrecs.storage.sql.tables.account_and_job_tables import job_totals

_ALL_STORES: Final = "*"  # rows of the installation, not of a store


class JobAttemptOutcome(StrEnum):
    """The outcome of one attempt at a job."""

    DONE = "done"
    RETRIED = "retried"  # it failed, and will be retried
    DEAD = "dead"  # the last attempt failed


class JobKindTotals(NamedTuple):
    """The jobs of one kind: attempts by outcome, and their total duration."""

    kind: str
    done: int
    retried: int
    dead: int
    milliseconds: int
    done_at: int | None  # time of the last success, by the machine's clock


def add_attempt_to_totals(
    transaction: sa.Connection,
    kind: str,
    outcome: JobAttemptOutcome,
    took_ms: int,
    now_ms: int,
) -> None:
    """Add one attempt, in the transaction that ends it."""
    counts = {
        possible_outcome.value: int(possible_outcome is outcome)
        for possible_outcome in JobAttemptOutcome
    }
    row = upsert(transaction, job_totals).values(
        store_id=_ALL_STORES,
        kind=kind,
        milliseconds=max(0, took_ms),
        done_at=now_ms if outcome is JobAttemptOutcome.DONE else None,
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


def job_totals_by_kind(connection: sa.Connection) -> list[JobKindTotals]:
    """Return the totals of every kind that has run."""
    columns = [job_totals.c[name] for name in JobKindTotals._fields]
    query = (
        sa.select(*columns)
        .where(job_totals.c.store_id == _ALL_STORES)
        .order_by(job_totals.c.kind)
    )
    return [JobKindTotals(*row) for row in connection.execute(query)]


DONE_RETENTION_MS: Final = DAY_MS
DEAD_RETENTION_MS: Final = 30 * DAY_MS
MAX_ERROR_LENGTH: Final = 500

_BATCH: Final = 1_000
_ATTEMPTS: Final = 5
_SECRETS: Final = (
    (re.compile(r"\b([ps]k_)\w+"), r"\1..."),
    (re.compile(r"(\w://)[^\s/@]+@"), r"\1...@"),
    (re.compile(r"\w[\w.+-]*@[\w-]+(\.[\w-]+)+"), "...@..."),
)


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be enqueued.

    Jobs with the same `key` never run at the same time; the default is the kind. `run_at`
    is the earliest start; the default is now.
    """

    store_id: StoreId
    kind: str
    key: str = ""
    payload: Mapping[str, object] = field(default_factory=dict)
    run_at: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job; its token proves that the claim is still valid."""

    store_id: StoreId
    job_id: str
    kind: str
    key: str
    payload: Mapping[str, Any]
    attempts: int
    token: str
    claimed_at: int


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Lease time, number of attempts, and the delays between them."""

    lease_ms: int = 10 * SECOND_MS
    attempts: int = 5
    first_delay_ms: int = 2 * SECOND_MS
    longest_delay_ms: int = 15 * MINUTE_MS

    def delay_ms(self, attempts: int, rng: random.Random) -> int:
        """Return the delay after that many attempts: exponential, with random jitter."""
        full = min(self.longest_delay_ms, self.first_delay_ms << min(attempts - 1, 20))
        return round(full * (0.5 + rng.random() / 2))


class JobQueue:
    """The jobs of all stores, by the machine's clock. Threads can share it."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        rng: random.Random,
        policy: RetryPolicy | None = None,
    ) -> None:
        """Work on `database`; `rng` supplies the jitter of retries."""
        self._database = database
        self._clock = clock
        self._rng = rng
        self.policy = policy or RetryPolicy()

    def enqueue(self, transaction: sa.Connection, new_job: NewJob) -> str:
        """Store the job in the caller's transaction and return its id.

        If a job of the same key is queued, return its id: it gets the newer payload and
        the earlier start, but a retry's delay is never shortened.
        """
        now = self._clock()
        row = upsert(transaction, jobs).values(
            store_id=new_job.store_id,
            job_id="job_" + random_text(16),
            kind=new_job.kind,
            key=new_job.key or new_job.kind,
            state=JobState.QUEUED,
            payload=json.dumps(dict(new_job.payload)),
            attempts=0,
            run_at=now if new_job.run_at is None else new_job.run_at,
            created_at=now,
        )
        requested = row.excluded.run_at
        sooner = sa.and_(jobs.c.attempts == 0, requested < jobs.c.run_at)
        query = row.on_conflict_do_update(
            index_elements=[jobs.c.store_id, jobs.c.key],
            index_where=sa.text("state = 'queued'"),
            set_={
                "payload": row.excluded.payload,
                "run_at": sa.case((sooner, requested), else_=jobs.c.run_at),
            },
        )
        return str(transaction.execute(query.returning(jobs.c.job_id)).scalar_one())

    def stores_with_waiting_job(self, key: str) -> set[StoreId]:
        """Return the stores whose queued job of that key only waits for a worker."""
        query = sa.select(jobs.c.store_id).where(
            jobs.c.state == _literal(JobState.QUEUED),
            jobs.c.run_at <= self._clock(),
            jobs.c.key == key,
        )
        with self._database.reading() as connection:
            return {StoreId(row[0]) for row in connection.execute(query)}

    def claim(self, kinds: Collection[str]) -> Job | None:
        """Claim and return a due job of one of `kinds`; None when no job is due.

        Jobs whose lease expired come first, then the longest due. If none is due, it only
        reads.
        """
        if not self.has_due_job(kinds):
            return None
        try:
            with self._database.transaction() as transaction:
                return self._claim(transaction, _due_job_queries(tuple(sorted(kinds))))
        except sa.exc.IntegrityError:  # another worker has just claimed one of the same key
            return None

    def has_due_job(self, kinds: Collection[str]) -> bool:
        """Return whether a job of one of `kinds` is due; reads only."""
        query = _due_job_queries(tuple(sorted(kinds))).any
        with self._database.reading() as connection:
            return bool(connection.execute(query, self._time_parameters()).scalar())

    def extend_lease(self, job: Job, progress: float | None = None) -> bool:
        """Extend the lease and store the progress (0 to 1); return False if it was lost.

        A job with new progress does not crash its workers, so its attempts are reset.
        """
        values: dict[str, Any] = {"leased_until": self._clock() + self.policy.lease_ms}
        if progress is not None:
            further = progress > sa.func.coalesce(jobs.c.progress, 0.0)
            values["progress"] = sa.case((further, progress), else_=jobs.c.progress)
            values["attempts"] = sa.case((further, 1), else_=jobs.c.attempts)
        with self._database.transaction() as transaction:
            return _update_if_claimed(transaction, job, values)

    def mark_done(self, job: Job) -> bool:
        """Mark the job done; return False, without changes, if the lease was lost."""
        values = {
            "state": JobState.DONE,
            "finished_at": self._clock(),
            "error": None,
        } | _FREE
        with self._database.transaction() as transaction:
            is_claimed = _update_if_claimed(transaction, job, values)
            if is_claimed:
                self._count_outcome(transaction, job, JobAttemptOutcome.DONE)
        return is_claimed

    def fail(
        self, job: Job, error: BaseException, *, final: bool = False
    ) -> JobState | None:
        """Requeue the job, or mark it dead after its last attempt; return the new state.

        None means that the lease was lost and nothing was changed. `final` means that a
        retry cannot help.
        """
        for _ in range(_ATTEMPTS):
            try:
                with self._database.transaction() as transaction:
                    return self._requeue_or_mark_dead(
                        transaction, job, describe_error_without_secrets(error), final=final
                    )
            except sa.exc.IntegrityError:  # one of its key was queued meanwhile
                continue
        message = (
            f"job {job.job_id} could not be returned to the queue; it will be when its "
            "lease ends"
        )
        raise StorageBusyError(message)

    def requeue_interrupted(self, job: Job) -> bool:
        """Requeue an interrupted job, uncounted; return False if the lease was lost."""
        values = {"attempts": job.attempts - 1, "run_at": self._clock()}
        for _ in range(_ATTEMPTS):
            try:
                with self._database.transaction() as transaction:
                    return _lock_and_read_attempts(
                        transaction, job
                    ) is not None and _requeue(transaction, job, values)
            except sa.exc.IntegrityError:  # one of its key was queued meanwhile
                continue
        return True  # ours until the lease expires; then another worker claims it

    def purge_finished(self) -> int:
        """Delete jobs done for a day or dead for a month; return the number."""
        now = self._clock()
        retention = {JobState.DONE: DONE_RETENTION_MS, JobState.DEAD: DEAD_RETENTION_MS}
        return sum(
            self._delete_finished(state, now - ms) for state, ms in retention.items()
        )

    def _count_outcome(
        self, transaction: sa.Connection, job: Job, outcome: JobAttemptOutcome
    ) -> None:
        now = self._clock()
        add_attempt_to_totals(transaction, job.kind, outcome, now - job.claimed_at, now)

    def _time_parameters(self) -> dict[str, int]:
        now = self._clock()
        # A lease that ends later than this was written before the clock was set back.
        return {"now": now, "beyond": now + 10 * self.policy.lease_ms}

    def _claim(self, transaction: sa.Connection, due: "_DueJobQueries") -> Job | None:
        while True:
            times = self._time_parameters()
            row = _first_due_row(transaction, due, times)
            if row is None:
                return None
            if row["state"] == JobState.QUEUED or row["attempts"] < self.policy.attempts:
                return self._take_lease(transaction, row, times["now"])
            message = f"its worker died {row['attempts']} times while running it"
            dead = {"state": JobState.DEAD, "finished_at": times["now"], "error": message}
            transaction.execute(jobs.update().where(_is(row)).values(dead | _FREE))

    def _take_lease(self, transaction: sa.Connection, row: sa.RowMapping, now: int) -> Job:
        job = Job(
            store_id=StoreId(row["store_id"]),
            job_id=row["job_id"],
            kind=row["kind"],
            key=row["key"],
            payload=json.loads(row["payload"]),
            attempts=row["attempts"] + 1,
            token=random_text(16),
            claimed_at=now,
        )
        values = {
            "state": JobState.RUNNING,
            "token": job.token,
            "attempts": job.attempts,
            "leased_until": now + self.policy.lease_ms,
        }
        transaction.execute(jobs.update().where(_is(row)).values(values))
        return job

    def _requeue_or_mark_dead(
        self, transaction: sa.Connection, job: Job, error: str, *, final: bool
    ) -> JobState | None:
        attempts = _lock_and_read_attempts(transaction, job)
        if attempts is None:
            return None
        now = self._clock()
        is_last = final or attempts >= self.policy.attempts
        self._count_outcome(
            transaction,
            job,
            JobAttemptOutcome.DEAD if is_last else JobAttemptOutcome.RETRIED,
        )
        if is_last:
            dead = {"state": JobState.DEAD, "finished_at": now, "error": error} | _FREE
            _update_if_claimed(transaction, job, dead)
            return JobState.DEAD
        delay = self.policy.delay_ms(attempts, self._rng)
        _requeue(transaction, job, {"run_at": now + delay, "error": error})
        return JobState.QUEUED

    def _delete_finished(self, state: JobState, before_ms: int) -> int:
        old = (
            sa.select(jobs.c.store_id, jobs.c.job_id)
            .where(
                jobs.c.state == _literal(state),
                jobs.c.run_at <= before_ms,  # before it finished; this column is indexed
                jobs.c.finished_at <= before_ms,
            )
            .limit(_BATCH)
        )
        query = jobs.delete().where(sa.tuple_(jobs.c.store_id, jobs.c.job_id).in_(old))
        total, deleted = 0, _BATCH
        while deleted == _BATCH:
            with self._database.transaction() as transaction:
                deleted = transaction.execute(query).rowcount
            total += deleted
        return total


def describe_error_without_secrets(error: BaseException) -> str:
    """Describe an error in at most 500 characters, without keys and addresses."""
    text = f"{type(error).__name__}: {error}"
    for pattern, harmless in _SECRETS:
        text = pattern.sub(harmless, text)
    return text if len(text) <= MAX_ERROR_LENGTH else text[: MAX_ERROR_LENGTH - 3] + "..."


_FREE: Final[dict[str, Any]] = {"token": None, "leased_until": None}


def _literal(state: JobState) -> sa.BindParameter[str]:
    # A literal: a partial index is used only if the query repeats its condition.
    return sa.literal(state.value, literal_execute=True)


@dataclass(frozen=True, slots=True)
class _DueJobQueries:
    """Queries with `:now` as parameter; built once, since idle workers poll often."""

    any: sa.Select[Any]
    abandoned: sa.Select[Any]
    waiting: sa.Select[Any]


@memoized(RegisteredCache.STATEMENTS)
def _due_job_queries(kinds: tuple[str, ...]) -> _DueJobQueries:
    now: sa.BindParameter[int] = sa.bindparam("now")
    latest_lease: sa.BindParameter[int] = sa.bindparam("beyond")
    running = jobs.alias("other")
    same_key_runs = sa.exists().where(
        running.c.store_id == jobs.c.store_id,
        running.c.key == jobs.c.key,
        running.c.state == _literal(JobState.RUNNING),
    )
    candidate = sa.select(jobs).where(jobs.c.kind.in_(kinds)).limit(1)
    abandoned = candidate.where(
        jobs.c.state == _literal(JobState.RUNNING),
        sa.or_(jobs.c.leased_until <= now, jobs.c.leased_until > latest_lease),
    )
    waiting = candidate.where(
        jobs.c.state == _literal(JobState.QUEUED), jobs.c.run_at <= now, ~same_key_runs
    ).order_by(jobs.c.run_at)
    return _DueJobQueries(
        any=sa.select(sa.or_(sa.exists(abandoned), sa.exists(waiting))),
        abandoned=abandoned.with_for_update(skip_locked=True),
        waiting=waiting.with_for_update(skip_locked=True),
    )


def _first_due_row(
    transaction: sa.Connection, due: _DueJobQueries, times: Mapping[str, int]
) -> sa.RowMapping | None:
    for query in (due.abandoned, due.waiting):
        row = transaction.execute(query, dict(times)).mappings().first()
        if row is not None:
            return row
    return None


def _is(row: sa.RowMapping) -> sa.ColumnElement[bool]:
    return sa.and_(jobs.c.store_id == row["store_id"], jobs.c.job_id == row["job_id"])


def _is_claim_of(job: Job) -> sa.ColumnElement[bool]:
    return sa.and_(
        jobs.c.store_id == job.store_id,
        jobs.c.job_id == job.job_id,
        jobs.c.token == job.token,
        jobs.c.state == _literal(JobState.RUNNING),
    )


def _update_if_claimed(
    transaction: sa.Connection, job: Job, values: Mapping[str, Any]
) -> bool:
    return (
        transaction.execute(jobs.update().where(_is_claim_of(job)).values(values)).rowcount
        == 1
    )


def _lock_and_read_attempts(transaction: sa.Connection, job: Job) -> int | None:
    """Lock the job's row and return its attempts, or None when the lease was lost."""
    query = sa.select(jobs.c.attempts).where(_is_claim_of(job)).with_for_update()
    return transaction.execute(query).scalar()


def _requeue(transaction: sa.Connection, job: Job, values: Mapping[str, Any]) -> bool:
    """Queue a claimed job again, merged with one of its key that was queued meanwhile."""
    newer = sa.and_(
        jobs.c.store_id == job.store_id,
        jobs.c.key == job.key,
        jobs.c.state == _literal(JobState.QUEUED),
    )
    payload = transaction.execute(
        jobs.delete().where(newer).returning(jobs.c.payload)
    ).scalar()
    merged = {} if payload is None else {"payload": payload}
    return _update_if_claimed(
        transaction, job, {"state": JobState.QUEUED, **_FREE, **values, **merged}
    )


def count_jobs_by_state(
    connection: sa.Connection, store_id: StoreId
) -> dict[JobState, int]:
    """Return the store's number of jobs in each state, including 0."""
    query = (
        sa.select(jobs.c.state, sa.func.count())
        .where(jobs.c.store_id == store_id)
        .group_by(jobs.c.state)
    )
    found = {JobState(state): int(count) for state, count in connection.execute(query)}
    return dict.fromkeys(JobState, 0) | found


def running_job_progress(
    connection: sa.Connection, store_id: StoreId, kind: str
) -> float | None:
    """Return the progress (0 to 1) of the store's running job of a kind, or None."""
    query = sa.select(sa.func.coalesce(jobs.c.progress, 0.0)).where(
        jobs.c.store_id == store_id,
        jobs.c.kind == kind,
        jobs.c.state == JobState.RUNNING,
    )
    found = connection.execute(query).scalar()
    return None if found is None else float(found)


class JobKindBacklog(NamedTuple):
    """The jobs of one kind over all stores, and the due time of the first."""

    kind: str
    counts: dict[JobState, int]
    due_since: int | None  # None when none is due


def job_backlogs(connection: sa.Connection, now_ms: int) -> list[JobKindBacklog]:
    """Return queued, running and dead jobs by kind; `now_ms` is the machine's time."""
    query = (
        sa.select(jobs.c.kind, jobs.c.state, sa.func.count(), sa.func.min(jobs.c.run_at))
        .where(
            jobs.c.state.in_([JobState.QUEUED, JobState.RUNNING, JobState.DEAD])
        )  # has an index
        .group_by(jobs.c.kind, jobs.c.state)
        .order_by(jobs.c.kind)
    )
    found: dict[str, JobKindBacklog] = {}
    for kind, state, count, first in connection.execute(query):
        backlog = found.get(kind) or JobKindBacklog(kind, {}, None)
        backlog.counts[JobState(state)] = int(count)
        is_due = state == JobState.QUEUED and first <= now_ms
        found[kind] = backlog._replace(due_since=int(first)) if is_due else backlog
    return list(found.values())
