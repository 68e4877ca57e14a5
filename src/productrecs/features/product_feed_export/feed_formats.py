"""Feed formats: products as Google Merchant XML, Meta CSV and OpenAI JSON lines.

Fields, values and lengths follow the published rules: Google's product data specification,
Meta's catalog fields, and the Agentic Commerce Protocol's `schema.feed.json` (2026-04-17).
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape

import msgspec

from productrecs.core.csv_writer import CsvWriter
from productrecs.core.currency_digits import digits_after_point
from productrecs.features.product_feed_export.feed_entries import FeedFormat
from productrecs.records.catalog.availability import Availability, is_buyable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from productrecs.features.product_feed_export.feed_entries import FeedEntry

_NOT_IN_XML: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF))
_META_AVAILABILITY: Final[Mapping[Availability, str]] = {
    Availability.IN_STOCK: "in stock",
    Availability.OUT_OF_STOCK: "out of stock",
    Availability.PREORDER: "preorder",
    Availability.BACKORDER: "available for order",
}
_LATER: Final = frozenset({Availability.PREORDER, Availability.BACKORDER})
_DATE_ATTRIBUTE: Final = "availability_date"
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?")
_MAX_COLOURS: Final = 3
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class FeedSeller:
    """What a feed says of the store itself."""

    name: str
    url: str
    currency: str

    @property
    def minor_digits(self) -> int:
        """The digits after the point of its prices."""
        return digits_after_point(self.currency)

    def price(self, amount: float) -> str:
        """Return a price as feeds write it: `12.90 EUR`."""
        return f"{amount:.{self.minor_digits}f} {self.currency}"


Fields = dict[str, str]


def _google_and_meta_fields(product: FeedEntry, seller: FeedSeller) -> Fields:
    """Return the fields that Google and Meta name alike, at Google's lengths."""
    item, labels = product.item, product.labels
    usual = product.price if product.list_price is None else product.list_price
    return {
        "id": item.item_id,
        "title": product.title[:150],
        "description": product.description[:5000],
        "availability": product.availability.value,
        "condition": "new",
        "price": seller.price(usual),
        "sale_price": "" if product.list_price is None else seller.price(product.price),
        "link": product.page,
        "image_link": product.picture,
        "brand": (item.brand or "")[:70],
        "gtin": product.gtin,
        "mpn": (item.sku or "")[:70],
        "item_group_id": product.group,
        "product_type": product.category[:750],
        "color": "/".join(item.color[:_MAX_COLOURS])[:100],
        "size": item.size[0][:100] if len(item.size) == 1 else "",
        "material": "/".join(item.material[:_MAX_COLOURS])[:200],
        "custom_label_0": labels.sales,
        "custom_label_1": labels.stock,
        "custom_label_2": labels.margin,
    }


def _google_lines(products: Iterable[FeedEntry], seller: FeedSeller) -> Iterator[str]:
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel>\n'
        f"<title>{_xml(seller.name)}</title><link>{_xml(seller.url)}</link>"
        f"<description>{_xml(seller.name)}</description>\n"
    )
    for product in products:
        fields = _google_and_meta_fields(product, seller)
        if product.availability in _LATER:  # Google wants to know from when
            fields["availability_date"] = _availability_date(product)
            if not fields["availability_date"]:
                fields["availability"] = Availability.OUT_OF_STOCK.value
        if not fields["gtin"] and not (fields["brand"] and fields["mpn"]):
            fields["identifier_exists"] = "no"
        cells = [
            f"<g:{name}>{_xml(text)}</g:{name}>" for name, text in fields.items() if text
        ]
        yield f"<item>{''.join(cells)}</item>\n"
    yield "</channel></rss>\n"


def _availability_date(product: FeedEntry) -> str:
    """Return the product's attribute of that name, if it is a date."""
    values = dict(product.item.attributes).get(_DATE_ATTRIBUTE, ())
    return next(filter(_DATE.fullmatch, values), "")


