"""Purchase orders: goods that the merchant has ordered and that have not arrived."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from productrecs.core.errors import ProductRecsError
from productrecs.records.suppliers.supplier import (
    MAX_NAME,
    MAX_UNITS,
    SupplyInputError,
    parse_units,
    read_csv_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_LINES: Final = 20_000
MAX_DAYS_LATE: Final = 7
"""Goods that are later than this are not counted on: the entry was probably forgotten."""

COLUMNS: Final = ("product", "quantity", "expected_day", "supplier")


class UnknownPurchaseOrderLineError(ProductRecsError):
    """The store has no purchase order line of this number."""


class OrderedUnits(NamedTuple):
    """Units of a product that were ordered, and the date on which they can be sold."""

    units: int
    expected_day: str


@dataclass(frozen=True, slots=True)
class PurchaseOrderLine:
    """Units of one product, by its id or SKU, that a supplier will deliver."""

    product: str
    quantity: int
    expected_day: str  # ISO
    supplier: str = ""


def parse_purchase_order_line(fields: Mapping[str, str | None]) -> PurchaseOrderLine:
    """Return a line from texts named as `COLUMNS`.

    Raises:
        SupplyInputError: when one of them is invalid.
    """
    values = {name: (fields.get(name) or "").strip() for name in COLUMNS}
    if not values["product"]:
        message = "the product has no id or SKU"
        raise SupplyInputError(message)
    quantity = parse_units(values["quantity"], "the quantity", 1, MAX_UNITS)
    if quantity is None:
        message = f"the quantity is a whole number from 1 to {MAX_UNITS}"
        raise SupplyInputError(message)
    supplier = values["supplier"]
    if len(supplier) > MAX_NAME or not supplier.isprintable():
        message = f"a supplier's name has at most {MAX_NAME} characters"
        raise SupplyInputError(message)
    day = _parse_day(values["expected_day"])
    return PurchaseOrderLine(values["product"], quantity, day, supplier)


def parse_purchase_orders(text: str) -> list[PurchaseOrderLine]:
    """Return the lines of a CSV file with the columns `COLUMNS`; the last may lack.

    Raises:
        SupplyInputError: for the first invalid line, which it names.
    """
    return read_csv_rows(text, COLUMNS, COLUMNS[:3], MAX_LINES, parse_purchase_order_line)


def check_line_limit(lines: Sequence[PurchaseOrderLine], stored_count: int = 0) -> None:
    """Refuse more lines than a store may have.

    Raises:
        SupplyInputError: when there are too many.
    """
    if stored_count + len(lines) > MAX_LINES:
        message = f"a store has at most {MAX_LINES} lines of purchase orders"
        raise SupplyInputError(message)


def _parse_day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        message = "write the expected day as 2026-03-01"
        raise SupplyInputError(message) from error
