"""Picture download: at most ten seconds and ten megabytes, with a rate limit per host.

It uses no proxy, cookies, credentials or network settings of the environment.
Only public addresses or trusted hosts are fetched (SSRF protection):

The sender of an item chooses its picture's URL. Without checks, the URL could make this
service send requests to internal machines.
"""

import contextlib
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

import idna

from productrecs.core.errors import ProductRecsError
from productrecs.records.pictures.decode_picture import MAX_BYTES

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""Resolves all addresses of a host, as text.

Raises:
    OSError: when it has none.
"""

REJECTED: Final = "the picture's address is rejected: "
_PORTS: Final = {"http": 80, "https": 443}
_MAX_URL_LENGTH: Final = 2_000
_UNSAFE_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f\\]")
_NAT64_WELL_KNOWN: Final = ipaddress.IPv6Network("64:ff9b::/96")
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
    address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in address_infos))


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
        embedded = _embedded_ipv4(address)
        if embedded is not None:
            return False if isinstance(embedded, bool) else _is_public(embedded)
    if any(
        address.version == network.version and address in network
        for network in _BLOCKED_NETWORKS
    ):
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def _embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | bool | None:
    """Return the embedded IPv4 address; False when it is forbidden; None without one."""
    if address in _NAT64_WELL_KNOWN:
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
    to `FetchTarget.address` without a second look-up, which could return another address.

    Raises:
        ForbiddenUrlError: when the URL must not be fetched.
        OSError: when the host has no address.
    """
    scheme, host, port, path = _parse_url(url)
    is_trusted = host in trusted or f"{host}:{port}" in trusted
    if not is_trusted and port != _PORTS[scheme]:
        raise _forbidden_url(f"port {port} is not 80 or 443{_remedy(f'{host}:{port}')}")
    addresses = list(lookup(host, port))
    if not addresses:
        message = f"{host} has no address"
        raise OSError(message)
    if not is_trusted and not all(is_public_address(address) for address in addresses):
        raise _forbidden_url(f"{host} is not a public address{_remedy(host)}")
    return FetchTarget(scheme, host, port, addresses[0], path, is_trusted)


def _parse_url(url: str) -> tuple[str, str, int, str]:
    if len(url) > _MAX_URL_LENGTH:
        raise _forbidden_url(f"it is longer than {_MAX_URL_LENGTH} characters")
    url = url.strip()
    if _UNSAFE_CHARACTERS.search(url):
        raise _forbidden_url("it contains a blank, a control character or a backslash")
    try:
        split = urlsplit(url)
        port = split.port
        host = split.hostname or ""
    except ValueError as error:
        raise _forbidden_url("it is not an address") from error
    if split.scheme not in _PORTS:
        raise _forbidden_url("it starts with neither http:// nor https://")
    if "@" in split.netloc:
        raise _forbidden_url("it contains a user or a password")
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
        raise _forbidden_url("it has no host")
    if ":" in host:
        return host
    try:
        name = host.encode("ascii").decode()
    except UnicodeEncodeError:
        try:
            name = idna.encode(host, uts46=True).decode()
        except (idna.IDNAError, UnicodeError) as error:
            raise _forbidden_url("its host is not a valid name") from error
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,253}", name):
        raise _forbidden_url("its host is not a valid name")
    return name.lower().rstrip(".")


def _percent_encode(path: str) -> str:
    return "".join(
        character
        if character.isascii()
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in path
    )


def _remedy(host: str) -> str:
    return f"; the service's operator can allow it: PRODUCTRECS_IMAGE_HOSTS={host}"


def _forbidden_url(reason: str) -> ForbiddenUrlError:
    return ForbiddenUrlError(f"{REJECTED}{reason}")


CONNECT_SECONDS: Final = 2.0
TOTAL_SECONDS: Final = 10.0
MAX_REDIRECTS: Final = 3

_BLOCK: Final = 64 << 10
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_BACKOFF_STATUSES: Final = frozenset({429, 503})
_NOT_MODIFIED, _OK = 304, 200
_AGENT: Final = "ProductRecs (fetches product pictures)"


