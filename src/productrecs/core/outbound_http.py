"""Outbound HTTP: only to public addresses or trusted hosts (SSRF protection).

Merchants and item senders choose the URLs that this service requests. Without checks, a
URL could make it send requests to internal machines. No proxy, cookies, credentials or
network settings of the environment are used.
"""

import contextlib
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

import idna

from productrecs.core.errors import ProductRecsError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""Resolves all addresses of a host, as text.

Raises:
    OSError: when it has none.
"""

CONNECT_SECONDS: Final = 2.0

_PORTS: Final = {"http": 80, "https": 443}
_MAX_URL_LENGTH: Final = 2_000
_UNSAFE_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f\\]")
_NAT64_WELL_KNOWN: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_PREFIX: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR: Final = ipaddress.IPv6Network("2002::/16")
_FORBIDDEN_IPV4: Final = ipaddress.IPv4Address(0)  # in a blocked network
_BLOCKED_NETWORKS: Final = tuple(
    ipaddress.ip_network(one)
    for one in ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "fec0::/10")
)


class ForbiddenUrlError(ProductRecsError):
    """A URL is not an http or https URL of a public machine.

    `host_to_trust` is the host, with its port if needed, that an operator could allow.
    """

    def __init__(self, reason: str, host_to_trust: str | None = None) -> None:
        """Set the reason, which follows "the address is rejected: "."""
        super().__init__(reason)
        self.host_to_trust = host_to_trust

    def with_remedy(self, setting: str) -> str:
        """Return the reason, and how the operator could allow the host, if at all."""
        if self.host_to_trust is None:
            return str(self)
        remedy = f"the service's operator can allow it: {setting}={self.host_to_trust}"
        return f"{self}; {remedy}"


@dataclass(frozen=True, slots=True)
class OutboundTarget:
    """The address to connect to, checked before anything is sent."""

    scheme: str
    host: str  # from the URL: for TLS and the Host header
    port: int
    address: str
    path: str
    is_trusted: bool  # the operator listed the host

    @property
    def origin(self) -> str:
        """The host in the form of a Host header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"


def resolve_host(host: str, port: int) -> list[str]:
    """Resolve all addresses of a host with the system's resolver.

    Raises:
        OSError: when it has none.
    """
    address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in address_infos))


def is_public_address(text: str) -> bool:
    """Return whether an address is public, also when embedded in IPv6."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if "%" in text:
        return False  # link-local
    return _is_public(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        embedded = _embedded_ipv4(address)
        if embedded is not None:
            return _is_public(embedded)
    if any(
        address.version == network.version and address in network
        for network in _BLOCKED_NETWORKS
    ):
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def _embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the embedded IPv4 address, 0.0.0.0 for a forbidden one; None without one."""
    if address in _NAT64_WELL_KNOWN:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64_PREFIX or address.teredo is not None:
        return _FORBIDDEN_IPV4
    if address in _SIX_TO_FOUR:
        return address.sixtofour
    if int(address) >> 32 == 0:
        return _FORBIDDEN_IPV4  # deprecated IPv4-compatible, or the loopback
    return address.ipv4_mapped


def split_typed_url(text: str, max_length: int) -> SplitResult | None:
    """Return the parts of a URL that somebody typed; None if it is no whole one."""
    if len(text) > max_length or not text.isprintable() or " " in text:
        return None
    try:
        split = urlsplit(text)
        _ = split.port  # a wrong one is found here
    except ValueError:
        return None
    return split if split.hostname else None


def is_trusted_host(host: str, port: int | None, trusted: Collection[str]) -> bool:
    """Return whether the operator listed a host, alone or with its port."""
    return host in trusted or f"{host}:{port}" in trusted


