"""Rate limits (leaky buckets for each key and address) and connection limits.

The buckets are in shared memory, so a caller has one limit for all processes of a machine.
There is no lock: two calls in the same microsecond may count as one.
"""

import ipaddress
import math
import re
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from productrecs.core.cache_registry import Cache, memoized
from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from productrecs.settings import Settings

    Cells = memoryview[float] | array[float]

BURST_SECONDS: Final = 10
"""The burst size, in seconds of the rate."""
_CELLS: Final = 2  # per bucket: the hash of its caller, and when it will be empty
_PROBED_BUCKETS: Final = 4  # candidate buckets of one caller (linear probing)
_MAX_ADDRESS_CHARS: Final = 64
_IPV6_PREFIX_BITS: Final = 64  # one IPv6 client has a whole /64 network

HeaderLine = tuple[bytes, bytes]  # of a reply's headers


class TooManyRequestsError(ProductRecsError):
    """A caller is over its rate limit, and may call again `after` seconds.

    `header_lines` are the RateLimit headers of the reply.
    """

    def __init__(
        self, message: str, after: int, header_lines: Sequence[HeaderLine] = ()
    ) -> None:
        """Store the contents of the reply."""
        super().__init__(message)
        self.after = after
        self.header_lines = header_lines


class BucketLevel(NamedTuple):
    """How full a caller's bucket is, this call included."""

    limit: "RateLimit"
    cell: int
    caller_hash: float
    empty_at: float  # by the clock of the limit
    checked_at: float  # by the same clock

    def header_lines(self) -> tuple[HeaderLine, HeaderLine]:
        """Return the RateLimit headers (draft-ietf-httpapi-ratelimit-headers)."""
        limit, wait = self.limit, max(0.0, self.empty_at - self.checked_at)
        remaining = max(0, math.floor(limit.burst - wait * limit.per_second))
        name, policy = limit.name, (limit.burst, limit.burst / limit.per_second)
        return (
            (b"ratelimit-policy", b'"%b";q=%d;w=%d' % (name, *policy)),
            (b"ratelimit", b'"%b";r=%d;t=%d' % (name, remaining, math.ceil(wait))),
        )


class RateLimit:
    """A leaky bucket for each caller: a burst, then a steady rate."""

    def __init__(
        self,
        name: bytes,
        burst: int,
        per_second: float,
        cells: "Cells | None" = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with empty buckets.

        `cells` holds the buckets, initially 0; the default is memory of this process. When
        all are in use, the bucket that is empty first is reused.
        """
        self.name = name
        self.burst = burst
        self.per_second = per_second
        self._cells = array("d", bytes(8 * 8_192)) if cells is None else cells
        self._seconds = seconds

    def check(self, caller: str) -> BucketLevel:
        """Return the level with one more call, without counting it.

        Raises:
            TooManyRequestsError: when the caller has to wait first.
        """
        now = self._seconds()
        digest = blake2b(self.name + caller.encode(), digest_size=6).digest()
        caller_code = float(int.from_bytes(digest) + 1)  # exact in a double, and never 0
        cell = self._cell_of(caller_code, now)
        empty_at_before = self._cells[cell + 1] if self._cells[cell] == caller_code else now
        empty_at = max(empty_at_before, now) + 1 / self.per_second
        wait = empty_at - now - self.burst / self.per_second
        if wait > 1e-9:  # noqa: PLR2004 - rounding error of doubles
            message = (
                f"more than {self.burst:,} calls arrived at once from this "
                f"{self.name.decode()}; it may send {self.per_second:g} a second"
            )
            full = BucketLevel(self, cell, caller_code, empty_at_before, now)
            after = max(1, math.ceil(wait))
            raise TooManyRequestsError(message, after, full.header_lines())
        return BucketLevel(self, cell, caller_code, empty_at, now)

    def count(self, level: BucketLevel) -> None:
        """Count the call."""
        self._cells[level.cell] = level.caller_hash
        self._cells[level.cell + 1] = level.empty_at

    def check_and_count(self, caller: str) -> BucketLevel:
        """Count one call.

        Raises:
            TooManyRequestsError: when the caller has to wait first.
        """
        level = self.check(caller)
        self.count(level)
        return level

    def _cell_of(self, caller_code: float, now: float) -> int:
        """Return a caller's bucket, else the bucket that is empty first."""
        cells = self._cells
        buckets = len(cells) // _CELLS
        probed = [
            (int(caller_code) + step) % buckets * _CELLS
            for step in range(min(_PROBED_BUCKETS, buckets))
        ]
        for cell in probed:
            if cells[cell] == caller_code:
                return cell
        return min(probed, key=lambda cell: max(cells[cell + 1], now))


class RateLimits:
    """The rate limits of an installation, for each key and each public address."""

    def __init__(
        self,
        of_key: int,
        of_address: int,
        cells: "Cells",
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Limit the calls per second; 0 means no limit."""
        self._seconds = seconds
        self._of_key = self._limit(b"key", of_key, cells)
        self._of_address = self._limit(b"address", of_address, cells)

    @classmethod
    def of(cls, settings: "Settings", cells: "Cells") -> "RateLimits | None":
        """Return the rate limits of `settings`; None if all are off."""
        if not settings.rate_per_key and not settings.rate_per_address:
            return None
        return cls(settings.rate_per_key, settings.rate_per_address, cells)

    def check_address(self, address: str) -> BucketLevel | None:
        """Return the level of an address; None if it is not limited.

        Raises:
            TooManyRequestsError: when the address has to wait first.
        """
        network = None if self._of_address is None else network_of(address)
        if self._of_address is None or network is None:
            return None
        return self._of_address.check(network)

    def check_key(self, key: str) -> BucketLevel | None:
        """Return the level of a key; None if keys are not limited.

        Raises:
            TooManyRequestsError: when callers with the key have to wait first.
        """
        return None if self._of_key is None else self._of_key.check(key)

    def _limit(self, name: bytes, per_second: int, cells: "Cells") -> RateLimit | None:
        if not per_second:
            return None
        return RateLimit(name, per_second * BURST_SECONDS, per_second, cells, self._seconds)


# Some proxies forward the client's port as well.
_WITH_PORT: Final = re.compile(r"(\d+\.\d+\.\d+\.\d+):\d+|\[([0-9A-Fa-f:.]+)\](?::\d+)?")
_LOCAL_NETWORKS: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.168.0.0/16", "::/127", "fc00::/7", "fe80::/10"),
        ),
    )
)


@memoized(Cache.CLIENT_NETWORKS)
def network_of(address: str) -> str | None:
    """Return the network of one client; None if it is not limited.

    Private addresses are not limited: a proxy that does not forward the client's address,
    or a shop's own server.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return network_of(str(found.ipv4_mapped))
    if any(found in network for network in _LOCAL_NETWORKS):
        return None
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(found), _IPV6_PREFIX_BITS), strict=False))
    return str(found)


