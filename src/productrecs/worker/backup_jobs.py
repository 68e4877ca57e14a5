"""Backup jobs: one backup each night, where PRODUCTRECS_BACKUP says."""

import logging
from typing import Final

from productrecs.services import Services
from productrecs.storage.backup.backup_archive import Advance
from productrecs.storage.jobs.job_queue import Job
from productrecs.storage.jobs.recurring_jobs import PeriodicTasks
from productrecs.worker.job_worker import (
    JobProgress,
    JobSchedule,
    JobWorker,
    nightly_jobs,
)
from productrecs.worker.scheduled_backups import make_scheduled_backup_and_delete_old

BACKUP_JOB: Final = "back-up"
_log = logging.getLogger(__name__)


def build_backup_worker(services: Services) -> JobWorker:
    """Return the worker of nightly backups.

    The first backup is made at once, the next at night; one that was missed, because the
    service stood still, is made when it runs again.
    """

    def back_up(_job: Job, progress: JobProgress) -> None:
        def begin(_stage: str, size: int) -> Advance:
            done = 0

            def advance(step: int) -> None:
                nonlocal done
                done += step
                progress.report(min(1.0, done / max(1, size)))

            return advance

        backup = make_scheduled_backup_and_delete_old(services, begin)
        _log.info("backup stored", extra={"backup": backup.name, "bytes": backup.size})

    periodic_tasks = PeriodicTasks(services.database, services.queue, services.system_clock)
    schedule = JobSchedule(periodic_tasks, nightly_jobs(BACKUP_JOB, services.system_clock))
    return JobWorker(services.queue, {BACKUP_JOB: back_up}, schedule)
