"""Picture download: at most ten seconds and ten megabytes, with a rate limit per host.

It uses no proxy, cookies, credentials or network settings of the environment.
"""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from productrecs.core.errors import ProductRecsError
from productrecs.records.pictures.decode_picture import MAX_BYTES
from productrecs.records.pictures.safe_url import (
    FetchTarget,
    ForbiddenUrlError,
    Resolve,
    resolve_host,
    resolve_target,
)

CONNECT_SECONDS: Final = 2.0
TOTAL_SECONDS: Final = 10.0
MAX_REDIRECTS: Final = 3

_BLOCK: Final = 64 << 10
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NOT_NOW: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_LEAVE_ALONE: Final = frozenset({429, 503})
_NOT_MODIFIED, _OK = 304, 200
_AGENT: Final = "ProductRecs (fetches product pictures)"


class PictureUnavailableError(ProductRecsError):
    """The picture could not be fetched; `may_pass`: a retry may succeed."""

    def __init__(
        self, why: str, *, may_pass: bool, rest: bool = False, wait_seconds: int = 0
    ) -> None:
        """Set the reason `why`; `rest`: the host asked for a pause of `wait_seconds`."""
        super().__init__(why)
        self.may_pass = may_pass
        self.rest = rest
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
    known: CachedValidators | None = None,
    trusted: Collection[str] = (),
    lookup: Resolve = resolve_host,
    seconds: float = TOTAL_SECONDS,
) -> FetchResult:
    """Return the bytes at `url`; follow up to three redirects, each checked again.

    Raises:
        PictureUnavailableError: when it cannot be fetched; the message is for merchants.
    """
    until = time.monotonic() + seconds
    validators = known or CachedValidators()
    try:
        for _ in range(MAX_REDIRECTS + 1):
            target = resolve_target(url, trusted, lookup)
            found = _ask(target, validators, until)
            if isinstance(found, FetchResult):
                return found
            url = urljoin(url, found)
    except ForbiddenUrlError as error:
        raise PictureUnavailableError(str(error), may_pass=False) from error
    except TimeoutError as error:
        message = f"it did not arrive within {seconds:.0f} seconds"
        raise PictureUnavailableError(message, may_pass=True) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= until:
            message = f"it did not arrive within {seconds:.0f} seconds"
        elif isinstance(error, socket.gaierror):
            message = "its host is not known; check the address"
        else:
            message = f"the host cannot be reached ({type(error).__name__})"
        raise PictureUnavailableError(message, may_pass=True) from error
    message = f"more than {MAX_REDIRECTS} redirects"
    raise PictureUnavailableError(message, may_pass=False)


