"""Worker process: a child process that answers one request at a time over a socket.

The process may be killed at any moment and is started again with the next request. It runs
at a low priority, and ends when the other side of its socket closes.
"""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

HEAD: Final = struct.Struct("<cI")
"""Before every question and answer: an operation or a status, and how many bytes follow."""

READY: Final = b"?"
"""The first request to a new process: no picture is blamed when it fails."""

_NICENESS: Final = 5  # lists go before photos
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "SYSTEMROOT")
_PART: Final = 1 << 20


class ProcessTimeouts(NamedTuple):
    """Time limits of a worker process, in elapsed seconds."""

    answer: float
    start: float = 30.0
    leave: float = 0.0  # to exit when closed; then it is killed


class WorkerProcess:
    """One worker process, started on first use; for one thread at a time."""

    def __init__(
        self, module: str, arguments: Sequence[str], patience: ProcessTimeouts
    ) -> None:
        """Run `module`, with the number of its end of the line before the arguments."""
        self._module, self._arguments = module, tuple(arguments)
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """The process's id, while there is one."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process before the first request.

        Raises:
            OSError: when it does not start.
        """
        self._started()

    def ask(self, operation: bytes, data: bytes) -> tuple[bytes, bytes]:
        """Return the status and the bytes that answer a request.

        Raises:
            OSError: when it ended, or does not answer in time; another starts next time.
        """
        try:
            line = self._started()
            return _exchange(line, operation, data, self._patience.answer)
        except OSError:
            self._let_go(0.0)
            raise

    def close(self) -> None:
        """Let it go."""
        self._let_go(self._patience.leave)

    def _let_go(self, seconds: float) -> None:
        process, line = self._process, self._line
        self._process = self._line = None
        if line is not None:
            line.close()
        if process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
        process.wait()

    def _started(self) -> socket.socket:
        """Return the line to a process that lives and has finished starting."""
        if self._line is not None and self._process is not None:
            if self._process.poll() is None:
                return self._line
            self._let_go(0.0)
        ours, theirs = socket.socketpair()
        with theirs:
            # Nothing of the service's environment: there may be secrets in it.
            environment = {k: v for k in _ENVIRONMENT if (v := os.environ.get(k))}
            environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            arguments = (str(theirs.fileno()), *self._arguments)
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", self._module, *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=environment,
            )
        self._line = ours
        _exchange(ours, READY, b"", self._patience.start)
        return ours


def lower_priority() -> None:
    """Let others go first, and end with the line only: a stop is not this process's."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(max(0, _NICENESS - os.getpriority(os.PRIO_PROCESS, 0)))


def set_idle_priority(pid: int = 0) -> None:
    """Run a process, and all that it starts, at idle priority.

    Any other process preempts it. It cannot be undone.
    """
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def serve_requests(
    line: socket.socket, answer: Callable[[bytes, bytes], tuple[bytes, bytes]]
) -> None:
    """Answer every request on a socket until the other side closes it."""
    with line:
        while head := _received(line, HEAD.size):
            operation, length = HEAD.unpack(head)
            data = _received(line, length)
            status, content = (
                (READY, b"") if operation == READY else answer(operation, data)
            )
            line.sendall(HEAD.pack(status, len(content)) + content)


def _received(line: socket.socket, length: int) -> bytes:
    """Return so many bytes; none when the other side hung up."""
    data = bytearray()
    while len(data) < length:
        part = line.recv(min(length - len(data), _PART))
        if not part:
            return b""
        data += part
    return bytes(data)


def _exchange(
    line: socket.socket, operation: bytes, data: bytes, seconds: float
) -> tuple[bytes, bytes]:
    until = time.monotonic() + seconds
    line.settimeout(seconds)
    line.sendall(HEAD.pack(operation, len(data)))
    line.sendall(data)
    status, length = HEAD.unpack(_exactly(line, HEAD.size, until))
    return status, _exactly(line, length, until)


def _exactly(line: socket.socket, length: int, until: float) -> bytes:
    data = bytearray()
    while len(data) < length:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        line.settimeout(left)
        part = line.recv(length - len(data))
        if not part:
            message = "the worker process has ended"
            raise ConnectionError(message)
        data += part
    return bytes(data)
