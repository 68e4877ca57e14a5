"""Is this body small enough, plainly encoded, and JSON as strict as we mean it?"""

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

import msgspec

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.http.schemas.problems import BodyError, Problem

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

KIB = 1024
MIB = 1024 * KIB
ITEMS_LIMIT = 32 * MIB
ORDER_LIMIT = MIB
EVENT_LIMIT = 64 * KIB
EVENTS_LIMIT = MIB
MAX_DEPTH = 32
MAX_CONTAINERS = 500_000
MAX_VALUES = 4_000_000
"""32 MiB of `[],` take 790 MiB once decoded; with these no body takes more than 270 MiB."""

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_HALF_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_HUGE_NUMERAL = re.compile(rb"-?[0-9.]+[eE]\+?[0-9]{3,}|-?[0-9]{300,}")
_POSITION = re.compile(r" \(byte (\d+)\)$")
_NOT_NUMBERS = (b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"-inf")
_EXCERPT = 40

_decode = msgspec.json.Decoder().decode


class BodyTooLargeError(ProductRecsError):
    """The body is over its limit; send less at a time."""


class EncodedBodyError(ProductRecsError):
    """The body is compressed or otherwise encoded; send it as it is."""


class ClientGoneError(ProductRecsError):
    """The client closed before its body was whole; there is nobody to answer."""


async def read_body(receive: Receive, headers: Headers, limit: int) -> bytes:
    """Return the whole body of an ASGI request, at most `limit` bytes of it.

    Raises:
        EncodedBodyError: for any `Content-Encoding` but identity, nothing being read.
        BodyTooLargeError: by the declared length, or as soon as more has come in.
        ClientGoneError: when the client closes before the end.
    """
    check_headers(headers, limit)
    return await _collect(receive, limit, array_limit=limit)


async def read_event_body(receive: Receive, headers: Headers) -> bytes:
    """Return the whole body of `POST /v1/events`: 64 KiB for one event, 1 MiB for many.

    Raises:
        EncodedBodyError: as `read_body`.
        BodyTooLargeError: as `read_body`, for the limit that the first character sets.
        ClientGoneError: as `read_body`.
    """
    check_headers(headers, EVENTS_LIMIT)
    return await _collect(receive, EVENT_LIMIT, array_limit=EVENTS_LIMIT)


def parse_json(data: bytes) -> object:
    """Return what the JSON text `data` tells, in dicts, lists, str, int, float, bool, None.

    UTF-8 only, with or without a byte order mark; of a repeated key the last wins.
    No number is NaN or infinite, no string holds half a surrogate pair. Integers come
    as they are, however large: how large they may be is the schema's word.

    Raises:
        BodyError: with one problem of type `json_invalid` for anything else, for nesting
            deeper than 32, and for more values than any push can need.
    """
    text = data[len(_BOM) :] if data.startswith(_BOM) else data
    if len(text) > MIB and _is_too_much(text):
        raise _invalid("too many lists, objects or values; send less at a time")
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refusal(text, error) from None
    if _is_too_deep(value):
        raise _invalid(f"nested deeper than {MAX_DEPTH} levels")
    return value


def check_headers(headers: Headers, limit: int) -> None:
    """Refuse a body by its headers, nothing of it being read.

    Raises:
        EncodedBodyError: for any `Content-Encoding` but identity.
        BodyTooLargeError: when the declared length is over `limit`.
    """
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > limit:
            raise _too_large(limit)
        if name == b"content-encoding" and not _is_identity(value):
            message = "send the body without Content-Encoding, not compressed"
            raise EncodedBodyError(message)


def _is_identity(value: bytes) -> bool:
    codings = (coding.strip().lower() for coding in value.split(b","))
    return all(coding in (b"", b"identity") for coding in codings)


async def _collect(receive: Receive, limit: int, array_limit: int) -> bytes:
    """Return all chunks joined: up to `limit` bytes, or `array_limit` of a JSON array."""
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            gone = "the client closed the connection before its body was complete"
            raise ClientGoneError(gone)
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit and (size > array_limit or not _opens_array(chunks)):
            raise _too_large(limit)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _opens_array(chunks: Iterable[bytes]) -> bool:
    for chunk in chunks:
        text = chunk.lstrip(_BOM + _BLANK)
        if text:
            return text.startswith(b"[")
    return False


def _too_large(limit: int) -> BodyTooLargeError:
    return BodyTooLargeError(f"the body may be at most {limit} bytes; send less at a time")


def _is_too_much(text: bytes) -> bool:
    """Return whether `text` may hold more than allowed (what strings hold counts too)."""
    containers = text.count(b"[") + text.count(b"{")
    return containers > MAX_CONTAINERS or text.count(b",") > MAX_VALUES


def _is_too_deep(value: object) -> bool:
    """Return whether `value` nests deeper than 32, looking at one level after another."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            member
            for container in level
            for member in (container.values() if type(container) is dict else container)
            if type(member) is dict or type(member) is list
        ]
    return bool(level)


def _refusal(text: bytes, error: Exception) -> BodyError:
    """Return why `text` was not taken, in words that say what to send instead."""
    if not text.strip(_BLANK):
        return _invalid("the body is empty; send one JSON value")
    if isinstance(error, RecursionError):
        return _invalid(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(error, msgspec.ValidationError):
        numeral = _HUGE_NUMERAL.search(text)
        reason = "a number is too large; none may be beyond ±1e12"
        return _invalid(reason, text, numeral.start() if numeral else 0)
    try:
        text.decode()
    except UnicodeDecodeError as undecodable:
        reason = "not UTF-8 text; encode the body as UTF-8"
        return _invalid(reason, text, undecodable.start)
    return _syntax_refusal(text, str(error))


def _syntax_refusal(text: bytes, message: str) -> BodyError:
    is_half = "surrogate" in message or "truncated" in message
    # Only where there may be one: through a photo's 400 kB it takes eight milliseconds.
    half = _HALF_PAIR.search(text) if is_half and b"\\u" in text else None
    if half:
        reason = "half a surrogate pair in a string; send whole Unicode characters"
        return _invalid(reason, text, half.start())
    if "truncated" in message:
        return _invalid("the text ends before it is complete", text, len(text))
    found = _POSITION.search(message)
    position = int(found[1]) if found else 0
    if text.startswith(_NOT_NUMBERS, position):
        return _invalid("NaN and Infinity are not JSON; send null", text, position)
    if b"\0" <= text[position : position + 1] < b" ":
        reason = "a control character stands in a string; escape it"
        return _invalid(reason, text, position)
    reason = _POSITION.sub("", message).removeprefix("JSON is malformed: ")
    return _invalid(reason, text, position)


def _invalid(reason: str, text: bytes = b"", position: int = 0) -> BodyError:
    start = max(0, position - _EXCERPT)
    around = text[start : position + _EXCERPT].decode(errors="replace")
    problem = Problem(
        loc=("body", position),
        msg=f"JSON decode error: {reason}",
        type="json_invalid",
        input=around,
        ctx={"error": reason},
    )
    return BodyError([problem])
