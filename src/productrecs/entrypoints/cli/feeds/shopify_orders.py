"""What does an orders CSV of Shopify say? A row for each line of an order, by its SKU."""

import re
from collections.abc import Iterable
from datetime import tzinfo
from types import MappingProxyType
from typing import Final

from productrecs.records.orders.csv_format import CsvFormat, Layout
from productrecs.records.orders.csv_line import (
    HistoryLine,
    LineReader,
    UnreadableRowError,
)

LAYOUT: Final = Layout(
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

_TAKEN_BACK: Final = frozenset({"voided", "refunded"})
_COLUMNS: Final = MappingProxyType(
    {"order_id": 0, "item_id": 1, "timestamp": 2, "quantity": 3, "price": 4}
)
_OFFSET: Final = re.compile(r"^(\S+) (\S+) ([+-]\d{2}):?(\d{2})$")
_VARIANT: Final = " - "
_BOTH: Final = 2


class ItemNames:
    """Which product of the catalog does a line of an order mean, by SKU or title?"""

    def __init__(self, known: Iterable[tuple[str, str | None, str]]) -> None:
        """Take the catalog's products: id, sku, title. What two have tells neither."""
        self._by_sku: dict[str, str | None] = {}
        self._by_title: dict[str, str | None] = {}
        for item_id, sku, title in known:
            _enter(self._by_sku, item_id, item_id)
            if sku:
                _enter(self._by_sku, sku, item_id)
            if title:
                _enter(self._by_title, _plain(title), item_id)

    @property
    def is_empty(self) -> bool:
        """Whether there is no product at all."""
        return not self._by_sku

    def item_of(self, sku: str, title: str) -> str | None:
        """Return the id of the product; None where the catalog tells none.

        An order names a variant as `Trail shirt - M`, by the product and what sets it
        apart, so that what stands behind the last dashes is left out until a title fits.
        """
        if sku and (found := self._by_sku.get(sku)) is not None:
            return found
        name = title
        while name:
            if (found := self._by_title.get(_plain(name))) is not None:
                return found
            name = name.rpartition(_VARIANT)[0]
        return None


class ShopifyOrders:
    """Reads the rows of one file, in their order: what an order has, its first row says."""

    def __init__(self, written: CsvFormat, zone: tzinfo, names: ItemNames) -> None:
        """Read a file that is `written` so; times without an offset are in `zone`."""
        self._places = written.columns
        self._names = names
        self._reader = LineReader(_COLUMNS, written.separator, zone)
        self._order = self._created = ""
        self._is_void = False
        self._lines: dict[str, HistoryLine] = {}  # of this order
        self.strange = 0  # lines whose product the catalog does not tell

    def read(self, cells: list[str]) -> HistoryLine:
        """Return what a row says; nobody is named, for all an order tells is an e-mail.

        Raises:
            UnreadableRowError: when it cannot be taken, or its order was taken back.
        """
        self._turn_to(cells)
        if self._is_void:
            message = "its order was cancelled, voided or refunded"
            raise UnreadableRowError(message)
        sku, title = self._cell(cells, "sku"), self._cell(cells, "title")
        item_id = self._names.item_of(sku, title)
        if item_id is None:
            item_id = sku or title
            self.strange += 1
        quantity, price = self._cell(cells, "quantity"), self._cell(cells, "price")
        row = [self._order, item_id, self._created, quantity, price]
        return self._together(self._reader.read(row))

    def _together(self, line: HistoryLine) -> HistoryLine:
        """Return a line with what other variants of its product in the order add to it.

        Of the rows of one order and item the last counts, so that one has to tell of all.
        """
        before = self._lines.get(line.item_id)
        if before is not None and before.quantity and line.quantity:
            units = before.quantity + line.quantity
            paid = [
                one.price * one.quantity
                for one in (before, line)
                if one.price is not None and one.quantity
            ]
            price = round(sum(paid) / units, 6) if len(paid) == _BOTH and units else None
            line = line._replace(quantity=units or None, price=price)
        self._lines[line.item_id] = line
        return line

    def _turn_to(self, cells: list[str]) -> None:
        order = self._cell(cells, "order")
        if order == self._order:
            return
        self._order, self._lines = order, {}
        self._created = _OFFSET.sub(r"\1T\2\3:\4", self._cell(cells, "created"))
        status = self._cell(cells, "paid").lower()
        self._is_void = status in _TAKEN_BACK or bool(self._cell(cells, "cancelled"))

    def _cell(self, cells: list[str], name: str) -> str:
        place = self._places.get(name)
        return "" if place is None or place >= len(cells) else cells[place].strip()


def _enter(table: dict[str, str | None], name: str, item_id: str) -> None:
    table[name] = item_id if table.get(name, item_id) == item_id else None


def _plain(title: str) -> str:
    return " ".join(title.casefold().split())
