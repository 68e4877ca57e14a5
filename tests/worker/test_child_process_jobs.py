"""Forecast jobs: a child process is monitored, stopped, and its failure reported."""

import threading
import time
from pathlib import Path

import pytest

from productrecs.worker.child_process_jobs import CommandProcessError, run_command_process
from productrecs.worker.job_worker import JobInterruptedError, JobProgress
from productrecs.worker.parallel_loops import ParallelLoops
from tests.support.migrated import bring


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    bring(tmp_path)
    words = ("forecast", "nobody.example", "--data", str(tmp_path))

    with pytest.raises(CommandProcessError, match="no store has the domain"):
        run_command_process(words, JobProgress(threading.Event()))


def test_a_run_is_ended_with_its_worker(tmp_path: Path) -> None:
    stopping = threading.Event()
    progress = JobProgress(stopping)
    threading.Timer(0.3, stopping.set).start()

    began = time.monotonic()
    with pytest.raises(JobInterruptedError):
        run_command_process(
            ("worker", "--lane", "indexes", "--data", str(tmp_path)), progress
        )
    assert time.monotonic() - began < 20


class _Idle:
    def __init__(self) -> None:
        self.over = threading.Event()

    def run(self) -> None:
        self.over.wait()

    def stop(self) -> None:
        self.over.set()


class _Broken(_Idle):
    def run(self) -> None:
        raise RuntimeError("out of luck")


def test_when_one_of_two_breaks_the_other_ends_too() -> None:
    one = _Idle()

    ParallelLoops(one, _Broken()).run()

    assert one.over.is_set()


def test_two_that_work_together_end_together() -> None:
    one, other = _Idle(), _Idle()
    both = ParallelLoops(one, other)
    running = threading.Thread(target=both.run)
    running.start()

    both.stop()
    running.join(5)

    assert not running.is_alive()
    assert other.over.is_set()
