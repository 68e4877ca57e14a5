"""Request bodies: read within size limits, then parsed as strict JSON."""

import codecs
import io
import itertools
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

import msgspec
import numpy as np

from productrecs.core.caches import Cache, memoized
from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.http.schemas.validation_errors import BodyError, Problem
from productrecs.storage.byte_budget import Claim

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

KIB = 1024
MIB = 1024 * KIB
ITEMS_LIMIT = 32 * MIB
ORDER_LIMIT = MIB
EVENT_LIMIT = 64 * KIB
EVENTS_LIMIT = MIB
MAX_DEPTH = 32
MAX_CONTAINERS = 100_000
MAX_VALUES = 400_000
"""Of what is decoded at once: 32 MiB of `[],` take 790 MiB and stop all others for seconds.

With these it is 30 MiB, and 50 ms."""

MAX_PUSHED_VALUES = 4_000_000
"""Of a push as a whole, which is decoded item by item."""

_LARGE = 64 * KIB
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
_PAIR = len(rb"\ud83d\ude00")


class _Push(msgspec.Struct):
    """An object of which only one member is looked at."""

    items: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder().decode
_decode_push = msgspec.json.Decoder(_Push).decode


class BodyTooLargeError(ProductRecsError):
    """The body is over its limit; send less at a time."""


class EncodedBodyError(ProductRecsError):
    """The body is compressed or otherwise encoded; send it as it is."""


class ClientGoneError(ProductRecsError):
    """The client closed before its body was whole; there is nobody to answer."""


async def read_body(
    receive: Receive, headers: Headers, limit: int, claim: Claim, *, weight: int = 1
) -> bytes:
    """Return the whole body of an ASGI request, at most `limit` bytes of it.

    `claim` holds `weight` times its bytes, from before they are read.

    Raises:
        EncodedBodyError: for any `Content-Encoding` but identity, nothing being read.
        BodyTooLargeError: by the declared length, or as soon as more has come in.
        QueueFullError: when there is no room for it, nothing being read where the length
            is declared.
        ClientGoneError: when the client closes before the end.
    """
    claim.grow(weight * check_headers(headers, limit))
    return await _collect(receive, limit, limit, claim, weight)


async def read_event_body(receive: Receive, headers: Headers, claim: Claim) -> bytes:
    """Return the whole body of `POST /v1/events`: 64 KiB for one event, 1 MiB for many.

    Raises:
        EncodedBodyError: as `read_body`.
        BodyTooLargeError: as `read_body`, for the limit that the first character sets.
        QueueFullError: as `read_body`.
        ClientGoneError: as `read_body`.
    """
    claim.grow(check_headers(headers, EVENTS_LIMIT))
    return await _collect(receive, EVENT_LIMIT, EVENTS_LIMIT, claim, 1)


def parse_json(data: bytes) -> object:
    """Return what the JSON text `data` tells, in dicts, lists, str, int, float, bool, None.

    UTF-8 only, with or without a byte order mark; of a repeated key the last wins.
    No number is NaN or infinite, no string holds half a surrogate pair. Integers come
    as they are, however large: how large they may be is the schema's word.

    Raises:
        BodyError: with one problem of type `json_invalid` for anything else, for nesting
            deeper than 32, and for more values than any call can need.
    """
    return _parsed(data[len(_BOM) :] if data.startswith(_BOM) else data, MAX_DEPTH)


