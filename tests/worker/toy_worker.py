"""A worker process with one slow job, for tests that kill it.

    python -m tests.worker.toy_worker FOLDER DATABASE_URL FORGETFUL

Each start of the job adds a line to FOLDER/started; it ends once FOLDER/go is there.
FORGETFUL `yes` is the broken variant: the job leaves the queue before it is done.
"""

import random
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

from productrecs.core.clock import system_ms
from productrecs.processes.child_process import stop_at_signals
from productrecs.storage.jobs.job_queue import Job, JobQueue, RetryPolicy
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.storage.sql.database import Database
from productrecs.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.worker.job_worker import (
    JobInterruptedError,
    JobProgress,
    JobWorker,
)

LEASE_MS: Final = 1_000


def toy_queue(database: Database) -> JobQueue:
    """Return a queue whose leases end after a second."""
    chance = random.Random(1)  # noqa: S311 - spreads retries, keeps no secret
    return JobQueue(database, system_ms, chance, RetryPolicy(lease_ms=LEASE_MS))


def main(folder: Path, url: str, *, forgetful: bool) -> None:
    """Work until SIGTERM."""
    database = Database.open(url or None, folder)
    queue = toy_queue(database)

    def slow(job: Job, progress: JobProgress) -> None:
        if forgetful:
            queue.mark_done(job)
        with (folder / "started").open("a") as started:
            started.write(f"{job.attempts}\n")
        while not (folder / "go").exists():
            if progress.stopping:
                raise JobInterruptedError
            time.sleep(0.01)

    duties = (PeriodicJob("tick", every=timedelta(hours=1)),)
    schedule = JobSchedule(RecurringJobEnqueuer(database, queue, system_ms), duties)
    worker = JobWorker(
        queue, {"slow": slow, "tick": lambda _job, _progress: None}, schedule
    )
    stop_at_signals(worker.stop)
    worker.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], forgetful=sys.argv[3] == "yes")
