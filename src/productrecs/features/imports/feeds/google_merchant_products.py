"""Google Merchant feeds: one product or variant for each row, in XML or a table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from productrecs.core.csv_reader import CsvLayout
from productrecs.core.html_text import html_to_text, html_to_title
from productrecs.core.iso_dates import InvalidDateError, normalise_date_or_datetime
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
    ParsedPrice,
    attribute_values_by_name,
    category_levels,
    parse_gtin,
    parse_price,
    parse_stock,
)
from productrecs.records.catalog.availability import (
    Availability,
    UnknownAvailabilityError,
    parse_availability,
)


def _column_names(*names: str) -> tuple[str, ...]:
    """Return the names of a column: with and without Google's prefix."""
    return tuple(written for name in names for written in (f"g:{name}", name))


LAYOUT: Final = CsvLayout(
    columns=MappingProxyType(
        {
            "id": _column_names("id"),
            "group": _column_names("item_group_id"),
            "title": _column_names("title"),
            "description": _column_names("description", "summary", "content"),
            "link": _column_names("link"),
            "image": _column_names("image_link"),
            "price": _column_names("price"),
            "sale_price": _column_names("sale_price"),
            "sale_dates": _column_names("sale_price_effective_date"),
            "availability": _column_names("availability"),
            "stock": _column_names("quantity", "sell_on_google_quantity", "inventory"),
            "cost": _column_names("cost_of_goods_sold"),
            "mpn": _column_names("mpn"),
            "gtin": _column_names("gtin"),
            "type": _column_names("product_type"),
            "category": _column_names("google_product_category"),
            "expires": _column_names("expiration_date"),
            "brand": _column_names("brand"),
            "color": _column_names("color", "colour"),
            "size": _column_names("size"),
            "material": _column_names("material"),
            "pattern": _column_names("pattern"),
            "gender": _column_names("gender"),
        }
    ),
    required=("id",),
    example="id, title, description, link, image_link, price, availability, ...",
    prose=True,
)
"""Attributes by their Google names; blanks and `_` are ignored."""


PROVIDED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    dict.fromkeys(("list_price", *PLANNED_PRICE_FIELDS), ("price",))
)
"""The fields that an empty cell clears: without a sale price there is no sale."""

_ATTRIBUTES: Final = ("brand", "color", "size", "material", "pattern", "gender")


def read_offer(row: int, cells: Mapping[str, str], reading: FeedReadState) -> FeedOffer:
    """Return the offer of one row of a table, or one item of a feed.

    Raises:
        InvalidOfferError: when it has no id, or a value is invalid.
    """
    own_id, group = cells.get("id", "").strip(), cells.get("group", "").strip()
    if not own_id:
        message = "it has no id"
        raise InvalidOfferError(message)
    item_id = own_id if reading.each_variant or not group else group
    return FeedOffer(
        row=row,
        product=item_id,
        item_id=item_id,
        fields=_item_fields(cells),
        variant=_offered_variant(cells, reading),
        attributes=attribute_values_by_name(
            ((name.capitalize(), cells.get(name, "")) for name in _ATTRIBUTES), "/"
        ),
    )


def _item_fields(cells: Mapping[str, str]) -> dict[str, Value]:
    category = cells.get("category", "").strip()
    path = cells.get("type", "").strip() or ("" if category.isdigit() else category)
    return {
        "sku": cells.get("mpn", "").strip(),
        "gtin": parse_gtin(cells.get("gtin", "")),
        "title": html_to_title(cells.get("title", "")),
        "description": html_to_text(cells.get("description", "")),
        "product_url": cells.get("link", "").strip(),
        "image_url": cells.get("image", "").strip(),
        "categories": category_levels(path),
        "category_ids": [category] if category.isdigit() else [],
        "available_until": _parse_expiry(cells.get("expires", "")),
    }


def _offered_variant(cells: Mapping[str, str], reading: FeedReadState) -> OfferedVariant:
    price = _current_price(cells, reading)
    cost = parse_price(cells.get("cost", ""), reading.separator)
    return OfferedVariant(
        price=None if price is None else price.amount,
        list_price=None if price is None else price.regular,
        planned=None if price is None else price.planned,
        cost=None if cost is None else cost.amount,
        stock=parse_stock(cells.get("stock", "")),
        availability=_parse_availability(cells.get("availability", "").strip()),
    )


def _current_price(cells: Mapping[str, str], reading: FeedReadState) -> ParsedPrice | None:
    price = parse_price(cells.get("price", ""), reading.separator)
    if price is not None:
        reading.add_currency(price.currency)
    dates = cells.get("sale_dates", "").strip()
    start, slash, end = dates.partition("/")
    if dates and not slash:
        reading.add_unreadable_date(dates)
        return price
    sale = {
        "regular_price": cells.get("price", ""),
        "sale_price": cells.get("sale_price", ""),
        "sale_from": start,
        "sale_to": end,
    }
    return current_price(sale, reading)


def _parse_availability(text: str) -> Availability | None:
    try:
        return parse_availability(text) if text else None
    except UnknownAvailabilityError as error:
        raise InvalidOfferError(str(error)) from None


def _parse_expiry(text: str) -> str | None:
    try:
        return normalise_date_or_datetime(text) if text.strip() else None
    except InvalidDateError:
        message = f"expiration_date {text.strip()[:40]!r} is not a date such as 2026-12-31"
        raise InvalidOfferError(message) from None
