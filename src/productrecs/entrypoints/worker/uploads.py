"""How does the background import what stores hand in? A store's uploads in their order.

A process of its own does it: an import of an hour then neither keeps training waiting nor
takes turns with it at Python's lock, and its memory is its own.
"""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.loop import (
    Handler,
    JobInterruptedError,
    JobRefusedError,
    Progress,
    Worker,
)
from productrecs.entrypoints.worker.schedule import Duty, Schedule
from productrecs.records.orders.uploads.files import UploadFolder
from productrecs.records.orders.uploads.import_upload import UploadImport
from productrecs.records.orders.uploads.repository import (
    files_needed,
    stores_with_uploads,
)
from productrecs.records.orders.uploads.submit import JOB
from productrecs.storage.duty_turns import DutyTurns
from productrecs.storage.job_queue import Job
from productrecs.storage.store_log import ItemNumbers
from productrecs.tenancy.accounts.directory import AccountDirectory

_log = logging.getLogger(__name__)

SLICE_SECONDS: Final = 20.0
"""After so long, a store's import lets another store's go before."""

_KNOWN_NUMBERS: Final = 400_000  # some 60 MB; the others are looked up


class UploadDuties:
    """Handlers of the jobs about uploads."""

    def __init__(self, services: Services) -> None:
        """Import for the stores of `services`."""
        self._services = services
        self._folder = UploadFolder(services.uploads)
        self._numbers = ItemNumbers(_KNOWN_NUMBERS)
        self._accounts = AccountDirectory(services.database)
        self._reader = services.database.hot_reader()

    def stores_to_import(self) -> Sequence[StoreId]:
        """Return the stores that wait for an import, should their job have been lost."""
        return stores_with_uploads(self._services.database)

    def import_uploads(self, job: Job, progress: Progress) -> None:
        """Import what the store has handed in; give way to other stores now and then."""
        self._accounts.refresh(self._reader)
        store = self._accounts.by_id(job.store_id)
        if store is None:
            message = "the store was deleted"
            raise JobRefusedError(message)
        turn = _Turn(self._services, progress)
        services = self._services
        importing = UploadImport(
            services.database,
            self._numbers,
            self._folder,
            store.store_id,
            store.settings.zone,
        )
        while importing.run_next(turn.on_share):
            turn.end_of_file()
            _log.info("an upload was imported", extra={"store": job.store_id})

    def sweep(self, _job: Job, _progress: Progress) -> None:
        """Delete files that nobody needs: of clients and processes that died."""
        with self._services.database.reading() as connection:
            needed = files_needed(connection)
        count = self._folder.sweep(needed)
        if count:
            _log.info("uploads swept away", extra={"files": count})


def build_importer(services: Services) -> Worker:
    """Return the worker of a process that does nothing but import what was handed in."""
    uploads = UploadDuties(services)
    handlers: dict[str, Handler] = {
        JOB: uploads.import_uploads,
        "sweep-uploads": uploads.sweep,
    }
    duties = (
        Duty(JOB, every=timedelta(seconds=30), stores=uploads.stores_to_import),
        Duty("sweep-uploads", every=timedelta(hours=1)),
    )
    turns = DutyTurns(services.database, services.queue, system_ms)
    return Worker(services.queue, handlers, Schedule(turns, duties))


class _Turn:
    """How long one store's job has had, and whether others wait."""

    def __init__(self, services: Services, progress: Progress) -> None:
        self._queue = services.queue
        self._progress = progress
        self._began = self._opened = self._moved = time.monotonic()
        self._allowed = SLICE_SECONDS

    def on_share(self, share: float, has_moved: bool) -> None:  # noqa: FBT001 - a callback
        """Note how far the file is read; stop where the job should."""
        self._progress.report(share)
        now = time.monotonic()
        if not has_moved:
            # What was stored before is read again first: that must be worth its time.
            self._moved = now
            self._allowed = max(SLICE_SECONDS, 2 * (now - self._opened))
        elif now - self._moved > self._allowed:
            self._moved = now
            self._give_way()

    def end_of_file(self) -> None:
        """Note that the next file begins."""
        self._progress.report(1.0)
        self._opened = time.monotonic()
        if self._opened - self._began > SLICE_SECONDS:
            self._give_way()

    def _give_way(self) -> None:
        if self._queue.is_due({JOB}):
            message = "another store's upload waits"
            raise JobInterruptedError(message)
