"""Validation errors: the problems of a body, and the 422 reply that lists them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Loc: TypeAlias = tuple[str | int, ...]
_Body = TypeVar("_Body", bound=BaseModel)

MAX_PROBLEMS = 100
MAX_INPUT_BYTES = 256
MAX_REPLY_BYTES = 64 * 1024
_MAX_CONTEXT_BYTES = 1024
_MAX_MESSAGE_CHARS = 500
_MAX_NAME_CHARS = 100
_MAX_LOC = 40
_MAX_DEPTH = 32
_MAX_INTEGER_BITS = 1024


class _NoInput:
    """The type of `NO_INPUT`: no input to echo, unlike null."""


NO_INPUT = _NoInput()


@dataclass(frozen=True, slots=True)
class ValidationProblem:
    """One problem of a request, in the format of interface 2.12."""

    loc: Loc
    msg: str
    type: str
    input: object = NO_INPUT
    ctx: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return `items.3.price: message`, without the leading `body`."""
        path = ".".join(str(step) for step in self.loc if step != "body")
        return f"{path}: {self.msg}" if path else self.msg


class InvalidInputError(ProductRecsError):
    """A body, a query or an imported row is invalid; `problems` says where and why."""

    def __init__(self, problems: Sequence[ValidationProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems[:3]))


def validate_body(model: type[_Body], body: object, at: Loc = ("body",)) -> _Body:
    """Return `body` as `model`; `at` is the prefix of each problem's `loc`.

    Raises:
        InvalidInputError: when it does not match.
    """
    try:
        valid: _Body = model.__pydantic_validator__.validate_python(body)
    except ValidationError as error:
        raise InvalidInputError(
            problems_from_details(error.errors(include_url=False), at)
        ) from None
    return valid


def problems_from_details(
    details: Sequence[ErrorDetails], at: Loc
) -> list[ValidationProblem]:
    """Return pydantic's error details as problems; `at` is the prefix of each `loc`."""
    return [
        ValidationProblem(
            loc=(*at, *detail["loc"]),
            msg=detail["msg"],
            type=detail["type"],
            input=detail["input"],
            ctx=detail.get("ctx", {}),
        )
        for detail in details
    ]


def validation_error_body(problems: Iterable[ValidationProblem]) -> bytes:
    """Return the body of a 422: `{"detail": [...]}` in UTF-8, at most 64 KiB.

    It has at most 100 problems; each `input` is truncated to 256 bytes. Values without a
    JSON form (NaN, lone surrogates) are sent as text.
    """
    entries: list[bytes] = []
    size = len(b'{"detail":[]}')
    for problem in problems:
        entry = _problem_json(problem).encode()
        size += len(entry) + 1
        if len(entries) == MAX_PROBLEMS or size > MAX_REPLY_BYTES:
            break
        entries.append(entry)
    return b'{"detail":[' + b",".join(entries) + b"]}"


def _problem_json(problem: ValidationProblem) -> str:
    loc = [
        step if isinstance(step, int) else _clean(step[:_MAX_NAME_CHARS])
        for step in problem.loc[:_MAX_LOC]
    ]
    members = [
        f'"loc":{_dumps(loc)}',
        f'"msg":{_dumps(_clean(problem.msg[:_MAX_MESSAGE_CHARS]))}',
        f'"type":{_dumps(problem.type)}',
    ]
    if problem.input is not NO_INPUT:
        members.append(f'"input":{_json_excerpt(problem.input)}')
    if problem.ctx:
        ctx, full_input = _bounded_json_and_is_whole(problem.ctx, _MAX_CONTEXT_BYTES)
        if full_input:
            members.append(f'"ctx":{ctx}')
    return "{" + ",".join(members) + "}"


def _json_excerpt(value: object) -> str:
    """Return `value` as JSON if that is short, else its beginning as a string."""
    text, full_input = _bounded_json_and_is_whole(value, MAX_INPUT_BYTES)
    if full_input:
        return text
    if isinstance(value, str):
        text = _clean(value[:MAX_INPUT_BYTES])
    room = MAX_INPUT_BYTES - len('""')
    for index, char in enumerate(text):
        room -= len(_dumps(char).encode()) - len('""')
        if room < 0:
            return _dumps(text[:index])
    return _dumps(text)


def _bounded_json_and_is_whole(value: object, limit: int) -> tuple[str, bool]:
    """Return the JSON text of `value` and True; over `limit`, its beginning and False."""
    writer = _BoundedJsonWriter(limit)
    try:
        writer.write(value, 0)
    except _TextLimitError:
        return "".join(writer.parts), False
    return "".join(writer.parts), True


class _TextLimitError(Exception):
    """The text has reached its limit."""


class _BoundedJsonWriter:
    """Writes any value as JSON, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.parts: list[str] = []
        self._room = limit
        self._limit = limit

    def write(self, value: object, depth: int) -> None:
        """Add `value` at nesting `depth`; raises `_TextLimitError` when it does not fit."""
        if depth > _MAX_DEPTH:
            self._put('"..."')
        elif isinstance(value, Mapping):
            pairs = ((f"{self._scalar_json(str(key))}:", value[key]) for key in value)
            self._put_members("{}", pairs, depth)
        elif isinstance(value, list | tuple | set | frozenset):
            self._put_members("[]", (("", member) for member in value), depth)
        else:
            self._put(self._scalar_json(value))

    def _put_members(
        self, brackets: str, members: Iterable[tuple[str, object]], depth: int
    ) -> None:
        self._put(brackets[0])
        for index, (label, member) in enumerate(members):
            self._put(("," if index else "") + label)
            self.write(member, depth + 1)
        self._put(brackets[1])

    def _put(self, text: str) -> None:
        self._room -= len(text.encode())
        self.parts.append(text)
        if self._room < 0:
            raise _TextLimitError

    def _scalar_json(self, value: object) -> str:
        for kind, encode in _SCALARS:
            if isinstance(value, kind):
                return encode(value, self._limit)
        return _dumps(_clean(str(value)[: self._limit]))


def _string(value: str, limit: int) -> str:
    # each character takes at least a byte, so a text over the limit stays over it
    return _dumps(_clean(value[: limit + 1]))


def _integer(value: int, _limit: int) -> str:
    if value.bit_length() > _MAX_INTEGER_BITS:  # Python refuses to print longer integers
        return '"an integer of more than 300 digits"'
    return str(int(value))


def _real(value: float, _limit: int) -> str:
    return repr(float(value)) if math.isfinite(value) else f'"{_NAMES[str(value)]}"'


def _bytes(value: bytes, limit: int) -> str:
    return _string(value[: limit + 1].decode(errors="backslashreplace"), limit)


_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_SCALARS: tuple[tuple[type, Callable[[Any, int], str]], ...] = (
    (str, _string),
    (bool, lambda value, _: "true" if value else "false"),
    (int, _integer),
    (float, _real),
    (type(None), lambda *_: "null"),
    (bytes, _bytes),
)


def _clean(text: str) -> str:
    """Return `text` with lone surrogates escaped, so that it can be sent as UTF-8."""
    return text.encode(errors="backslashreplace").decode()


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