class UndecodedMember:
    """A member of a list in a JSON text, which is not decoded yet."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: msgspec.Raw, at: int) -> None:
        """Remember where it stands in the whole text, without what came before that."""
        self._text, self._at = text, at

    def read(self) -> object:
        """Return what it tells, as `parse_json` does.

        Raises:
            BodyError: as `parse_json`, with its place in the whole text.
        """
        return _parsed(bytes(self._text), MAX_DEPTH - 2, self._at)


def split_json(data: bytes, most: int) -> list[UndecodedMember] | None:
    """Return the list `items` of an object in JSON, its members not decoded yet.

    None where `data` tells something else, which `parse_json` then reads; of a list that is
    too long one more than `most`. A large push that is decoded at once takes several times
    its size, and stops everything else meanwhile.

    Raises:
        BodyError: for what is not JSON, as `parse_json`, unless it is in a member.
    """
    text = data[len(_BOM) :] if data.startswith(_BOM) else data
    if len(text) > MIB and text.count(b",") > MAX_PUSHED_VALUES:
        raise _too_much()
    at = 0
    try:
        listed = _decode_push(text).items
        if not memoryview(listed).nbytes:
            return None
        begin = _address_of(text)
        at = _address_of(listed) - begin
        members = msgspec.structs.astuple(_first_members(most + 1)(listed))
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refusal(text[at:], error, at) from None
    rest = text[:at] + b"0" + text[at + memoryview(listed).nbytes :]
    _parsed(rest, MAX_DEPTH)  # as strictly as all else, though nobody asks for it
    given = itertools.takewhile(lambda one: memoryview(one).nbytes, members)
    return [UndecodedMember(one, _address_of(one) - begin) for one in given]


@memoized(Cache.LIST_DECODERS)
def _first_members(count: int) -> Callable[[msgspec.Raw], msgspec.Struct]:
    """Return what reads the first members of a list as raw text, and skips the others."""
    fields = [(f"member_{number}", msgspec.Raw, msgspec.Raw()) for number in range(count)]
    shape = msgspec.defstruct("_Members", fields, array_like=True)
    return msgspec.json.Decoder(shape).decode


def _address_of(text: bytes | msgspec.Raw) -> int:
    """Return where in memory a text begins: raw texts are views of the whole."""
    return int(np.frombuffer(text, np.uint8).ctypes.data)


def _parsed(text: bytes, depth: int, at: int = 0) -> object:
    """Return what `text` tells, which stands at byte `at` of a larger one."""
    if len(text) > _LARGE and _is_too_much(text):
        raise _too_much()
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refusal(text, error, at) from None
    if _is_too_deep(value, depth):
        raise _invalid(f"nested deeper than {MAX_DEPTH} levels")
    return value


def check_headers(headers: Headers, limit: int) -> int:
    """Refuse a body by its headers, nothing of it being read; return its declared length.

    That is 0 where none is declared.

    Raises:
        EncodedBodyError: for any `Content-Encoding` but identity.
        BodyTooLargeError: when the declared length is over `limit`.
    """
    declared = 0
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            declared = int(value[:20])
            if declared > limit:
                raise _too_large(limit)
        if name == b"content-encoding" and not _is_identity(value):
            message = "send the body without Content-Encoding, not compressed"
            raise EncodedBodyError(message)
    return declared


def _is_identity(value: bytes) -> bool:
    codings = (coding.strip().lower() for coding in value.split(b","))
    return all(coding in (b"", b"identity") for coding in codings)


async def _collect(
    receive: Receive, limit: int, array_limit: int, claim: Claim, weight: int
) -> bytes:
    """Return all chunks joined: up to `limit` bytes, or `array_limit` of a JSON array."""
    joined = io.BytesIO()  # it grows in place: no body is in memory twice
    first = b""  # what begins with the first character that is not blank
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            gone = "the client closed the connection before its body was complete"
            raise ClientGoneError(gone)
        chunk: bytes = message.get("body", b"")
        first = first or chunk.lstrip(_BOM + _BLANK)[:1]
        size += len(chunk)
        if size > limit and (size > array_limit or first != b"["):
            raise _too_large(limit)
        if weight * size > claim.size:
            claim.grow(weight * size - claim.size)
        more = message.get("more_body", False)
        if not more and size == len(chunk):
            return chunk  # the usual body: it came in one piece
        joined.write(chunk)
    return joined.getvalue()


def _too_large(limit: int) -> BodyTooLargeError:
    return BodyTooLargeError(f"the body may be at most {limit} bytes; send less at a time")


def _too_much() -> BodyError:
    return _invalid("too many lists, objects or values; send less at a time")


def _is_too_much(text: bytes) -> bool:
    """Return whether `text` may hold more than allowed (what strings hold counts too)."""
    containers = text.count(b"[") + text.count(b"{")
    return containers > MAX_CONTAINERS or text.count(b",") > MAX_VALUES


def _is_too_deep(value: object, most: int) -> bool:
    """Return whether `value` nests deeper than `most`, one level after another."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        if not level:
            return False
        level = [
            member
            for container in level
            for member in (container.values() if type(container) is dict else container)
            if type(member) is dict or type(member) is list
        ]
    return bool(level)


def _refusal(text: bytes, error: Exception, at: int = 0) -> BodyError:
    """Return why `text` was not taken, in words that say what to send instead.

    It stands at byte `at` of the body.
    """
    if not text.strip(_BLANK):
        return _invalid("the body is empty; send one JSON value")
    if isinstance(error, RecursionError):
        return _invalid(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(error, msgspec.ValidationError):
        numeral = _HUGE_NUMERAL.search(text)
        reason = "a number is too large; none may be beyond ±1e12"
        return _invalid(reason, text, numeral.start() if numeral else 0, at)
    undecodable = _first_undecodable(text)
    if undecodable is not None:
        reason = "not UTF-8 text; encode the body as UTF-8"
        return _invalid(reason, text, undecodable, at)
    return _syntax_refusal(text, str(error), at)


def _first_undecodable(text: bytes) -> int | None:
    """Return where `text` is not UTF-8; in pieces, so that others go on meanwhile."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(text), MIB):
        before = len(decoder.getstate()[0])
        try:
            decoder.decode(text[start : start + MIB], start + MIB >= len(text))
        except UnicodeDecodeError as error:
            return start - before + error.start
    return None


def _first_half_pair(text: bytes) -> int | None:
    """Return where half a surrogate pair stands; in pieces, as above."""
    for start in range(0, len(text), MIB):
        found = _HALF_PAIR.search(text, start, start + MIB + _PAIR)
        if found and found.start() < start + MIB:
            return found.start()
    return None


def _syntax_refusal(text: bytes, message: str, at: int) -> BodyError:
    is_half = "surrogate" in message or "truncated" in message
    # Only where there may be one: through a photo's 400 kB it takes eight milliseconds.
    half = _first_half_pair(text) if is_half and b"\\u" in text else None
    if half is not None:
        reason = "half a surrogate pair in a string; send whole Unicode characters"
        return _invalid(reason, text, half, at)
    if "truncated" in message:
        return _invalid("the text ends before it is complete", text, len(text), at)
    found = _POSITION.search(message)
    position = int(found[1]) if found else 0
    if text.startswith(_NOT_NUMBERS, position):
        return _invalid("NaN and Infinity are not JSON; send null", text, position, at)
    if b"\0" <= text[position : position + 1] < b" ":
        reason = "a control character is in a string; escape it"
        return _invalid(reason, text, position, at)
    reason = _POSITION.sub("", message).removeprefix("JSON is malformed: ")
    return _invalid(reason, text, position, at)


def _invalid(reason: str, text: bytes = b"", position: int = 0, at: int = 0) -> BodyError:
    start = max(0, position - _EXCERPT)
    around = text[start : position + _EXCERPT].decode(errors="replace")
    problem = Problem(
        loc=("body", at + position),
        msg=f"JSON decode error: {reason}",
        type="json_invalid",
        input=around,
        ctx={"error": reason},
    )
    return BodyError([problem])
