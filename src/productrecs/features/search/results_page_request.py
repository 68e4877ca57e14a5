"""Page request: filters, facets, sort order and offset of a results page."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.features.search.request import SearchRequest

MOST_FILTERS: Final = 50
MAX_OFFSET: Final = 1_000
"""The most products that can be paged through: each page costs those before it."""


class FilterError(ProductRecsError):
    """A filter is not in one of the forms that filters have."""


class Facet(StrEnum):
    """What results can be counted and filtered by."""

    CATEGORIES = "categories"
    PRICE = "price"
    IN_STOCK = "in_stock"
    ON_SALE = "on_sale"
    BRAND = "brand"
    COLOR = "color"
    SIZE = "size"
    MATERIAL = "material"
    ATTRIBUTES = "attributes"  # all of a product's further attributes


ATTRIBUTE_FACETS: Final = (Facet.BRAND, Facet.COLOR, Facet.SIZE, Facet.MATERIAL)
_OTHER_FACETS: Final = (Facet.CATEGORIES, Facet.PRICE, Facet.IN_STOCK, Facet.ON_SALE)
FILTER_FORMS: Final = (
    "a filter is categories:NAME, price:LOW..HIGH (also LOW.., ..HIGH, and LOW..<HIGH "
    "without HIGH itself), in_stock:true, on_sale:true, brand:NAME, color:NAME, "
    "size:NAME, material:NAME or attributes.NAME:VALUE"
)


class Sort(StrEnum):
    """The order of results."""

    RELEVANCE = "relevance"
    PRICE_UP = "price_asc"
    PRICE_DOWN = "price_desc"
    NEWEST = "newest"
    BEST_SELLING = "best_selling"


@dataclass(frozen=True, slots=True)
class PriceRange:
    """Prices from `low` up to `high`, which is one of them unless `is_open`."""

    low: float
    high: float
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters on the results: of each kind one value must match; none means any.

    `attributes` are pairs of a name and a value; each name is a kind of its own.
    """

    categories: tuple[str, ...] = ()
    prices: tuple[PriceRange, ...] = ()
    in_stock: tuple[bool, ...] = ()
    on_sale: tuple[bool, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ResultsPageRequest:
    """A request for a page of results, with the facets and extras to compute."""

    request: SearchRequest
    filters: Filters = field(default_factory=Filters)
    facets: tuple[Facet, ...] = ()
    sort: Sort = Sort.RELEVANCE
    offset: int = 0
    suggest: int = 0  # at most so many
    highlight: bool = False
    counts: bool = False  # whether the page wants to know how many there are

    @property
    def first_query(self) -> str:
        """The words, on the first page of their results; empty on further ones."""
        return "" if self.offset else self.request.query


def parse_filters(texts: list[str]) -> Filters:
    """Return the filters that `texts` are, each such as `price:10..50`.

    Raises:
        FilterError: when one has no such form, or there are too many.
    """
    if len(texts) > MOST_FILTERS:
        message = f"a search may have at most {MOST_FILTERS} filters"
        raise FilterError(message)
    found: dict[Facet, list[str]] = {}
    attributes: list[tuple[str, str]] = []
    for text in texts:
        name, _, value = text.partition(":")
        kind, _, attribute = name.partition(".")
        if kind == Facet.ATTRIBUTES and attribute.strip() and value.strip():
            attributes.append((attribute, value))
        elif name in ATTRIBUTE_FACETS and value.strip():
            attributes.append((name, value))
        elif name in {Facet.IN_STOCK, Facet.ON_SALE} and value not in {"true", "false"}:
            raise FilterError(FILTER_FORMS)
        elif name in _OTHER_FACETS and value.strip():
            found.setdefault(Facet(name), []).append(value)
        else:
            raise FilterError(FILTER_FORMS)
    return Filters(
        categories=tuple(found.get(Facet.CATEGORIES, ())),
        prices=tuple(map(_range_of, found.get(Facet.PRICE, ()))),
        in_stock=tuple(value == "true" for value in found.get(Facet.IN_STOCK, ())),
        on_sale=tuple(value == "true" for value in found.get(Facet.ON_SALE, ())),
        attributes=tuple(attributes),
    )


def _range_of(value: str) -> PriceRange:
    low, dots, high = value.partition("..")
    is_open = high.startswith("<")
    high = high.removeprefix("<")
    if not dots or not (low or high) or (is_open and not high):
        message = "a price filter is price:LOW..HIGH, price:LOW.. or price:..HIGH"
        raise FilterError(message)
    return PriceRange(
        _price(low) if low else -float("inf"),
        _price(high) if high else float("inf"),
        is_open,
    )


_MOST_DIGITS: Final = 20


def _price(text: str) -> float:
    units, _, cents = text.partition(".")
    digits = units + cents
    is_plain = digits.isascii() and digits.isdecimal() and bool(units)
    if not is_plain or len(digits) > _MOST_DIGITS or text.endswith("."):
        message = f"{text[:40]!r} is not a price; write it as 20 or 19.90"
        raise FilterError(message)
    return float(text)
