"""Backup jobs: one backup each night, where PRODUCTRECS_BACKUP says."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from productrecs.core.clock import SECOND_MS
from productrecs.core.ids import StoreId
from productrecs.entrypoints.scheduled_backups import make_scheduled_backup
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.job_worker import (
    JobProgress,
    JobSchedule,
    JobWorker,
    PeriodicJob,
)
from productrecs.storage.backup_archive import Advance
from productrecs.storage.job_queue import INSTALLATION, Job
from productrecs.storage.recurring_jobs import PeriodicTasks

BACKUP_JOB: Final = "back-up"
_NIGHT: Final = range(1, 5)  # hours of UTC
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

        saved = make_scheduled_backup(services, begin)
        _log.info("backup stored", extra={"backup": saved.name, "bytes": saved.size})

    def at_night() -> Sequence[StoreId]:
        hour = datetime.fromtimestamp(services.system_clock() / SECOND_MS, UTC).hour
        return [INSTALLATION] if hour in _NIGHT else []

    tasks = [
        PeriodicJob(BACKUP_JOB, every=timedelta(hours=20), stores=at_night),
        PeriodicJob(BACKUP_JOB, every=timedelta(hours=30)),
    ]
    periodic_tasks = PeriodicTasks(services.database, services.queue, services.system_clock)
    schedule = JobSchedule(periodic_tasks, tasks)
    return JobWorker(services.queue, {BACKUP_JOB: back_up}, schedule)
