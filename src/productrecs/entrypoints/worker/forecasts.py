"""How is demand forecast at night? In a process of its own for each run, gone afterwards.

Forecasting takes minutes and hundreds of megabytes, and brings libraries that nobody else
needs: it is started when a store's night has come, and tells how far it is line by line.
"""

import logging
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Protocol

from productrecs.core.clock import system_ms
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.loop import (
    Handler,
    JobRefusedError,
    Progress,
    Worker,
)
from productrecs.entrypoints.worker.schedule import Duty, Schedule
from productrecs.storage.duty_turns import DutyTurns
from productrecs.storage.job_queue import Job
from productrecs.tenancy.accounts.directory import AccountDirectory
from productrecs.training.demand.due import stores_due
from productrecs.training.demand.stock_watch import watch_stock

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_LAST_WORDS: Final = 4_000  # characters of what a failed run said


class ForecastFailedError(ProductRecsError):
    """The process that forecast a store ended without one; what it said is the message."""


class ForecastDuties:
    """Handlers of the jobs about demand, and which stores need them."""

    def __init__(self, services: Services) -> None:
        """Forecast for the stores of `services`."""
        self._services = services
        self._accounts = AccountDirectory(services.database)

    def stores_to_forecast(self) -> Sequence[StoreId]:
        """Return the stores whose night has come since their last forecast."""
        self._accounts.refresh()
        services = self._services
        return stores_due(services.database, self._accounts.all(), services.clock())

    def stores_to_watch(self) -> Sequence[StoreId]:
        """Return the stores whose stock is looked at."""
        self._accounts.refresh()
        return [
            store.store_id
            for store in self._accounts.all()
            if store.settings.demand_forecast
        ]

    def watch(self, job: Job, _progress: Progress) -> None:
        """Note what ran out of stock, and what came back."""
        watch_stock(self._services.database, job.store_id, self._services.clock())

    def forecast(self, job: Job, progress: Progress) -> None:
        """Forecast a store in a process of its own."""
        self._accounts.refresh()
        store = self._accounts.by_id(job.store_id)
        if store is None:
            message = "the store was deleted"
            raise JobRefusedError(message)
        watch_stock(self._services.database, job.store_id, self._services.clock())
        folder = str(self._services.settings.data)
        run_forecast(("forecast", store.domain, "--data", folder, "--lines"), progress)


def run_forecast(arguments: Sequence[str], progress: Progress) -> None:
    """Run the command and report what it tells, until it has ended.

    Raises:
        JobInterruptedError: when the worker stops; the process is gone by then.
        ForecastFailedError: when it ended in failure.
    """
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "productrecs", *arguments],
        stdin=subprocess.PIPE,  # its end tells the child that we are gone
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Threads that wait for one another must not take the shop's processors meanwhile.
        env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"},
    )
    try:
        said = _follow(process, progress)
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if status != 0:
        raise ForecastFailedError(said.strip()[-_LAST_WORDS:] or f"it ended with {status}")


def _follow(process: "subprocess.Popen[str]", progress: Progress) -> str:
    """Report the shares that the process writes; return what it said of errors."""
    said: list[str] = []
    share = 0.0
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_LOOK_SECONDS):
                chunk = os.read(key.fd, 65_536).decode(errors="replace")
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    said.append(chunk)
                else:
                    share = _newest(chunk, share)
            progress.report(share)
    return "".join(said)


def _newest(chunk: str, before: float) -> float:
    """Return the last whole share in a chunk of lines."""
    for line in reversed(chunk.splitlines()):
        try:
            return max(before, min(1.0, float(line)))
        except ValueError:
            continue
    return before


def build_forecaster(services: Services) -> Worker:
    """Return the worker that has stores forecast, one after the other."""
    stores = ForecastDuties(services)
    handlers: dict[str, Handler] = {
        "forecast": stores.forecast,
        "watch-stock": stores.watch,
    }
    duties = (
        Duty("forecast", every=timedelta(minutes=30), stores=stores.stores_to_forecast),
        Duty("watch-stock", every=timedelta(hours=1), stores=stores.stores_to_watch),
    )
    turns = DutyTurns(services.database, services.queue, system_ms)
    return Worker(services.queue, handlers, Schedule(turns, duties))


class Working(Protocol):
    """What works in the background until it is told to stop."""

    def run(self) -> None:
        """Work until `stop` is called."""

    def stop(self) -> None:
        """Let `run` return; safe from signal handlers and threads."""


class Together:
    """Two that work side by side in one process: the second one mostly waits.

    When either ends, so does the other: a supervisor then starts both again.
    """

    def __init__(self, first: Working, second: Working) -> None:
        """Prepare; nothing runs yet."""
        self._first = first
        self._second = second

    def run(self) -> None:
        """Work until `stop` is called."""
        beside = threading.Thread(target=self._beside, name="forecasts", daemon=True)
        beside.start()
        try:
            self._first.run()
        finally:
            self._second.stop()
            beside.join()

    def _beside(self) -> None:
        try:
            self._second.run()
        except Exception:
            _log.exception("what works beside the imports ended")
        finally:
            self._first.stop()

    def stop(self) -> None:
        """Let both end after what they have in hand."""
        self._first.stop()
        self._second.stop()
