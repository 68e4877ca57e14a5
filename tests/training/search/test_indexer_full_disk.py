"""Search indexer on a full disk: attempts become rare, and the log stays short."""

import errno
import logging
from collections.abc import Callable
from typing import Any

import pytest

from productrecs.engines.text.index_schema import BrokenIndexError
from productrecs.engines.text.search_index import IndexWriter
from productrecs.storage.files.search_index_files import (
    IndexFolder,
)
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.search import index_generation
from productrecs.training.search.indexer import Indexer
from tests.support.clock import FakeClock
from tests.support.indexer_bench import IndexerBench, damage


class DiskSwitch:
    """A full disk: calls of `guard` fail until `is_full` is False, and are noted."""

    def __init__(self, error: Exception, clock: FakeClock[float]) -> None:
        self.is_full = True
        self.attempts = list[int]()
        self._error = error
        self._clock = clock

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which fails while the disk is full."""

        def guarded(*words: Any, **options: Any) -> Any:
            if self.is_full:
                self.attempts.append(round(self._clock.now))
                raise type(self._error)(*self._error.args)  # its traceback holds a writer
            return function(*words, **options)

        return guarded


RETRIES = [0, 1, 3, 7, 15, 31, 63, 123, 183]
FULL = OSError(errno.ENOSPC, "No space left on device")
WRITER = (index_generation, "IndexWriter", BrokenIndexError("full"))
FOLDER = (IndexFolder, "create_generation_folder", FULL)
POINTER = (IndexFolder, "publish_with_checksums", FULL)


@pytest.mark.parametrize(
    ("index", "fails"),
    [
        ("missing", WRITER),
        ("missing", FOLDER),
        ("missing", POINTER),
        ("serving", WRITER),
        ("serving", POINTER),
        ("damaged", WRITER),
        ("damaged", FOLDER),
        ("damaged", POINTER),
    ],
)
def test_on_a_full_disk_attempts_and_log_lines_are_few(
    bench: IndexerBench,
    index: str,
    fails: tuple[Any, str, Exception],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    owner, name, error = fails
    if index != "missing":
        bench.push(a="Blue kite")
        bench.settle()
    if index == "damaged":
        damage(bench)
    bench.indexer.close()
    clock = FakeClock(100.0)
    bench.indexer = Indexer(bench.root, AccountDirectory(bench.database), clock)
    bench.push(b="Sledge")
    disk = DiskSwitch(error, clock)
    monkeypatch.setattr(owner, name, disk.guard(getattr(owner, name)))
    caplog.set_level(logging.INFO)

    for tick in range(2_000):  # of 0.1 s
        clock.now = 100.0 + tick / 10
        bench.indexer.run_next_batches(bench.reader)

    assert sorted({second - 100 for second in disk.attempts}) == RETRIES
    assert len(disk.attempts) <= len(RETRIES) + 1
    assert caplog.messages.count("search index write failed") == 4
    assert caplog.messages.count("search index rebuilt") <= 1
    assert caplog.messages.count("search index started") <= 2
    assert len(list(bench.folder.folder.glob("index-*"))) == int(index != "missing")

    disk.is_full = False
    for _ in range(100):
        clock.now += 1.0
        bench.indexer.run_next_batches(bench.reader)
    bench.served.refresh()
    assert bench.search("sledge") == [int(index != "missing")]
    assert caplog.messages.count("search index written again") == 1


def test_an_index_that_cannot_be_closed_does_not_end_the_process(
    bench: IndexerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    disk = DiskSwitch(BrokenIndexError("full"), FakeClock(0.0))
    monkeypatch.setattr(IndexWriter, "close", disk.guard(IndexWriter.close))

    bench.indexer.close()

    assert len(disk.attempts) == 1
