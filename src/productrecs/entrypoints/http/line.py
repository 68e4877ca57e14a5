"""Who waits while a process has more to answer than a moment's work?

The event loop answers whoever has sent something, one after the other, and only then looks
who has sent something since. Beside a thousand calls for lists an event, which is handed on
and comes back, would wait for all of them three times over. So once a turn has lasted for a
moment, calls for lists stand in line as they came, unread, and each turn takes a moment's
worth of them. All else passes them.

The line holds what can be answered in time and no more. A call that would wait for longer
is read at once: it is refused, unless its store asks for less than the average of all.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from productrecs.entrypoints.http.pressure import FEW, Pressure

_log = logging.getLogger(__name__)

SPELL_SECONDS: Final = 0.03
"""For so long a turn takes calls from the line."""
LONGEST_SECONDS: Final = 0.35
"""A call that would wait for longer is not put there."""
_LISTS: Final = b"GET /v1/"
_FADES: Final = 7 / 8  # what a spell counts of how long calls take, after each later one


class Guest(Protocol):
    """A connection, as far as the line is concerned."""

    waits: int
    """How many pieces of what it sent stand in line."""

    @property
    def is_between_requests(self) -> bool:
        """Whether what comes next is the beginning of a request."""

    def take(self, data: bytes) -> None:
        """Read a piece, and answer what can be answered."""

    def take_waiting(self, data: bytes) -> None:
        """Read a piece that stood in line, unless the client is gone."""

    def come_no_further(self) -> None:
        """Let the client keep the rest of what it sends until its turn."""

    def cut(self) -> None:
        """End at once."""


class Line:
    """The calls for lists that wait in one process."""

    def __init__(
        self, pressure: Pressure, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nobody; `pressure` knows the turns, and who is refused."""
        self._pressure = pressure
        self._seconds = seconds
        self._pieces: deque[tuple[Guest, bytes]] = deque()
        # Of the last spells, the older the less: seconds with all else between, and pieces.
        self._seconds_taken, self._pieces_taken = 0.0, 0.0
        self._since = 0.0  # the end of the last spell

    def __len__(self) -> int:
        """Return how many pieces wait."""
        return len(self._pieces)

    def takes(self, guest: Guest, data: bytes) -> bool:
        """Put what came in the line where it has to wait; return whether it was taken."""
        if not self._pieces and self._seconds() < self._pressure.turn_is_old_at:
            return False
        if guest.waits:
            guest.come_no_further()
        elif not (data.startswith(_LISTS) and guest.is_between_requests):
            return False
        elif self._is_full():
            self._pressure.is_full = True
            try:
                guest.take(data)
            finally:
                self._pressure.is_full = False
            return True
        guest.waits += 1
        self._pieces.append((guest, data))
        if len(self._pieces) == 1:
            self._since = self._seconds()
            asyncio.get_running_loop().call_soon(self._go_on)
        return True

    def _is_full(self) -> bool:
        waiting = len(self._pieces)
        longest = LONGEST_SECONDS * self._pieces_taken
        return waiting > FEW and waiting * self._seconds_taken > longest

    def _go_on(self) -> None:
        """Take a spell's worth; the loop looks at all else before the next."""
        began = now = self._seconds()
        taken = 0
        while self._pieces and now - began < SPELL_SECONDS:
            guest, data = self._pieces.popleft()
            try:
                guest.take_waiting(data)
            except Exception:
                _log.exception("a connection failed")
                guest.cut()
            taken += 1
            now = self._seconds()
        # A process that had no processor meanwhile is not slow: that counts for so much.
        lasted = min(now - self._since, LONGEST_SECONDS)
        self._seconds_taken = self._seconds_taken * _FADES + lasted
        self._pieces_taken = self._pieces_taken * _FADES + taken
        self._since = now
        if self._pieces:
            asyncio.get_running_loop().call_soon(self._go_on)
