"""Job worker: runs queued jobs one by one under a lease, and its schedule between."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Final

from productrecs.core.errors import ProductRecsError, StorageError, operator_text
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.processes.child_process import release_freed_memory
from productrecs.storage.jobs.job_queue import Job, JobQueue, JobState
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.worker.job_schedule import JobSchedule

_log = logging.getLogger(__name__)
_outage = OutageLogLimiter()  # of all workers of this process

IDLE_PAUSE: Final = timedelta(milliseconds=250)
LONG_IDLE_PAUSE: Final = timedelta(seconds=1)
LONG_IDLE_AFTER: Final = 40
"""After so many polls without a job, ten seconds, a worker polls once a second."""
ERROR_PAUSE: Final = timedelta(seconds=1)
SLOW_SECONDS: Final = 10.0
"""A job that takes longer is logged at level `info`."""
_RENEWALS_PER_LEASE: Final = 10 / 3


class JobRefusedError(ProductRecsError):
    """The job can never succeed; it fails for good without a retry."""


class JobInterruptedError(ProductRecsError):
    """The handler stopped early, on request or for another store; the job is requeued."""


def require_store_of_job(job: Job, accounts: AccountDirectory) -> Store:
    """Return the present store of a job.

    Raises:
        JobRefusedError: when it was deleted.
    """
    accounts.refresh()  # the store may have just registered
    store = accounts.by_id(job.store_id)
    if store is None:
        message = "the store was deleted"
        raise JobRefusedError(message)
    return store


class JobProgress:
    """The progress and the stop request of a running job."""

    def __init__(self, stopping: threading.Event) -> None:
        """Start at 0; `stopping` is set when the worker should stop."""
        self._stopping = stopping
        self._has_lost_lease = False
        self.fraction: float | None = None

    @property
    def stopping(self) -> bool:
        """Whether the job should stop: call `report_or_interrupt` at the next safe point.

        True when the worker should stop, and when another worker has taken over the lease.
        """
        return self._has_lost_lease or self._stopping.is_set()

    def report_or_interrupt(self, fraction: float) -> None:
        """Record the progress, from 0 to 1; the next heartbeat stores it.

        Call it only where the job may end early.

        Raises:
            JobInterruptedError: when the job should stop, see `stopping`.
        """
        self.fraction = fraction
        if self.stopping:
            message = f"stopped at {fraction:.0%}"
            raise JobInterruptedError(message)

    def lose_lease(self) -> None:
        """Record that another worker has the lease: this run's result is dropped."""
        self._has_lost_lease = True


JobHandler = Callable[[Job, JobProgress], None]
"""Runs one job. It raises `JobRefusedError` if a retry cannot help, and
`JobInterruptedError` to stop early; after any other error the job is retried."""


class JobWorker:
    """Runs jobs until `stop`; any number of workers share one queue."""

    def __init__(
        self,
        queue: JobQueue,
        handlers: Mapping[str, JobHandler],
        schedule: JobSchedule,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Run the kinds of job in `handlers`; `on_end` cleans up."""
        self._on_end = on_end
        self._queue = queue
        self._handlers = handlers
        self._schedule = schedule
        self._stopping = threading.Event()
        self._idle_polls = 0

    def run(self) -> None:
        """Run until `stop` is called; the current job is finished or requeued."""
        _log.info("worker started", extra={"kinds": sorted(self._handlers)})
        while not self._stopping.is_set():
            self._stopping.wait(self._run_due_and_choose_pause().total_seconds())
        self._on_end()
        _log.info("worker stopped")

    def stop(self) -> None:
        """Let `run` return after the current job; thread-safe, but not signal-safe."""
        self._stopping.set()

    def run_next_job(self) -> bool:
        """Run the next due job; return False when there is none.

        Raises:
            StorageError: when the queue cannot be read or written.
        """
        job = self._queue.claim(self._handlers)
        if job is None:
            return False
        began = time.monotonic()
        progress = JobProgress(self._stopping)
        try:
            with self._renew_lease_during(job, progress):
                self._handlers[job.kind](job, progress)
        except Exception as error:  # no job may end the worker
            outcome = self._requeue_or_fail(job, error)
        else:
            outcome = "done" if self._queue.mark_done(job) else "lost"
        seconds = time.monotonic() - began
        is_notable = outcome != "done" or seconds > SLOW_SECONDS
        level = logging.INFO if is_notable else logging.DEBUG
        _log.log(level, "job finished", extra=_job_log_fields(job, outcome, seconds))
        release_freed_memory()
        return True

    def _run_due_and_choose_pause(self) -> timedelta:
        """Run due work; return how long to pause."""
        try:
            self._schedule.enqueue_due_jobs()
            has_run = self.run_next_job()
        except StorageError as error:
            if _outage.should_log_failure():
                facts = {"error": operator_text(error)}
                _log.warning("job queue unavailable", extra=facts)
            return ERROR_PAUSE
        if _outage.should_log_recovery():
            _log.info("job queue available again")
        self._idle_polls = 0 if has_run else self._idle_polls + 1
        if has_run:
            return timedelta()
        return LONG_IDLE_PAUSE if self._idle_polls > LONG_IDLE_AFTER else IDLE_PAUSE

    def _requeue_or_fail(self, job: Job, error: Exception) -> str:
        if isinstance(error, JobInterruptedError):
            return "given back" if self._queue.requeue_interrupted(job) else "lost"
        final = isinstance(error, JobRefusedError | StoreDeletedError)
        state = self._queue.fail(job, error, final=final)
        facts = _job_log_fields(job, state or "lost", None)
        if state == JobState.DEAD and not isinstance(error, StoreDeletedError):
            _log.error("job abandoned", extra=facts, exc_info=error)
        elif not final:
            _log.warning("job failed", extra=facts, exc_info=error)
        return state or "lost"

    @contextlib.contextmanager
    def _renew_lease_during(self, job: Job, progress: JobProgress) -> Iterator[None]:
        """Renew the lease while the block runs."""
        ended = threading.Event()
        renewal = threading.Thread(
            target=self._renew_lease_until,
            args=(job, progress, ended),
            name="heartbeat",
            daemon=True,
        )
        renewal.start()
        try:
            yield
        finally:
            ended.set()
            renewal.join()

    def _renew_lease_until(
        self, job: Job, progress: JobProgress, over: threading.Event
    ) -> None:
        pause = self._queue.policy.lease_ms / 1000 / _RENEWALS_PER_LEASE
        while not over.wait(pause):
            try:
                if not self._queue.extend_lease(job, progress.fraction):
                    progress.lose_lease()
                    return
            except StorageError as error:  # the next heartbeat may still be in time
                _log.warning(
                    "job lease renewal failed", extra={"error": operator_text(error)}
                )


def _job_log_fields(job: Job, outcome: str, seconds: float | None) -> dict[str, object]:
    return {
        "job": job.job_id,
        "kind": job.kind,
        "store": job.store_id,
        "attempt": job.attempts,
        "outcome": outcome,
        **({} if seconds is None else {"ms": round(seconds * 1000, 1)}),
    }
