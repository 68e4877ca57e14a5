"""Child processes: starts them, limits them, talks to them, and waits for their end.

A fork is a copy of this process that runs other code: the program is already loaded, and
memory pages are shared until one side writes to them. A program is a new process, which
shares nothing. Each child has a connection to its parent; it closes when either side ends.

A worker process is a program that answers one request at a time:

It may be killed at any moment; the next request starts it again. It ends when the other
side of its connection closes. It inherits nothing of the service's environment.
"""

import contextlib
import ctypes
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
from typing import IO, Final, NamedTuple, NoReturn, TypeVar

from msgspec.msgpack import Decoder

from productrecs.processes.process_messages import (
    FROM_CHILD,
    ParentConnection,
    ProcessConnection,
)

_log = logging.getLogger(__name__)

_NAME: Final = Path("/proc/self/comm")
_MEMORY: Final = Path("/proc/self/statm")
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_MAX_ARENAS: Final = -8  # M_ARENA_MAX of glibc's malloc.h
_ARENAS: Final = 2
_FIRST_OWN_FD: Final = 3  # lower file descriptors are standard input, output and error
_NICENESS: Final = 5  # list requests take precedence over photos


class ForkedProcess:
    """A child process forked from this one."""

    def __init__(self, name: str, work: Callable[[], int], kept_fds: Iterable[int]) -> None:
        """Fork and run `work`, which returns the exit status.

        The child keeps the file descriptors `kept_fds` and standard output and error, and
        closes the others. Its process name is `name`.
        """
        gc.collect()
        gc.freeze()  # garbage collection must not write to shared pages or close our files
        _flush_output()
        self.returncode: int | None = None
        # Block signals to the child until it has installed its own handlers.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        self.pid = os.fork()
        if self.pid == 0:
            _run_forked_child(name, work, kept_fds)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        return self._wait(os.WNOHANG)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait until it ends; return the exit status."""
        status = self._wait(0)
        assert status is not None  # noqa: S101 - a wait without a timeout returns a status
        return status

    def _wait(self, options: int) -> int | None:
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
    connection: ProcessConnection

    def end(self, seconds: float = 0.0) -> None:
        """Close the connection, which makes the child end; kill it after `seconds`."""
        self.connection.close()
        if seconds and isinstance(self.process, subprocess.Popen):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        self.process.kill()
        self.process.wait()


def fork_child(
    name: str, work: Callable[[int], int], inherits: Iterable[int] = ()
) -> ChildProcess:
    """Fork this process; `work` receives the file descriptor of its connection to us."""
    own_end, other_end = socket.socketpair()
    with other_end:
        number = other_end.fileno()
        process = ForkedProcess(name, lambda: work(number), (number, *inherits))
    return ChildProcess(process, ProcessConnection(own_end))


def start_program(
    command: Callable[[int], Sequence[str]],
    inherits: Iterable[int] = (),
    environment: Mapping[str, str] | None = None,
    errors: IO[bytes] | None = None,
) -> ChildProcess:
    """Start a program; `command` receives the file descriptor of its connection to us.

    `environment` replaces ours, and `errors` is the file for its standard error.

    Raises:
        OSError: when it does not start.
    """
    own_end, other_end = socket.socketpair()
    with other_end:
        number = other_end.fileno()
        process = subprocess.Popen(  # noqa: S603 - our own programs
            command(number),
            stdin=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(number, *inherits),
            env=environment,
        )
    return ChildProcess(process, ProcessConnection(own_end))


def stop_at_signals(stop: Callable[[], None]) -> None:
    """Call `stop`, from a thread, at every SIGTERM and SIGINT.

    A signal handler can interrupt the main thread while it holds the lock that `stop`
    needs; a separate thread avoids that deadlock.
    """
    signals = SimpleQueue[None]()  # its `put` is reentrant and never blocks

    def wait() -> None:
        while True:
            signals.get()
            stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: signals.put(None))


def lower_priority_and_ignore_stops() -> None:
    """Lower this process's priority; ignore stop signals, end with the connection."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(max(0, _NICENESS - os.getpriority(os.PRIO_PROCESS, 0)))


