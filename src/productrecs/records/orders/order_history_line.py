"""Order history line: parses a row of an order history into one line of an order."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Final, NamedTuple, TypeVar

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import first_control_code_point
from productrecs.core.timestamps import (
    FileTimeFormat,
    has_short_year,
    parse_timestamp,
    written_date_to_iso,
)
from productrecs.core.written_numbers import NUMERAL, normalise_number

MAX_ID_LENGTH: Final = 255
MAX_NUMBER: Final = 1e12
MAX_CURRENCY: Final = 8
MAX_COUNT: Final = 2**53
_COMPACT_DATE: Final = len("20260301")
_SHOWN: Final = 40  # characters of a cell in a message

_Value = TypeVar("_Value")


class UnreadableRowError(ProductRecsError):
    """The row cannot be parsed as an order line; the message gives the reason.

    `column` is our name of the cell, `value` its text, `problem` says what is wrong with it
    and how to correct it.
    """

    def __init__(self, problem: str, column: str = "", value: str = "") -> None:
        self.problem, self.column, self.value = problem, column, value.strip()[:_SHOWN]
        super().__init__(row_message(problem, column, self.value))


def row_message(problem: str, column: str = "", value: str = "") -> str:
    """Return a sentence about a cell, such as: price 'ten' is not a number."""
    return " ".join(filter(None, (column, repr(value) if value else "", problem)))


class NotAPurchaseError(ProductRecsError):
    """The row's order is not a purchase; the message is its status, such as refunded."""


class OrderHistoryLine(NamedTuple):
    """One row; None means that the row has no value: the stored one stays.

    A negative `quantity` is a return, and 0 removes the line from its order. `ts_ms` is
    UTC. `price` is per unit, in `currency`; a line without one is in the store's.
    """

    order_id: str
    item_id: str
    customer_id: str | None
    ts_ms: int | None
    quantity: int | None
    price: float | None
    currency: str | None = None


def time_problem(text: str) -> str:
    """Return why a text is no time."""
    if has_short_year(text):
        return "has a year of two digits; write all four, such as 2026-12-31"
    if written_date_to_iso(text, day_first=True) is None:
        return "is not a readable date or time"
    return "may have the day or the month first, and no other row of the file shows which"


@dataclass(frozen=True, slots=True)
class AcceptedTimes:
    """Which times of order lines an import accepts.

    By default a line without a readable time is of the day of the import. With `required`
    its row is skipped; so is a row whose time is after `latest_ms`.
    """

    required: bool = False
    latest_ms: int | None = None

    def problem_of(self, ts_ms: int | None, text: str) -> str:
        """Return what is wrong with a line's time, and the remedy; empty if nothing is."""
        if ts_ms is None:
            if not self.required:
                return ""
            if not text:
                return "is empty; write when the order was placed, such as 2026-12-31"
            return f"{time_problem(text)}; write it like 2026-12-31, or choose the format"
        if self.latest_ms is not None and ts_ms > self.latest_ms:
            return "is in the future; an order history has past orders only"
        return ""


ANY_TIME: Final = AcceptedTimes()


