"""Page request: filters, facets, sort order and offset of a results page."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from productrecs.features.search.search_types import SearchRequest
from productrecs.records.catalog.item_filters import Filters

MAX_OFFSET: Final = 1_000
"""Paging limit in products: each page costs as much as all those before it."""


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
    ATTRIBUTES = "attributes"  # all other attributes of a product


class Sort(StrEnum):
    """The order of results."""

    RELEVANCE = "relevance"
    PRICE_UP = "price_asc"
    PRICE_DOWN = "price_desc"
    NEWEST = "newest"
    BEST_SELLING = "best_selling"


@dataclass(frozen=True, slots=True)
class ResultsPageRequest:
    """A request for a page of results, with the facets and extras to compute."""

    request: SearchRequest
    filters: Filters = field(default_factory=Filters)
    facets: tuple[Facet, ...] = ()
    sort: Sort = Sort.RELEVANCE
    offset: int = 0
    suggest: int = 0  # maximum number of suggestions
    highlight: bool = False
    counts: bool = False  # whether to return the total

    @property
    def first_query(self) -> str:
        """The query for the first page of results; empty on later pages."""
        return "" if self.offset else self.request.query
