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
    """Filters on the results: of each kind one value must match; none means any."""

    categories: tuple[str, ...] = ()
    prices: tuple[PriceRange, ...] = ()
    in_stock: tuple[bool, ...] = ()


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
    categories: list[str] = []
    prices: list[PriceRange] = []
    switches: list[bool] = []
    for text in texts:
        name, _, value = text.partition(":")
        if name == Facet.CATEGORIES and value.strip():
            categories.append(value)
        elif name == Facet.PRICE:
            prices.append(_range_of(value))
        elif name == Facet.IN_STOCK and value in {"true", "false"}:
            switches.append(value == "true")
        else:
            message = (
                "a filter is categories:NAME, price:LOW..HIGH (also LOW.., ..HIGH, and "
                "LOW..<HIGH without HIGH itself) or in_stock:true"
            )
            raise FilterError(message)
    return Filters(tuple(categories), tuple(prices), tuple(switches))


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
