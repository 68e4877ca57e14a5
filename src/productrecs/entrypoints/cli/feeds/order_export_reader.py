"""Order exports: the reader of a platform's order file, and Shopify's columns."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from types import MappingProxyType
from typing import Final

from productrecs.records.orders.csv_format import CsvFormat, CsvLayout
from productrecs.records.orders.history_line import (
    HistoryLine,
    HistoryLineReader,
    NotAPurchaseError,
    TimeFormat,
    UnreadableRowError,
)

_COLUMNS: Final = MappingProxyType(
    {
        "order_id": 0,
        "item_id": 1,
        "customer_id": 2,
        "timestamp": 3,
        "quantity": 4,
        "price": 5,
    }
)
_VARIANT: Final = " - "
_SEVERAL_PRODUCTS: Final = 2


class ItemMatcher:
    """Matches a line of an order to a product of the catalog by id, SKU or title."""

    def __init__(self, catalog_items: Iterable[tuple[str, str | None, str]]) -> None:
        """Index the catalog's products: id, sku, title. Ambiguous keys match nothing."""
        self._ids: set[str] = set()
        self._by_sku: dict[str, str | None] = {}
        self._by_title: dict[str, str | None] = {}
        for item_id, sku, title in catalog_items:
            self._ids.add(item_id)
            _enter(self._by_sku, item_id, item_id)
            if sku:
                _enter(self._by_sku, sku, item_id)
            if title:
                _enter(self._by_title, _simplified(title), item_id)

    @property
    def is_empty(self) -> bool:
        """Whether the catalog has no products."""
        return not self._ids

    def item_of(self, sku: str, title: str, item_id: str = "") -> str | None:
        """Return the id of the product, or None without a match.

        An order names a variant as `Trail shirt - M`: the product's title and its
        options. So the text after the last dash is dropped until a title matches.
        """
        if item_id in self._ids:
            return item_id
        if sku and (found := self._by_sku.get(sku)) is not None:
            return found
        name = title
        while name:
            if (found := self._by_title.get(_simplified(name))) is not None:
                return found
            name = name.rpartition(_VARIANT)[0]
        return None


@dataclass(slots=True)
class ExportedOrder:
    """The fields that all lines of an order share."""

    order_id: str = ""
    created: str = ""
    customer: str = ""
    not_bought: str = ""  # the reason why it is not a purchase, such as refunded
    status: str = ""


@dataclass(frozen=True, slots=True)
class ExportedLine:
    """One line of an order, as written; unknown fields are empty."""

    item_id: str = ""
    sku: str = ""
    title: str = ""
    quantity: str = ""
    price: str = ""