def url_host(url: str) -> str:
    """Return a URL's host in lower case, without its port; empty for a path."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def resolve_target(
    url: str, trusted: Collection[str] = (), lookup: Resolve = resolve_host
) -> OutboundTarget:
    """Return the target for fetching `url`.

    All addresses of its host must be public, unless the host is `trusted`. Callers connect
    to `OutboundTarget.address` without another look-up, which could return another one.

    Raises:
        ForbiddenUrlError: when the URL must not be fetched.
        OSError: when the host has no address.
    """
    scheme, host, port, path = _parse_url(url)
    is_trusted = is_trusted_host(host, port, trusted)
    if not is_trusted and port != _PORTS[scheme]:
        raise ForbiddenUrlError(f"port {port} is not 80 or 443", f"{host}:{port}")
    addresses = list(lookup(host, port))
    if not addresses:
        message = f"{host} has no address"
        raise OSError(message)
    if not is_trusted and not all(is_public_address(address) for address in addresses):
        raise ForbiddenUrlError(f"{host} is not a public address", host)
    return OutboundTarget(scheme, host, port, addresses[0], path, is_trusted)


def _parse_url(url: str) -> tuple[str, str, int, str]:
    if len(url) > _MAX_URL_LENGTH:
        raise ForbiddenUrlError(f"it is longer than {_MAX_URL_LENGTH} characters")
    url = url.strip()
    if _UNSAFE_CHARACTERS.search(url):
        raise ForbiddenUrlError("it contains a blank, a control character or a backslash")
    try:
        split = urlsplit(url)
        port = split.port
        host = split.hostname or ""
    except ValueError as error:
        raise ForbiddenUrlError("it is not an address") from error
    if split.scheme not in _PORTS:
        raise ForbiddenUrlError("it starts with neither http:// nor https://")
    if "@" in split.netloc:
        raise ForbiddenUrlError("it contains a user or a password")
    path = split.path or "/"
    if split.query:
        path += "?" + split.query
    return (
        split.scheme,
        _ascii_host(host),
        port or _PORTS[split.scheme],
        _percent_encode(path),
    )


def _ascii_host(host: str) -> str:
    if not host or "%" in host:
        raise ForbiddenUrlError("it has no host")
    if ":" in host:
        return host
    try:
        name = host.encode("ascii").decode()
    except UnicodeEncodeError:
        try:
            name = idna.encode(host, uts46=True).decode()
        except (idna.IDNAError, UnicodeError) as error:
            raise ForbiddenUrlError("its host is not a valid name") from error
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,253}", name):
        raise ForbiddenUrlError("its host is not a valid name")
    return name.lower().rstrip(".")


def _percent_encode(path: str) -> str:
    return "".join(
        character
        if character.isascii()
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in path
    )


@contextlib.contextmanager
def connect(
    target: OutboundTarget, deadline: float
) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to the checked address, which is closed at `deadline`.

    Another thread closes it: a host that sends a byte per second would evade a timeout on
    single reads.
    """
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    tcp_socket = socket.create_connection(
        (target.address, target.port), min(CONNECT_SECONDS, remaining)
    )
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), _shut_down, [tcp_socket])
    timer.daemon = True
    timer.start()
    connection = http.client.HTTPConnection(target.host, target.port)
    try:
        tcp_socket.settimeout(max(0.1, deadline - time.monotonic()))
        connection.sock = tcp_socket
        if target.scheme == "https":
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(tcp_socket, server_hostname=target.host)
        yield connection
    finally:
        timer.cancel()
        connection.close()
        tcp_socket.close()


def send_request(
    connection: http.client.HTTPConnection,
    method: str,
    target: OutboundTarget,
    headers: Mapping[str, str],
    body: bytes | None = None,
) -> None:
    """Send a request that ends the connection, with no other headers than these."""
    connection.putrequest(method, target.path, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Host": target.origin, **headers, "Connection": "close"}.items():
        connection.putheader(name, value)
    connection.endheaders(body)


def unreachable_reason(error: Exception) -> str:
    """Return why a host could not be reached, from the error of a request to it."""
    if isinstance(error, socket.gaierror):
        return "its host is not known; check the address"
    return f"the host cannot be reached ({type(error).__name__})"


def _shut_down(tcp_socket: socket.socket) -> None:
    with contextlib.suppress(OSError):
        tcp_socket.shutdown(socket.SHUT_RDWR)
