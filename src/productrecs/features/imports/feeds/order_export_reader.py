"""Order exports: the reader of Shopify's and WooCommerce's order files.

WooCommerce Analytics writes an order a row, with the names of its products. Advanced Order
Export writes a row for each line. Order/Customer CSV Export and WebToffee's Order Export do
either: one order a row has its lines in one cell (`line_items`), or in a cell each
(`line_item_1`), or in several (`Product Item 1 Name`).
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from types import MappingProxyType
from typing import Final

from productrecs.core.csv_reader import (
    CsvFormat,
    CsvLayout,
    MissingColumnsError,
    read_header,
)
from productrecs.core.plural import counted
from productrecs.core.timestamps import FileTimeFormat
from productrecs.records.orders.order_history_line import (
    NotAPurchaseError,
    OrderHistoryLine,
    OrderHistoryLineReader,
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


class OrderLineItemMatcher:
    """Matches a line of an order to a product of the catalog by id, SKU or title."""

    def __init__(self, catalog_items: Iterable[tuple[str, str | None, str]]) -> None:
        """Index the catalog's products: id, sku, title. Ambiguous keys match nothing."""
        self._ids: set[str] = set()
        self._by_sku: dict[str, str | None] = {}
        self._by_title: dict[str, str | None] = {}
        for item_id, sku, title in catalog_items:
            self._ids.add(item_id)
            _add_or_mark_ambiguous(self._by_sku, item_id, item_id)
            if sku:
                _add_or_mark_ambiguous(self._by_sku, sku, item_id)
            if title:
                _add_or_mark_ambiguous(self._by_title, _simplified(title), item_id)

    @property
    def is_empty(self) -> bool:
        """Whether the catalog has no products."""
        return not self._ids

    def find_item_id(self, sku: str, title: str, item_id: str = "") -> str | None:
        """Return the id of the product, or None without a match.

        An order names a variant as `Trail shirt - M`: the product's title and its
        options. So the text after the last dash is dropped until a title matches.
        """
        if item_id in self._ids:
            return item_id
        if sku and (matched_id := self._by_sku.get(sku)) is not None:
            return matched_id
        name = title
        while name:
            if (matched_id := self._by_title.get(_simplified(name))) is not None:
                return matched_id
            name = name.rpartition(_VARIANT)[0]
        return None


@dataclass(slots=True)
class OrderLevelFields:
    """The fields that all lines of an order share."""

    order_id: str = ""
    created: str = ""
    customer: str = ""
    not_bought: str = ""  # the reason why it is not a purchase, such as refunded
    status: str = ""


@dataclass(frozen=True, slots=True)
class ExportedOrderLine:
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
        item_matcher: OrderLineItemMatcher,
        time_format: FileTimeFormat | None = None,
    ) -> None:
        """Read a file whose format is `csv_format`.

        Times without an offset are in `zone`.
        """
        self._places = csv_format.columns
        self._item_matcher = item_matcher
        self._reader = OrderHistoryLineReader(
            _COLUMNS, csv_format.separator, zone, time_format
        )
        self._order = OrderLevelFields()
        self._lines: dict[str, OrderHistoryLine] = {}  # of this order
        self.unmatched = 0  # lines without a matching product
        self.statuses = Counter[str]()  # statuses of orders that count as purchases

    def order_fields(self, cells: list[str]) -> OrderLevelFields:
        """Return the order of a row; a row without an id continues the previous order."""
        raise NotImplementedError

    def exported_lines(self, cells: list[str]) -> Sequence[ExportedOrderLine]:
        """Return the lines in a row."""
        raise NotImplementedError

    def read_lines_of_row(self, cells: list[str]) -> Sequence[OrderHistoryLine]:
        """Return the lines of a row.

        Raises:
            UnreadableRowError: when the row is not a valid line of an order.
            NotAPurchaseError: when its order was refunded or never paid.
        """
        self._begin_order_if_new(self.order_fields(cells))
        if self._order.not_bought:
            raise NotAPurchaseError(self._order.not_bought)
        order_lines = [
            self._match_and_merge_line(exported_line)
            for exported_line in self.exported_lines(cells)
        ]
        if not order_lines:
            message = "it names no product"
            raise UnreadableRowError(message)
        return order_lines

    def notes(self) -> list[str]:
        """Return notes for the user on how the file was read."""
        notes = []
        if self.unmatched:
            notes.append(
                f"{counted(self.unmatched, 'line')} of products that are not in the "
                "catalog: they are stored by their id, else their SKU."
            )
        if self.statuses:
            statuses = ", ".join(sorted(self.statuses))
            notes.append(f"Orders with the status {statuses} were imported as purchases.")
        return notes

    def cell(self, cells: list[str], name: str) -> str:
        """Return the text of a column; empty when the column is missing."""
        place = self._places.get(name)
        return "" if place is None or place >= len(cells) else cells[place].strip()

    def _begin_order_if_new(self, order: OrderLevelFields) -> None:
        if not order.order_id or order.order_id == self._order.order_id:
            return
        self._order, self._lines = order, {}
        if order.status and not order.not_bought:
            self.statuses[order.status] += 1

    def _match_and_merge_line(self, sold: ExportedOrderLine) -> OrderHistoryLine:
        item_id = self._item_matcher.find_item_id(sold.sku, sold.title, sold.item_id)
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
        return self._merge_into_order(self._reader.read_line(row))

    def _merge_into_order(self, line: OrderHistoryLine) -> OrderHistoryLine:
        """Return a line with the units of other variants of its product in the order added.

        For one order and item the last row counts, so it has to include all of them.
        """
        before = self._lines.get(line.item_id)
        if before is not None and before.quantity and line.quantity:
            units = before.quantity + line.quantity
            amounts = [
                merged_line.price * merged_line.quantity
                for merged_line in (before, line)
                if merged_line.price is not None and merged_line.quantity
            ]
            price = (
                round(sum(amounts) / units, 6)
                if len(amounts) == _SEVERAL_PRODUCTS and units
                else None
            )
            line = line._replace(quantity=units or None, price=price)
        self._lines[line.item_id] = line
        return line