def _ask(target: FetchTarget, known: CachedValidators, until: float) -> FetchResult | str:
    """Return one host's reply: the picture, or the redirect's address."""
    with _connected(target, until) as connection:
        headers = {
            "Host": target.origin,
            "User-Agent": _AGENT,
            "Accept": "image/avif,image/webp,image/png,image/jpeg,image/gif",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        if known.etag:
            headers["If-None-Match"] = known.etag
        if known.modified:
            headers["If-Modified-Since"] = known.modified
        connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        with contextlib.closing(connection.getresponse()) as response:
            found = _answer(response, known)
        if time.monotonic() >= until:
            raise TimeoutError  # the timer closed it, which looks like the end of data
        return found


def _answer(
    response: http.client.HTTPResponse, known: CachedValidators
) -> FetchResult | str:
    status = response.status
    if status == _NOT_MODIFIED and (known.etag or known.modified):
        return FetchResult(None, known.etag, known.modified)
    location = response.getheader("location")
    if status in _REDIRECTS and location:
        return location
    if status != _OK:
        wait = response.getheader("retry-after") or ""
        raise PictureUnavailableError(
            f"the host answered {status}",
            may_pass=status in _NOT_NOW,
            rest=status in _LEAVE_ALONE,
            wait_seconds=min(int(wait), 86_400) if wait.isdecimal() else 0,
        )
    if (response.getheader("content-encoding") or "identity").lower() != "identity":
        message = "the host sent it compressed although that was not requested"
        raise PictureUnavailableError(message, may_pass=False)
    content = _read(response)
    etag, modified = response.getheader("etag"), response.getheader("last-modified")
    return FetchResult(content, _validator(etag), _validator(modified))


def _validator(value: str | None) -> str | None:
    return value if value and len(value) <= 200 and value.isprintable() else None  # noqa: PLR2004 - no honest one is longer


def _read(response: http.client.HTTPResponse) -> bytes:
    parts, size = list[bytes](), 0
    too_large = f"it is larger than {MAX_BYTES >> 20} MiB"
    if (response.length or 0) > MAX_BYTES:
        raise PictureUnavailableError(too_large, may_pass=False)
    while part := response.read(_BLOCK):
        size += len(part)
        if size > MAX_BYTES:
            raise PictureUnavailableError(too_large, may_pass=False)
        parts.append(part)
    return b"".join(parts)


@contextlib.contextmanager
def _connected(target: FetchTarget, until: float) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to the checked address, which is closed at `until`.

    Another thread closes it: a host that sends a byte per second would evade a timeout on
    single reads.
    """
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    plain = socket.create_connection(
        (target.address, target.port), min(CONNECT_SECONDS, left)
    )
    timer = threading.Timer(max(0.0, until - time.monotonic()), _cut, [plain])
    timer.daemon = True
    timer.start()
    connection = http.client.HTTPConnection(target.host, target.port)
    try:
        plain.settimeout(max(0.1, until - time.monotonic()))
        connection.sock = plain
        if target.scheme == "https":
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(plain, server_hostname=target.host)
        yield connection
    finally:
        timer.cancel()
        connection.close()
        plain.close()


def _cut(plain: socket.socket) -> None:
    with contextlib.suppress(OSError):
        plain.shutdown(socket.SHUT_RDWR)


MAX_CONCURRENT_PER_HOST: Final = 2
MAX_PER_SECOND: Final = 2.0
_LONGEST_REST: Final = 600.0
_FORGOTTEN_AFTER: Final = 4_096


@dataclass(slots=True)
class _Host:
    in_flight: int = 0  # requests
    next_at: float = 0.0
    pauses: int = 0  # consecutive ones


class HostRateLimiter:
    """Rate limiter of the hosts that serve pictures; safe to share between threads."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start without known hosts."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._hosts: dict[str, _Host] = {}

    def take(self, host: str, *, is_ours: bool = False) -> bool:
        """Reserve a request to a host, if it is allowed now; call `end` afterwards.

        Hosts that the operator listed as trusted have no rate limit.
        """
        with self._lock:
            if len(self._hosts) > _FORGOTTEN_AFTER:
                self._hosts = {n: one for n, one in self._hosts.items() if one.in_flight}
            one, now = self._hosts.setdefault(host, _Host()), self._seconds()
            if now < one.next_at or (
                one.in_flight >= MAX_CONCURRENT_PER_HOST and not is_ours
            ):
                return False
            one.in_flight += 1
            one.next_at = now if is_ours else now + 1.0 / MAX_PER_SECOND
            return True

    def end(self, host: str, *, rest: bool = False, seconds: float = 0.0) -> None:
        """Record a host's reply; `rest` when it asked for a pause."""
        with self._lock:
            one = self._hosts.setdefault(host, _Host(in_flight=1))
            one.in_flight = max(0, one.in_flight - 1)
            if not rest:
                one.pauses = 0
                return
            one.pauses += 1
            pause = max(seconds, 2.0**one.pauses)
            one.next_at = self._seconds() + min(pause, _LONGEST_REST)

    def seconds_until_free(self, hosts: set[str]) -> float:
        """Return the seconds until one of the hosts allows a request; 0 for now."""
        with self._lock:
            now = self._seconds()
            waits = [
                max(0.0, one.next_at - now)
                for name in hosts
                if (one := self._hosts.get(name)) is not None
            ]
        return min(waits) if len(waits) == len(hosts) and waits else 0.0
