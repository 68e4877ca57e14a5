"""Header cache: parsed request headers, found by their bytes."""

import re
from typing import Final

from productrecs.core.cache_registry import RegisteredCache
from productrecs.http.transport.request_parser import RequestHeaders

_MAX_BYTES: Final = 2_048
"""The most bytes of cached headers."""
_API_GET: Final = b"GET /v1/"
_TARGET_AT: Final = len(b"GET ")
_COMPLETE_HEADERS: Final = re.compile(rb" HTTP/1\.1\r\n(?:[^\r\n]+\r\n)*\r\n")


class HeaderCache:
    """Parsed request headers of one process by their bytes; the oldest is evicted first.

    A browser sends the same headers with each request, and parsing them costs more than
    finding a cached list. The cache holds the headers of fast-path requests. For a later
    request with the same bytes, only the target is parsed.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._heads: dict[bytes, RequestHeaders] = {}
        self._limit = RegisteredCache.REQUEST_HEADERS.limit

    def find_target_and_headers(self, data: bytes) -> tuple[bytes, RequestHeaders] | None:
        """Return target and headers of a request; None if it has to be parsed.

        The target is not validated: it may contain anything but a space, and the caller has
        to reject what the parser would reject.
        """
        if not data.startswith(_API_GET):
            return None
        end = data.find(b" ", len(_API_GET))
        head = self._heads.get(data[end:])
        return None if head is None else (data[_TARGET_AT:end], head)

    def add_if_cacheable(self, data: bytes, target: bytes, head: RequestHeaders) -> None:
        """Cache the headers of a GET parsed from `data`, if `data` is only that request."""
        end = _TARGET_AT + len(target)
        after_target = data[end:]
        if (
            len(after_target) > _MAX_BYTES
            or data[_TARGET_AT:end] != target
            or head.request_id is not None  # unique to this request
            or not head.is_plain
            or not _COMPLETE_HEADERS.fullmatch(after_target)
        ):
            return
        if len(self._heads) == self._limit:
            del self._heads[next(iter(self._heads))]
        self._heads[after_target] = head
