"""Accept balancer: new connections go to the API process that has the fewest.

All API processes listen to one socket, and whoever wakes first accepts. Left alone, one of
them takes nearly all connections of a burst while another core is idle. So a process that
has more than its share stops accepting for a millisecond. Nobody waits for a process that
is busy, stuck or gone: after that millisecond the connection is accepted in any case.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from productrecs.entrypoints.http.limits.connection_limits import ConnectionLimiter

_log = logging.getLogger(__name__)

YIELD_SECONDS: Final = 0.001
ACCEPTED_AFTER_YIELD: Final = 4
"""Connections that are accepted after each pause in any case."""
MAX_ACCEPTED_AT_ONCE: Final = 64
OUT_OF_FILES_PAUSE_SECONDS: Final = 0.5
_OUT_OF_FILES: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class AcceptBalancer:
    """Accepts from one listening socket, on the running loop, until it is closed."""

    def __init__(
        self,
        listener: socket.socket,
        admission: ConnectionLimiter,
        begin: Callable[[socket.socket], Awaitable[object]],
    ) -> None:
        """Start; `begin` gets each accepted socket."""
        self._listener = listener
        self._admission = admission
        self._begin = begin
        self._loop = asyncio.get_running_loop()
        self._resuming: asyncio.TimerHandle | None = None
        self._starting: set[asyncio.Future[object]] = set()
        self._loop.add_reader(listener.fileno(), self._accept)

    def close(self) -> None:
        """Stop accepting."""
        self._loop.remove_reader(self._listener.fileno())
        if self._resuming is not None:
            self._resuming.cancel()

    async def settled(self) -> None:
        """Return once all accepted connections have started."""
        await asyncio.gather(*self._starting, return_exceptions=True)

    def _accept(self, guaranteed: int = 0) -> None:
        for taken in range(MAX_ACCEPTED_AT_ONCE):
            if taken >= guaranteed and self._admission.has_more_than_others(taken):
                self._pause(YIELD_SECONDS)
                return
            try:
                accepted, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_FILES:
                    _log.error("connection accept failed", extra={"error": str(error)})
                    self._pause(OUT_OF_FILES_PAUSE_SECONDS)
                return  # else the client has gone
            self._start(accepted)

    def _start(self, accepted: socket.socket) -> None:
        accepted.settimeout(0)
        began = asyncio.ensure_future(self._begin(accepted))
        self._starting.add(began)
        began.add_done_callback(self._starting.discard)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._resuming = self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        self._resuming = None
        self._loop.add_reader(self._listener.fileno(), self._accept)
        self._accept(ACCEPTED_AFTER_YIELD)
