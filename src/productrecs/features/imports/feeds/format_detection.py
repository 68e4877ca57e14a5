"""Format detection: recognises the format of an item file by its content."""

import codecs
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import BinaryIO, Final

from productrecs.core.csv_reader import (
    CsvLayout,
    MissingColumnsError,
    decode_head,
    read_head,
    read_header,
)
from productrecs.core.errors import ProductRecsError
from productrecs.features.imports.feeds import (
    google_merchant_products,
    magento_products,
    shopify_products,
    woocommerce_products,
)
from productrecs.features.imports.feeds.column_mapping import SYNONYMS
from productrecs.features.imports.feeds.column_synonyms import item_column_names
from productrecs.features.imports.feeds.woocommerce_products import LAYOUT
from productrecs.records.catalog.item import FIELD_DEFAULTS
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError

CATALOG: Final = CsvLayout(
    columns=MappingProxyType(
        {**{name: (name,) for name in ("id", *FIELD_DEFAULTS)}, **SYNONYMS}
    ),
    required=("id",),
    example="id,title,price,categories,... (the item's fields; | between categories)",
    prose=True,
)


NAMED_CATALOG: Final = replace(CATALOG, columns=item_column_names(tuple(CATALOG.columns)))
"""A catalog whose columns have the names of shop systems and of other languages.

Exports of known systems are detected first: they have such names too.
"""


class ItemFileFormat(StrEnum):
    """The supported formats of item files."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    WOOCOMMERCE = "woocommerce"
    SHOPIFY = "shopify"
    MAGENTO = "magento"
    GOOGLE = "google"


FORMAT_TITLES: Final[Mapping[ItemFileFormat, str]] = MappingProxyType(
    {
        ItemFileFormat.WOOCOMMERCE: "a WooCommerce export",
        ItemFileFormat.SHOPIFY: "a Shopify export",
        ItemFileFormat.MAGENTO: "a Magento export",
        ItemFileFormat.GOOGLE: "a Google Merchant feed",
    }
)


class UnknownItemFormatError(ProductRecsError):
    """The format of the file could not be detected."""


_ENDINGS: Final = MappingProxyType(
    {".json": ItemFileFormat.JSON, ".jsonl": ItemFileFormat.JSONL}
)
# Each format has one of these columns.
_SIGNS: Final[Mapping[ItemFileFormat, tuple[CsvLayout, frozenset[str]]]] = MappingProxyType(
    {
        ItemFileFormat.CSV: (CATALOG, frozenset({"id"})),
        ItemFileFormat.SHOPIFY: (
            shopify_products.LAYOUT,
            frozenset(shopify_products.LAYOUT.columns)
            - {*shopify_products.LAYOUT.required},
        ),
        ItemFileFormat.MAGENTO: (
            magento_products.LAYOUT,
            frozenset({"set", "type", "view", "path", "image", "variations", "online"}),
        ),
        ItemFileFormat.GOOGLE: (
            google_merchant_products.LAYOUT,
            frozenset({"link", "image", "group", "type", "category", "sale_dates"}),
        ),
        ItemFileFormat.WOOCOMMERCE: (
            LAYOUT,
            frozenset(LAYOUT.columns)
            - {*("id", "sku", "name", "description", "stock", "categories", "cost")},
        ),
    }
)
# Enough known columns to detect an export without a marker column.
_MIN_KNOWN_COLUMNS: Final = 3


def detect_item_format(file: BinaryIO, ending: str) -> ItemFileFormat:
    """Return the format of a file: JSON by its `ending`, others by their content.

    Raises:
        UnknownItemFormatError: when it cannot be detected.
    """
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    head = read_head(file)
    start = _first_character(head)
    if start in ("[", "{"):
        return ItemFileFormat.JSONL if _is_json_lines(head) else ItemFileFormat.JSON
    return ItemFileFormat.GOOGLE if start == "<" else _detect_table_format(head)


def is_xml(file: BinaryIO) -> bool:
    """Return whether the file starts like XML."""
    return _first_character(read_head(file)) == "<"


def _first_character(head: bytes) -> str:
    """Return the first character that is not a blank."""
    return decode_head(head).lstrip()[:1]


def _is_json_lines(head: bytes) -> bool:
    first = head.lstrip(codecs.BOM_UTF8 + b" \t\r\n").split(b"\n", 1)[0]
    try:
        value = parse_json(first)
    except InvalidInputError:
        return False  # the value spans several lines
    return isinstance(value, dict) and "id" in value


def _detect_table_format(head: bytes) -> ItemFileFormat:
    """Return the format with most known columns of a table; on a tie, the first."""
    if woocommerce_products.columns_by_position_of_full_export(head) is not None:
        return ItemFileFormat.WOOCOMMERCE
    known_counts = {kind: _known_column_count(head, kind) for kind in _SIGNS}
    best = max(known_counts, key=lambda kind: known_counts[kind])
    if known_counts[best]:
        return best
    try:
        read_header(head, NAMED_CATALOG)
    except MissingColumnsError as error:
        message = (
            f"{error}; exports of WooCommerce, Shopify and Magento and Google Merchant "
            "feeds are detected by their columns, or set --format; for any other table, "
            "map its columns with --mapping"
        )
        raise UnknownItemFormatError(message) from None
    return ItemFileFormat.CSV


def _known_column_count(head: bytes, kind: ItemFileFormat) -> int:
    """Return how many columns of a table a format knows; 0 if it cannot be that format."""
    layout, signs = _SIGNS[kind]
    try:
        header = read_header(head, layout)
    except MissingColumnsError:
        return 0
    columns = header.columns
    if kind is ItemFileFormat.WOOCOMMERCE:
        if not woocommerce_products.names_products(columns):
            return 0
        if len(columns) == header.width >= _MIN_KNOWN_COLUMNS:
            return len(columns)
    return len(columns) if columns.keys() & signs else 0
