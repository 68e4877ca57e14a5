"""Shopify product CSV: the rows of one handle are its variants and pictures."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from productrecs.core.csv_reader import CsvLayout
from productrecs.core.html_text import html_to_text, html_to_title
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.product_grouping import (
    FeedOffer,
    OfferedVariant,
    Value,
)
from productrecs.features.imports.feeds.value_parsing import (
    InvalidOfferError,
    attribute_values_by_name,
    category_levels,
    parse_gtin,
    parse_price,
    parse_stock,
    with_regular_price,
)
from productrecs.records.catalog.availability import Availability

LAYOUT: Final = CsvLayout(
    columns=MappingProxyType(
        {  # the names since 2025, and the earlier ones
            "handle": ("URL handle", "Handle"),
            "title": ("Title",),
            "description": ("Description", "Body (HTML)"),
            "category": ("Product category",),
            "type": ("Type",),
            "published": ("Published on online store", "Published"),
            "status": ("Status",),
            "sku": ("SKU", "Variant SKU"),
            "vendor": ("Vendor",),
            "option": ("Option1 value",),
            "option_name": ("Option1 name",),
            "option2": ("Option2 value",),
            "option2_name": ("Option2 name",),
            "option3": ("Option3 value",),
            "option3_name": ("Option3 name",),
            "color": ("Color (product.metafields.shopify.color-pattern)",),
            "price": ("Price", "Variant Price"),
            "compare_at": (
                *("Compare-at price", "Compare at price", "Variant Compare At Price"),
            ),
            "barcode": ("Barcode", "Variant Barcode"),
            "cost": ("Cost per item",),
            "tracker": ("Inventory tracker", "Variant Inventory Tracker"),
            "stock": ("Inventory quantity", "Variant Inventory Qty"),
            "policy": ("Continue selling when out of stock", "Variant Inventory Policy"),
            "image": ("Product image URL", "Image Src"),
            "variant_image": ("Variant image URL", "Variant Image"),
        }
    ),
    required=("handle", "title"),
    example="Handle,Title,Variant Price,... or Title,URL handle,Price,...",
    prose=True,
)

PROVIDED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sku": ("sku",),
        "gtin": ("barcode",),
        "title": ("title",),
        "description": ("description",),
        "categories": ("category", "type"),
        "image_url": ("image", "variant_image"),
        "price": ("price",),
        "list_price": ("price",),
        "cost": ("cost",),
        "stock_qty": ("stock",),
        "availability": ("stock", "status", "published"),
    }
)
"""The fields of an item, and the columns of an export that hold them."""


_OPTIONS: Final = ("option", "option2", "option3")
_NO_OPTION: Final = "Default Title"


def read_offer(row: int, cells: Mapping[str, str], reading: FeedReadState) -> FeedOffer:
    """Return the offer of one row.

    Raises:
        InvalidOfferError: when it names no product, or its price is invalid.
    """
    handle = cells.get("handle", "").strip()
    if not handle:
        message = "the row has no handle"
        raise InvalidOfferError(message)
    title = html_to_title(cells.get("title", ""))
    fields: dict[str, Value] = {
        "sku": cells.get("sku", "").strip(),
        "gtin": parse_gtin(cells.get("barcode", "")),
        "title": title,
        "description": html_to_text(cells.get("description", "")),
        "product_url": reading.build_url(f"/products/{quote(handle)}"),
        "image_url": cells.get("image", "").strip()
        or cells.get("variant_image", "").strip(),
        "categories": _category_levels(cells),
    }
    return FeedOffer(
        row=row,
        product=handle,
        item_id=handle,
        is_main=bool(title),  # only the first row of a handle has a title
        is_hidden=_is_hidden(cells),
        fields=fields,
        variant=_offered_variant(cells, reading),
        attributes=_note_options_and_attribute_values(cells, reading, is_main=bool(title)),
    )


def _note_options_and_attribute_values(
    cells: Mapping[str, str], reading: FeedReadState, *, is_main: bool
) -> dict[str, list[str]]:
    """Return the vendor, the colour and the options by which variants differ.

    Only the first row of a handle names its options; the reading stores the names.
    """
    if is_main:
        reading.option_names = {
            option: cells.get(f"{option}_name", "") or option.capitalize()
            for option in _OPTIONS
        }
    attributes = [("Brand", cells.get("vendor", "")), ("Color", cells.get("color", ""))]
    for option in _OPTIONS:
        value = cells.get(option, "").strip()
        if value and value != _NO_OPTION:
            attributes.append((reading.option_names.get(option, option), value))
    return attribute_values_by_name(attributes, ";")


def _offered_variant(
    cells: Mapping[str, str], reading: FeedReadState
) -> OfferedVariant | None:
    """Return what a row sells; None when the row only adds a picture."""
    if not any(cells.get(name, "").strip() for name in ("price", "sku", "option")):
        return None
    price = parse_price(cells.get("price", ""), reading.separator)
    if price is not None:
        price = with_regular_price(
            price, parse_price(cells.get("compare_at", ""), reading.separator)
        )
    cost = parse_price(cells.get("cost", ""), reading.separator)
    stock = parse_stock(cells.get("stock", "")) if _is_tracked(cells) else None
    return OfferedVariant(
        price=None if price is None else price.amount,
        list_price=None if price is None else price.regular,
        cost=None if cost is None else cost.amount,
        stock=stock,
        availability=_availability(cells, stock),
    )


def _availability(cells: Mapping[str, str], stock: int | None) -> Availability:
    if stock is None or stock > 0:
        return Availability.IN_STOCK
    continues_selling = cells.get("policy", "").strip().lower() in {"continue", "true"}
    return Availability.BACKORDER if continues_selling else Availability.OUT_OF_STOCK


def _is_tracked(cells: Mapping[str, str]) -> bool:
    return "tracker" not in cells or bool(cells["tracker"].strip())


def _is_hidden(cells: Mapping[str, str]) -> bool:
    status = cells.get("status", "").strip().lower()
    published = cells.get("published", "").strip().lower()
    return status not in {"", "active"} or published == "false"


def _category_levels(cells: Mapping[str, str]) -> list[str]:
    path = category_levels(cells.get("category", ""))
    category = html_to_title(cells.get("type", ""))
    return path if not category or category in path else [*path, category]
