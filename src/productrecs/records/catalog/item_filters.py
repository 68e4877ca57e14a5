"""Item filters: select products by filters such as `price:10..50`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from productrecs.core.errors import ProductRecsError
from productrecs.records.catalog.catalog_view import CatalogView, Mask
from productrecs.records.catalog.item import ATTRIBUTE_FIELDS
from productrecs.records.catalog.title_words import fold_text

MAX_FILTERS: Final = 50


class FilterKind(StrEnum):
    """The kinds of filters; each other attribute is a kind of its own."""

    CATEGORIES = "categories"
    PRICE = "price"
    IN_STOCK = "in_stock"
    ON_SALE = "on_sale"
    ATTRIBUTES = "attributes"


_SWITCHES: Final = (FilterKind.IN_STOCK, FilterKind.ON_SALE)
_VALUED: Final = (FilterKind.CATEGORIES, FilterKind.PRICE, *_SWITCHES)
FILTER_FORMS: Final = (
    "a filter is categories:NAME, price:LOW..HIGH (also LOW.., ..HIGH, and LOW..<HIGH "
    "without HIGH itself), in_stock:true, on_sale:true, brand:NAME, color:NAME, "
    "size:NAME, material:NAME or attributes.NAME:VALUE"
)


class FilterError(ProductRecsError):
    """A filter has an invalid form."""


@dataclass(frozen=True, slots=True)
class PriceRange:
    """Prices from `low` to `high`, which is included unless `is_open`."""

    low: float
    high: float
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters on results: one value of each kind must match; no value matches all.

    `attributes` are (name, value) pairs; each name is a kind of its own.
    """

    categories: tuple[str, ...] = ()
    prices: tuple[PriceRange, ...] = ()
    in_stock: tuple[bool, ...] = ()
    on_sale: tuple[bool, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()

    @property
    def attribute_and_category_kinds(self) -> frozenset[str]:
        """The kinds of the filters that a question's answer can be."""
        kinds = {attribute_kind(name) for name, _ in self.attributes}
        return frozenset(
            kinds | {FilterKind.CATEGORIES.value} if self.categories else kinds
        )


NO_FILTERS: Final = Filters()


def parse_filters(texts: list[str]) -> Filters:
    """Parse filters, each such as `price:10..50`.

    Raises:
        FilterError: when one is invalid, or there are too many.
    """
    if len(texts) > MAX_FILTERS:
        message = f"a call may have at most {MAX_FILTERS} filters"
        raise FilterError(message)
    values_by_kind: dict[FilterKind, list[str]] = {}
    attributes: list[tuple[str, str]] = []
    for text in texts:
        name, _, value = text.partition(":")
        kind, _, attribute = name.partition(".")
        if kind == FilterKind.ATTRIBUTES and attribute.strip() and value.strip():
            attributes.append((attribute, value))
        elif name in ATTRIBUTE_FIELDS and value.strip():
            attributes.append((name, value))
        elif name in {FilterKind.IN_STOCK, FilterKind.ON_SALE} and value not in {
            "true",
            "false",
        }:
            raise FilterError(FILTER_FORMS)
        elif name in _VALUED and value.strip():
            values_by_kind.setdefault(FilterKind(name), []).append(value)
        else:
            raise FilterError(FILTER_FORMS)
    return Filters(
        categories=tuple(values_by_kind.get(FilterKind.CATEGORIES, ())),
        prices=tuple(map(_parse_price_range, values_by_kind.get(FilterKind.PRICE, ()))),
        in_stock=tuple(
            value == "true" for value in values_by_kind.get(FilterKind.IN_STOCK, ())
        ),
        on_sale=tuple(
            value == "true" for value in values_by_kind.get(FilterKind.ON_SALE, ())
        ),
        attributes=tuple(attributes),
    )


def _parse_price_range(value: str) -> PriceRange:
    low, dots, high = value.partition("..")
    is_open = high.startswith("<")
    high = high.removeprefix("<")
    if not dots or not (low or high) or (is_open and not high):
        message = "a price filter is price:LOW..HIGH, price:LOW.. or price:..HIGH"
        raise FilterError(message)
    return PriceRange(
        _parse_price(low) if low else -float("inf"),
        _parse_price(high) if high else float("inf"),
        is_open,
    )


_MAX_DIGITS: Final = 20


def _parse_price(text: str) -> float:
    units, _, cents = text.partition(".")
    digits = units + cents
    is_plain = digits.isascii() and digits.isdecimal() and bool(units)
    if not is_plain or len(digits) > _MAX_DIGITS or text.endswith("."):
        message = f"{text[:40]!r} is not a price; write it as 20 or 19.90"
        raise FilterError(message)
    return float(text)


def category_mask(catalog: CatalogView, names: tuple[str, ...]) -> Mask:
    """Return a mask, by item number, of items in the categories; ignores case."""
    mask = np.zeros(len(catalog), dtype=np.bool_)
    for name in _catalog_spellings(catalog, names):
        members = np.array(catalog.members.get(name, ()), dtype=np.int64)
        mask[members[members < len(mask)]] = True
    return mask


def _catalog_spellings(catalog: CatalogView, names: tuple[str, ...]) -> list[str]:
    """Return the catalog's own spellings of category names."""
    folded_names = {fold_text(name) for name in names if name not in catalog.members}
    found = [name for name in names if name in catalog.members]
    if folded_names:
        found += [name for name in list(catalog.members) if fold_text(name) in folded_names]
    return found


def price_mask(catalog: CatalogView, ranges: tuple[PriceRange, ...]) -> Mask:
    """Return a mask, by item number, of items priced in one of the ranges."""
    prices = catalog.prices[: len(catalog)]
    mask = np.zeros(len(prices), dtype=np.bool_)
    for price_range in ranges:
        below = (
            prices < price_range.high if price_range.is_open else prices <= price_range.high
        )
        mask |= (prices >= price_range.low) & below
    return mask


def filter_masks(catalog: CatalogView, filters: Filters, buyable: Mask) -> dict[str, Mask]:
    """Return a mask for each given kind of filter, by name."""
    masks: dict[str, Mask] = {}
    if filters.categories:
        masks["categories"] = category_mask(catalog, filters.categories)
    if filters.prices:
        masks["price"] = price_mask(catalog, filters.prices)
    if len(set(filters.in_stock)) == 1:
        masks["in_stock"] = buyable if filters.in_stock[0] else ~buyable
    if len(set(filters.on_sale)) == 1:
        on_sale = catalog.is_on_sale()
        masks["on_sale"] = on_sale if filters.on_sale[0] else ~on_sale
    for name in dict.fromkeys(name for name, _ in filters.attributes):
        values = [
            value for attribute_name, value in filters.attributes if attribute_name == name
        ]
        mask = catalog.attributes.mask(name, values, len(catalog))
        masks[attribute_kind(name)] = mask
    return masks


def attribute_kind(name: str) -> str:
    """Return the filter kind of an attribute, distinct from all other facets."""
    folded = fold_text(name)
    return folded if folded in ATTRIBUTE_FIELDS else f"{FilterKind.ATTRIBUTES}.{folded}"