class PictureUnavailableError(ProductRecsError):
    """The picture could not be fetched; `is_transient`: a retry may succeed."""

    def __init__(
        self,
        reason: str,
        *,
        is_transient: bool,
        should_back_off: bool = False,
        wait_seconds: int = 0,
    ) -> None:
        """Set the reason; with `should_back_off`, the host asked for a pause."""
        super().__init__(reason)
        self.is_transient = is_transient
        self.should_back_off = should_back_off
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The downloaded bytes, or None if unchanged, and the validators for the next time."""

    content: bytes | None
    etag: str | None
    modified: str | None


@dataclass(frozen=True, slots=True)
class CachedValidators:
    """The validators (ETag, Last-Modified) of an earlier download."""

    etag: str | None = None
    modified: str | None = None


def fetch_picture(
    url: str,
    cached_validators: CachedValidators | None = None,
    trusted: Collection[str] = (),
    lookup: Resolve = resolve_host,
    seconds: float = TOTAL_SECONDS,
) -> FetchResult:
    """Return the bytes at `url`; follow up to three redirects, each checked again.

    Raises:
        PictureUnavailableError: when it cannot be fetched; the message is for merchants.
    """
    until = time.monotonic() + seconds
    validators = cached_validators or CachedValidators()
    try:
        for _ in range(MAX_REDIRECTS + 1):
            target = resolve_target(url, trusted, lookup)
            result = _send_request(target, validators, until)
            if isinstance(result, FetchResult):
                return result
            url = urljoin(url, result)
    except ForbiddenUrlError as error:
        raise PictureUnavailableError(str(error), is_transient=False) from error
    except TimeoutError as error:
        message = f"it did not arrive within {seconds:.0f} seconds"
        raise PictureUnavailableError(message, is_transient=True) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= until:
            message = f"it did not arrive within {seconds:.0f} seconds"
        elif isinstance(error, socket.gaierror):
            message = "its host is not known; check the address"
        else:
            message = f"the host cannot be reached ({type(error).__name__})"
        raise PictureUnavailableError(message, is_transient=True) from error
    message = f"more than {MAX_REDIRECTS} redirects"
    raise PictureUnavailableError(message, is_transient=False)


def _send_request(
    target: FetchTarget, cached_validators: CachedValidators, until: float
) -> FetchResult | str:
    """Return one host's reply: the picture, or the redirect's address."""
    with _connect(target, until) as connection:
        headers = {
            "Host": target.origin,
            "User-Agent": _AGENT,
            "Accept": "image/avif,image/webp,image/png,image/jpeg,image/gif",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        if cached_validators.etag:
            headers["If-None-Match"] = cached_validators.etag
        if cached_validators.modified:
            headers["If-Modified-Since"] = cached_validators.modified
        connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        with contextlib.closing(connection.getresponse()) as response:
            result = _read_response(response, cached_validators)
        if time.monotonic() >= until:
            raise TimeoutError  # the timer closed it, which looks like the end of data
        return result


def _read_response(
    response: http.client.HTTPResponse, cached_validators: CachedValidators
) -> FetchResult | str:
    status = response.status
    if status == _NOT_MODIFIED and (cached_validators.etag or cached_validators.modified):
        return FetchResult(None, cached_validators.etag, cached_validators.modified)
    location = response.getheader("location")
    if status in _REDIRECTS and location:
        return location
    if status != _OK:
        wait = response.getheader("retry-after") or ""
        raise PictureUnavailableError(
            f"the host answered {status}",
            is_transient=status in _TRANSIENT_STATUSES,
            should_back_off=status in _BACKOFF_STATUSES,
            wait_seconds=min(int(wait), 86_400) if wait.isdecimal() else 0,
        )
    if (response.getheader("content-encoding") or "identity").lower() != "identity":
        message = "the host sent it compressed although that was not requested"
        raise PictureUnavailableError(message, is_transient=False)
    content = _read_body(response)
    etag, modified = response.getheader("etag"), response.getheader("last-modified")
    return FetchResult(content, _validator(etag), _validator(modified))


def _validator(value: str | None) -> str | None:
    return value if value and len(value) <= 200 and value.isprintable() else None  # noqa: PLR2004 - no honest one is longer


def _read_body(response: http.client.HTTPResponse) -> bytes:
    parts, size = list[bytes](), 0
    too_large = f"it is larger than {MAX_BYTES >> 20} MiB"
    if (response.length or 0) > MAX_BYTES:
        raise PictureUnavailableError(too_large, is_transient=False)
    while part := response.read(_BLOCK):
        size += len(part)
        if size > MAX_BYTES:
            raise PictureUnavailableError(too_large, is_transient=False)
        parts.append(part)
    return b"".join(parts)


@contextlib.contextmanager
def _connect(target: FetchTarget, until: float) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to the checked address, which is closed at `until`.

    Another thread closes it: a host that sends a byte per second would evade a timeout on
    single reads.
    """
    remaining = until - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    tcp_socket = socket.create_connection(
        (target.address, target.port), min(CONNECT_SECONDS, remaining)
    )
    timer = threading.Timer(max(0.0, until - time.monotonic()), _shut_down, [tcp_socket])
    timer.daemon = True
    timer.start()
    connection = http.client.HTTPConnection(target.host, target.port)
    try:
        tcp_socket.settimeout(max(0.1, until - time.monotonic()))
        connection.sock = tcp_socket
        if target.scheme == "https":
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(tcp_socket, server_hostname=target.host)
        yield connection
    finally:
        timer.cancel()
        connection.close()
        tcp_socket.close()


