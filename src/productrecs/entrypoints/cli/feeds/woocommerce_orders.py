"""WooCommerce order exports, by WooCommerce itself or an export plugin.

WooCommerce Analytics writes an order a row, with the names of its products. Advanced Order
Export writes a row for each line. Order/Customer CSV Export and WebToffee's Order Export do
either: one order a row has its lines in one cell (`line_items`), or in a cell each
(`line_item_1`), or in several (`Product Item 1 Name`).
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from productrecs.entrypoints.cli.feeds.order_export_reader import (
    ExportedLine,
    ExportedOrder,
    OrderExportReader,
)
from productrecs.records.orders.csv_format import CsvLayout
from productrecs.records.orders.history_line import NotAPurchaseError, UnreadableRowError

_MAX_LINES: Final = 200  # of an order with one column per line
_LINE_COLUMNS: Final = MappingProxyType(
    {"id": "id", "sku": "SKU", "title": "Name", "quantity": "Quantity", "total": "Total"}
)

LAYOUT: Final = CsvLayout(
    columns=MappingProxyType(
        {  # without blanks and _: `order_id` and `Order ID` are equal
            "order": ("order_id", "order_number", "Order #"),
            "status": ("status", "order_status"),
            "created": ("order_date", "date", "date_created"),
            "customer": ("customer_id", "customer_user", "Customer User ID", "user_id"),
            "item": ("item_product_id", "product_id"),
            "sku": ("item_sku", "SKU", "product_sku"),
            "title": ("item_name", "product_name", "Name"),
            "net": ("Quantity (- Refund)",),
            "quantity": ("item_quantity", "quantity", "Qty", "Line Item Quantity"),
            "refunded": ("item_refunded_qty",),
            "price": ("item_price", "Item Cost"),
            "total": ("item_total", "Order Line (w/o tax)", "Order Line Total"),
            "lines": ("line_items",),
            "products": ("Product(s)",),
        }
        | {f"line{n}": (f"line_item_{n}",) for n in range(1, _MAX_LINES + 1)}
        | {
            f"{part}{n}": (f"Product Item {n} {name}",)
            for n in range(1, _MAX_LINES + 1)
            for part, name in _LINE_COLUMNS.items()
        }
    ),
    required=("order",),
    example="Order Number,Order Status,Order Date,SKU,Item Name,Quantity,Item Cost",
    prose=True,
)

# WooCommerce's names, in the languages of its translated exports.
_NOT_BOUGHT: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "cancelled": frozenset(
            {
                *("cancelled", "canceled", "storniert", "annulée", "annulé", "cancelado"),
                *("annullato", "geannuleerd"),
            }
        ),
        "refunded": frozenset(
            {
                *("refunded", "rückerstattet", "erstattet", "remboursée", "remboursé"),
                *("reembolsado", "rimborsato", "terugbetaald"),
            }
        ),
        "failed": frozenset(
            {
                *("failed", "fehlgeschlagen", "échouée", "échoué", "fallido", "fallito"),
                *("mislukt", "malsucedido", "falhado"),
            }
        ),
        "pending": frozenset(
            {
                *(
                    "pending",
                    "pending payment",
                    "zahlung ausstehend",
                    "ausstehende zahlung",
                ),
                *("attente paiement", "en attente de paiement", "pendiente de pago"),
                *("in attesa di pagamento", "wachtend op betaling", "pagamento pendente"),
            }
        ),
        "draft": frozenset({"draft", "checkout-draft", "auto-draft", "entwurf", "trash"}),
    }
)
_ITEMS: Final = re.compile(r";(?=(?:id|name):)")
_FACTS: Final = re.compile(r"\|(?=[\w ]+:)")
_QUANTITY_AND_TITLE: Final = re.compile(r"(\d+)\s*[\u00d7x]\s*(.*\S)", re.DOTALL)
_NEXT: Final = re.compile(r",\s+(?=\d+\s*[\u00d7x]\s)")


def is_export(columns: Mapping[str, int]) -> bool:
    """Return whether these columns are those of an order export."""
    if "order" not in columns:
        return False
    if columns.keys() & {"lines", "products", "line1", "title1"}:
        return True
    names_product = columns.keys() & {"item", "sku", "title"}
    counts = columns.keys() & {"net", "quantity"}
    return bool(names_product and counts and columns.keys() & {"status", "created"})


class WooCommerceOrders(OrderExportReader):
    """WooCommerce orders in any format; customers have user ids, guests have none."""

    def order_of(self, cells: list[str]) -> ExportedOrder:
        """Return the order of a row."""
        customer = self.cell(cells, "customer")
        status = self.cell(cells, "status")
        simplified = status.casefold().removeprefix("wc-")
        return ExportedOrder(
            order_id=self.cell(cells, "order"),
            created=self.cell(cells, "created"),
            customer="" if customer == "0" or "@" in customer else customer,
            not_bought=next(
                (reason for reason, words in _NOT_BOUGHT.items() if simplified in words), ""
            ),
            status=status.removeprefix("wc-"),
        )

    def sold(self, cells: list[str]) -> Sequence[ExportedLine]:
        """Return the lines of a row.

        Raises:
            NotAPurchaseError: when everything in it was refunded.
            UnreadableRowError: when its lines cannot be read.
        """
        cells_of_lines = list(self._lines_of_row(cells))
        bought = [
            one for one in cells_of_lines if one.get("quantity", "1") not in {"0", "0.0"}
        ]
        if cells_of_lines and not bought:
            reason = "refunded"
            raise NotAPurchaseError(reason)
        return [_sold(one) for one in bought]

    def _lines_of_row(self, cells: list[str]) -> Iterator[Mapping[str, str]]:
        """Yield each line's fields, by our names."""
        if "lines" in self._places:
            yield from _listed(self.cell(cells, "lines"))
        elif "products" in self._places:
            yield from _listed_lines(self.cell(cells, "products"))
        elif self._places.keys() & {"line1", "title1"}:
            yield from self._in_columns(cells)
        else:
            yield from self._single_line(cells)

    def _in_columns(self, cells: list[str]) -> Iterator[Mapping[str, str]]:
        for number in range(1, _MAX_LINES + 1):
            if text := self.cell(cells, f"line{number}"):
                yield from _listed(text)
            elif self.cell(cells, f"title{number}"):
                yield {part: self.cell(cells, f"{part}{number}") for part in _LINE_COLUMNS}

    def _single_line(self, cells: list[str]) -> Iterator[Mapping[str, str]]:
        names = ("sku", "title", "price", "total", "refunded")
        fields = {name: self.cell(cells, name) for name in names}
        fields["id"] = self.cell(cells, "item")
        fields["quantity"] = self.cell(cells, "net") or self.cell(cells, "quantity")
        if self.cell(cells, "net"):
            fields["refunded"] = ""  # already subtracted
        if fields["id"] or fields["sku"] or fields["title"]:
            yield _net(fields)


