"""Connection limits: how many connections a process and an address may hold."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from productrecs.http.limits.client_address import public_network_of

SILENT_SECONDS: Final = 1.0

MAX_EXTRA_CONNECTIONS: Final = 2


"""The most connections that a process may have above the others."""


class CuttableConnection(Protocol):
    """A connection that can be cut."""

    def cut(self) -> None:
        """Close it at once."""


class PeerProcesses(Protocol):
    """The other processes that listen on the same socket."""

    def publish(self, connections: int) -> None:
        """Publish how many connections this process has."""

    def fewest_connections_elsewhere(self) -> float:
        """Return the smallest count of another process; infinite when alone."""


@dataclass(frozen=True, slots=True)
class MaxConnections:
    """The most connections of a process, in total and per public address."""

    connections: int = 4_096
    per_address: int = 200


class ConnectionLimiter:
    """Counts the connections of this process, and refuses new ones over a limit."""

    def __init__(
        self,
        limits: MaxConnections | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without connections."""
        self._limits = limits or MaxConnections()
        self._seconds = seconds
        self._networks: Counter[str] = Counter()  # the limited ones
        self._without_request: dict[
            CuttableConnection, float
        ] = {}  # connect times, oldest first
        self._refused = 0
        self._peers: PeerProcesses | None = None
        self.count = 0

    def set_peers(self, peers: PeerProcesses) -> None:
        """Balance connections with other processes from now on."""
        self._peers = peers

    def would_have_more_than_others(self, added_connections: int) -> bool:
        """Return whether another process would have fewer, with the added ones here."""
        if self._peers is None:
            return False
        return (
            self.count + added_connections
            > self._peers.fewest_connections_elsewhere() + MAX_EXTRA_CONNECTIONS
        )

    def count_and_accept(self, connection: CuttableConnection, address: str) -> bool:
        """Count a new connection; return whether it may stay. Then call `count_closed`."""
        now = self._seconds()
        self._set_count(self.count + 1)
        network = public_network_of(address)
        if network is not None:
            self._networks[network] += 1
        is_accepted = self._has_room_for(network) and (
            self.count <= self._limits.connections or self._try_cut_silent_connection(now)
        )
        if is_accepted:
            self._without_request[connection] = now
        else:
            self._refused += 1
        return is_accepted

    def record_request(self, connection: CuttableConnection) -> None:
        """Note that a connection sent a request."""
        self._without_request.pop(connection, None)

    def count_closed(self, connection: CuttableConnection, address: str) -> None:
        """Note that a connection has ended."""
        self._set_count(self.count - 1)
        self._without_request.pop(connection, None)
        network = public_network_of(address)
        if network is not None:
            self._networks[network] -= 1
            if not self._networks[network]:
                del self._networks[network]

    def pop_refused_count(self) -> int:
        """Return how many were refused or cut since the last call."""
        refused_count, self._refused = self._refused, 0
        return refused_count

    def _set_count(self, count: int) -> None:
        self.count = count
        if self._peers is not None:
            self._peers.publish(count)

    def _has_room_for(self, network: str | None) -> bool:
        return network is None or self._networks[network] <= self._limits.per_address

    def _try_cut_silent_connection(self, now: float) -> bool:
        connection = next(iter(self._without_request), None)
        if connection is None or now - self._without_request[connection] < SILENT_SECONDS:
            return False
        del self._without_request[connection]
        self._refused += 1
        connection.cut()
        return True
