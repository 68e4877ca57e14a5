"""Safe picture URLs (SSRF protection): only public addresses, or trusted hosts.

The sender of an item chooses its picture's URL. Without checks, the URL could make this
service send requests to internal machines.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

import idna

from productrecs.core.errors import ProductRecsError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""Resolves all addresses of a host, as text.

Raises:
    OSError: when it has none.
"""

REJECTED: Final = "the picture's address is rejected: "
_PORTS: Final = {"http": 80, "https": 443}
_LONGEST: Final = 2_000
_UNSAFE_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f\\]")
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_PREFIX: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR: Final = ipaddress.IPv6Network("2002::/16")
_BLOCKED_NETWORKS: Final = tuple(
    ipaddress.ip_network(one)
    for one in ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "fec0::/10")
)


class ForbiddenUrlError(ProductRecsError):
    """A picture's URL is not an http or https URL of a public machine."""


@dataclass(frozen=True, slots=True)
class FetchTarget:
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
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def absolute_url(url: str, domain: str) -> str:
    """Return a picture's absolute URL; a path belongs to the shop's domain, by https."""
    try:
        return url if urlsplit(url).scheme else urljoin(f"https://{domain}/", url)
    except ValueError:
        return url  # not a URL: fetching it reports the error


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
        inner = _wrapped(address)
        if inner is not None:
            return False if isinstance(inner, bool) else _is_public(inner)
    if any(address.version == one.version and address in one for one in _BLOCKED_NETWORKS):
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def _wrapped(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | bool | None:
    """Return the embedded IPv4 address; False when it is forbidden; None without one."""
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64_PREFIX or address.teredo is not None:
        return False
    if address in _SIX_TO_FOUR:
        return address.sixtofour
    if int(address) >> 32 == 0:
        return False  # a deprecated IPv4-compatible address, or the loopback
    return address.ipv4_mapped


def resolve_target(
    url: str, trusted: Collection[str] = (), lookup: Resolve = resolve_host
) -> FetchTarget:
    """Return the target for fetching `url`.

    All addresses of its host must be public, unless the host is `trusted`. Callers connect
    to `Target.address` without a second look-up, which could return another address.

    Raises:
        ForbiddenUrlError: when the URL must not be fetched.
        OSError: when the host has no address.
    """
    scheme, host, port, path = _url_parts(url)
    is_trusted = host in trusted or f"{host}:{port}" in trusted
    if not is_trusted and port != _PORTS[scheme]:
        raise _forbidden(f"port {port} is not 80 or 443{_remedy(f'{host}:{port}')}")
    addresses = list(lookup(host, port))
    if not addresses:
        message = f"{host} has no address"
        raise OSError(message)
    if not is_trusted and not all(is_public_address(one) for one in addresses):
        raise _forbidden(f"{host} is not a public address{_remedy(host)}")
    return FetchTarget(scheme, host, port, addresses[0], path, is_trusted)


def _url_parts(url: str) -> tuple[str, str, int, str]:
    if len(url) > _LONGEST:
        raise _forbidden(f"it is longer than {_LONGEST} characters")
    url = url.strip()
    if _UNSAFE_CHARACTERS.search(url):
        raise _forbidden("it contains a blank, a control character or a backslash")
    try:
        split = urlsplit(url)
        port = split.port
        host = split.hostname or ""
    except ValueError as error:
        raise _forbidden("it is not an address") from error
    if split.scheme not in _PORTS:
        raise _forbidden("it starts with neither http:// nor https://")
    if "@" in split.netloc:
        raise _forbidden("it contains a user or a password")
    path = split.path or "/"
    if split.query:
        path += "?" + split.query
    return split.scheme, _ascii(host), port or _PORTS[split.scheme], _escaped(path)


def _ascii(host: str) -> str:
    if not host or "%" in host:
        raise _forbidden("it has no host")
    if ":" in host:
        return host
    try:
        name = host.encode("ascii").decode()
    except UnicodeEncodeError:
        try:
            name = idna.encode(host, uts46=True).decode()
        except (idna.IDNAError, UnicodeError) as error:
            raise _forbidden("its host is not a valid name") from error
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,253}", name):
        raise _forbidden("its host is not a valid name")
    return name.lower().rstrip(".")


def _escaped(path: str) -> str:
    return "".join(
        one if one.isascii() else "".join(f"%{byte:02X}" for byte in one.encode())
        for one in path
    )


def _remedy(host: str) -> str:
    return f"; the service's operator can allow it: PRODUCTRECS_IMAGE_HOSTS={host}"


def _forbidden(reason: str) -> ForbiddenUrlError:
    return ForbiddenUrlError(f"{REJECTED}{reason}")
