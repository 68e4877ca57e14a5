"""Product grouping: merges the rows (offers) of a feed into products with variants."""

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final
from zlib import crc32

import msgspec

from productrecs.core.iso_dates import (
    InvalidDateError,
    normalise_date_or_datetime,
    window_end_ms,
    window_start_ms,
)
from productrecs.core.timestamps import written_date_to_iso
from productrecs.features.imports.feeds.column_mapping import SYNONYMS
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.value_parsing import (
    ParsedPrice,
    PlannedPrice,
    parse_price,
    with_regular_price,
)
from productrecs.records.catalog.availability import Availability
from productrecs.schemas.items import (
    MAX_ATTRIBUTE_NAME,
    MAX_ATTRIBUTES,
    MAX_VALUE,
)

Value = str | list[str] | None

_JOINTS: Final = " -\u2013\u2014,;:/|("
_MAX_VALUES: Final = 30  # per attribute, such as the colours of all variants
PLANNED_PRICE_FIELDS: Final = (
    "planned_price",
    "planned_price_from",
    "planned_price_until",
)
"""The fields of a product that a `PlannedPrice` fills."""

_SHORTEST: Final = 3  # the shortest common title of several variants, in characters
_ATTRIBUTE_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms}
    | {"gtin, upc, ean, or isbn": "gtin"}
)
_SEPARATORS: Final = str.maketrans(":,", "  ")  # separators of names in URLs
_RANK: Final = MappingProxyType(
    {
        None: 0,
        Availability.IN_STOCK: 0,
        Availability.PREORDER: 1,
        Availability.BACKORDER: 1,
        Availability.OUT_OF_STOCK: 2,
        Availability.DISCONTINUED: 3,
    }
)


class OfferedVariant(msgspec.Struct, frozen=True):
    """The sellable variant of one row; None means unknown.

    If it is available, a `stock` of None means that stock is not tracked.
    """

    price: float | None = None
    cost: float | None = None
    stock: int | None = None
    availability: Availability | None = None
    list_price: float | None = None
    planned: PlannedPrice | None = None


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A rejected row, and why."""

    row: int
    message: str


class FeedOffer(msgspec.Struct, frozen=True):
    """One row of a feed. Rows with the same `product` are one product, `item_id`.

    `is_main` marks the row whose texts the product takes. `variant` is the variant of the
    row, `product_values` the data that a product states for all its variants. `fields` are
    an item's, and `attributes` its brand, colours and the like, by name.
    """

    row: int
    product: str
    item_id: str | None = None
    is_main: bool = True
    is_hidden: bool = False
    fields: dict[str, Value] = {}
    variant: OfferedVariant | None = None
    product_values: OfferedVariant | None = None
    attributes: dict[str, list[str]] = {}


@dataclass(slots=True)
class FeedProduct:
    """The merged rows of one product: many variants take the memory of one."""

    name: str  # the key that its rows share
    row: int
    rows: int = 0
    item_id: str | None = None
    is_hidden: bool = False
    attributes: dict[str, list[str]] = field(default_factory=dict)
    _title: str = ""  # the common beginning of the titles
    _main_offers: int = 0
    _main_fields: dict[str, Value] = field(default_factory=dict)
    _other_fields: dict[str, Value] = field(default_factory=dict)
    _shown: OfferedVariant | None = None
    _product: OfferedVariant | None = None
    _stock: int = 0
    _is_counted: bool = False
    _has_uncounted: bool = False

    def merge_offer(self, offer: FeedOffer) -> None:
        """Merge one more row."""
        self.rows += 1
        self.item_id = self.item_id or offer.item_id
        if offer.is_main:
            self._apply_main_offer(offer)
        fields = self._main_fields if offer.is_main else self._other_fields
        for name, value in offer.fields.items():
            if value and not fields.get(name):
                fields[name] = value
        for name, values in offer.attributes.items():
            attribute_values = self.attributes.setdefault(name, [])
            new_values = [value for value in values if value not in attribute_values]
            attribute_values += new_values[: _MAX_VALUES - len(attribute_values)]
        if offer.variant is not None:
            self._add_variant(offer.variant)

    def item_fields(self) -> dict[str, object]:
        """Return the item of all rows, by field; empty fields are omitted.

        Its price is that of the cheapest variant with the best availability; its stock
        is the sum over all variants, if the stock of every available one is tracked.
        """
        fields: dict[str, object] = {
            **attributes_to_item_fields(self.attributes),
            **self._other_fields,
            **self._main_fields,
        }
        title = self._title.rstrip(_JOINTS)
        if self._main_offers > 1 and len(title) >= _SHORTEST:
            fields["title"] = title  # "Shirt - Red, M" and "Shirt - Red, L": "Shirt - Red"
        shown = self._shown or self._product or OfferedVariant()
        is_counted = self._is_counted and not self._has_uncounted
        stock = self._stock if is_counted else None
        if self._product is not None and self._product.stock is not None:
            stock = self._product.stock
        sale_fields: dict[str, object] = {
            "price": shown.price,
            "list_price": shown.list_price,
            "cost": shown.cost,
            "stock_qty": stock,
            "availability": shown.availability,
        }
        if shown.planned is not None:
            sale_fields |= dict(zip(PLANNED_PRICE_FIELDS, shown.planned, strict=True))
        return fields | {
            name: value for name, value in sale_fields.items() if value is not None
        }

    def _apply_main_offer(self, offer: FeedOffer) -> None:
        title = offer.fields.get("title")
        if isinstance(title, str):
            self._title = (
                _common_beginning(self._title, title) if self._main_offers else title
            )
        if not self._main_offers:
            self.is_hidden, self._product = offer.is_hidden, offer.product_values
        self._main_offers += 1

    def _add_variant(self, variant: OfferedVariant) -> None:
        if variant.stock is not None:
            # A negative stock of one variant does not reduce the stock of another.
            self._stock = (
                max(self._stock, 0) + max(variant.stock, 0)
                if self._is_counted
                else variant.stock
            )
            self._is_counted = True
        elif _RANK[variant.availability] < _RANK[Availability.OUT_OF_STOCK]:
            self._has_uncounted = True
        if self._shown is None or _variant_rank(variant) < _variant_rank(self._shown):
            self._shown = variant


def _variant_rank(variant: OfferedVariant) -> tuple[int, bool, float]:
    price = variant.price
    return _RANK[variant.availability], price is None, price or 0.0


def _common_beginning(title: str, other: str) -> str:
    """Return the longest common beginning, in whole words."""
    common = []
    for left_word, right in zip(title.split(), other.split(), strict=False):
        if left_word != right:
            break
        common.append(left_word)
    return " ".join(common)


_SHORT_HOUR: Final = re.compile(r"^(\d{4}-\d{2}-\d{2})[ T](\d):")


def attributes_to_item_fields(attributes: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return attributes, by the names that shops give them, as the fields of an item."""
    fields: dict[str, object] = {}
    other_attributes: dict[str, list[str]] = {}
    for name, texts in attributes.items():
        field_name = _ATTRIBUTE_FIELDS.get(name.casefold())
        values = [text[:MAX_VALUE] for text in texts]
        if field_name in {"brand", "gtin"}:
            fields.setdefault(field_name, values[0])
        elif field_name is not None:
            fields.setdefault(field_name, values)
        elif len(other_attributes) < MAX_ATTRIBUTES:
            simplified = " ".join(name.translate(_SEPARATORS).split())
            other_attributes.setdefault(simplified[:MAX_ATTRIBUTE_NAME], values)
    return fields | ({"attributes": other_attributes} if other_attributes else {})


