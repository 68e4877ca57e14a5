"""Killed worker: its job is run again by another."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import jobs
from tests.support.migrated import bring
from tests.support.project import ROOT
from tests.worker.toy_worker import LEASE_MS, toy_queue

SLOW = NewJob(StoreId("st_one"), "slow")


class Workshop:
    """Toy workers on one database, and what became of their job."""

    def __init__(self, url: str | None, folder: Path) -> None:
        """Enqueue the slow job."""
        self._url, self._folder = url, folder
        self._workers: list[subprocess.Popen[bytes]] = []
        bring(folder, url)
        self.database = Database.open(url, folder)
        with self.database.transaction() as transaction:
            toy_queue(self.database).enqueue(transaction, SLOW)

    def start(self, *, forgetful: bool = False) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        words = (str(self._folder), self._url or "", "yes" if forgetful else "no")
        command = [sys.executable, "-m", "tests.worker.toy_worker", *words]
        worker = subprocess.Popen(command, cwd=ROOT)
        self._workers.append(worker)
        return worker

    def starts(self) -> list[str]:
        """Return the attempt numbers of every start of the slow job."""
        path = self._folder / "started"
        return path.read_text().split() if path.exists() else []

    def let_it_end(self) -> None:
        """Let the slow job come to its end from now on."""
        (self._folder / "go").touch()

    def finished(self, kind: str = "slow") -> int:
        """Return how many jobs of `kind` are done."""
        query = sa.select(jobs).where(jobs.c.kind == kind, jobs.c.state == "done")
        with self.database.reading() as connection:
            return len(connection.execute(query).all())

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self.database.close()


@pytest.fixture
def workshop(database_url: str | None, data_folder: Path) -> Iterator[Workshop]:
    opened = Workshop(database_url, data_folder)
    yield opened
    opened.close()


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def job_comes_again_after_a_kill(
    workshop: Workshop, seconds: float, *, forgetful: bool = False
) -> bool:
    first = workshop.start(forgetful=forgetful)
    assert until(lambda: len(workshop.starts()) == 1)
    first.send_signal(signal.SIGKILL)
    first.wait()

    workshop.let_it_end()
    workshop.start()
    return until(lambda: len(workshop.starts()) == 2, seconds)


def test_a_job_outlives_the_kill_of_its_worker(workshop: Workshop) -> None:
    assert job_comes_again_after_a_kill(workshop, 15)

    assert until(lambda: workshop.finished() == 1)
    assert workshop.starts() == ["1", "2"]
    # The timetable did not start afresh with the second worker either.
    assert until(lambda: workshop.finished("tick") >= 1)
    assert workshop.finished("tick") == 1


def test_a_queue_that_forgets_a_job_when_it_hands_it_out_is_found_out(
    workshop: Workshop,
) -> None:
    # The control of the test above.
    assert not job_comes_again_after_a_kill(workshop, 2.5, forgetful=True)


def test_a_worker_that_stops_releases_its_job(workshop: Workshop) -> None:
    worker = workshop.start()
    assert until(lambda: len(workshop.starts()) == 1)

    worker.terminate()
    assert worker.wait(5) == 0
    workshop.let_it_end()
    workshop.start()

    assert until(lambda: workshop.finished() == 1)
    assert workshop.starts() == ["1", "1"]  # an interruption is no failed attempt


def test_a_live_workers_job_is_left_to_it_however_long_it_takes(workshop: Workshop) -> None:
    workshop.start()
    workshop.start()
    assert until(lambda: len(workshop.starts()) == 1)

    time.sleep(2.5 * LEASE_MS / 1000)
    assert workshop.starts() == ["1"]
    workshop.let_it_end()

    assert until(lambda: workshop.finished() == 1)
    assert workshop.starts() == ["1"]
    assert workshop.finished("tick") == 1