class OrderExportReader:
    """Reads the rows of one file in order; each platform maps its columns."""

    sums = True

    def __init__(
        self,
        csv_format: CsvFormat,
        zone: tzinfo,
        names: ItemMatcher,
        times: TimeFormat | None = None,
    ) -> None:
        """Read a file whose format is `csv_format`.

        Times without an offset are in `zone`.
        """
        self._places = csv_format.columns
        self._names = names
        self._reader = HistoryLineReader(_COLUMNS, csv_format.separator, zone, times)
        self._order = ExportedOrder()
        self._lines: dict[str, HistoryLine] = {}  # of this order
        self.unmatched = 0  # lines without a matching product
        self.statuses = Counter[str]()  # statuses of orders that count as purchases

    def order_of(self, cells: list[str]) -> ExportedOrder:
        """Return the order of a row; a row without an id continues the previous order."""
        raise NotImplementedError

    def sold(self, cells: list[str]) -> Sequence[ExportedLine]:
        """Return the lines in a row."""
        raise NotImplementedError

    def lines(self, cells: list[str]) -> Sequence[HistoryLine]:
        """Return the lines of a row.

        Raises:
            UnreadableRowError: when the row is not a valid line of an order.
            NotAPurchaseError: when its order was refunded or never paid.
        """
        self._begin_order(self.order_of(cells))
        if self._order.not_bought:
            raise NotAPurchaseError(self._order.not_bought)
        order_lines = [self._line(one) for one in self.sold(cells)]
        if not order_lines:
            message = "it names no product"
            raise UnreadableRowError(message)
        return order_lines

    def notes(self) -> list[str]:
        """Return notes for the user on how the file was read."""
        found = []
        if self.unmatched:
            lines = f"{self.unmatched:,} line{'' if self.unmatched == 1 else 's'}"
            found.append(
                f"{lines} of products that are not in the catalog: they are stored by "
                "their id, else their SKU."
            )
        if self.statuses:
            statuses = ", ".join(sorted(self.statuses))
            found.append(f"Orders with the status {statuses} were imported as purchases.")
        return found

    def cell(self, cells: list[str], name: str) -> str:
        """Return the text of a column; empty when the column is missing."""
        place = self._places.get(name)
        return "" if place is None or place >= len(cells) else cells[place].strip()

    def _begin_order(self, order: ExportedOrder) -> None:
        if not order.order_id or order.order_id == self._order.order_id:
            return
        self._order, self._lines = order, {}
        if order.status and not order.not_bought:
            self.statuses[order.status] += 1

    def _line(self, sold: ExportedLine) -> HistoryLine:
        item_id = self._names.item_of(sold.sku, sold.title, sold.item_id)
        if item_id is None:
            item_id = sold.item_id or sold.sku or sold.title
            self.unmatched += 1
        order = self._order
        row = [
            order.order_id,
            item_id,
            order.customer,
            order.created,
            sold.quantity,
            sold.price,
        ]
        return self._merged_line(self._reader.read(row))

    def _merged_line(self, line: HistoryLine) -> HistoryLine:
        """Return a line with the units of other variants of its product in the order added.

        For one order and item the last row counts, so it has to include all of them.
        """
        before = self._lines.get(line.item_id)
        if before is not None and before.quantity and line.quantity:
            units = before.quantity + line.quantity
            paid = [
                one.price * one.quantity
                for one in (before, line)
                if one.price is not None and one.quantity
            ]
            price = (
                round(sum(paid) / units, 6)
                if len(paid) == _SEVERAL_PRODUCTS and units
                else None
            )
            line = line._replace(quantity=units or None, price=price)
        self._lines[line.item_id] = line
        return line


def _enter(table: dict[str, str | None], name: str, item_id: str) -> None:
    table[name] = item_id if table.get(name, item_id) == item_id else None


def _simplified(title: str) -> str:
    return " ".join(title.casefold().split())


LAYOUT: Final = CsvLayout(
    columns=MappingProxyType(
        {
            "order": ("Name",),
            "paid": ("Financial Status",),
            "created": ("Created at",),
            "cancelled": ("Cancelled at",),
            "quantity": ("Lineitem quantity",),
            "title": ("Lineitem name",),
            "price": ("Lineitem price",),
            "sku": ("Lineitem sku",),
        }
    ),
    required=("order", "title", "quantity"),
    example="Name,Created at,Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku",
    prose=True,
)

_RETURNED_STATUSES: Final = frozenset({"voided", "refunded"})
_OFFSET: Final = re.compile(r"^(\S+) (\S+) ([+-]\d{2}):?(\d{2})$")


class ShopifyOrders(OrderExportReader):
    """Shopify orders: the first row has the order's fields; customers have e-mails."""

    def order_of(self, cells: list[str]) -> ExportedOrder:
        """Return the order of a row."""
        status = self.cell(cells, "paid").lower()
        not_bought = status if status in _RETURNED_STATUSES else ""
        if self.cell(cells, "cancelled"):
            not_bought = "cancelled"
        return ExportedOrder(
            order_id=self.cell(cells, "order"),
            created=_OFFSET.sub(r"\1T\2\3:\4", self.cell(cells, "created")),
            not_bought=not_bought,
        )

    def sold(self, cells: list[str]) -> Sequence[ExportedLine]:
        """Return the line of a row."""
        return (
            ExportedLine(
                sku=self.cell(cells, "sku"),
                title=self.cell(cells, "title"),
                quantity=self.cell(cells, "quantity"),
                price=self.cell(cells, "price"),
            ),
        )
