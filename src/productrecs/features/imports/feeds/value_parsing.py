"""Value parsing: prices, stock, categories, GTINs and attributes of a feed."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from productrecs.core.errors import ProductRecsError
from productrecs.core.html_text import html_to_title
from productrecs.core.written_numbers import normalise_number

_LEVEL: Final = re.compile(r"\s*>\s*")
_NUMBER: Final = re.compile(r"[-+\u2212]?[.,]?\d(?:.*\d)?[.,]?", re.DOTALL)
_GTIN: Final = re.compile(r"\d{8,14}|\d{9}X", re.ASCII)
_GTIN_JOINTS: Final = re.compile(r"[\s-]")
_CURRENCY: Final = re.compile(r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])")
_NUMERAL: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)", re.ASCII)


class InvalidOfferError(ProductRecsError):
    """A row of a feed is not a valid product; the message says why."""


class PlannedPrice(NamedTuple):
    """A sale price whose days are ahead or last still; without `until` it has no end."""

    amount: float
    first: str
    until: str | None


class ParsedPrice(NamedTuple):
    """An amount, and its currency if one was written (three capitals).

    `regular` is the regular price that a valid sale price reduces, `planned` the sale
    price whose days are known, valid yet or not.
    """

    amount: float
    currency: str | None = None
    regular: float | None = None
    planned: PlannedPrice | None = None


def category_levels(path: str) -> list[str]:
    """Return each level of a category path: `A > B` is in `A` and in `A > B`."""
    names = [name for name in _LEVEL.split(html_to_title(path)) if name]
    return [" > ".join(names[: depth + 1]) for depth in range(len(names))]


def parse_price(text: str, separator: str) -> ParsedPrice | None:
    """Return a price such as `19.90 EUR`, `€ 1.299,00` or `19,90`; None for a blank.

    `separator` is the file's cell separator: `1,234` is a thousand only where commas do
    not separate cells.

    Raises:
        InvalidOfferError: when it is not a price.
    """
    stripped = text.strip()
    if not stripped:
        return None
    match = _NUMBER.search(stripped)
    numeral = normalise_number(match.group(), separator) if match else ""
    if not _NUMERAL.fullmatch(numeral):
        message = f"{stripped[:40]!r} is not a price"
        raise InvalidOfferError(message)
    currency = _CURRENCY.search(stripped)
    return ParsedPrice(float(numeral), currency.group() if currency else None)


def attribute_values_by_name(
    pairs: Iterable[tuple[str, str]], value_separator: str = ","
) -> dict[str, list[str]]:
    """Return the values of each attribute by name, from pairs of a name and its values."""
    attributes: dict[str, list[str]] = {}
    for name, text in pairs:
        key = html_to_title(name).strip(" :;")
        values = [
            html_to_title(value)
            for value in text.replace("\\,", "\0").split(value_separator)
        ]
        values = [value.replace("\0", ",").replace(";", ",") for value in values if value]
        if key and values:
            attributes.setdefault(key, []).extend(values)
    return attributes


def parse_gtin(text: str) -> str:
    """Return the digits of a GTIN, UPC, EAN or ISBN; empty when the text is none.

    A spreadsheet turns long ones into numbers such as `4.00638E+12`, which are dropped.
    """
    stripped = _GTIN_JOINTS.sub("", text.strip().removeprefix("'")).upper()
    return stripped if _GTIN.fullmatch(stripped) else ""


def with_regular_price(sale: ParsedPrice, regular: ParsedPrice | None) -> ParsedPrice:
    """Return a valid sale price, with the regular price that it reduces."""
    if regular is None or regular.amount <= sale.amount:
        return sale
    return sale._replace(regular=regular.amount)


def parse_stock(text: str) -> int | None:
    """Return a stock count such as `7` or `7.0`; None when the text is not a number."""
    try:
        return int(float(text.strip()))
    except (ValueError, OverflowError):
        return None
