"""Field readers: parse and validate single values of a body.

Each reader takes any JSON value and returns the inner value, or raises an error that
pydantic reports for the field. The JSON schema of its input is next to each reader, so that
the published document and the behaviour are in one place.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError, PydanticKnownError

from productrecs.core.ids import CONTROL_CHARACTERS, first_control_code_point
from productrecs.core.iso_dates import InvalidDateError, normalise_date_or_datetime
from productrecs.records.catalog.availability import (
    Availability,
    UnknownAvailabilityError,
    parse_availability,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ID = 255
MAX_INTEGER = 2**53
MAX_NUMBER = 1e12
MAX_CURRENCY = 8

Schema: TypeAlias = dict[str, Any]

NUMERIC = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?\s*$"
_NUMERIC = re.compile(NUMERIC)
CURRENCY_CODE = r"^\s*([A-Za-z]{3})?\s*$"
_CURRENCY_CODE = re.compile("[A-Z]{3}")
_SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
_MAX_NUMERAL = 400  # characters; no valid number is as long
_WITHOUT_NUL = r"^[^\u0000]*$"
_WITHOUT_CONTROLS = f"^[^{CONTROL_CHARACTERS}]*$"
_OUT_OF_RANGE = "Integer should be within ±2^53; send a longer id as a string"
_NULL: Schema = {"type": "null"}


def nullable(*schemas: Schema) -> Schema:
    """Return the JSON schema of any of `schemas`, or null."""
    return {"anyOf": [*schemas, _NULL]}


def string_schema(minimum: int, maximum: int) -> Schema:
    """Return the schema of a string of `minimum` to `maximum` characters without NUL."""
    schema: Schema = {"type": "string", "maxLength": maximum, "pattern": _WITHOUT_NUL}
    return {**schema, "minLength": minimum} if minimum else schema


def id_schema(minimum: int, maximum: int = MAX_ID) -> Schema:
    """Return the schema of an id or a name: a string without control characters."""
    return {**string_schema(minimum, maximum), "pattern": _WITHOUT_CONTROLS}


def check_string(value: str, maximum: int) -> str:
    """Return `value` if it can be stored: at most `maximum` characters, no NUL, Unicode.

    Raises:
        PydanticKnownError: when it is too long.
        PydanticCustomError: when it holds NUL or half a surrogate pair.
    """
    if len(value) > maximum:
        raise PydanticKnownError("string_too_long", {"max_length": maximum})
    if "\0" in value:
        message = "String should not hold the character NUL (U+0000)"
        raise PydanticCustomError("string_nul", message)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            message = "String should be Unicode text, without half surrogate pairs"
            raise PydanticCustomError("string_unicode", message) from None
    return value


def check_id(value: str) -> str:
    """Return `value` if it can be stored and has no line break, tab or other control.

    Raises:
        PydanticKnownError: when it is too long.
        PydanticCustomError: when it holds such a character, or half a surrogate pair.
    """
    if found := first_control_code_point(check_string(value, MAX_ID)):
        message = "String should not hold {character}; remove line breaks and controls"
        raise PydanticCustomError("string_control", message, {"character": found})
    return value


def read_identifier(value: object) -> str:
    """Return an id of 1 to 255 characters; an integer is read as its decimal string."""
    return check_id(value) if type(value) is str and value else read_item_id(value)


def read_item_id(value: object) -> str:
    """Return an item's id, which may hold any character but NUL; else as other ids."""
    if type(value) is str:
        if not value:
            raise PydanticKnownError("string_too_short", {"min_length": 1})
        return check_string(value, MAX_ID)
    if type(value) is int or type(value) is float:
        return str(_to_safe_integer(value))
    message = "Input should be a string or an integer"
    raise PydanticCustomError("identifier_type", message)


def read_optional_item_id(value: object) -> str | None:
    """Return an item's id, or None for null and for the empty string."""
    return None if value is None or value == "" else read_item_id(value)


def read_optional_identifier(value: object) -> str | None:
    """Return an id, or None for null and for the empty string."""
    return None if value is None or value == "" else read_identifier(value)


def read_optional_name(value: object) -> str | None:
    """Return a name of at most 255 characters, as of a widget; None for null and ""."""
    if value is not None and type(value) is not str:
        raise PydanticKnownError("string_type")
    return check_id(value) if value else None


