"""Offer: one sellable product of a feed, its sale price and its variant group."""

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

from productrecs.core.clock import written_date_to_iso
from productrecs.core.time_window import (
    InvalidDateError,
    normalise_timestamp,
    window_end_ms,
    window_start_ms,
)
from productrecs.entrypoints.cli.feeds.column_mapping import SYNONYMS
from productrecs.entrypoints.cli.feeds.value_parsing import (
    FeedReading,
    Price,
    on_sale,
    parse_price,
)
from productrecs.entrypoints.http.schemas.items import (
    MAX_ATTRIBUTE_NAME,
    MAX_ATTRIBUTES,
    MAX_VALUE,
)
from productrecs.records.catalog.availability import Availability

Value = str | list[str] | None

_JOINTS: Final = " -\u2013\u2014,;:/|("
_MOST_VALUES: Final = 30  # per attribute, such as the colours of all variants
_SHORTEST: Final = 3  # the shortest common title of several variants, in characters
_ATTRIBUTE_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {one: name for name, synonyms in SYNONYMS.items() for one in synonyms}
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


class Variant(msgspec.Struct, frozen=True):
    """The sellable variant of one row; None means unknown.

    If it is available, a `stock` of None means that stock is not tracked.
    """

    price: float | None = None
    cost: float | None = None
    stock: int | None = None
    availability: Availability | None = None
    list_price: float | None = None


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A rejected row, and why."""

    row: int
    message: str


class Offer(msgspec.Struct, frozen=True):
    """One row of a feed. Rows with the same `product` are one product, `item_id`.

    `leads` marks the row whose texts the product takes. `part` is the variant of the row,
    `whole` the data that a product states for all its variants. `fields` are an item's, and
    `attributes` its brand, colours and the like, by name.
    """

    row: int
    product: str
    item_id: str | None = None
    leads: bool = True
    is_hidden: bool = False
    fields: dict[str, Value] = {}
    part: Variant | None = None
    whole: Variant | None = None
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
    _leads: int = 0
    _own: dict[str, Value] = field(default_factory=dict)
    _others: dict[str, Value] = field(default_factory=dict)
    _shown: Variant | None = None
    _whole: Variant | None = None
    _stock: int = 0
    _is_counted: bool = False
    _has_uncounted: bool = False

    def add(self, offer: Offer) -> None:
        """Merge one more row."""
        self.rows += 1
        self.item_id = self.item_id or offer.item_id
        if offer.leads:
            self._lead(offer)
        own = self._own if offer.leads else self._others
        for name, value in offer.fields.items():
            if value and not own.get(name):
                own[name] = value
        for name, values in offer.attributes.items():
            known = self.attributes.setdefault(name, [])
            fresh = [value for value in values if value not in known]
            known += fresh[: _MOST_VALUES - len(known)]
        if offer.part is not None:
            self._sell(offer.part)

    def fields(self) -> dict[str, object]:
        """Return the item of all rows, by field; empty fields are omitted.

        Its price is that of the cheapest variant with the best availability; its stock
        is the sum over all variants, if the stock of every available one is tracked.
        """
        found: dict[str, object] = {
            **attribute_fields(self.attributes),
            **self._others,
            **self._own,
        }
        title = self._title.rstrip(_JOINTS)
        if self._leads > 1 and len(title) >= _SHORTEST:
            found["title"] = title  # "Shirt - Red, M" and "Shirt - Red, L": "Shirt - Red"
        shown = self._shown or self._whole or Variant()
        is_known = self._is_counted and not self._has_uncounted
        stock = self._stock if is_known else None
        if self._whole is not None and self._whole.stock is not None:
            stock = self._whole.stock
        sold: dict[str, object] = {
            "price": shown.price,
            "list_price": shown.list_price,
            "cost": shown.cost,
            "stock_qty": stock,
            "availability": shown.availability,
        }
        return found | {name: value for name, value in sold.items() if value is not None}

    def _lead(self, offer: Offer) -> None:
        title = offer.fields.get("title")
        if isinstance(title, str):
            self._title = _common(self._title, title) if self._leads else title
        if not self._leads:
            self.is_hidden, self._whole = offer.is_hidden, offer.whole
        self._leads += 1

    def _sell(self, part: Variant) -> None:
        if part.stock is not None:
            # A negative stock of one variant does not reduce the stock of another.
            before = self._stock if self._is_counted else None
            self._stock = part.stock if before is None else _sum(before, part.stock)
            self._is_counted = True
        elif _RANK[part.availability] < _RANK[Availability.OUT_OF_STOCK]:
            self._has_uncounted = True
        if self._shown is None or _order(part) < _order(self._shown):
            self._shown = part


def _order(variant: Variant) -> tuple[int, bool, float]:
    price = variant.price
    return _RANK[variant.availability], price is None, price or 0.0


def _sum(one: int, other: int) -> int:
    return max(one, 0) + max(other, 0)


def _common(one: str, other: str) -> str:
    """Return the longest common beginning, in whole words."""
    alike = []
    for left, right in zip(one.split(), other.split(), strict=False):
        if left != right:
            break
        alike.append(left)
    return " ".join(alike)


_SHORT_HOUR: Final = re.compile(r"^(\d{4}-\d{2}-\d{2})[ T](\d):")


def attribute_fields(attributes: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return attributes, by the names that shops give them, as the fields of an item."""
    found: dict[str, object] = {}
    others: dict[str, list[str]] = {}
    for name, texts in attributes.items():
        field_name = _ATTRIBUTE_FIELDS.get(name.casefold())
        values = [text[:MAX_VALUE] for text in texts]
        if field_name in {"brand", "gtin"}:
            found.setdefault(field_name, values[0])
        elif field_name is not None:
            found.setdefault(field_name, values)
        elif len(others) < MAX_ATTRIBUTES:
            plain = " ".join(name.translate(_SEPARATORS).split())
            others.setdefault(plain[:MAX_ATTRIBUTE_NAME], values)
    return found | ({"attributes": others} if others else {})