def _xml(text: str) -> str:
    return escape(text.translate(_NOT_IN_XML))


_META_FIELDS: Final = (
    *("id", "title", "description", "availability", "condition", "price", "sale_price"),
    *("link", "image_link", "brand", "gtin", "mpn", "item_group_id", "product_type"),
    *("color", "size", "material", "custom_label_0", "custom_label_1", "custom_label_2"),
)


def _meta_lines(products: Iterable[FeedEntry], seller: FeedSeller) -> Iterator[str]:
    line = io.StringIO()
    writer = CsvWriter(line, _META_FIELDS, escapes_formulas=False)
    for product in products:
        fields = _google_and_meta_fields(product, seller)
        fields["availability"] = _META_AVAILABILITY[product.availability]
        writer.write(fields[name] for name in _META_FIELDS)
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()  # the names alone, if there was no product


def _openai_lines(products: Iterable[FeedEntry], seller: FeedSeller) -> Iterator[str]:
    for _, variants in groupby(
        products, lambda product: product.group or product.item.item_id
    ):
        yield _encode(_openai_product(list(variants), seller)).decode() + "\n"


def _openai_product(variants: list[FeedEntry], seller: FeedSeller) -> dict[str, Any]:
    first = variants[0]
    return {
        "id": first.group or first.item.item_id,
        "title": first.title,
        "description": {"plain": first.description},
        "url": first.page,
        "media": [_image(first)],
        "variants": [_openai_variant(variant, seller) for variant in variants],
    }


def _image(product: FeedEntry) -> dict[str, str]:
    return {"type": "image", "url": product.picture, "alt_text": product.title}


def _openai_variant(product: FeedEntry, seller: FeedSeller) -> dict[str, Any]:
    item = product.item

    def price(amount: float) -> dict[str, Any]:
        minor_units = round(amount * 10**seller.minor_digits)
        return {"amount": minor_units, "currency": seller.currency}

    variant: dict[str, Any] = {
        "id": item.item_id,
        "title": product.title,
        "description": {"plain": product.description},
        "url": product.page,
        "price": price(product.price),
        "availability": {
            "available": is_buyable(product.availability),
            "status": product.availability.value,
        },
        "condition": ["new"],
        "variant_options": [
            {"name": name, "value": values[0]}
            for name, values in (("Color", item.color), ("Size", item.size))
            if len(values) == 1
        ],
        "media": [_image(product)],
        "seller": {"name": seller.name},
    }
    if product.list_price is not None:
        variant["list_price"] = price(product.list_price)
    if product.gtin:
        variant["barcodes"] = [{"type": "GTIN", "value": product.gtin}]
    if product.category:
        variant["categories"] = [{"value": product.category, "taxonomy": "merchant"}]
    return variant


@dataclass(frozen=True, slots=True)
class _FeedFormatRules:
    """How a feed is written, and what its rules limit."""

    media_type: str
    longest_id: int
    lines: Callable[[Iterable[FeedEntry], FeedSeller], Iterator[str]]


_FORMATS: Final[Mapping[FeedFormat, _FeedFormatRules]] = {
    FeedFormat.GOOGLE: _FeedFormatRules("application/xml", 50, _google_lines),
    FeedFormat.META: _FeedFormatRules("text/csv; charset=utf-8", 100, _meta_lines),
    FeedFormat.OPENAI: _FeedFormatRules("application/jsonl", 255, _openai_lines),
}


def media_type(feed: FeedFormat) -> str:
    """Return the content type of a feed."""
    return _FORMATS[feed].media_type


def longest_id(feed: FeedFormat) -> int:
    """Return how many characters a product's id may have in a feed."""
    return _FORMATS[feed].longest_id


def feed_lines(
    feed: FeedFormat, products: Iterable[FeedEntry], seller: FeedSeller
) -> Iterator[str]:
    """Yield the text of a feed, line by line; variants of a product come together."""
    return _FORMATS[feed].lines(products, seller)