def current_price(
    cells: Mapping[str, str],
    reading: FeedReadState,
    as_iso: Callable[[str], str] = str.strip,
    parse: Callable[[str, FeedReadState], ParsedPrice | None] | None = None,
) -> ParsedPrice | None:
    """Return the sale price while it is valid, else the regular one, or None.

    A valid sale price names the regular one; both name the days of the sale.

    `as_iso` converts a date of the file to a form that `normalise_date_or_datetime` reads,
    and `parse` parses a price. With an unreadable date the regular price applies and the
    reading records it.

    Raises:
        InvalidOfferError: when a price is invalid.
    """
    regular, sale = (
        parse_price(cells.get(name, ""), reading.separator)
        if parse is None
        else parse(cells.get(name, ""), reading)
        for name in ("regular_price", "sale_price")
    )
    if sale is None:
        return regular
    try:
        sale_start = _parse_sale_time(as_iso(cells.get("sale_from", "")))
        sale_end = _parse_sale_time(as_iso(cells.get("sale_to", "")))
    except InvalidDateError as error:
        reading.add_unreadable_date(str(error))
        return sale if regular is None else regular
    if sale_end and reading.now_ms > window_end_ms(sale_end, reading.zone):
        return regular
    planned = PlannedPrice(sale.amount, sale_start, sale_end) if sale_start else None
    if sale_start and window_start_ms(sale_start, reading.zone) > reading.now_ms:
        return None if regular is None else regular._replace(planned=planned)
    return with_regular_price(sale, regular)._replace(planned=planned)


def _parse_sale_time(text: str) -> str | None:
    """Return a date or a time, normalised; None for a blank.

    Raises:
        InvalidDateError: with the text itself, when it is neither.
    """
    if not text:
        return None
    padded = _SHORT_HOUR.sub(r"\1T0\2:", text)  # WooCommerce writes 2026-11-28 4:52:08
    try:
        return normalise_date_or_datetime(written_date_to_iso(padded) or padded)
    except InvalidDateError:
        raise InvalidDateError(text) from None


PARTITION_BYTES: Final = 8 << 20
"""The most bytes of a file whose products are held in memory."""
_MAX_PARTITIONS: Final = 256


def merge_offers_by_product(
    offers: Iterable[FeedOffer | RejectedRow], file_bytes: int, folder: Path
) -> Iterator[FeedProduct | RejectedRow]:
    """Yield the products of the offers; for a small file in order of appearance.

    Rejected rows are passed on at once. Parts of a file of many bytes are stored below
    `folder`.
    """
    partitions = min(file_bytes // PARTITION_BYTES + 1, _MAX_PARTITIONS)
    if partitions == 1:
        yield from _merge_offers_in_memory(offers)
        return
    with contextlib.ExitStack() as stack:
        files: list[BinaryIO] = [
            stack.enter_context(tempfile.TemporaryFile(dir=folder))
            for _ in range(partitions)
        ]
        for offer in offers:
            if isinstance(offer, RejectedRow):
                yield offer
                continue
            partition = crc32(offer.product.encode("utf-8", "surrogatepass")) % partitions
            files[partition].write(msgspec.json.encode(offer) + b"\n")
        for file in files:
            file.seek(0)
            yield from _merge_offers_in_memory(
                msgspec.json.decode(line, type=FeedOffer) for line in file
            )
            file.close()


def _merge_offers_in_memory(
    offers: Iterable[FeedOffer | RejectedRow],
) -> Iterator[FeedProduct | RejectedRow]:
    products: dict[str, FeedProduct] = {}
    for offer in offers:
        if isinstance(offer, RejectedRow):
            yield offer
            continue
        product = products.get(offer.product)
        if product is None:
            product = products[offer.product] = FeedProduct(offer.product, offer.row)
        product.merge_offer(offer)
    yield from products.values()
