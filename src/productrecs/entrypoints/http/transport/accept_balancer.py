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
"""So many are accepted after each look away, whatever others have."""
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
        """Start; `begin` is given each accepted socket."""
        self._listener = listener
        self._admission = admission
        self._begin = begin
        self._loop = asyncio.get_running_loop()
        self._away: asyncio.TimerHandle | None = None
        self._beginning: set[asyncio.Future[object]] = set()
        self._loop.add_reader(listener.fileno(), self._accept)

    def close(self) -> None:
        """Accept no more."""
        self._loop.remove_reader(self._listener.fileno())
        if self._away is not None:
            self._away.cancel()

    async def settled(self) -> None:
        """Return once all that were accepted have begun."""
        await asyncio.gather(*self._beginning, return_exceptions=True)

    def _accept(self, owed: int = 0) -> None:
        for taken in range(MAX_ACCEPTED_AT_ONCE):
            if taken >= owed and self._admission.has_more_than_others(taken):
                self._look_away(YIELD_SECONDS)
                return
            try:
                accepted, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_FILES:
                    _log.error("a connection could not be accepted: %s", error)
                    self._look_away(OUT_OF_FILES_PAUSE_SECONDS)
                return  # else its client went away again
            self._start(accepted)

    def _start(self, accepted: socket.socket) -> None:
        accepted.settimeout(0)
        began = asyncio.ensure_future(self._begin(accepted))
        self._beginning.add(began)
        began.add_done_callback(self._beginning.discard)

    def _look_away(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._away = self._loop.call_later(seconds, self._look_again)

    def _look_again(self) -> None:
        self._away = None
        self._loop.add_reader(self._listener.fileno(), self._accept)
        self._accept(ACCEPTED_AFTER_YIELD)
