"""Search request and response types."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from productrecs.engines.text.search_index import Relaxed

LONGEST_QUERY: Final = 256


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search request for `num` products that match `query`."""

    query: str
    num: int
    in_stock: bool = False


class Hit(NamedTuple):
    """One result: its item number and score."""

    item: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The products, best first, and how the query was relaxed to find enough."""

    hits: list[Hit]
    relaxed: Relaxed
    address: str | None = None  # redirect address of the merchant's rule


def truncate_query(query: str) -> str:
    """Return a query, cut to the maximum length.

    A trailing blank is kept: it marks the last word as complete.
    """
    return query.lstrip()[:LONGEST_QUERY]
