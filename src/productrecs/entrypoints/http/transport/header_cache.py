"""Header cache: parsed request headers by their bytes.

A browser sends the same headers with each request, and parsing them costs more than finding
a cached list. The cache holds the headers of fast-path requests. For a later request with
the same bytes, only the target is parsed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Self

from productrecs.core.cache_registry import Cache
from productrecs.entrypoints.http.limits.bot_detection import crawler_name

Header = tuple[bytes, bytes]

_MAX_BYTES: Final = 2_048
"""The most bytes of cached headers."""
_API_GET: Final = b"GET /v1/"
_TARGET_AT: Final = len(b"GET ")
_COMPLETE_HEADERS: Final = re.compile(rb" HTTP/1\.1\r\n(?:[^\r\n]+\r\n)*\r\n")
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_BODY_HEADERS: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"expect", b"upgrade")
)
"""Headers that announce a body or a special request."""


def valid_request_id(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the request id that the client sent, if it is valid."""
    request_id = headers.get(b"x-request-id")
    return request_id if request_id and _REQUEST_ID.fullmatch(request_id) else None


class RequestHead(NamedTuple):
    """The headers of a request; names are in lower case."""

    lines: Sequence[Header]
    by_name: Mapping[bytes, bytes]
    request_id: bytes | None  # sent by the client, if valid
    is_all: bool  # no header announces a body, a special request or a crawler

    @classmethod
    def of(cls, lines: Sequence[Header]) -> Self:
        """Return the headers with these lines."""
        named = dict(lines)
        is_all = (
            _BODY_HEADERS.isdisjoint(named)
            and crawler_name(named.get(b"user-agent", b"")) is None
        )
        return cls(lines, named, valid_request_id(named), is_all)


class HeaderCache:
    """The cached headers of one process; the oldest entry is evicted first."""

    def __init__(self) -> None:
        """Start empty."""
        self._heads: dict[bytes, RequestHead] = {}
        self._limit = Cache.REQUEST_HEADERS.limit

    def find(self, data: bytes) -> tuple[bytes, RequestHead] | None:
        """Return target and headers of a request; None if it has to be parsed.

        The target is not validated: it may contain anything but a space, and the caller has
        to reject what the parser would reject.
        """
        if not data.startswith(_API_GET):
            return None
        end = data.find(b" ", len(_API_GET))
        head = self._heads.get(data[end:])
        return None if head is None else (data[_TARGET_AT:end], head)

    def add(self, data: bytes, target: bytes, head: RequestHead) -> None:
        """Cache the headers of a GET parsed from `data`, if `data` is only that request."""
        end = _TARGET_AT + len(target)
        after_target = data[end:]
        if (
            len(after_target) > _MAX_BYTES
            or data[_TARGET_AT:end] != target
            or head.request_id is not None  # unique to this request
            or not head.is_all
            or not _COMPLETE_HEADERS.fullmatch(after_target)
        ):
            return
        if len(self._heads) == self._limit:
            del self._heads[next(iter(self._heads))]
        self._heads[after_target] = head