def _add_or_mark_ambiguous(table: dict[str, str | None], name: str, item_id: str) -> None:
    table[name] = item_id if table.get(name, item_id) == item_id else None


def _simplified(title: str) -> str:
    return " ".join(title.casefold().split())


SHOPIFY_LAYOUT: Final = CsvLayout(
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


class ShopifyOrderReader(OrderExportReader):
    """Shopify orders: the first row has the order's fields; customers have e-mails."""

    def order_fields(self, cells: list[str]) -> OrderLevelFields:
        """Return the order of a row."""
        status = self.cell(cells, "paid").lower()
        not_bought = status if status in _RETURNED_STATUSES else ""
        if self.cell(cells, "cancelled"):
            not_bought = "cancelled"
        return OrderLevelFields(
            order_id=self.cell(cells, "order"),
            created=_OFFSET.sub(r"\1T\2\3:\4", self.cell(cells, "created")),
            not_bought=not_bought,
        )

    def exported_lines(self, cells: list[str]) -> Sequence[ExportedOrderLine]:
        """Return the line of a row."""
        return (
            ExportedOrderLine(
                sku=self.cell(cells, "sku"),
                title=self.cell(cells, "title"),
                quantity=self.cell(cells, "quantity"),
                price=self.cell(cells, "price"),
            ),
        )


_MAX_LINES: Final = 200  # of an order with one column per line
_LINE_COLUMNS: Final = MappingProxyType(
    {"id": "id", "sku": "SKU", "title": "Name", "quantity": "Quantity", "total": "Total"}
)

WOOCOMMERCE_LAYOUT: Final = CsvLayout(
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

# The names of shop systems, in the languages of translated exports.
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


WOOCOMMERCE_ONLY: Final = CsvLayout(
    columns=MappingProxyType(
        {
            "only": (
                *("line_items", "line_item_1", "Product Item 1 Name", "Product(s)"),
                *("Customer User ID", "customer_user", "Email (Billing)"),
                *("Order Total Amount", "Order Line (w/o tax)", "Order Line Total"),
                *("Item #", "Item Cost", "Quantity (- Refund)"),
                *("item_product_id", "item_refunded_qty", "order_number_formatted"),
            )
        }
    ),
    required=("only",),
    example=WOOCOMMERCE_LAYOUT.example,
)
"""Columns that only exports of WooCommerce have; `SKU` or `Order Date` may be anybody's."""


def is_woocommerce_order_export(head: bytes) -> bool:
    """Return whether a file's first bytes are those of a WooCommerce order export."""
    try:
        read_header(head, WOOCOMMERCE_ONLY)
        columns = read_header(head, WOOCOMMERCE_LAYOUT).columns.keys()
    except MissingColumnsError:
        return False
    if columns & {"lines", "products", "line1", "title1"}:
        return True
    return bool(columns & {"item", "sku", "title"} and columns & {"net", "quantity"})


def reason_not_bought(status: str) -> str:
    """Return why an order with this status is not a purchase; "" if it is one."""
    simplified = status.casefold().removeprefix("wc-")
    return next(
        (reason for reason, words in _NOT_BOUGHT.items() if simplified in words), ""
    )


class WooCommerceOrderReader(OrderExportReader):
    """WooCommerce orders in any format; customers have user ids, guests have none."""

    def order_fields(self, cells: list[str]) -> OrderLevelFields:
        """Return the order of a row."""
        customer = self.cell(cells, "customer")
        status = self.cell(cells, "status")
        return OrderLevelFields(
            order_id=self.cell(cells, "order"),
            created=self.cell(cells, "created"),
            customer="" if customer == "0" or "@" in customer else customer,
            not_bought=reason_not_bought(status),
            status=status.removeprefix("wc-"),
        )

    def exported_lines(self, cells: list[str]) -> Sequence[ExportedOrderLine]:
        """Return the lines of a row.

        Raises:
            NotAPurchaseError: when everything in it was refunded.
            UnreadableRowError: when its lines cannot be read.
        """
        cells_of_lines = list(self._line_cells_of_row(cells))
        bought = [
            cells_of_line
            for cells_of_line in cells_of_lines
            if cells_of_line.get("quantity", "1") not in {"0", "0.0"}
        ]
        if cells_of_lines and not bought:
            reason = "refunded"
            raise NotAPurchaseError(reason)
        return [_exported_line_with_unit_price(cells_of_line) for cells_of_line in bought]

    def _line_cells_of_row(self, cells: list[str]) -> Iterator[Mapping[str, str]]:
        """Yield each line's fields, by our names."""
        if "lines" in self._places:
            yield from _parse_line_items(self.cell(cells, "lines"))
        elif "products" in self._places:
            yield from _parse_quantity_and_title_list(self.cell(cells, "products"))
        elif self._places.keys() & {"line1", "title1"}:
            yield from self._line_cells_in_columns(cells)
        else:
            yield from self._cells_of_single_line(cells)

    def _line_cells_in_columns(self, cells: list[str]) -> Iterator[Mapping[str, str]]:
        for number in range(1, _MAX_LINES + 1):
            if text := self.cell(cells, f"line{number}"):
                yield from _parse_line_items(text)
            elif self.cell(cells, f"title{number}"):
                yield {part: self.cell(cells, f"{part}{number}") for part in _LINE_COLUMNS}

    def _cells_of_single_line(self, cells: list[str]) -> Iterator[Mapping[str, str]]:
        names = ("sku", "title", "price", "total", "refunded")
        fields = {name: self.cell(cells, name) for name in names}
        fields["id"] = self.cell(cells, "item")
        fields["quantity"] = self.cell(cells, "net") or self.cell(cells, "quantity")
        if self.cell(cells, "net"):
            fields["refunded"] = ""  # already subtracted
        if fields["id"] or fields["sku"] or fields["title"]:
            yield _subtract_refunded_units(fields)


def _exported_line_with_unit_price(fields: Mapping[str, str]) -> ExportedOrderLine:
    price = fields.get("price", "")
    if not price:
        price = _unit_price(fields.get("total", ""), fields.get("quantity", ""))
    item_id = fields.get("id", "")
    return ExportedOrderLine(
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


def _subtract_refunded_units(fields: dict[str, str]) -> dict[str, str]:
    """Return a line without its refunded units; the unit price stays."""
    try:
        back, units = abs(float(fields.get("refunded") or 0)), float(fields["quantity"])
    except (KeyError, ValueError):
        return fields
    if back:
        price = fields.get("price") or _unit_price(
            fields.get("total", ""), fields["quantity"]
        )
        return fields | {"quantity": f"{units - back:.12g}", "price": price}
    return fields


def _parse_line_items(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the lines of a cell: JSON, or `name:Tent|sku:T-1|quantity:1;name:...`."""
    if text.startswith("["):
        yield from _parse_json_line_items(text)
        return
    for item in _ITEMS.split(text) if text else ():
        facts = {
            name.strip().lower(): value.strip()
            for name, _, value in (fact.partition(":") for fact in _FACTS.split(item))
        }
        yield _to_line_without_refunds(facts)


def _parse_json_line_items(text: str) -> Iterator[Mapping[str, str]]:
    try:
        rows = json.loads(text)
    except ValueError:
        message = "its line items are not valid JSON"
        raise UnreadableRowError(message) from None
    for row in rows:
        if isinstance(row, dict):
            yield _to_line_without_refunds(
                {name: _text(value) for name, value in row.items()}
            )


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


def _to_line_without_refunds(facts: Mapping[str, str]) -> Mapping[str, str]:
    return _subtract_refunded_units(
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


def _parse_quantity_and_title_list(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the lines of a cell such as `2\u00d7 Tent, 1\u00d7 Rope - Red`."""
    for part in _NEXT.split(html.unescape(text)) if text else ():
        match = _QUANTITY_AND_TITLE.fullmatch(part.strip())
        if match is None:
            message = f"products {part[:40]!r} are not written as 2\u00d7 Name"
            raise UnreadableRowError(message)
        yield {"quantity": match.group(1), "title": match.group(2)}