class OrderHistoryLineReader:
    """Reads the rows of one file."""

    sums = False

    def __init__(
        self,
        columns: Mapping[str, int],
        separator: str,
        zone: tzinfo,
        times: FileTimeFormat | None = None,
    ) -> None:
        """Read cells by `columns`; times without an offset are in `zone`.

        `separator` is the file's: if it is a comma, `1,234` has no decimal comma.
        """
        time_format = times or FileTimeFormat()
        self._order, self._item = columns["order_id"], columns["item_id"]
        self._optional = tuple(
            columns.get(name)
            for name in ("customer_id", "timestamp", "quantity", "price", "currency")
        )
        self._width = 1 + max(columns.values())
        self._read_order, self._read_item, self._read_customer = (
            _with_cache(partial(_parse_identifier, name))
            for name in ("order_id", "item_id", "customer_id")
        )
        self._read_time = _with_cache(lambda text: _parse_time(text, zone, time_format))
        self._read_quantity = _with_cache(lambda text: _parse_count(text, separator))
        self._read_price = _with_cache(lambda text: _parse_number(text, separator, "price"))
        self._read_currency = _with_cache(_parse_currency)

    def read_line(self, cells: list[str]) -> OrderHistoryLine:
        """Parse a row.

        Missing cells count as empty.

        Raises:
            UnreadableRowError: when an id is missing or invalid, or a number is invalid.
        """
        if len(cells) < self._width:
            cells = cells + [""] * (self._width - len(cells))
        order_id = self._read_order(cells[self._order])
        item_id = self._read_item(cells[self._item])
        if order_id is None or item_id is None:
            missing = "order_id" if order_id is None else "item_id"
            message = "is empty; every row needs one"
            raise UnreadableRowError(message, missing)
        customer, time_index, quantity, price, currency = self._optional
        return OrderHistoryLine(
            order_id,
            item_id,
            None if customer is None else self._read_customer(cells[customer]),
            None if time_index is None else self._read_time(cells[time_index]),
            None if quantity is None else self._read_quantity(cells[quantity]),
            None if price is None else self._read_price(cells[price]),
            None if currency is None else self._read_currency(cells[currency]),
        )

    def read_lines_of_row(self, cells: list[str]) -> Sequence[OrderHistoryLine]:
        """Return the one line of a row.

        Raises:
            UnreadableRowError: when it cannot be parsed.
        """
        return (self.read_line(cells),)


def _with_cache(read: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """Return `read` with a cache of its last results."""
    cached: dict[str, _Value] = {}

    def read_cached(text: str) -> _Value:
        try:
            return cached[text]
        except KeyError:
            if len(cached) >= RegisteredCache.IMPORTED_TEXTS.limit:
                cached.clear()
            value = cached[text] = read(text)
            return value

    return read_cached


def _parse_identifier(column: str, text: str) -> str | None:
    name = text.strip()
    if len(name) > MAX_ID_LENGTH:
        message = f"has {len(name)} characters; at most {MAX_ID_LENGTH} are allowed"
        raise UnreadableRowError(message, column, name)
    if not _is_unicode(name):
        message = "has a character that is not text; save the file as CSV UTF-8"
        raise UnreadableRowError(message, column)
    if found := first_control_code_point(name):
        message = f"holds {found}; remove line breaks and control characters"
        raise UnreadableRowError(message, column)
    return name or None


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _parse_time(text: str, zone: tzinfo, time_format: FileTimeFormat) -> int | None:
    """Return UTC milliseconds; None for a text that is not an order's date or time.

    A count of seconds is rejected, though some look like a day of the year 1304; so are
    programs' values for "never", such as 0001-01-01.
    """
    stripped = text.strip()
    if not stripped or (stripped.isdigit() and len(stripped) != _COMPACT_DATE):
        return None
    try:
        parsed_ms = parse_timestamp(time_format.iso(stripped), zone)
    except ValueError:
        return None
    return parsed_ms if parsed_ms >= 0 else None


def _parse_count(text: str, separator: str) -> int | None:
    value = _parse_number(text, separator, "quantity")
    if value is None:
        return None
    if value != int(value) or abs(value) > MAX_COUNT:
        message = "is not a whole number; write it like 2"
        raise UnreadableRowError(message, "quantity", text)
    return int(value)


def _parse_currency(text: str) -> str | None:
    code = text.strip().upper()
    if len(code) > MAX_CURRENCY or not _is_unicode(code) or first_control_code_point(code):
        message = "is not a currency; write its code, such as EUR"
        raise UnreadableRowError(message, "currency", text)
    return code or None


def _parse_number(text: str, separator: str, column: str) -> float | None:
    """Return a number with a decimal point or comma, with or without thousands marks."""
    stripped = text.strip()
    if not stripped:
        return None
    numeral = (
        stripped if NUMERAL.fullmatch(stripped) else normalise_number(stripped, separator)
    )
    if not NUMERAL.fullmatch(numeral):
        example = "2" if column == "quantity" else "19.90 or 19,90"
        message = f"is not a number; write it like {example}"
        raise UnreadableRowError(message, column, stripped)
    value = float(numeral)
    if not math.isfinite(value) or abs(value) > _largest(column):
        message = f"is out of range: at most {_largest(column):,.0f}"
        raise UnreadableRowError(message, column, stripped)
    return value


def _largest(column: str) -> float:
    return MAX_COUNT if column == "quantity" else MAX_NUMBER
