"""Accept balancer: a process leaves connections to others that hold fewer."""

import asyncio
import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from productrecs.http.limits.connection_limits import ConnectionLimiter

_log = logging.getLogger(__name__)

YIELD_SECONDS: Final = 0.001
ACCEPTED_AFTER_YIELD: Final = 4
"""Connections that are always accepted after each pause."""
MAX_ACCEPTED_PER_EVENT: Final = 64
OUT_OF_FILES_PAUSE_SECONDS: Final = 0.5
_OUT_OF_FILES: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class AcceptBalancer:
    """Accepts from one listening socket, on the running loop, until it is closed."""

    def __init__(
        self,
        listener: socket.socket,
        admission: ConnectionLimiter,
        start_connection: Callable[[socket.socket], Awaitable[object]],
    ) -> None:
        """Start; `start_connection` gets each accepted socket."""
        self._listener = listener
        self._admission = admission
        self._begin = start_connection
        self._loop = asyncio.get_running_loop()
        self._resuming: asyncio.TimerHandle | None = None
        self._starting: set[asyncio.Future[object]] = set()
        self._loop.add_reader(listener.fileno(), self._accept_connections)

    def close(self) -> None:
        """Stop accepting."""
        self._loop.remove_reader(self._listener.fileno())
        if self._resuming is not None:
            self._resuming.cancel()

    async def wait_until_accepted(self) -> None:
        """Return once all accepted connections have started."""
        await asyncio.gather(*self._starting, return_exceptions=True)

    def _accept_connections(self, min_accepted: int = 0) -> None:
        for accepted_count in range(MAX_ACCEPTED_PER_EVENT):
            if (
                accepted_count >= min_accepted
                and self._admission.would_have_more_than_others(accepted_count)
            ):
                self._pause_accepting(YIELD_SECONDS)
                return
            try:
                accepted, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_FILES:
                    _log.error("connection accept failed", extra={"error": str(error)})
                    self._pause_accepting(OUT_OF_FILES_PAUSE_SECONDS)
                return  # otherwise the client disconnected
            self._start_connection(accepted)

    def _start_connection(self, accepted: socket.socket) -> None:
        accepted.settimeout(0)
        begin_task = asyncio.ensure_future(self._begin(accepted))
        self._starting.add(begin_task)
        begin_task.add_done_callback(self._starting.discard)

    def _pause_accepting(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._resuming = self._loop.call_later(seconds, self._resume_accepting)

    def _resume_accepting(self) -> None:
        self._resuming = None
        self._loop.add_reader(self._listener.fileno(), self._accept_connections)
        self._accept_connections(ACCEPTED_AFTER_YIELD)
