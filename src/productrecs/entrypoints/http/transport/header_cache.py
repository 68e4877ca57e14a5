"""Header cache: parsed request headers by their bytes.

A browser sends the same headers with each request. Parsing them costs more than finding a
cached list. So the headers of requests that were answered on the fast path are remembered;
of a later request with the same bytes only the target is read.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Self

Header = tuple[bytes, bytes]

_LIMIT: Final = 2_048
_LONGEST: Final = 2_048
"""So many heads are remembered, of so many bytes at most: some megabytes in all."""
_CALL: Final = b"GET /v1/"
_TARGET_AT: Final = len(b"GET ")
_WHOLE: Final = re.compile(rb" HTTP/1\.1\r\n(?:[^\r\n]+\r\n)*\r\n")
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_UNUSUAL: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"expect", b"upgrade")
)
"""Headers by which more may belong to a request than its head."""


def valid_request_id(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the id that a request came with, if it is one."""
    given = headers.get(b"x-request-id")
    return given if given and _REQUEST_ID.fullmatch(given) else None


class RequestHead(NamedTuple):
    """The headers of a request; names are in lower case."""

    lines: Sequence[Header]
    named: Mapping[bytes, bytes]
    request_id: bytes | None  # that it came with, if it is one
    is_all: bool  # nothing in it says that more belongs to the request

    @classmethod
    def of(cls, lines: Sequence[Header]) -> Self:
        """Return the head with these lines."""
        named = dict(lines)
        is_all = _UNUSUAL.isdisjoint(named)
        return cls(lines, named, valid_request_id(named), is_all)


class HeaderCache:
    """The heads that one process remembers, the latest to come."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[bytes, RequestHead] = {}

    def find(self, data: bytes) -> tuple[bytes, RequestHead] | None:
        """Return target and head of a request; None where it has to be parsed.

        A target may hold anything but a blank: whoever takes it apart has to refuse what a
        parser would.
        """
        if not data.startswith(_CALL):
            return None
        end = data.find(b" ", len(_CALL))
        head = self._known.get(data[end:])
        return None if head is None else (data[_TARGET_AT:end], head)

    def learn(self, data: bytes, target: bytes, head: RequestHead) -> None:
        """Remember the head of a GET, parsed from `data`, if that is just this request."""
        end = _TARGET_AT + len(target)
        rest = data[end:]
        if (
            len(rest) > _LONGEST
            or data[_TARGET_AT:end] != target
            or head.request_id is not None  # which no other request has
            or not head.is_all
            or not _WHOLE.fullmatch(rest)
        ):
            return
        if len(self._known) == _LIMIT:
            del self._known[next(iter(self._known))]
        self._known[rest] = head