def text_reader(maximum: int, empty: str | None) -> Callable[[object], str | None]:
    """Return a reader of text of at most `maximum` characters; null and "" give `empty`."""

    def read_text(value: object) -> str | None:
        if type(value) is str:
            return check_string(value, maximum) if value else empty
        if value is None:
            return empty
        raise PydanticKnownError("string_type")

    return read_text


def read_number(value: object) -> float:
    """Return a finite number within ±1e12, from a number or a numeric string."""
    if type(value) is float:
        number = value
    elif type(value) is int:
        number = _as_float(value)
    elif type(value) is str:
        number = float(_check_numeral(value))
    else:
        raise PydanticKnownError("float_type")
    if -MAX_NUMBER <= number <= MAX_NUMBER:
        return number
    if not math.isfinite(number):
        raise PydanticKnownError("finite_number")
    if number < 0:
        raise PydanticKnownError("greater_than_equal", {"ge": -MAX_NUMBER})
    raise PydanticKnownError("less_than_equal", {"le": MAX_NUMBER})


def read_optional_number(value: object) -> float | None:
    """Return a number as `read_number` does, or None for null."""
    return None if value is None else read_number(value)


def integer_reader(
    minimum: int, maximum: int = MAX_INTEGER
) -> Callable[[object], int | None]:
    """Return a reader of integers from `minimum` to `maximum`, where null gives None.

    `2.0` and numeric strings of integers are read too.
    """

    def read_integer(value: object) -> int | None:
        if value is None:
            return None
        if type(value) is int:
            number = value
        elif type(value) is float:
            number = _to_safe_integer(value)
        elif type(value) is str:
            number = _parse_integer_numeral(value)
        else:
            raise PydanticKnownError("int_type")
        if number < minimum:
            raise PydanticKnownError("greater_than_equal", {"ge": minimum})
        if number > maximum:
            raise PydanticKnownError("less_than_equal", {"le": maximum})
        return number

    return read_integer


def read_switch(value: object) -> bool | None:
    """Return a boolean, also from 1, "1" or "on" as in URLs; None for null."""
    if value is None or type(value) is bool:
        return value
    word = str(int(value)) if type(value) is float and value in {0, 1} else str(value)
    if type(value) in {int, float, str} and word in _SWITCHES:
        return _SWITCHES[word]
    raise PydanticKnownError("bool_parsing")


def read_availability(value: object) -> Availability | None:
    """Return the availability of a known spelling; None for null, which means absent."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    try:
        return parse_availability(value)
    except UnknownAvailabilityError as error:
        raise PydanticCustomError(
            "availability", "{reason}", {"reason": str(error)}
        ) from None


def read_time(value: object) -> str | None:
    """Return an ISO date or datetime in its normal form, or None for null."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    try:
        return normalise_date_or_datetime(value)
    except InvalidDateError as error:
        raise PydanticCustomError("iso_date", "{reason}", {"reason": str(error)}) from None


def read_currency(value: object) -> str | None:
    """Return a currency in capitals; None for null and blanks: the store's currency."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    upper = check_string(value, MAX_CURRENCY).strip().upper()
    return upper[:MAX_CURRENCY] or None  # capitals can be longer: ß becomes SS


def read_currency_code(value: object) -> str | None:
    """Return the three capitals of a currency, or None for null and blanks."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    code = value.strip().upper()
    if code and not _CURRENCY_CODE.fullmatch(code):
        raise PydanticKnownError("string_pattern_mismatch", {"pattern": CURRENCY_CODE})
    return code or None


def list_validator(maximum: int, null: tuple[()] | None = ()) -> BeforeValidator:
    """Return a check that a value is a list of at most `maximum`; null becomes `null`.

    The length is checked before any member, so a huge list is rejected at no cost.
    """

    def check_list(value: object) -> object:
        if value is None:
            return null
        if not isinstance(value, list | tuple):
            raise PydanticKnownError("list_type")
        if len(value) > maximum:
            raise too_long_error(maximum, len(value))
        return value

    return BeforeValidator(check_list)


