"""Job worker: runs queued jobs one after the other, each under a lease that it renews."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Final

from productrecs.core.errors import ProductRecsError, StorageError
from productrecs.entrypoints.worker.job_schedule import JobSchedule
from productrecs.storage.job_queue import Job, JobQueue, JobState
from productrecs.storage.store_log import StoreDeletedError

_log = logging.getLogger(__name__)

IDLE_PAUSE: Final = timedelta(milliseconds=250)
ERROR_PAUSE: Final = timedelta(seconds=1)
_BEATS_A_LEASE: Final = 10 / 3


class JobRefusedError(ProductRecsError):
    """The job can never succeed; it is buried at once instead of being tried again."""


class JobInterruptedError(ProductRecsError):
    """The handler stopped early because it was asked to; the job goes back unharmed."""


class JobProgress:
    """What a handler and its worker tell each other while a job runs."""

    def __init__(self, stopping: threading.Event) -> None:
        """Begin at nothing; `stopping` is set when the worker is to end."""
        self._stopping = stopping
        self._lost = False
        self.fraction: float | None = None

    @property
    def stopping(self) -> bool:
        """Whether to stop at the next safe point: `report`, or raise as it does.

        True when the worker is to end, and when another worker has taken the job over.
        """
        return self._lost or self._stopping.is_set()

    def report(self, fraction: float) -> None:
        """Note how much is done, from 0 to 1; stored with the next sign of life.

        Call it only where the job may end early.

        Raises:
            JobInterruptedError: when it has to, see `stopping`.
        """
        self.fraction = fraction
        if self.stopping:
            message = f"stopped at {fraction:.0%}"
            raise JobInterruptedError(message)

    def lose(self) -> None:
        """Note that the lease is another's now: nothing that is done here counts."""
        self._lost = True


JobHandler = Callable[[Job, JobProgress], None]
"""Does one job. Raise `JobRefusedError` where no further attempt can help, and
`JobInterruptedError` to stop early; anything else raised is tried again later."""


class JobWorker:
    """Runs jobs until it is told to stop; any number of workers share one queue."""

    def __init__(
        self,
        queue: JobQueue,
        handlers: Mapping[str, JobHandler],
        schedule: JobSchedule,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare to do the kinds of job that `handlers` names; `on_end` clears up."""
        self._on_end = on_end
        self._queue = queue
        self._handlers = handlers
        self._schedule = schedule
        self._stopping = threading.Event()

    def run(self) -> None:
        """Work until `stop` is called; the job in hand is finished or given back."""
        _log.info("worker started", extra={"kinds": sorted(self._handlers)})
        while not self._stopping.is_set():
            self._stopping.wait(self._turn().total_seconds())
        self._on_end()
        _log.info("worker stopped")

    def stop(self) -> None:
        """Let `run` return after the job in hand; safe from threads only."""
        self._stopping.set()

    def run_one(self) -> bool:
        """Run the next due job; return False when there is none.

        Raises:
            StorageError: when the queue could not be asked or told.
        """
        job = self._queue.claim(self._handlers)
        if job is None:
            return False
        began = time.monotonic()
        progress = JobProgress(self._stopping)
        try:
            with self._alive(job, progress):
                self._handlers[job.kind](job, progress)
        except Exception as error:  # whatever a job does, the worker goes on
            outcome = self._put_back(job, error)
        else:
            outcome = "done" if self._queue.done(job) else "lost"
        _log.info("job finished", extra=_facts(job, outcome, time.monotonic() - began))
        return True

    def _turn(self) -> timedelta:
        """Do what is due now; return how long to rest."""
        try:
            self._schedule.tick()
            return timedelta() if self.run_one() else IDLE_PAUSE
        except StorageError as error:
            _log.warning("job queue unavailable", extra={"error": str(error)})
            return ERROR_PAUSE

    def _put_back(self, job: Job, error: Exception) -> str:
        if isinstance(error, JobInterruptedError):
            return "given back" if self._queue.release(job) else "lost"
        final = isinstance(error, JobRefusedError | StoreDeletedError)
        state = self._queue.fail(job, error, final=final)
        facts = _facts(job, state or "lost", None)
        if state == JobState.DEAD and not isinstance(error, StoreDeletedError):
            _log.error("job abandoned", extra=facts, exc_info=error)
        elif not final:
            _log.warning("job failed", extra=facts, exc_info=error)
        return state or "lost"

    @contextlib.contextmanager
    def _alive(self, job: Job, progress: JobProgress) -> Iterator[None]:
        """Prolong the lease as long as the block runs."""
        over = threading.Event()
        beating = threading.Thread(
            target=self._beat, args=(job, progress, over), name="heartbeat", daemon=True
        )
        beating.start()
        try:
            yield
        finally:
            over.set()
            beating.join()

    def _beat(self, job: Job, progress: JobProgress, over: threading.Event) -> None:
        pause = self._queue.policy.lease_ms / 1000 / _BEATS_A_LEASE
        while not over.wait(pause):
            try:
                if not self._queue.extend(job, progress.fraction):
                    progress.lose()
                    return
            except StorageError as error:  # the next beat may still come in time
                _log.warning("job lease renewal failed", extra={"error": str(error)})


def _facts(job: Job, outcome: str, seconds: float | None) -> dict[str, object]:
    return {
        "job": job.job_id,
        "kind": job.kind,
        "store": job.store_id,
        "attempt": job.attempts,
        "outcome": outcome,
        **({} if seconds is None else {"ms": round(seconds * 1000, 1)}),
    }
