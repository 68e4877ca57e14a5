"""Connection limits: the most open connections for a process and for one address.

Each public address has its limit; a /64 network of IPv6 counts as one address. Private
addresses have none: they are proxies, which carry everybody's connections. When the
process is full, the oldest connection that never sent a request is cut.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from productrecs.entrypoints.http.limits.rate_limits import network_of

SILENT_SECONDS: Final = 1.0
MAX_LEAD: Final = 2
"""How many more connections a process may have than the others."""


class LimitedConnection(Protocol):
    """A connection that can be cut."""

    def cut(self) -> None:
        """Close it at once."""


class PeerProcesses(Protocol):
    """The other processes that listen on the same socket."""

    def publish(self, connections: int) -> None:
        """Publish how many connections this process has."""

    def fewest(self) -> float:
        """Return the smallest count of another process; infinite when alone."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The most connections of a process, in all and for one public address."""

    connections: int = 4_096
    per_address: int = 200


class ConnectionLimiter:
    """Counts the connections of this process, and refuses those over a limit."""

    def __init__(
        self,
        limits: ConnectionLimits | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without connections."""
        self._limits = limits or ConnectionLimits()
        self._seconds = seconds
        self._networks: Counter[str] = Counter()  # the limited ones
        self._silent: dict[LimitedConnection, float] = {}  # connect times, oldest first
        self._refused = 0
        self._neighbours: PeerProcesses | None = None
        self.count = 0

    def meet(self, neighbours: PeerProcesses) -> None:
        """Balance connections with other processes from now on."""
        self._neighbours = neighbours

    def has_more_than_others(self, coming: int) -> bool:
        """Return whether another process would have fewer after `coming` more here."""
        if self._neighbours is None:
            return False
        return self.count + coming > self._neighbours.fewest() + MAX_LEAD

    def enter(self, connection: LimitedConnection, address: str) -> bool:
        """Count a new connection; return whether it may stay. Call `leave` in any case."""
        now = self._seconds()
        self._set_count(self.count + 1)
        network = network_of(address)
        if network is not None:
            self._networks[network] += 1
        is_welcome = self._has_room_for(network) and (
            self.count <= self._limits.connections or self._cut_silent_connection(now)
        )
        if is_welcome:
            self._silent[connection] = now
        else:
            self._refused += 1
        return is_welcome

    def note_request(self, connection: LimitedConnection) -> None:
        """Note that a connection sent a request."""
        self._silent.pop(connection, None)

    def leave(self, connection: LimitedConnection, address: str) -> None:
        """Note that a connection has ended."""
        self._set_count(self.count - 1)
        self._silent.pop(connection, None)
        network = network_of(address)
        if network is not None:
            self._networks[network] -= 1
            if not self._networks[network]:
                del self._networks[network]

    def take_refused(self) -> int:
        """Return how many were refused or cut since the last call."""
        refused, self._refused = self._refused, 0
        return refused

    def _set_count(self, count: int) -> None:
        self.count = count
        if self._neighbours is not None:
            self._neighbours.publish(count)

    def _has_room_for(self, network: str | None) -> bool:
        return network is None or self._networks[network] <= self._limits.per_address

    def _cut_silent_connection(self, now: float) -> bool:
        connection = next(iter(self._silent), None)
        if connection is None or now - self._silent[connection] < SILENT_SECONDS:
            return False
        del self._silent[connection]
        self._refused += 1
        connection.cut()
        return True
