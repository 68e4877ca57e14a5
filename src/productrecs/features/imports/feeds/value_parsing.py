"""Value parsing: prices, availability and attributes of a feed, and a reader's report."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final, NamedTuple

from productrecs.core.errors import ProductRecsError
from productrecs.core.html_text import html_to_title
from productrecs.core.written_numbers import normalise_number
from productrecs.features.imports.feeds.column_mapping import ColumnMapping

_LEVEL: Final = re.compile(r"\s*>\s*")
_NUMBER: Final = re.compile(r"[-+\u2212]?[.,]?\d(?:.*\d)?[.,]?", re.DOTALL)
_GTIN: Final = re.compile(r"\d{8,14}|\d{9}X", re.ASCII)
_GTIN_JOINTS: Final = re.compile(r"[\s-]")
_CURRENCY: Final = re.compile(r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])")
_NUMERAL: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)", re.ASCII)


class InvalidOfferError(ProductRecsError):
    """A row of a feed is not a valid product; the message says why."""


class ParsedPrice(NamedTuple):
    """An amount, and its currency if one was written (three capitals).

    `regular` is the regular price that a valid sale price reduces.
    """

    amount: float
    currency: str | None = None
    regular: float | None = None


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


def collect_attributes(
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


_MAX_CURRENCIES: Final = 10
_MAX_IGNORED: Final = 200


@dataclass(slots=True)
class FeedReadState:
    """The state of reading one file, with notes for the report.

    `address` is the base of product URLs for files without them. `parents` are the
    products of variations, where a file separates them from the variations' rows;
    `lowest` the lowest price of each part of grouped products. `decimals` are the
    decimal marks found in prices, `currency` is the store's. `titles` are the
    file's names of its columns by ours, `ignored` the unused columns.
    """

    address: str
    zone: tzinfo
    now_ms: int
    each_variant: bool = False
    mapping: ColumnMapping | None = None
    separator: str = ","
    currency: str = ""
    has_built_urls: bool = False
    currencies: set[str] = field(default_factory=set)
    parents: dict[str, str] = field(default_factory=dict)
    option_names: dict[str, str] = field(default_factory=dict)
    lowest: dict[str, float | None] = field(default_factory=dict)
    decimals: set[str] = field(default_factory=set)
    titles: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, None] = field(default_factory=dict)  # in their order
    kind: str = ""  # of the file, once detected
    is_untitled: bool = False  # a table without a column of titles
    notes: list[str] = field(default_factory=list)
    unreadable_dates: int = 0
    unreadable_date: str = ""
    _topics: set[str] = field(default_factory=set)

    def build_url(self, path: str) -> str:
        """Return an address on the store's host, and record that addresses were built."""
        self.has_built_urls = True
        return self.address + path

    def add_currency(self, currency: str | None) -> None:
        """Record the currency of a price."""
        if currency is not None and len(self.currencies) < _MAX_CURRENCIES:
            self.currencies.add(currency)

    def add_ignored_columns(self, names: Iterable[str]) -> None:
        """Record unused columns or fields."""
        for name in names:
            if len(self.ignored) < _MAX_IGNORED and name.strip():
                self.ignored.setdefault(name.strip())

    def add_note(self, topic: str, text: str) -> None:
        """Record a note for a person, once per topic."""
        if topic not in self._topics:
            self._topics.add(topic)
            self.notes.append(text)

    def add_unreadable_date(self, text: str) -> None:
        """Record an unreadable sale date."""
        self.unreadable_dates += 1
        self.unreadable_date = self.unreadable_date or text.strip()