def address_of_client(peer: str, headers: Mapping[bytes, bytes]) -> str:
    """Return the client's address, as forwarded by a proxy in a private network."""
    forwarded = headers.get(b"x-forwarded-for")
    address = _plain_address(peer)
    if forwarded is None or not _is_private_peer(address):
        return address
    last_address = forwarded.rpartition(b",")[2].strip().decode("latin-1")
    return _plain_address(last_address[:_MAX_ADDRESS_CHARS]) or address


@memoized(Cache.CLIENT_NETWORKS)
def _plain_address(text: str) -> str:
    """Return an address without a port, and IPv4 in its own form: each client has one."""
    with_port = _WITH_PORT.fullmatch(text)
    try:
        found = ipaddress.ip_address(
            with_port[with_port.lastindex or 0] if with_port else text
        )
    except ValueError:
        return text
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def peer_of(scope: Mapping[str, Any]) -> str:
    """Return the peer address of an ASGI scope's connection; "" if there is none."""
    client = scope.get("client")
    return client[0] if client else ""


@memoized(Cache.CLIENT_NETWORKS)
def _is_private_peer(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer).is_private
    except ValueError:
        return True  # a Unix socket


SILENT_SECONDS: Final = 1.0
MAX_EXTRA_CONNECTIONS: Final = 2
"""The most connections that a process may have above the others."""


class LimitedConnection(Protocol):
    """A connection that can be cut."""

    def cut(self) -> None:
        """Close it at once."""


class PeerProcesses(Protocol):
    """The other processes that listen on the same socket."""

    def publish(self, connections: int) -> None:
        """Publish how many connections this process has."""

    def fewest_connections(self) -> float:
        """Return the smallest count of another process; infinite when alone."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The most connections of a process, in total and per public address."""

    connections: int = 4_096
    per_address: int = 200


class ConnectionLimiter:
    """Counts the connections of this process, and refuses new ones over a limit."""

    def __init__(
        self,
        limits: ConnectionLimits | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without connections."""
        self._limits = limits or ConnectionLimits()
        self._seconds = seconds
        self._networks: Counter[str] = Counter()  # the limited ones
        self._without_request: dict[
            LimitedConnection, float
        ] = {}  # connect times, oldest first
        self._refused = 0
        self._peers: PeerProcesses | None = None
        self.count = 0

    def set_peers(self, peers: PeerProcesses) -> None:
        """Balance connections with other processes from now on."""
        self._peers = peers

    def has_more_than_others(self, added: int) -> bool:
        """Return whether another process would have fewer after `added` more here."""
        if self._peers is None:
            return False
        return self.count + added > self._peers.fewest_connections() + MAX_EXTRA_CONNECTIONS

    def enter(self, connection: LimitedConnection, address: str) -> bool:
        """Count a new connection; return whether it may stay. Call `leave` in any case."""
        now = self._seconds()
        self._set_count(self.count + 1)
        network = network_of(address)
        if network is not None:
            self._networks[network] += 1
        is_accepted = self._has_room_for(network) and (
            self.count <= self._limits.connections or self._cut_silent_connection(now)
        )
        if is_accepted:
            self._without_request[connection] = now
        else:
            self._refused += 1
        return is_accepted

    def record_request(self, connection: LimitedConnection) -> None:
        """Note that a connection sent a request."""
        self._without_request.pop(connection, None)

    def leave(self, connection: LimitedConnection, address: str) -> None:
        """Note that a connection has ended."""
        self._set_count(self.count - 1)
        self._without_request.pop(connection, None)
        network = network_of(address)
        if network is not None:
            self._networks[network] -= 1
            if not self._networks[network]:
                del self._networks[network]

    def pop_refused(self) -> int:
        """Return how many were refused or cut since the last call."""
        refused_count, self._refused = self._refused, 0
        return refused_count

    def _set_count(self, count: int) -> None:
        self.count = count
        if self._peers is not None:
            self._peers.publish(count)

    def _has_room_for(self, network: str | None) -> bool:
        return network is None or self._networks[network] <= self._limits.per_address

    def _cut_silent_connection(self, now: float) -> bool:
        connection = next(iter(self._without_request), None)
        if connection is None or now - self._without_request[connection] < SILENT_SECONDS:
            return False
        del self._without_request[connection]
        self._refused += 1
        connection.cut()
        return True