def too_long_error(maximum: int, actual: int) -> PydanticKnownError:
    """Return the error of a list of `actual` members where `maximum` are allowed."""
    context = {"field_type": "List", "max_length": maximum, "actual_length": actual}
    return PydanticKnownError("too_long", context)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _to_safe_integer(value: float) -> int:
    """Return an integral `value` as an integer within ±2^53."""
    if not -MAX_INTEGER <= value <= MAX_INTEGER:  # NaN fails every comparison
        raise PydanticCustomError("integer_out_of_range", _OUT_OF_RANGE)
    if value != int(value):
        raise PydanticKnownError("int_from_float")
    return int(value)


def _parse_integer_numeral(text: str) -> int:
    number = Decimal(_check_numeral(text))
    if not -MAX_INTEGER <= number <= MAX_INTEGER:
        raise PydanticCustomError("integer_out_of_range", _OUT_OF_RANGE)
    if number != int(number):
        raise PydanticKnownError("int_from_float")
    return int(number)


def _check_numeral(text: str) -> str:
    """Return `text` if it is a decimal number in ASCII digits, without blanks."""
    if len(text) <= _MAX_NUMERAL and _NUMERIC.match(text):
        return text.strip()
    raise PydanticKnownError("float_parsing")


def integer_schema(minimum: int, maximum: int = MAX_INTEGER) -> Schema:
    """Return the JSON schema of the input of `integer_reader`."""
    bounds: Schema = {"minimum": minimum, "maximum": maximum}
    return nullable({**INTEGER_SCHEMA, **bounds}, _NUMERIC_STRING)


INTEGER_SCHEMA: Schema = {
    "type": "integer",
    "minimum": -MAX_INTEGER,
    "maximum": MAX_INTEGER,
}


def read_identity(value: object) -> str | None:
    """Return a signed identity; a wrong one is no error, so its form does not matter."""
    return None if value is None else str(value)[:MAX_ID]


IDENTIFIER_SCHEMA: Schema = {"anyOf": [id_schema(1), INTEGER_SCHEMA]}
NAME_SCHEMA: Schema = nullable(id_schema(0))
_NUMERIC_STRING: Schema = {"type": "string", "pattern": NUMERIC}
_NUMBER: Schema = {"type": "number", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER}
COUNT_SCHEMA: Schema = integer_schema(1)

Identifier = Annotated[
    str,
    PlainValidator(read_identifier),
    WithJsonSchema(IDENTIFIER_SCHEMA),
]
ITEM_ID_SCHEMA: Schema = {"anyOf": [string_schema(1, MAX_ID), INTEGER_SCHEMA]}
ItemId = Annotated[str, PlainValidator(read_item_id), WithJsonSchema(ITEM_ID_SCHEMA)]
OptionalItemId = Annotated[
    str | None,
    PlainValidator(read_optional_item_id),
    WithJsonSchema(nullable(string_schema(0, MAX_ID), INTEGER_SCHEMA)),
]
OptionalIdentifier = Annotated[
    str | None,
    PlainValidator(read_optional_identifier),
    WithJsonSchema(nullable(id_schema(0), INTEGER_SCHEMA)),
]
SignedIdentity = Annotated[
    str | None,
    PlainValidator(read_identity),
    WithJsonSchema(nullable(string_schema(0, MAX_ID))),
]
OptionalNumber = Annotated[
    float | None,
    PlainValidator(read_optional_number),
    WithJsonSchema(nullable(_NUMBER, _NUMERIC_STRING)),
]
OptionalInteger = Annotated[
    int | None,
    PlainValidator(integer_reader(-MAX_INTEGER)),
    WithJsonSchema(integer_schema(-MAX_INTEGER)),
]
OptionalSwitch = Annotated[
    bool | None,
    PlainValidator(read_switch),
    WithJsonSchema(nullable({"type": "boolean"})),
]
OptionalCount = Annotated[
    int | None, PlainValidator(integer_reader(1)), WithJsonSchema(COUNT_SCHEMA)
]
OptionalCurrency = Annotated[
    str | None,
    PlainValidator(read_currency),
    WithJsonSchema(nullable(string_schema(0, MAX_CURRENCY))),
]
OptionalTime = Annotated[
    str | None,
    PlainValidator(read_time),
    WithJsonSchema(
        nullable(
            {"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}
        )
    ),
]
OptionalAvailability = Annotated[
    Availability | None,
    PlainValidator(read_availability),
    WithJsonSchema(
        nullable(
            {"type": "string", "enum": [state.value for state in Availability]},
            {"type": "string", "description": "a spelling of schema.org, Google or Woo"},
        )
    ),
]
