"""Search request and response types."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from productrecs.engines.text.search_index import Relaxed

LONGEST_QUERY: Final = 256


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One call: `num` products are wanted for the words of `query`."""

    query: str
    num: int
    in_stock: bool = False


class Hit(NamedTuple):
    """One product of an answer: its number and how well it fits."""

    item: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The products, best first, and how the query was relaxed to find enough."""

    hits: list[Hit]
    relaxed: Relaxed
    address: str | None = None  # where the merchant sends who asks this


def truncate_query(query: str) -> str:
    """Return a query as it is read: no longer than anybody types.

    A blank at its end stays: it says that the last word is whole.
    """
    return query.lstrip()[:LONGEST_QUERY]
