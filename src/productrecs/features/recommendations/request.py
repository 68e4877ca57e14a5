"""Recommendation request and response types: sources, engines and picks."""

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.training.engine_registry import NAMES


class Source(StrEnum):
    """Sources that a caller may request."""

    MIX = "mix"
    BUY = "buy"
    BROWSE = "browse"
    SIMILAR = "similar"


if TYPE_CHECKING:

    class Engine(StrEnum):
        """The engine that supplied a product; the names that code here uses."""

        BUY = "buy"
        BROWSE = "browse"
        COMPLEMENTARY = "complementary"
        SIMILAR = "similar"
        CATEGORY = "category"
        TRENDING = "trending"

else:  # all registered engines, in registry order
    Engine = StrEnum("Engine", [(name.upper(), name) for name in NAMES])


class RecommendationRequest(NamedTuple):
    """One call: anchors and identities as sent; `num` is the number of products."""

    source: Source
    num: int
    item_id: str | None = None
    basket: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()  # by precedence
    excluded: tuple[str, ...] = ()  # ids that the page already shows
    shown: int | None = None  # products shown at first, if the page asks for a reserve
    with_anchor: bool = False  # whether the reply also contains the product of `item_id`
    filters: Filters = NO_FILTERS  # conditions on every product of the list


class Pick(NamedTuple):
    """One product of a reply: its number, engine and score."""

    item: int
    engine: Engine
    score: float
