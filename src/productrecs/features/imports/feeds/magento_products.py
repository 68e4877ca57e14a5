"""Magento product CSV: the row of a product names its variations."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from productrecs.core.csv_reader import CsvLayout
from productrecs.core.html_text import html_to_text, html_to_title
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.product_grouping import (
    PLANNED_PRICE_FIELDS,
    FeedOffer,
    OfferedVariant,
    Value,
    current_price,
)
from productrecs.features.imports.feeds.value_parsing import (
    InvalidOfferError,
    attribute_values_by_name,
    category_levels,
    parse_gtin,
    parse_price,
    parse_stock,
)
from productrecs.records.catalog.availability import Availability

LAYOUT: Final = CsvLayout(
    columns=MappingProxyType(
        {
            "sku": ("sku",),
            "view": ("store_view_code",),
            "set": ("attribute_set_code",),
            "type": ("product_type",),
            "categories": ("categories",),
            "name": ("name",),
            "description": ("description",),
            "short": ("short_description",),
            "online": ("product_online",),
            "visibility": ("visibility",),
            "regular_price": ("price",),
            "sale_price": ("special_price",),
            "sale_from": ("special_price_from_date",),
            "sale_to": ("special_price_to_date",),
            "cost": ("cost",),
            "gtin": ("gtin", "ean", "upc", "isbn", "barcode"),
            "path": ("url_key",),
            "image": ("base_image",),
            "stock": ("qty",),
            "status": ("is_in_stock",),
            "counted": ("manage_stock",),
            "backorders": ("allow_backorders",),
            "variations": ("configurable_variations",),
            "attributes": ("additional_attributes",),
            "brand": ("brand", "manufacturer"),
            "color": ("color", "colour"),
        }
    ),
    required=("sku",),
    example="sku,store_view_code,attribute_set_code,product_type,categories,name,...",
    prose=True,
)

PROVIDED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "title": ("name",),
        "gtin": ("gtin",),
        "description": ("description", "short"),
        "categories": ("categories",),
        "image_url": ("image",),
        "price": ("regular_price",),
        "list_price": ("regular_price",),
        **dict.fromkeys(PLANNED_PRICE_FIELDS, ("regular_price",)),
        "cost": ("cost",),
        "stock_qty": ("stock",),
        "availability": ("status", "online", "visibility"),
    }
)
"""The fields of an item, and the columns of an export that hold them."""

_COMPOSED: Final = frozenset({"configurable", "grouped", "bundle"})
_NOT_VISIBLE: Final = "not visible individually"
_DISABLED: Final = "2"
_NO_IMAGE: Final = "no_selection"
_VARIATION: Final = re.compile(r"(?:^|\|)\s*sku=([^,|]+)")
_DATE: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})\b")
_LAST_MONTH: Final = 12
_ATTRIBUTE: Final = re.compile(r"(?:^|,)([A-Za-z]\w*)=(.*?)(?=,[A-Za-z]\w*=|$)", re.DOTALL)
_YES_NO_VALUES: Final = frozenset({"", "0", "1", "yes", "no"})  # useless for search
_LABELS: Final = MappingProxyType({"manufacturer": "Brand", "brand": "Brand"})


def collect_parents_of_variations(
    read_rows: Callable[[], Iterable[Mapping[str, str]]], reading: FeedReadState
) -> None:
    """Record the parent of each variation, which only the parent's row names."""
    for cells in read_rows():
        if cells.get("view", "").strip():
            continue
        parent = cells.get("sku", "").strip()
        for sku in _VARIATION.findall(cells.get("variations", "")):
            reading.parents[sku.strip()] = parent


