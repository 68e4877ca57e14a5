"""Supplier: lead time, order rhythm and minimum order; and the terms of one product."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from productrecs.core.errors import ProductRecsError
from productrecs.core.written_numbers import parse_typed_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Parsed = TypeVar("Parsed")

MAX_SUPPLIERS: Final = 500
MAX_NAME: Final = 100
MAX_DAYS: Final = 365
MAX_UNITS: Final = 1_000_000
MAX_TERMS: Final = 100_000
_MAX_MONEY: Final = 1e12
TERM_COLUMNS: Final = ("product", "supplier", "pack_size", "minimum_quantity")


class SupplyInputError(ProductRecsError):
    """A supplier, terms of a product or a purchase order line are invalid, or too many."""


class UnknownSupplierError(ProductRecsError):
    """The store has no supplier of this name."""


@dataclass(frozen=True, slots=True)
class Supplier:
    """A supplier's terms; None: as the store's settings say."""

    name: str
    lead_time_days: int | None = None
    order_every_days: int | None = None
    minimum_order: float = 0.0  # money of one order
    budget: float | None = None  # the most money of one order; None: no limit


@dataclass(frozen=True, slots=True)
class ProductTerms:
    """On which terms a product is ordered; `product` is its id or SKU."""

    product: str
    supplier: str
    pack_size: int = 1
    minimum_quantity: int = 0


def parse_supplier(
    name: str,
    lead_time_days: str = "",
    order_every_days: str = "",
    minimum_order: str = "",
    budget: str = "",
) -> Supplier:
    """Return a supplier from texts; empty ones are the store's settings.

    Raises:
        SupplyInputError: when one of them is invalid.
    """
    return Supplier(
        _parse_name(name),
        parse_units(lead_time_days, "the lead time", 1, MAX_DAYS),
        parse_units(order_every_days, "the days between two orders", 1, MAX_DAYS),
        _parse_money(minimum_order, "the minimum order"),
        _parse_money(budget, "the budget") or None,
    )


def parse_product_terms(text: str) -> list[ProductTerms]:
    """Return the terms of a CSV file with the columns TERM_COLUMNS; the last two may lack.

    Raises:
        SupplyInputError: for the first invalid line, which it names.
    """
    return read_csv_rows(
        text, TERM_COLUMNS, TERM_COLUMNS[:2], MAX_TERMS, parse_terms_of_product
    )


def read_csv_rows(
    text: str,
    columns: Sequence[str],
    required: Sequence[str],
    limit: int,
    parse: Callable[[Mapping[str, str | None]], Parsed],
) -> list[Parsed]:
    """Return what `parse` makes of each row of a CSV file with these `columns`.

    Raises:
        SupplyInputError: for the first invalid line, which it names.
    """
    sample = text.removeprefix("\ufeff")
    header = sample.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    reader = csv.DictReader(io.StringIO(sample), delimiter=delimiter)
    names = [name.strip().lower() for name in reader.fieldnames or ()]
    if not set(required) <= set(names):
        message = f"the first line of the file names the columns {', '.join(columns)}"
        raise SupplyInputError(message)
    reader.fieldnames = names
    found: list[Parsed] = []
    for row in reader:
        if len(found) >= limit:
            message = f"a file has at most {limit} lines"
            raise SupplyInputError(message)
        try:
            found.append(parse(row))
        except SupplyInputError as error:
            message = f"line {reader.line_num}: {error}"
            raise SupplyInputError(message) from error
    return found


def parse_terms_of_product(row: Mapping[str, str | None]) -> ProductTerms:
    """Return the terms of one product from texts, by the names of TERM_COLUMNS.

    Raises:
        SupplyInputError: when one of them is invalid.
    """
    product = (row["product"] or "").strip()
    if not product:
        message = "the product has no id or SKU"
        raise SupplyInputError(message)
    return ProductTerms(
        product,
        _parse_name(row["supplier"] or ""),
        parse_units(row.get("pack_size") or "", "the pack size", 1, MAX_UNITS) or 1,
        parse_units(row.get("minimum_quantity") or "", "the minimum quantity", 0, MAX_UNITS)
        or 0,
    )


def _parse_name(text: str) -> str:
    name = text.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        message = f"a supplier's name has 1 to {MAX_NAME} characters"
        raise SupplyInputError(message)
    return name


def parse_units(text: str, label: str, lowest: int, highest: int) -> int | None:
    """Return a whole number, None for an empty text.

    Raises:
        SupplyInputError: when it is none from `lowest` to `highest`.
    """
    if not text.strip():
        return None
    message = f"{label} is a whole number from {lowest} to {highest}"
    try:
        value = int(text)
    except ValueError as error:
        raise SupplyInputError(message) from error
    if not lowest <= value <= highest:
        raise SupplyInputError(message)
    return value


def _parse_money(text: str, label: str) -> float:
    if not text.strip():
        return 0.0
    try:
        value = parse_typed_amount(text)
    except ValueError as error:
        message = f"write {label} as a number without a currency, such as 200 or 199.50"
        raise SupplyInputError(message) from error
    if not 0 <= value <= _MAX_MONEY:
        message = f"{label} is an amount of at least 0"
        raise SupplyInputError(message)
    return value
