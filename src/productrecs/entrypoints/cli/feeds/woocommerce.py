"""What does a product CSV of WooCommerce say? Variations belong to their parent."""

import csv
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from productrecs.entrypoints.cli.feeds.offer import Offer, Value, Variant
from productrecs.entrypoints.cli.feeds.reading import Reading
from productrecs.entrypoints.cli.feeds.sale import price_now
from productrecs.entrypoints.cli.feeds.wording import (
    UnreadableOfferError,
    as_text,
    levels,
    one_line,
    price_of,
    whole_number,
)
from productrecs.records.catalog.availability import Availability
from productrecs.records.orders.csv_format import (
    Layout,
    MissingColumnsError,
    decoded,
    read_header,
)

LAYOUT: Final = Layout(
    columns=MappingProxyType(
        {
            "id": ("ID",),
            "type": ("Type",),
            "sku": ("SKU",),
            "name": ("Name",),
            "published": ("Published",),
            "visibility": ("Visibility in catalog",),
            "short": ("Short description",),
            "description": ("Description",),
            "sale_from": ("Date sale price starts",),
            "sale_to": ("Date sale price ends",),
            "status": ("In stock?",),
            "stock": ("Stock",),
            "sale_price": ("Sale price",),
            "regular_price": ("Regular price",),
            "categories": ("Categories",),
            "images": ("Images",),
            "parent": ("Parent",),
            "cost": ("Cost of goods",),
        }
    ),
    required=("id",),
    example="ID,Type,SKU,Name,Published,...,Regular price,Categories,Images,Parent",
    prose=True,
)

CARRIED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sku": ("sku",),
        "title": ("name",),
        "description": ("description", "short"),
        "categories": ("categories",),
        "image_url": ("images",),
        "price": ("regular_price",),
        "cost": ("cost",),
        "stock_qty": ("stock",),
        "availability": ("status", "published", "visibility"),
    }
)
"""What an export says of an item, and in which columns."""

TYPES: Final = frozenset({"simple", "variable", "variation", "grouped", "external"})
_VISIBILITY: Final = frozenset({"visible", "catalog", "search", "hidden"})
_STATUS: Final = MappingProxyType(
    {
        "1": Availability.IN_STOCK,
        "0": Availability.OUT_OF_STOCK,
        "backorder": Availability.BACKORDER,
    }
)
_COMMA: Final = re.compile(r"(?<!\\),")
_WEIGHT: Final = re.compile(r"\((kg|g|lbs|oz)\)")
_FORMULA: Final = re.compile(r"^'(?=[=+\-@])")  # put there against spreadsheets' formulas
_FROM_VISIBILITY: Final = MappingProxyType(
    {
        "published": -2,
        "name": -3,
        "visibility": 0,
        "short": 1,
        "description": 2,
        "sale_from": 3,
        "sale_to": 4,
        "status": 7,
        "stock": 8,
    }
)
_FROM_WEIGHT: Final = MappingProxyType(
    {"sale_price": 6, "regular_price": 7, "categories": 8, "images": 11, "parent": 14}
)
_BY_ID: Final = "id:"


def offer(row: int, cells: Mapping[str, str], reading: Reading) -> Offer:
    """Return what one row says.

    Raises:
        UnreadableOfferError: when it names no product, or its price is none.
    """
    own_id, sku = cells.get("id", "").strip(), _plain(cells.get("sku", "")).strip()
    if not own_id:
        message = "the row has no ID"
        raise UnreadableOfferError(message)
    kind = cells.get("type", "simple").split(",")[0].strip().lower()
    is_variation = kind == "variation"
    is_hidden = _is_hidden(cells)
    sold = _variant(cells, reading)
    has_parts = kind == "variable"
    return Offer(
        row=row,
        product=_parent(cells) if is_variation else sku or _BY_ID + own_id,
        item_id=None if is_variation else own_id,
        leads=not is_variation,
        is_hidden=is_hidden,
        fields=_fields(cells, sku, own_id, reading),
        part=None if has_parts or (is_variation and is_hidden) else sold,
        whole=sold if has_parts else None,
    )


def columns_by_place(head: bytes) -> Mapping[str, int] | None:
    """Return where a full export in another language has its columns; None if it is none.

    An export names its columns in the language of whoever made it, but in one order, and
    some of its words and units are the same in all of them. `head` is the file's beginning.
    """
    names, first = _first_rows(head)
    kind = first[1].split(",")[0].strip() if len(first) > 1 else ""
    seen = [place for place, cell in enumerate(first) if cell in _VISIBILITY]
    weights = [place for place, name in enumerate(names) if _WEIGHT.search(name)]
    if kind not in TYPES or not seen or not weights:
        return None
    visible, weight = seen[0], weights[0]
    # Newer exports have one column more between the two, the low stock.
    if weight - visible not in {11, 12} or weight + _FROM_WEIGHT["parent"] >= len(names):
        return None
    return MappingProxyType(
        {"id": 0, "type": 1, "sku": 2}
        | {name: visible + step for name, step in _FROM_VISIBILITY.items()}
        | {name: weight + step for name, step in _FROM_WEIGHT.items()}
    )


def _first_rows(head: bytes) -> tuple[list[str], list[str]]:
    """Return the header and the row below it, empty where there is none."""
    try:
        header = read_header(head, LAYOUT)
        lines = decoded(head).splitlines(keepends=True)[header.lines - 1 :]
        rows = csv.reader(lines, delimiter=header.separator)
        return next(rows, []), next(rows, [])
    except (MissingColumnsError, csv.Error):
        return [], []


def _fields(
    cells: Mapping[str, str], sku: str, own_id: str, reading: Reading
) -> dict[str, Value]:
    long, short = cells.get("description", ""), cells.get("short", "")
    text = _plain(long if long.strip() else short).replace("\\n", "\n")
    images = _listed(cells.get("images", ""))
    return {
        "sku": sku,
        "title": one_line(_plain(cells.get("name", ""))),
        "description": as_text(text),
        "product_url": reading.page(f"/?p={own_id}"),
        "image_url": images[0] if images else "",
        "categories": _categories(cells.get("categories", "")),
    }


def _variant(cells: Mapping[str, str], reading: Reading) -> Variant:
    price = price_now(cells, reading)
    cost = price_of(cells.get("cost", ""), reading.separator)
    return Variant(
        price=None if price is None else price.amount,
        cost=None if cost is None else cost.amount,
        stock=whole_number(cells.get("stock", "")),
        availability=_STATUS.get(cells.get("status", "").strip().lower()),
    )


def _parent(cells: Mapping[str, str]) -> str:
    parent = _plain(cells.get("parent", "")).strip()
    if not parent:
        message = "a variation that names no parent"
        raise UnreadableOfferError(message)
    return parent


def _is_hidden(cells: Mapping[str, str]) -> bool:
    published = cells.get("published", "1").strip()
    visibility = cells.get("visibility", "").strip().lower()
    return published not in {"1", ""} or visibility == "hidden"


def _categories(cell: str) -> list[str]:
    return list(dict.fromkeys(level for path in _listed(cell) for level in levels(path)))


def _listed(cell: str) -> list[str]:
    parts = (part.replace("\\,", ",").strip() for part in _COMMA.split(_plain(cell)))
    return [part for part in parts if part]


def _plain(cell: str) -> str:
    return _FORMULA.sub("", cell)
