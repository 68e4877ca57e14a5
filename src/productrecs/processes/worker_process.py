"""Worker process: a program that answers one request at a time.

It may be killed at any moment; the next request starts it again. It ends when the other
side of its connection closes. It inherits nothing of the service's environment.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from msgspec.msgpack import Decoder

from productrecs.processes.child_process import ChildProcess, start_program
from productrecs.processes.messages import FROM_CHILD, Connection, ParentConnection

_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "SYSTEMROOT")
_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")


class ProcessTimeouts(NamedTuple):
    """Time limits of a worker process, in elapsed seconds."""

    reply: float
    start: float = 30.0
    exit: float = 0.0  # to exit after closing; then it is killed


class WorkerProcess:
    """One worker process, started on first use; for one thread at a time."""

    def __init__(
        self, module: str, arguments: Sequence[str], timeouts: ProcessTimeouts
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
        self._started()

    def request(
        self, request: object, replies: Decoder[_Reply], attachment: bytes = b""
    ) -> _Reply:
        """Return the reply to a request.

        Raises:
            OSError: when it ended or timed out; the next request starts another.
        """
        try:
            connection, seconds = self._started(), self._timeouts.reply
            connection.send(request, attachment, seconds)
            return connection.receive(replies, seconds)[0]
        except OSError:
            self._end(0.0)
            raise

    def close(self) -> None:
        """End the process."""
        self._end(self._timeouts.exit)

    def _end(self, seconds: float) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close(seconds)

    def _started(self) -> Connection:
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
    parent.ready()
    while True:
        try:
            request, attachment = parent.receive(requests)
        except ConnectionError:
            return
        parent.send(handle(request, attachment))
