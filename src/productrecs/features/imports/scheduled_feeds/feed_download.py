"""Feed download: one conditional request to a checked address, streamed to a file."""

import hashlib
import http.client
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import BinaryIO, Final
from urllib.parse import urljoin

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

MAX_BYTES: Final = 512 << 20
TOTAL_SECONDS: Final = 300.0
MAX_REDIRECTS: Final = 3

_BLOCK: Final = 64 << 10
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OK, _NOT_MODIFIED = 200, 304
_LONGEST_VALIDATOR: Final = 200
_ENCODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip"})
_AGENT: Final = "ProductRecs (fetches a product feed)"
_ADVICE: Final = {
    401: "its password or header is missing or wrong",
    403: "it refuses this service; check the password or header, or allow it there",
    404: "there is no file at this address; check it",
    410: "the file was removed; enter its new address",
    429: "it gets too many requests; fetch it less often",
}


class FeedUnavailableError(ProductRecsError):
    """The feed could not be fetched; the message is for merchants."""


@dataclass(frozen=True, slots=True)
class FeedRequest:
    """What to fetch: the secret `header` as `NAME: VALUE`, and the validators of before."""

    url: str
    header: str = field(default="", repr=False)
    etag: str | None = None
    modified: str | None = None


@dataclass(frozen=True, slots=True)
class FeedDownloadLimits:
    """The limits of one download, over all redirects."""

    seconds: float = TOTAL_SECONDS
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, slots=True)
class DownloadedFeed:
    """A received file, and its validators for the next time."""

    size: int
    digest: str
    etag: str | None
    modified: str | None


@dataclass(frozen=True)
class FeedDownloader:
    """Downloads feeds from public addresses and `trusted` hosts."""

    trusted: Collection[str] = ()
    lookup: Resolve = resolve_host
    limits: FeedDownloadLimits = FeedDownloadLimits()

    def download(
        self, request: FeedRequest, file: BinaryIO, on_bytes: Callable[[int], None]
    ) -> DownloadedFeed | None:
        """Write the feed to `file`, still packed if it is; None if it is unchanged.

        Up to three redirects are followed, each checked again. The header goes to the
        host of the address only.

        Raises:
            FeedUnavailableError: when it cannot be fetched as a whole.
        """
        until = time.monotonic() + self.limits.seconds
        late = f"it did not arrive within {self.limits.seconds:.0f} seconds"
        try:
            return self._request_and_follow(request, file, on_bytes, until)
        except ForbiddenUrlError as error:
            reason = error.with_remedy("PRODUCTRECS_FEED_HOSTS")
            message = f"the address is rejected: {reason}"
            raise FeedUnavailableError(message) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            is_late = isinstance(error, TimeoutError) or time.monotonic() >= until
            reason = unreachable_reason(error)
            if isinstance(error, http.client.IncompleteRead):
                reason = "the connection ended before the whole file had arrived"
            raise FeedUnavailableError(late if is_late else reason) from error

    def _request_and_follow(
        self,
        request: FeedRequest,
        file: BinaryIO,
        on_bytes: Callable[[int], None],
        until: float,
    ) -> DownloadedFeed | None:
        url, first = request.url, None
        for _ in range(MAX_REDIRECTS + 1):
            target = resolve_target(url, self.trusted, self.lookup)
            first = first or target
            if first.scheme == "https" and target.scheme != "https":
                message = "it redirects to an address without https"
                raise FeedUnavailableError(message)
            is_same_host = (target.scheme, target.origin) == (first.scheme, first.origin)
            header = request.header if is_same_host else ""
            with connect(target, until) as connection:
                _send_conditional_request(connection, target, request, header)
                with connection.getresponse() as response:
                    location = response.getheader("location")
                    if response.status not in _REDIRECTS or not location:
                        download = self._receive_file(response, request, file, on_bytes)
                        if time.monotonic() >= until:
                            raise TimeoutError  # closed by the timer, as if it had ended
                        return download
            url = urljoin(url, location)
        message = f"more than {MAX_REDIRECTS} redirects"
        raise FeedUnavailableError(message)

    def _receive_file(
        self,
        response: http.client.HTTPResponse,
        request: FeedRequest,
        file: BinaryIO,
        on_bytes: Callable[[int], None],
    ) -> DownloadedFeed | None:
        status = response.status
        if status == _NOT_MODIFIED and (request.etag or request.modified):
            return None
        if status != _OK:
            advice = _ADVICE.get(status, "the next fetch tries again")
            message = f"the host answered {status}: {advice}"
            raise FeedUnavailableError(message)
        encoding = (response.getheader("content-encoding") or "").lower()
        if encoding not in _ENCODINGS:
            message = f"it is compressed as {encoding[:40]}; only gzip is supported"
            raise FeedUnavailableError(message)
        digest, size = hashlib.sha256(), 0
        while block := response.read(_BLOCK):
            size += len(block)
            if size > self.limits.max_bytes:
                message = f"it is larger than {self.limits.max_bytes >> 20:,} MiB; split it"
                raise FeedUnavailableError(message)
            digest.update(block)
            file.write(block)
            on_bytes(len(block))
        if response.length:  # what is left of the declared length
            raise http.client.IncompleteRead(b"", response.length)
        etag, modified = response.getheader("etag"), response.getheader("last-modified")
        return DownloadedFeed(
            size, digest.hexdigest(), _usable_validator(etag), _usable_validator(modified)
        )


def _send_conditional_request(
    connection: http.client.HTTPConnection,
    target: OutboundTarget,
    request: FeedRequest,
    header: str,
) -> None:
    headers = {
        "User-Agent": _AGENT,
        "Accept": "*/*",
        "Accept-Encoding": "gzip",
    }
    if request.etag:
        headers["If-None-Match"] = request.etag
    if request.modified:
        headers["If-Modified-Since"] = request.modified
    if header:
        name, _, value = header.partition(": ")
        headers[name] = value
    send_request(connection, "GET", target, headers)


def _usable_validator(value: str | None) -> str | None:
    is_valid = value and len(value) <= _LONGEST_VALIDATOR and value.isprintable()
    return value if is_valid else None