def _shut_down(tcp_socket: socket.socket) -> None:
    with contextlib.suppress(OSError):
        tcp_socket.shutdown(socket.SHUT_RDWR)


MAX_CONCURRENT_PER_HOST: Final = 2
MAX_PER_SECOND: Final = 2.0
_MAX_PAUSE: Final = 600.0
_MAX_HOSTS: Final = 4_096


@dataclass(slots=True)
class _HostState:
    in_flight: int = 0  # requests
    next_at: float = 0.0
    pauses: int = 0  # consecutive ones


class HostRateLimiter:
    """Rate limiter of the hosts that serve pictures; safe to share between threads."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start without known hosts."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._hosts: dict[str, _HostState] = {}

    def try_begin_request(self, host: str, *, is_own_host: bool = False) -> bool:
        """Reserve a request to a host, if it is allowed now; call `end_request` afterwards.

        Hosts that the operator listed as trusted have no rate limit.
        """
        with self._lock:
            if len(self._hosts) > _MAX_HOSTS:
                self._hosts = {
                    name: state for name, state in self._hosts.items() if state.in_flight
                }
            state, now = self._hosts.setdefault(host, _HostState()), self._seconds()
            if now < state.next_at or (
                state.in_flight >= MAX_CONCURRENT_PER_HOST and not is_own_host
            ):
                return False
            state.in_flight += 1
            state.next_at = now if is_own_host else now + 1.0 / MAX_PER_SECOND
            return True

    def end_request(
        self, host: str, *, must_pause: bool = False, pause_seconds: float = 0.0
    ) -> None:
        """Record a host's reply; with `must_pause`, the host asked for a pause.

        The pause lasts `pause_seconds` at least, and doubles from one to the next.
        """
        with self._lock:
            state = self._hosts.setdefault(host, _HostState(in_flight=1))
            state.in_flight = max(0, state.in_flight - 1)
            if not must_pause:
                state.pauses = 0
                return
            state.pauses += 1
            pause = max(pause_seconds, 2.0**state.pauses)
            state.next_at = self._seconds() + min(pause, _MAX_PAUSE)

    def seconds_until_free(self, hosts: set[str]) -> float:
        """Return the seconds until one of the hosts allows a request; 0 for now."""
        with self._lock:
            now = self._seconds()
            waits = [
                max(0.0, state.next_at - now)
                for name in hosts
                if (state := self._hosts.get(name)) is not None
            ]
        return min(waits) if len(waits) == len(hosts) and waits else 0.0
