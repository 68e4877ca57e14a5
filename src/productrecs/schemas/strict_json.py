"""Strict JSON: decodes a text within limits; each refusal has a position and a reason."""

import codecs
import itertools
import re
from collections.abc import Callable

import msgspec
import numpy as np

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem

KIB = 1024
MIB = 1024 * KIB
MAX_DEPTH = 32
MAX_CONTAINERS = 100_000
MAX_VALUES = 400_000
"""The most values in one decoded text.

Without limits, 32 MiB of `[],` take 790 MiB and block the process for seconds. With these
limits decoding takes at most 30 MiB and 50 ms."""

MAX_PUSHED_VALUES = 4_000_000
"""The most values in a whole push, which is decoded item by item."""

_LARGE = 64 * KIB
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_FORM_OR_PICTURE = (b"--", b"\xff\xd8", b"\x89PNG", b"RIFF")  # how they begin
_HALF_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_HUGE_NUMERAL = re.compile(rb"-?[0-9.]+[eE]\+?[0-9]{3,}|-?[0-9]{300,}")
_POSITION = re.compile(r" \(byte (\d+)\)$")
_NOT_NUMBERS = (b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"-inf")
_EXCERPT = 40
_PAIR = len(rb"\ud83d\ude00")


class _ItemListBody(msgspec.Struct):
    """A JSON object; only its member `items` is read."""

    items: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder().decode
_decode_push = msgspec.json.Decoder(_ItemListBody).decode


def parse_json(data: bytes) -> object:
    """Return the decoded JSON text as dict, list, str, int, float, bool or None.

    `data` is UTF-8, with or without a byte order mark. The last of repeated keys wins.
    NaN, infinity and lone surrogates are rejected. Integers have any size; the schema
    limits them.

    Raises:
        InvalidInputError: with one problem of type `json_invalid` when `data` is not such
            JSON, nests deeper than 32 levels, or has too many values.
    """
    return _parse_and_check_depth(
        data[len(_BOM) :] if data.startswith(_BOM) else data, MAX_DEPTH
    )


class UndecodedElement:
    """An element of a JSON list that is not decoded yet."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: msgspec.Raw, at: int) -> None:
        """Store the element's text, and its byte offset in the whole text."""
        self._text, self._at = text, at

    def decode(self) -> object:
        """Return the decoded member, as `parse_json` does.

        Raises:
            InvalidInputError: as `parse_json`, with the position in the whole text.
        """
        return _parse_and_check_depth(bytes(self._text), MAX_DEPTH - 2, self._at)


def split_item_list(data: bytes, max_members: int) -> list[UndecodedElement] | None:
    """Return the undecoded members of the list `items` in a JSON object.

    Returns None when `data` has another shape: the caller then uses `parse_json`. Returns
    at most `max_members` + 1 members. Decoding a large push at once takes several times its
    size in memory, and blocks the process meanwhile.

    Raises:
        InvalidInputError: as `parse_json`, for invalid JSON outside the members.
    """
    text = data[len(_BOM) :] if data.startswith(_BOM) else data
    if len(text) > MIB and text.count(b",") > MAX_PUSHED_VALUES:
        raise _too_complex_error()
    at = 0
    try:
        listed = _decode_push(text).items
        if not memoryview(listed).nbytes:
            return None
        begin = _address_of(text)
        at = _address_of(listed) - begin
        members = msgspec.structs.astuple(_first_members_decoder(max_members + 1)(listed))
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _json_error(text[at:], error, at) from None
    without_list = text[:at] + b"0" + text[at + memoryview(listed).nbytes :]
    _parse_and_check_depth(
        without_list, MAX_DEPTH
    )  # validates the rest of the text; the result is unused
    members_given = itertools.takewhile(lambda member: memoryview(member).nbytes, members)
    return [
        UndecodedElement(member, _address_of(member) - begin) for member in members_given
    ]


@memoized(RegisteredCache.LIST_DECODERS)
def _first_members_decoder(count: int) -> Callable[[msgspec.Raw], msgspec.Struct]:
    """Return a decoder of the first `count` members of a list as raw text."""
    fields = [(f"member_{number}", msgspec.Raw, msgspec.Raw()) for number in range(count)]
    shape = msgspec.defstruct("_Members", fields, array_like=True)
    return msgspec.json.Decoder(shape).decode


def _address_of(text: bytes | msgspec.Raw) -> int:
    """Return the memory address of a text: raw texts are views of the whole text."""
    return int(np.frombuffer(text, np.uint8).ctypes.data)


