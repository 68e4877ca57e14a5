"""Recommendation request: its source, anchors and limits; and the picks of a reply."""

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from productrecs.engines.registry import NAMES
from productrecs.records.catalog.item_filters import NO_FILTERS, Filters
from productrecs.records.placements.placement import Strategy


class Source(StrEnum):
    """Sources that a caller may request."""

    MIX = "mix"
    BUY = "buy"
    BROWSE = "browse"
    SIMILAR = "similar"


if TYPE_CHECKING:

    class EngineName(StrEnum):
        """The engine that supplied a product; the names that code here uses."""

        BUY = "buy"
        BROWSE = "browse"
        COMPLEMENTARY = "complementary"
        SIMILAR = "similar"
        CATEGORY = "category"
        TRENDING = "trending"
        RECENTLY_VIEWED = "recently_viewed"
        BUY_AGAIN = "buy_again"
        NEW = "new"
        BUNDLE = "bundle"

else:  # all registered engines, in registry order
    EngineName = StrEnum("EngineName", [(name.upper(), name) for name in NAMES])


class ResolvedPlacement(NamedTuple):
    """A placement's part of a request, resolved for one page and one shopper."""

    placement: str  # its name, for rules
    strategy: Strategy
    filters: tuple[Filters, ...] = ()  # conditions besides the call's; all must hold
    most_per_category: int | None = None
    most_per_brand: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether a category or a brand may have only some of the list's places."""
        return self.most_per_category is not None or self.most_per_brand is not None


class RecommendationRequest(NamedTuple):
    """One call: anchors and identities as sent; `num` is the number of products."""

    source: Source
    num: int
    item_id: str | None = None
    basket: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()  # by precedence
    excluded: tuple[str, ...] = ()  # ids that the page already shows
    with_anchor: bool = False  # whether the reply also contains the product of `item_id`
    filters: Filters = NO_FILTERS  # conditions on every product of the list
    placement: str = ""  # named by the call; `num` 0 then means the placement's
    plan: ResolvedPlacement | None = None

    @property
    def ruled_source(self) -> Source | None:
        """The source whose rules apply; None for a strategy that is not a source."""
        if self.plan is None or self.plan.strategy in _STRATEGIES_OF_SOURCES:
            return self.source
        return None


_STRATEGIES_OF_SOURCES: Final = frozenset(
    {*(Strategy(source) for source in Source), Strategy.BECAUSE_VIEWED}
)


class Pick(NamedTuple):
    """One product of a reply: its number, engine and score."""

    item: int
    engine: EngineName
    score: float
