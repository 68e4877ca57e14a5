"""Client address: who calls, behind a proxy or not, and the network that it belongs to."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, Final

from productrecs.core.cache_registry import RegisteredCache, memoized

_IPV6_PREFIX_BITS: Final = 64  # one IPv6 client has a whole /64 network
_MAX_ADDRESS_CHARS: Final = 64

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


@memoized(RegisteredCache.CLIENT_NETWORKS)
def public_network_of(address: str) -> str | None:
    """Return the network of one client; None if it is not limited.

    Private addresses are not limited: a proxy that does not forward the client's address,
    or a shop's own server.
    """
    try:
        parsed_address = ipaddress.ip_address(address)
    except ValueError:
        return None
    if (
        isinstance(parsed_address, ipaddress.IPv6Address)
        and parsed_address.ipv4_mapped is not None
    ):
        return public_network_of(str(parsed_address.ipv4_mapped))
    if any(parsed_address in network for network in _LOCAL_NETWORKS):
        return None
    if isinstance(parsed_address, ipaddress.IPv6Address):
        return str(
            ipaddress.ip_network((int(parsed_address), _IPV6_PREFIX_BITS), strict=False)
        )
    return str(parsed_address)


def address_of_client(peer: str, headers: Mapping[bytes, bytes]) -> str:
    """Return the client's address, as forwarded by a proxy in a private network."""
    forwarded = headers.get(b"x-forwarded-for")
    address = _normalize_address(peer)
    if forwarded is None or not _is_private_peer(address):
        return address
    last_address = forwarded.rpartition(b",")[2].strip().decode("latin-1")
    return _normalize_address(last_address[:_MAX_ADDRESS_CHARS]) or address


@memoized(RegisteredCache.CLIENT_NETWORKS)
def _normalize_address(address: str) -> str:
    """Return an address without a port, and IPv4 in its own form: each client has one."""
    with_port = _WITH_PORT.fullmatch(address)
    try:
        found = ipaddress.ip_address(
            with_port[with_port.lastindex or 0] if with_port else address
        )
    except ValueError:
        return address
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def peer_of(scope: Mapping[str, Any]) -> str:
    """Return the peer address of an ASGI scope's connection; "" if there is none."""
    client = scope.get("client")
    return client[0] if client else ""


@memoized(RegisteredCache.CLIENT_NETWORKS)
def _is_private_peer(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer).is_private
    except ValueError:
        return True  # a Unix socket
