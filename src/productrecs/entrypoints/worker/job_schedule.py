"""Job schedule: the periodic jobs, their intervals and the stores that they run for."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.storage.job_queue import INSTALLATION, NewJob
from productrecs.storage.recurring_jobs import PeriodicTasks

_log = logging.getLogger(__name__)

TICK: Final = timedelta(seconds=1)


def _once() -> Sequence[StoreId]:
    return (INSTALLATION,)


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """A job of this kind at most once every so often, for each store that needs it.

    `stores` is asked every second which stores those are, so that a store waits for its
    duty no longer than a second once `every` has passed. Without it the duty is done once
    for the whole installation.
    """

    kind: str
    every: timedelta
    stores: Callable[[], Sequence[StoreId]] = _once


class JobSchedule:
    """The timetable: enqueues what is due. Any number of workers may keep the same one."""

    def __init__(
        self,
        turns: PeriodicTasks,
        duties: Sequence[PeriodicJob],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep `duties`, whose turns are remembered in the database."""
        self._turns = turns
        self._duties = duties
        self._seconds = seconds
        self._next = seconds()

    def tick(self) -> None:
        """Enqueue what has become due since the last second; in between do nothing.

        Raises:
            StorageError: when the database cannot say or store what is due.
        """
        now = self._seconds()
        if now < self._next:
            return
        self._next = now + TICK.total_seconds()
        for duty in self._duties:
            wanted = [NewJob(store_id, duty.kind) for store_id in duty.stores()]
            every_ms = duty.every // timedelta(milliseconds=1)
            count = self._turns.enqueue_due(duty.kind, every_ms, wanted)
            if count:
                _log.debug(
                    "periodic job enqueued", extra={"kind": duty.kind, "jobs": count}
                )
