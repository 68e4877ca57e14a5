"""Request bodies: read within size limits, and within the memory that is left."""

import io
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

from productrecs.core.errors import ProductRecsError
from productrecs.core.memory_budget import ByteClaim
from productrecs.schemas.events import EVENT_LIMIT

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

KIB = 1024
MIB = 1024 * KIB
EVENTS_LIMIT = MIB
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"


class BodyTooLargeError(ProductRecsError):
    """The body is over its limit; send less at a time."""


class EncodedBodyError(ProductRecsError):
    """The body is compressed or otherwise encoded; send it as it is."""


class ClientDisconnectedError(ProductRecsError):
    """The client closed the connection before its body was complete."""

    def __init__(self) -> None:
        """Use the fixed message."""
        super().__init__("the client closed the connection before its body was complete")


async def read_body(
    receive: Receive, headers: Headers, limit: int, claim: ByteClaim, *, weight: int = 1
) -> bytes:
    """Return the whole body of an ASGI request, at most `limit` bytes.

    `claim` reserves `weight` times the size of the body before it is read.

    Raises:
        EncodedBodyError: for any `Content-Encoding` but identity, before reading.
        BodyTooLargeError: when the declared or the received length is over the limit.
        QueueFullError: when memory is short; before reading if the length is declared.
        ClientDisconnectedError: when the client closes before the end.
    """
    claim.grow(weight * check_body_headers(headers, limit))
    return await _collect_body(receive, limit, limit, claim, weight)


async def read_event_body(receive: Receive, headers: Headers, claim: ByteClaim) -> bytes:
    """Return the whole body of `POST /v1/events`: 64 KiB for one event, 1 MiB for many.

    Raises:
        EncodedBodyError: as `read_body`.
        BodyTooLargeError: as `read_body`, for the limit that the first character sets.
        QueueFullError: as `read_body`.
        ClientDisconnectedError: as `read_body`.
    """
    claim.grow(check_body_headers(headers, EVENTS_LIMIT))
    return await _collect_body(receive, EVENT_LIMIT, EVENTS_LIMIT, claim, 1)


def check_body_headers(headers: Headers, limit: int) -> int:
    """Check the headers of a body before it is read; return the declared length, or 0.

    Raises:
        EncodedBodyError: for any `Content-Encoding` but identity.
        BodyTooLargeError: when the declared length is over `limit`.
    """
    declared_bytes = 0
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            declared_bytes = int(value[:20])
            if declared_bytes > limit:
                raise _too_large_error(limit)
        if name == b"content-encoding" and not _is_identity(value):
            message = "send the body without Content-Encoding, not compressed"
            raise EncodedBodyError(message)
    return declared_bytes


def _is_identity(value: bytes) -> bool:
    codings = (coding.strip().lower() for coding in value.split(b","))
    return all(coding in (b"", b"identity") for coding in codings)


async def _collect_body(
    receive: Receive, limit: int, array_limit: int, claim: ByteClaim, weight: int
) -> bytes:
    """Return the whole body: up to `limit` bytes, or `array_limit` for a JSON array."""
    body = io.BytesIO()  # grows in place: the body is in memory only once
    first_byte = b""  # the first byte that is not whitespace
    size = 0
    has_more = True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        chunk: bytes = message.get("body", b"")
        first_byte = first_byte or chunk.lstrip(_BOM + _BLANK)[:1]
        size += len(chunk)
        if size > limit and (size > array_limit or first_byte != b"["):
            raise _too_large_error(limit)
        if weight * size > claim.size:
            claim.grow(weight * size - claim.size)
        has_more = message.get("more_body", False)
        if not has_more and size == len(chunk):
            return chunk  # the usual case: one chunk
        body.write(chunk)
    return body.getvalue()


def _too_large_error(limit: int) -> BodyTooLargeError:
    return BodyTooLargeError(f"the body may be at most {limit} bytes; send less at a time")