def _sold(fields: Mapping[str, str]) -> ExportedLine:
    price = fields.get("price", "")
    if not price:
        price = _unit_price(fields.get("total", ""), fields.get("quantity", ""))
    item_id = fields.get("id", "")
    return ExportedLine(
        item_id="" if item_id == "0" else item_id,
        sku=fields.get("sku", ""),
        title=fields.get("title", ""),
        quantity=fields.get("quantity", ""),
        price=price,
    )


def _unit_price(total: str, quantity: str) -> str:
    """Return the unit price from the line's total; empty if unknown."""
    try:
        return f"{float(total) / float(quantity):.6g}"
    except (ValueError, ZeroDivisionError):
        return ""


def _net(fields: dict[str, str]) -> dict[str, str]:
    """Return a line without its refunded units; the unit price stays."""
    try:
        back, units = abs(float(fields.get("refunded") or 0)), float(fields["quantity"])
    except (KeyError, ValueError):
        return fields
    if back:
        price = fields.get("price") or _unit_price(
            fields.get("total", ""), fields["quantity"]
        )
        return fields | {"quantity": f"{units - back:g}", "price": price}
    return fields


def _listed(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the lines of a cell: JSON, or `name:Tent|sku:T-1|quantity:1;name:...`."""
    if text.startswith("["):
        yield from _from_json(text)
        return
    for item in _ITEMS.split(text) if text else ():
        facts = {
            name.strip().lower(): value.strip()
            for name, _, value in (fact.partition(":") for fact in _FACTS.split(item))
        }
        yield _by_our_names(facts)


def _from_json(text: str) -> Iterator[Mapping[str, str]]:
    try:
        rows = json.loads(text)
    except ValueError:
        message = "its line items are not valid JSON"
        raise UnreadableRowError(message) from None
    for row in rows:
        if isinstance(row, dict):
            yield _by_our_names({name: _text(value) for name, value in row.items()})


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


def _by_our_names(facts: Mapping[str, str]) -> Mapping[str, str]:
    return _net(
        {
            "id": facts.get("product_id", ""),
            "sku": facts.get("sku", ""),
            "title": html.unescape(facts.get("name", "")),
            "quantity": facts.get("quantity", facts.get("qty", "")),
            "price": facts.get("price", ""),
            "total": facts.get("total", ""),
            "refunded": facts.get("refunded_qty", ""),
        }
    )


def _listed_lines(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the lines of a cell such as `2\u00d7 Tent, 1\u00d7 Rope - Red`."""
    for part in _NEXT.split(html.unescape(text)) if text else ():
        found = _QUANTITY_AND_TITLE.fullmatch(part.strip())
        if found is None:
            message = f"products {part[:40]!r} are not written as 2\u00d7 Name"
            raise UnreadableRowError(message)
        yield {"quantity": found.group(1), "title": found.group(2)}