def set_idle_priority(pid: int = 0) -> None:
    """Run a process, and all processes that it starts, at idle priority.

    Any other process preempts it. It cannot be undone.
    """
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def limit_memory(extra_bytes: int) -> None:
    """Limit this process's memory to `extra_bytes` bytes above its current size.

    No core dump.
    """
    pages = int(_MEMORY.read_text("ascii").split()[0]) if _MEMORY.exists() else 0
    limit = pages * resource.getpagesize() + extra_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def release_freed_memory() -> None:
    """Return freed memory to the operating system, after work that needed much of it."""
    with contextlib.suppress(AttributeError):  # only glibc has the function
        ctypes.CDLL(None).malloc_trim(0)


def share_malloc_arenas() -> None:
    """Let all threads of this process allocate from two arenas; call it before they start.

    Each thread may have its own one, with memory that no other thread can use.
    """
    with contextlib.suppress(AttributeError):  # only glibc has the function
        ctypes.CDLL(None).mallopt(_MAX_ARENAS, _ARENAS)


@contextlib.contextmanager
def limit_cpu(seconds: float) -> Iterator[None]:
    """End this process if the block uses this many seconds of CPU time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0.0)


def _run_forked_child(
    name: str, work: Callable[[], int], kept_fds: Iterable[int]
) -> NoReturn:
    """Run the child from fork to exit; never return to the parent's code."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        _close_other_fds(kept_fds)
        with contextlib.suppress(OSError):  # not Linux
            _NAME.write_text(name[:15], "utf-8")
        status = work()
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does
    except BaseException:
        _log.exception("process crashed")
    finally:
        _flush_output()
        # The parent's stack frames own files, folders and hooks: leave without unwinding.
        os._exit(status)


def _close_other_fds(kept_fds: Iterable[int]) -> None:
    """Close every file except `kept_fds` and the standard ones.

    Standard input reads empty.
    """
    null_fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_fd, 0)
    first = _FIRST_OWN_FD
    for number in sorted(kept_fds):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "SYSTEMROOT")
_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")


class WorkerTimeouts(NamedTuple):
    """Time limits of a worker process, in elapsed seconds."""

    reply: float
    start: float = 30.0
    exit: float = 0.0  # to exit after closing; then it is killed


class WorkerProcess:
    """One worker process, started on first use; for one thread at a time."""

    def __init__(
        self, module: str, arguments: Sequence[str], timeouts: WorkerTimeouts
    ) -> None:
        """Run `module`, with its connection's file descriptor before the arguments."""
        self._module, self._arguments = module, tuple(arguments)
        self._timeouts = timeouts
        self._child: ChildProcess | None = None

    @property
    def pid(self) -> int | None:
        """The process id, or None if it is not running."""
        return self._child.process.pid if self._child else None

    def start(self) -> None:
        """Start the process before the first request.

        Raises:
            OSError: when it does not start.
        """
        self._get_or_start_connection()

    def request(
        self, request: object, reply_decoder: Decoder[_Reply], attachment: bytes = b""
    ) -> _Reply:
        """Return the reply to a request.

        Raises:
            OSError: when it ended or timed out; the next request starts another.
        """
        try:
            connection, seconds = self._get_or_start_connection(), self._timeouts.reply
            connection.send(request, attachment, seconds)
            return connection.receive(reply_decoder, seconds)[0]
        except OSError:
            self._end(0.0)
            raise

    def close(self) -> None:
        """End the process."""
        self._end(self._timeouts.exit)

    def _end(self, seconds: float) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end(seconds)

    def _get_or_start_connection(self) -> ProcessConnection:
        """Return the connection to a running process that is ready."""
        if self._child is not None:
            if self._child.process.poll() is None:
                return self._child.connection
            self._end(0.0)
        # Nothing else of the service's environment, which may contain secrets.
        environment = {k: v for k in _ENVIRONMENT if (v := os.environ.get(k))}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        program = (sys.executable, "-m", self._module)
        self._child = start_program(
            lambda number: (*program, str(number), *self._arguments),
            environment=environment,
        )
        connection = self._child.connection
        connection.receive(FROM_CHILD, self._timeouts.start)
        return connection


def serve_requests(
    parent: ParentConnection,
    requests: Decoder[_Request],
    handle: Callable[[_Request, bytes], object],
) -> None:
    """Answer every request and its attachment until the parent closes the connection."""
    parent.report_ready()
    while True:
        try:
            request, attachment = parent.receive(requests)
        except ConnectionError:
            return
        parent.send(handle(request, attachment))
