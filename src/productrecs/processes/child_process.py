"""Child processes: starts them, limits them, and waits for their end.

A fork is a copy of this process with work of its own: it has the loaded program at once,
and shares its memory pages until someone writes to them. A program is a new process, which
shares nothing. Each has a connection to its parent; when it closes, the other is gone.
"""

import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Final, NoReturn

from productrecs.processes.messages import Connection

_log = logging.getLogger(__name__)

_NAME: Final = Path("/proc/self/comm")
_MEMORY: Final = Path("/proc/self/statm")
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_OURS: Final = 3  # file numbers below are standard input, output and error
_NICENESS: Final = 5  # lists go before photos


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
        assert status is not None  # noqa: S101 - a wait without a limit ends with it
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


@dataclass(frozen=True, slots=True, eq=False)
class ChildProcess:
    """A started child process, and the connection to it."""

    process: ForkedProcess | subprocess.Popen[bytes]
    connection: Connection

    def close(self, seconds: float = 0.0) -> None:
        """Close the connection, which tells it to end; kill it after `seconds`."""
        self.connection.close()
        if seconds and isinstance(self.process, subprocess.Popen):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        self.process.kill()
        self.process.wait()


def fork_child(
    name: str, work: Callable[[int], int], inherits: Iterable[int] = ()
) -> ChildProcess:
    """Fork this process; `work` gets the file descriptor of its connection to us."""
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        process = ForkedProcess(name, lambda: work(number), (number, *inherits))
    return ChildProcess(process, Connection(ours))


def start_program(
    command: Callable[[int], Sequence[str]],
    inherits: Iterable[int] = (),
    environment: Mapping[str, str] | None = None,
    errors: IO[bytes] | None = None,
) -> ChildProcess:
    """Start a program; `command` gets the file descriptor of its connection to us.

    `environment` replaces ours, and `errors` is the file of its standard error.

    Raises:
        OSError: when it does not start.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        process = subprocess.Popen(  # noqa: S603 - our own programs
            command(number),
            stdin=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(number, *inherits),
            env=environment,
        )
    return ChildProcess(process, Connection(ours))


def stop_at_signals(stop: Callable[[], None]) -> None:
    """Call `stop`, from a thread, at every SIGTERM and SIGINT.

    A signal handler may run between any two steps of the main thread, which may hold
    the lock that `stop` needs; a thread avoids that deadlock.
    """
    signals = SimpleQueue[None]()  # whose `put` never waits, not even for itself

    def wait() -> None:
        while True:
            signals.get()
            stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: signals.put(None))


def lower_priority() -> None:
    """Let others go first, and end with the connection only, not at a signal to stop."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(max(0, _NICENESS - os.getpriority(os.PRIO_PROCESS, 0)))


def set_idle_priority(pid: int = 0) -> None:
    """Run a process, and all that it starts, at idle priority.

    Any other process preempts it. It cannot be undone.
    """
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def limit_memory(more: int) -> None:
    """Let this process take `more` bytes beside what it has; write no core dump."""
    pages = int(_MEMORY.read_text("ascii").split()[0]) if _MEMORY.exists() else 0
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextlib.contextmanager
def limit_cpu(seconds: float) -> Iterator[None]:
    """End this process if the block takes so many seconds of processor time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0.0)


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