def current_price(
    cells: Mapping[str, str],
    reading: FeedReading,
    as_iso: Callable[[str], str] = str.strip,
    read: Callable[[str, FeedReading], Price | None] | None = None,
) -> Price | None:
    """Return the sale price while it is valid, else the regular one, or None.

    A valid sale price names the regular one.

    `as_iso` converts a date of the file to a form that `normalise_timestamp` reads, and
    `read` parses a price. With an unreadable date the regular price applies and the
    reading records it.

    Raises:
        InvalidOfferError: when a price is invalid.
    """
    regular, sale = (
        parse_price(cells.get(name, ""), reading.separator)
        if read is None
        else read(cells.get(name, ""), reading)
        for name in ("regular_price", "sale_price")
    )
    if sale is None:
        return regular
    try:
        begins = _moment(as_iso(cells.get("sale_from", "")))
        ends = _moment(as_iso(cells.get("sale_to", "")))
    except InvalidDateError as error:
        reading.saw_odd_date(str(error))
        return sale if regular is None else regular
    is_to_come = begins and window_start_ms(begins, reading.zone) > reading.now_ms
    is_over = ends and reading.now_ms > window_end_ms(ends, reading.zone)
    return regular if is_to_come or is_over else on_sale(sale, regular)


def _moment(text: str) -> str | None:
    """Return a date or a time, normalised; None for a blank.

    Raises:
        InvalidDateError: with the text itself, when it is neither.
    """
    if not text:
        return None
    padded = _SHORT_HOUR.sub(r"\1T0\2:", text)  # WooCommerce writes 2026-11-28 4:52:08
    try:
        return normalise_timestamp(written_date_to_iso(padded) or padded)
    except InvalidDateError:
        raise InvalidDateError(text) from None


PARTITION_BYTES: Final = 8 << 20
"""The most bytes of a file whose products are held in memory."""
_MOST_PARTS: Final = 256


def group_by_product(
    offers: Iterable[Offer | RejectedRow], size: int, folder: Path
) -> Iterator[FeedProduct | RejectedRow]:
    """Yield the products of the offers; for a small file in order of appearance.

    Rejected rows are passed on at once. `size` is the file's, in bytes; parts of a
    large one are stored below `folder`.
    """
    parts = min(size // PARTITION_BYTES + 1, _MOST_PARTS)
    if parts == 1:
        yield from _folded(offers)
        return
    with contextlib.ExitStack() as stack:
        files: list[BinaryIO] = [
            stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(parts)
        ]
        for offer in offers:
            if isinstance(offer, RejectedRow):
                yield offer
                continue
            part = crc32(offer.product.encode("utf-8", "surrogatepass")) % parts
            files[part].write(msgspec.json.encode(offer) + b"\n")
        for file in files:
            file.seek(0)
            yield from _folded(msgspec.json.decode(line, type=Offer) for line in file)
            file.close()


def _folded(offers: Iterable[Offer | RejectedRow]) -> Iterator[FeedProduct | RejectedRow]:
    found: dict[str, FeedProduct] = {}
    for offer in offers:
        if isinstance(offer, RejectedRow):
            yield offer
            continue
        product = found.get(offer.product)
        if product is None:
            product = found[offer.product] = FeedProduct(offer.product, offer.row)
        product.add(offer)
    yield from found.values()
