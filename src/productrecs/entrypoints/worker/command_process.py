"""Command process: runs a long, memory-hungry task of a worker in a process of its own.

The worker starts our own command line, which reports its progress. Its memory and its
libraries are gone once it exits.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.worker.job_worker import JobProgress, JobRefusedError
from productrecs.processes.child_process import ChildProcess, start_program
from productrecs.processes.messages import FROM_CHILD, Progress
from productrecs.storage.job_queue import Job
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store

_LOOK_SECONDS: Final = 0.5
_LAST_WORDS: Final = 4_000  # characters of the errors of a failed run


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
    run_command_process((verb, store.domain, "--data", str(data)), progress)


def run_command_process(arguments: Sequence[str], progress: JobProgress) -> None:
    """Run our own command and report its progress, until it has ended.

    Raises:
        JobInterruptedError: when the worker stops; the process is gone by then.
        CommandProcessError: when it ended in failure.
    """
    program = (sys.executable, "-m", "productrecs", *arguments, "--parent")
    with tempfile.TemporaryFile() as errors:
        child = start_program(
            lambda number: (*program, str(number)),
            # Threads that wait for one another must not take the processors meanwhile.
            environment=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"},
            errors=errors,
        )
        try:
            _follow(child, progress)
            status = child.process.wait()
        finally:
            child.close()
        if status != 0:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()[-_LAST_WORDS:]
            raise CommandProcessError(said or f"it exited with {status}")


def _follow(child: ChildProcess, progress: JobProgress) -> None:
    """Report the shares that the process sends, until it closes its connection."""
    share = 0.0
    while True:
        if child.connection.poll(_LOOK_SECONDS):
            try:
                message, _ = child.connection.receive(FROM_CHILD, _LOOK_SECONDS)
            except ConnectionError:
                return
            if isinstance(message, Progress):
                share = max(share, min(1.0, message.share))
        progress.report(share)
