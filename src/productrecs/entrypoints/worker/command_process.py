"""Command process: runs a long, memory-hungry task of a worker in a process of its own.

The worker starts our own command line, which prints its progress line by line. Its memory
and its libraries are gone once it exits.
"""

import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.worker.job_worker import JobProgress, JobRefusedError
from productrecs.storage.job_queue import Job
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store

_LOOK_SECONDS: Final = 0.5
_LAST_WORDS: Final = 4_000  # characters of what a failed run said


class CommandProcessError(ProductRecsError):
    """The process did not do what it was started for; what it said is the message."""


def store_of_job(job: Job, accounts: AccountDirectory) -> Store:
    """Return the store that a job is about, as it stands now.

    Raises:
        JobRefusedError: when it was deleted.
    """
    accounts.refresh()
    store = accounts.by_id(job.store_id)
    if store is None:
        message = "the store was deleted"
        raise JobRefusedError(message)
    return store


def run_store_command(verb: str, store: Store, data: Path, progress: JobProgress) -> None:
    """Run a verb of ours on one store of a data folder, as `run_command_process` does."""
    run_command_process((verb, store.domain, "--data", str(data), "--lines"), progress)


def run_command_process(arguments: Sequence[str], progress: JobProgress) -> None:
    """Run our own command and report the shares it tells, until it has ended.

    Raises:
        JobInterruptedError: when the worker stops; the process is gone by then.
        CommandProcessError: when it ended in failure.
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
        lines = _follow(process, progress)
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if status != 0:
        raise CommandProcessError(
            lines.strip()[-_LAST_WORDS:] or f"it exited with {status}"
        )


def _follow(process: "subprocess.Popen[str]", progress: JobProgress) -> str:
    """Report the shares that the process writes; return what it said of errors."""
    lines: list[str] = []
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
                    lines.append(chunk)
                else:
                    share = _newest(chunk, share)
            progress.report(share)
    return "".join(lines)


def _newest(chunk: str, before: float) -> float:
    """Return the last whole share in a chunk of lines."""
    for line in reversed(chunk.splitlines()):
        try:
            return max(before, min(1.0, float(line)))
        except ValueError:
            continue
    return before
