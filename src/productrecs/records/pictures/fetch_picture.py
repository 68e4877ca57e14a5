"""Picture download: at most ten seconds and ten megabytes, with a rate limit per host.

Only public addresses or trusted hosts are fetched, see `core/outbound_http.py`.
"""

import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from productrecs.core.errors import ProductRecsError
from productrecs.core.outbound_http import (
    ForbiddenUrlError,
    OutboundTarget,
    Resolve,
    connect,
    resolve_host,
    resolve_target,
    send_request,
    unreachable_reason,
)
from productrecs.records.pictures.decode_picture import MAX_BYTES

REJECTED: Final = "the picture's address is rejected: "
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


def absolute_url(url: str, domain: str) -> str:
    """Return a picture's absolute URL; a path belongs to the shop's domain, by https."""
    try:
        return url if urlsplit(url).scheme else urljoin(f"https://{domain}/", url)
    except ValueError:
        return url  # not a URL: fetching it reports the error


@dataclass(frozen=True, slots=True)
class PictureDownload:
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
    trusted_hosts: Collection[str] = (),
    lookup: Resolve = resolve_host,
    seconds: float = TOTAL_SECONDS,
) -> PictureDownload:
    """Return the bytes at `url`; follow up to three redirects, each checked again.

    Raises:
        PictureUnavailableError: when it cannot be fetched; the message is for merchants.
    """
    deadline = time.monotonic() + seconds
    validators = cached_validators or CachedValidators()
    try:
        for _ in range(MAX_REDIRECTS + 1):
            target = resolve_target(url, trusted_hosts, lookup)
            result = _send_request(target, validators, deadline)
            if isinstance(result, PictureDownload):
                return result
            url = urljoin(url, result)
    except ForbiddenUrlError as error:
        raise PictureUnavailableError(_rejection(error), is_transient=False) from error
    except TimeoutError as error:
        message = f"it did not arrive within {seconds:.0f} seconds"
        raise PictureUnavailableError(message, is_transient=True) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= deadline:
            message = f"it did not arrive within {seconds:.0f} seconds"
        else:
            message = unreachable_reason(error)
        raise PictureUnavailableError(message, is_transient=True) from error
    message = f"more than {MAX_REDIRECTS} redirects"
    raise PictureUnavailableError(message, is_transient=False)


def _rejection(error: ForbiddenUrlError) -> str:
    return f"{REJECTED}{error.with_remedy('PRODUCTRECS_IMAGE_HOSTS')}"


def _send_request(
    target: OutboundTarget, cached_validators: CachedValidators, deadline: float
) -> PictureDownload | str:
    """Return one host's reply: the picture, or the redirect's address."""
    with connect(target, deadline) as connection:
        headers = {
            "User-Agent": _AGENT,
            "Accept": "image/avif,image/webp,image/png,image/jpeg,image/gif",
            "Accept-Encoding": "identity",
        }
        if cached_validators.etag:
            headers["If-None-Match"] = cached_validators.etag
        if cached_validators.modified:
            headers["If-Modified-Since"] = cached_validators.modified
        send_request(connection, "GET", target, headers)
        with contextlib.closing(connection.getresponse()) as response:
            result = _read_response(response, cached_validators)
        if time.monotonic() >= deadline:
            raise TimeoutError  # the timer closed it, which looks like the end of data
        return result


def _read_response(
    response: http.client.HTTPResponse, cached_validators: CachedValidators
) -> PictureDownload | str:
    status = response.status
    if status == _NOT_MODIFIED and (cached_validators.etag or cached_validators.modified):
        return PictureDownload(None, cached_validators.etag, cached_validators.modified)
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
    return PictureDownload(content, _validator(etag), _validator(modified))


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
