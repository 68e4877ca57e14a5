"""Child process: what the supervisor can ask of a process that it started.

A `ForkedProcess` is a copy of the supervisor with work of its own: it has the loaded
program at once, and shares its memory pages until someone writes to them.
`subprocess.Popen` has the same methods, for a separate program.
"""

import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NoReturn, Protocol

_log = logging.getLogger(__name__)

_NAME: Final = Path("/proc/self/comm")
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_OURS: Final = 3  # file numbers below are standard input, output and error


class ChildProcess(Protocol):
    """A started process."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def returncode(self) -> int | None:
        """The exit status that `poll` saw; -N after signal N."""

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""

    def wait(self) -> int:
        """Wait for its end; return the exit status."""


class ForkedProcess:
    """A child process forked from this one."""

    def __init__(self, name: str, work: Callable[[], int], keeps: Iterable[int]) -> None:
        """Fork and run `work`, whose result is the exit status.

        The child keeps the file descriptors `keeps` and standard output and error, and
        closes the others. Its process name is `name`.
        """
        gc.collect()
        gc.freeze()  # no collection writes to pages that are shared, or closes our files
        _flush()
        self.returncode: int | None = None
        # What reaches the child before its handlers are its own must wait for them.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        self.pid = os.fork()
        if self.pid == 0:
            _live(name, work, keeps)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        return self._look(os.WNOHANG)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end; return the exit status."""
        status = self._look(0)
        assert status is not None  # noqa: S101 - a wait without a hurry ends with it
        return status

    def _look(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def _signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def _live(name: str, work: Callable[[], int], keeps: Iterable[int]) -> NoReturn:
    """Run the child from the fork to its end; never return to the parent's code."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        _keep_only(keeps)
        with contextlib.suppress(OSError):  # not Linux
            _NAME.write_text(name[:15], "utf-8")
        status = work()
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does
    except BaseException:
        _log.exception("process crashed")
    finally:
        _flush()
        # The parent's frames below own its files, folders and hooks for its own end.
        os._exit(status)


def _keep_only(keeps: Iterable[int]) -> None:
    """Close every file except `keeps` and the standard ones; empty standard input."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    first = _OURS
    for number in sorted(keeps):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