def read_offer(row: int, cells: Mapping[str, str], reading: FeedReadState) -> FeedOffer:
    """Return the offer of one row; a row of a store view joins its product.

    Raises:
        InvalidOfferError: when it names no product, or its price is invalid.
    """
    sku = cells.get("sku", "").strip()
    if not sku:
        message = "the row has no sku"
        raise InvalidOfferError(message)
    product = reading.parents.get(sku, sku)
    if cells.get("view", "").strip():
        return FeedOffer(row=row, product=product, is_main=False)
    is_variation = product != sku
    is_disabled = cells.get("online", "").strip() == _DISABLED
    is_composed = cells.get("type", "").strip().lower() in _COMPOSED
    sold = _offered_variant(cells, reading)
    return FeedOffer(
        row=row,
        product=product,
        item_id=None if is_variation else sku,
        is_main=not is_variation,
        is_hidden=is_disabled
        or cells.get("visibility", "").strip().lower() == _NOT_VISIBLE,
        fields=_item_fields(cells, sku, reading),
        variant=None if is_composed or (is_variation and is_disabled) else sold,
        product_values=sold if is_composed else None,
        attributes={} if is_variation and is_disabled else _attributes(cells),
    )


def _attributes(cells: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the attributes in `color=Red|Blue,manufacturer=Acme` and in own columns."""
    attributes = [("Brand", cells.get("brand", "")), ("Color", cells.get("color", ""))]
    attributes += (
        (_LABELS.get(name, name.replace("_", " ").capitalize()), value)
        for name, value in _ATTRIBUTE.findall(cells.get("attributes", ""))
        if value.strip().lower() not in _YES_NO_VALUES
    )
    return attribute_values_by_name(attributes, "|")


def _item_fields(
    cells: Mapping[str, str], sku: str, reading: FeedReadState
) -> dict[str, Value]:
    long, short = cells.get("description", ""), cells.get("short", "")
    path = cells.get("path", "").strip()
    return {
        "sku": sku,
        "gtin": parse_gtin(cells.get("gtin", "")),
        "title": html_to_title(cells.get("name", "")),
        "description": html_to_text(long if long.strip() else short),
        "product_url": reading.build_url(f"/{quote(path)}.html") if path else "",
        "image_url": _image_url(cells.get("image", "").strip(), reading),
        "categories": _category_levels(cells.get("categories", "").strip()),
    }


def _image_url(path: str, reading: FeedReadState) -> str:
    if not path or path == _NO_IMAGE or path.startswith(("http://", "https://")):
        return "" if path == _NO_IMAGE else path
    return reading.build_url(f"/media/catalog/product/{quote(path.lstrip('/'))}")


def _category_levels(cell: str) -> list[str]:
    """Return the levels of each path, without the root category that shops hide."""
    root = re.escape(cell.partition("/")[0].partition(",")[0])
    paths = re.split(rf"[,|](?={root}(?:[/,|]|$))", cell) if root else []
    below = (path.partition("/")[2].replace("/", " > ") for path in paths)
    return list(dict.fromkeys(level for path in below for level in category_levels(path)))


def _offered_variant(cells: Mapping[str, str], reading: FeedReadState) -> OfferedVariant:
    price = current_price(cells, reading, _us_date_to_iso)
    cost = parse_price(cells.get("cost", ""), reading.separator)
    is_counted = cells.get("counted", "1").strip() != "0"
    stock = parse_stock(cells.get("stock", "")) if is_counted else None
    is_composed = cells.get("type", "").strip().lower() in _COMPOSED
    return OfferedVariant(
        price=None if price is None else price.amount or None,
        list_price=None if price is None else price.regular,
        planned=None if price is None else price.planned,
        cost=None if cost is None else cost.amount,
        stock=None if is_composed else stock,
        availability=_availability(cells, stock),
    )


def _availability(cells: Mapping[str, str], stock: int | None) -> Availability | None:
    status = cells.get("status", "").strip()
    if not status:
        return None
    if status == "0":
        return Availability.OUT_OF_STOCK
    allows_backorders = cells.get("backorders", "0").strip() not in {"", "0"}
    is_sold_out = stock is not None and stock <= 0
    return (
        Availability.BACKORDER
        if allows_backorders and is_sold_out
        else Availability.IN_STOCK
    )


def _us_date_to_iso(text: str) -> str:
    """Return an ISO date for one such as `11/21/26`; anything else unchanged."""
    stripped = text.strip()
    slashed = _DATE.match(stripped)
    if slashed is None:
        return stripped
    month, day, year = (int(part) for part in slashed.groups())
    if month > _LAST_MONTH:  # day first
        month, day = day, month
    return f"{year % 100 + 2000}-{month:02}-{day:02}"
