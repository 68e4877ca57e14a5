"""Job schedule: the periodic jobs, and when each is enqueued."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from productrecs.core.clock import SECOND_MS, Clock
from productrecs.core.ids import INSTALLATION, StoreId
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer

_log = logging.getLogger(__name__)

TICK: Final = timedelta(seconds=1)
SPREAD_TICK: Final = timedelta(minutes=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_NIGHT: Final = range(1, 5)  # hours of UTC


def _once() -> Sequence[StoreId]:
    return (INSTALLATION,)


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """A periodic job: at most once in each interval `every`, for each store that needs it.

    `stores` returns these stores. It is called every second, so a due store waits at most a
    second. By default the job runs once for the whole installation. After its first run it
    has to be due for `overdue`.

    A job that is `spread` is housekeeping of every store. A store's first run is at a
    moment of the interval that its id decides, so that the runs of many stores do not fill
    the queue at once. Such jobs are looked for once a minute.
    """

    kind: str
    every: timedelta
    stores: Callable[[], Sequence[StoreId]] = _once
    overdue: timedelta = timedelta()
    spread: bool = False


def nightly_periodic_jobs(kind: str, system_clock: Clock) -> list[PeriodicJob]:
    """Return the periodic jobs of one that runs at once, and then each night.

    A night that was missed, because no worker ran, is made up for when one runs again: 30
    hours after the last run.
    """

    def at_night() -> Sequence[StoreId]:
        hour = datetime.fromtimestamp(system_clock() / SECOND_MS, UTC).hour
        return _once() if hour in _NIGHT else ()

    return [
        PeriodicJob(kind, every=timedelta(hours=12), stores=at_night),
        PeriodicJob(kind, every=timedelta(hours=12), overdue=timedelta(hours=18)),
    ]


class JobSchedule:
    """Enqueues periodic jobs that are due; any number of workers may share a schedule."""

    def __init__(
        self,
        periodic_tasks: RecurringJobEnqueuer,
        tasks: Sequence[PeriodicJob],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Schedule `tasks`; `periodic_tasks` stores their last runs in the database."""
        self._periodic_tasks = periodic_tasks
        self._tasks = tasks
        self._seconds = seconds
        self._next = self._next_spread = seconds()

    def enqueue_due_jobs(self) -> None:
        """Enqueue the jobs that are due, at most once a second.

        Raises:
            StorageError: when the database cannot be read or written.
        """
        now = self._seconds()
        if now < self._next:
            return
        self._next = now + TICK.total_seconds()
        is_spread_due = now >= self._next_spread
        if is_spread_due:
            self._next_spread = now + SPREAD_TICK.total_seconds()
        for task in self._tasks:
            if task.spread and not is_spread_due:
                continue
            new_jobs = [NewJob(store_id, task.kind) for store_id in task.stores()]
            count = self._periodic_tasks.enqueue_due(
                task.kind,
                task.every // _MILLISECOND,
                new_jobs,
                overdue_ms=task.overdue // _MILLISECOND,
                spread=task.spread,
            )
            if count:
                _log.debug(
                    "periodic job enqueued", extra={"kind": task.kind, "jobs": count}
                )
