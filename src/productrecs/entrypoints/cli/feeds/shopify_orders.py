"""Shopify order CSV: one row for each order line, matched to items by SKU."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from productrecs.entrypoints.cli.feeds.order_export_reader import (
    ExportedLine,
    ExportedOrder,
    OrderExportReader,
)
from productrecs.records.orders.csv_format import CsvLayout

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

_TAKEN_BACK: Final = frozenset({"voided", "refunded"})
_OFFSET: Final = re.compile(r"^(\S+) (\S+) ([+-]\d{2}):?(\d{2})$")


class ShopifyOrders(OrderExportReader):
    """Shopify orders: the first row has the order's fields; customers go by e-mail."""

    def order_of(self, cells: list[str]) -> ExportedOrder:
        """Return the order of a row."""
        status = self.cell(cells, "paid").lower()
        not_bought = status if status in _TAKEN_BACK else ""
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
