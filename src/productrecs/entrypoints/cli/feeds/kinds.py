"""Which program wrote this file of items? Told by how it begins, whatever its name is."""

import codecs
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import BinaryIO, Final

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.cli.feeds import google, magento, shopify, woocommerce
from productrecs.entrypoints.http.bodies import parse_json
from productrecs.entrypoints.http.schemas.problems import BodyError
from productrecs.records.catalog.item import FIELD_DEFAULTS
from productrecs.records.orders.csv_format import (
    HEAD,
    Layout,
    MissingColumnsError,
    decoded,
    read_header,
)

CATALOG: Final = Layout(
    columns=MappingProxyType({name: (name,) for name in ("id", *FIELD_DEFAULTS)}),
    required=("id",),
    example="id,title,price,categories,... (the item's fields; | between categories)",
    prose=True,
)


class Kind(StrEnum):
    """The kinds of files that items come in."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    WOOCOMMERCE = "woocommerce"
    SHOPIFY = "shopify"
    MAGENTO = "magento"
    GOOGLE = "google"


class UnknownFileKindError(ProductRecsError):
    """Nothing in the file tells what it is."""


_ENDINGS: Final = MappingProxyType({".json": Kind.JSON, ".jsonl": Kind.JSONL})
_OURS: Final = frozenset(FIELD_DEFAULTS) - {
    *("title", "price", "availability", "description", "sku", "cost", "categories")
}
# Beside its required columns a file of the kind has some of these.
_SIGNS: Final[Mapping[Kind, tuple[Layout, frozenset[str], int]]] = MappingProxyType(
    {
        Kind.CSV: (CATALOG, _OURS, 1),
        Kind.SHOPIFY: (
            shopify.LAYOUT,
            frozenset(shopify.LAYOUT.columns) - {*shopify.LAYOUT.required},
            1,
        ),
        Kind.MAGENTO: (
            magento.LAYOUT,
            frozenset({"set", "type", "view", "path", "image", "variations", "online"}),
            2,
        ),
        Kind.GOOGLE: (
            google.LAYOUT,
            frozenset({"link", "image", "group", "type", "category", "sale_dates"}),
            1,
        ),
        Kind.WOOCOMMERCE: (
            woocommerce.LAYOUT,
            frozenset(woocommerce.LAYOUT.columns)
            - {*("id", "sku", "name", "description", "stock", "categories", "cost")},
            2,
        ),
    }
)


def recognise(file: BinaryIO, ending: str) -> Kind:
    """Return the kind of a file: of JSON by its `ending`, of all else by its content.

    Raises:
        UnknownFileKindError: when nothing tells it.
    """
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    file.seek(0)
    head = file.read(HEAD)
    start = _start(head)
    if start in ("[", "{"):
        return Kind.JSONL if _is_lines(head) else Kind.JSON
    return Kind.GOOGLE if start == "<" else _table(head)


def is_xml(file: BinaryIO) -> bool:
    """Return whether the file begins as XML does."""
    file.seek(0)
    return _start(file.read(HEAD)) == "<"


def _start(head: bytes) -> str:
    """Return the first character that is no blank."""
    return decoded(head).lstrip()[:1]


def _is_lines(head: bytes) -> bool:
    first = head.lstrip(codecs.BOM_UTF8 + b" \t\r\n").split(b"\n", 1)[0]
    try:
        value = parse_json(first)
    except BodyError:
        return False  # it goes on over the next lines
    return isinstance(value, dict) and "id" in value


def _table(head: bytes) -> Kind:
    for kind, (layout, signs, wanted) in _SIGNS.items():
        try:
            found = read_header(head, layout).columns
        except MissingColumnsError:
            continue
        if len(found.keys() & signs) >= wanted:
            return kind
    try:
        read_header(head, CATALOG)
    except MissingColumnsError as error:
        message = (
            f"{error}; exports of WooCommerce, Shopify and Magento and Google Merchant "
            "feeds are known by their columns, or named with --format; for any other table "
            "--mapping says which column is what"
        )
        raise UnknownFileKindError(message) from None
    return Kind.CSV if woocommerce.columns_by_place(head) is None else Kind.WOOCOMMERCE