def _parse_and_check_depth(text: bytes, depth: int, at: int = 0) -> object:
    """Return the decoded `text`, which starts at byte `at` of the whole text."""
    if len(text) > _LARGE and _is_too_complex(text):
        raise _too_complex_error()
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _json_error(text, error, at) from None
    if _is_too_deep(value, depth):
        raise _json_invalid_error(f"nested deeper than {MAX_DEPTH} levels")
    return value


def _too_complex_error() -> InvalidInputError:
    return _json_invalid_error("too many lists, objects or values; send less at a time")


def _is_too_complex(text: bytes) -> bool:
    """Return whether `text` may have too many values (counts inside strings too)."""
    containers = text.count(b"[") + text.count(b"{")
    return containers > MAX_CONTAINERS or text.count(b",") > MAX_VALUES


def _is_too_deep(value: object, max_depth: int) -> bool:
    """Return whether `value` nests deeper than `max_depth` levels (breadth-first)."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(max_depth):
        if not level:
            return False
        level = [
            member
            for container in level
            for member in (container.values() if type(container) is dict else container)
            if type(member) is dict or type(member) is list
        ]
    return bool(level)


def _json_error(text: bytes, error: Exception, at: int = 0) -> InvalidInputError:
    """Return the error for `text`, which starts at byte `at` of the body."""
    if not text.strip(_BLANK):
        return _json_invalid_error("the body is empty; send one JSON value")
    if isinstance(error, RecursionError):
        return _json_invalid_error(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(error, msgspec.ValidationError):
        numeral = _HUGE_NUMERAL.search(text)
        reason = "a number is too large; none may be beyond ±1e12"
        return _json_invalid_error(reason, text, numeral.start() if numeral else 0, at)
    if text.startswith(_FORM_OR_PICTURE):
        reason = "a form or a picture was sent; send JSON, with a photo in base64"
        return _json_invalid_error(reason)
    undecodable = _find_undecodable_position(text)
    if undecodable is not None:
        reason = "not UTF-8 text; encode the body as UTF-8"
        return _json_invalid_error(reason, text, undecodable, at)
    return _syntax_error(text, str(error), at)


def _find_undecodable_position(text: bytes) -> int | None:
    """Return the position of the first invalid UTF-8; in pieces, to yield to threads."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(text), MIB):
        before = len(decoder.getstate()[0])
        try:
            decoder.decode(text[start : start + MIB], start + MIB >= len(text))
        except UnicodeDecodeError as error:
            return start - before + error.start
    return None


def _find_half_pair_position(text: bytes) -> int | None:
    """Return the position of the first lone surrogate; in pieces, as above."""
    for start in range(0, len(text), MIB):
        found = _HALF_PAIR.search(text, start, start + MIB + _PAIR)
        if found and found.start() < start + MIB:
            return found.start()
    return None


def _syntax_error(text: bytes, message: str, at: int) -> InvalidInputError:
    is_half = "surrogate" in message or "truncated" in message
    # Search only if there may be one: the search takes 8 ms in a photo of 400 kB.
    half = _find_half_pair_position(text) if is_half and b"\\u" in text else None
    if half is not None:
        reason = "half a surrogate pair in a string; send whole Unicode characters"
        return _json_invalid_error(reason, text, half, at)
    if "truncated" in message:
        return _json_invalid_error(
            "the text ends before it is complete", text, len(text), at
        )
    match = _POSITION.search(message)
    position = int(match[1]) if match else 0
    if text.startswith(_NOT_NUMBERS, position):
        return _json_invalid_error(
            "NaN and Infinity are not JSON; send null", text, position, at
        )
    if b"\0" <= text[position : position + 1] < b" ":
        reason = "a control character is in a string; escape it"
        return _json_invalid_error(reason, text, position, at)
    reason = _POSITION.sub("", message).removeprefix("JSON is malformed: ")
    return _json_invalid_error(reason, text, position, at)


def _json_invalid_error(
    reason: str, text: bytes = b"", position: int = 0, at: int = 0
) -> InvalidInputError:
    start = max(0, position - _EXCERPT)
    excerpt = text[start : position + _EXCERPT].decode(errors="replace")
    problem = ValidationProblem(
        loc=("body", at + position),
        msg=f"JSON decode error: {reason}",
        type="json_invalid",
        input=excerpt,
        ctx={"error": reason},
    )
    return InvalidInputError([problem])
