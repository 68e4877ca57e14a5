"""Placement: a merchant's named place for a list, and which products it shows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.records.catalog.item_filters import FilterError, parse_filters

MAX_PLACEMENTS: Final = 100
MAX_NUM: Final = 20
MAX_TITLE: Final = 200
MAX_FILTERS: Final = 20
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Strategy(StrEnum):
    """How the products of a placement are chosen; the first four are sources."""

    MIX = "mix"
    BUY = "buy"
    BROWSE = "browse"
    SIMILAR = "similar"
    COMPLEMENTARY = "complementary"
    BECAUSE_VIEWED = "because_viewed"
    RECENTLY_VIEWED = "recently_viewed"
    BUY_AGAIN = "buy_again"
    TRENDING = "trending"
    TOP_OF_CATEGORY = "top_of_category"
    TOP_OF_BRAND = "top_of_brand"
    NEW = "new"
    ON_SALE = "on_sale"
    BUNDLE = "bundle"


class RelativeFilter(StrEnum):
    """A filter relative to the page's product, else to the latest viewed one."""

    SAME_CATEGORY = "same_category"
    SAME_BRAND = "same_brand"
    SIMILAR_PRICE = "similar_price"  # at most a fifth cheaper or dearer


class PlacementSubject(StrEnum):
    """What a list is about."""

    CUSTOMER = "customer"
    PRODUCT = "product"


class PlacementError(ProductRecsError):
    """The placement is invalid; `field` is the part to change."""

    def __init__(self, message: str, field: str) -> None:
        """Take the part of the placement that is invalid."""
        super().__init__(message)
        self.field = field


class UnknownPlacementError(ProductRecsError):
    """The store has no placement with that name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """Name the placements that there are, or how to create one."""
        names = sorted(known)
        shown = ", ".join(names[:20])
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""  # noqa: PLR2004 - a line's worth
        remedy = f"there are: {shown}{more}"
        if not names:
            remedy = (
                "the store has none yet; create it on the dashboard's page Placements, or "
                f"with productrecs placements add DOMAIN {name[:64] or 'NAME'}"
            )
        super().__init__(f"there is no placement {name[:64]!r}; {remedy}")


@dataclass(frozen=True, slots=True)
class PlacementContent:
    """The merchant's part of a placement.

    `filters` have the form of `parse_filters`; every product passes them and `relative`.
    `num` is None for the store's default. A list with fewer than `minimum` products is
    empty. `fallback` fills a list that is shorter than `num`; None leaves it short. In
    `title`, `{product}` becomes the title of the product that the list is about.
    """

    strategy: Strategy = Strategy.MIX
    title: str = ""
    filters: tuple[str, ...] = ()
    relative: tuple[RelativeFilter, ...] = ()
    num: int | None = None
    minimum: int = 1
    most_per_category: int | None = None
    most_per_brand: int | None = None
    fallback: Strategy | None = None

    @property
    def shows_history(self) -> bool:
        """Whether its list consists of what the shopper did, not of what suits it."""
        return not _OF_HISTORY.isdisjoint((self.strategy, self.fallback))

    @property
    def needs(self) -> PlacementSubject | None:
        """What its list is about and empty without; None if every page has products."""
        return None if self.fallback in _ABOUT_NOTHING else _SUBJECTS.get(self.strategy)


_OF_HISTORY: Final = frozenset({Strategy.RECENTLY_VIEWED, Strategy.BUY_AGAIN})
_SUBJECTS: Final = MappingProxyType(
    {
        **dict.fromkeys(
            (Strategy.RECENTLY_VIEWED, Strategy.BUY_AGAIN, Strategy.BECAUSE_VIEWED),
            PlacementSubject.CUSTOMER,
        ),
        **dict.fromkeys(
            (
                *(Strategy.BUY, Strategy.BROWSE, Strategy.SIMILAR, Strategy.COMPLEMENTARY),
                *(Strategy.TOP_OF_CATEGORY, Strategy.TOP_OF_BRAND, Strategy.BUNDLE),
            ),
            PlacementSubject.PRODUCT,
        ),
    }
)
_ABOUT_NOTHING: Final = frozenset(
    {Strategy.MIX, Strategy.TRENDING, Strategy.NEW, Strategy.ON_SALE}
)


@dataclass(frozen=True, slots=True)
class Placement:
    """A stored placement; `version` grows with every change in its store.

    While a test runs, a shopper's placement has the content of their `variant`.
    """

    name: str
    content: PlacementContent
    version: int
    created_at: int
    updated_at: int
    test: str = ""
    variant: str = ""

    @property
    def name_for_rules(self) -> str:
        """The name that rules match; those of a variant name `placement:variant`."""
        return f"{self.name}:{self.variant}" if self.variant else self.name


def validate_placement(name: str, content: PlacementContent) -> PlacementContent:
    """Return the content in its stored form.

    Raises:
        PlacementError: when the name or the content is invalid.
    """
    if not _NAME.fullmatch(name):
        message = (
            "a placement's name has 1 to 64 lower-case letters, digits, dashes and "
            "underscores, such as product-page-1"
        )
        raise PlacementError(message, "name")
    title = " ".join(content.title.split())
    if len(title) > MAX_TITLE or "\0" in title:
        message = f"the title may have at most {MAX_TITLE} characters"
        raise PlacementError(message, "title")
    _check_number(content.num, "num", 1)
    _check_number(content.minimum, "minimum", 0)
    _check_number(content.most_per_category, "most_per_category", 1)
    _check_number(content.most_per_brand, "most_per_brand", 1)
    if content.num is not None and content.minimum > content.num:
        message = (
            f"the minimum ({content.minimum}) is above the number of products "
            f"({content.num}), so the list would always be hidden"
        )
        raise PlacementError(message, "minimum")
    if content.fallback is content.strategy:
        message = "the fallback must be another strategy than the placement's own"
        raise PlacementError(message, "fallback")
    if content.fallback is Strategy.BUNDLE:
        message = "a bundle is whole and fills up nothing; choose another fallback"
        raise PlacementError(message, "fallback")
    filters = tuple(
        dict.fromkeys(
            filter_text.strip() for filter_text in content.filters if filter_text.strip()
        )
    )
    if len(filters) > MAX_FILTERS:
        message = f"a placement may have at most {MAX_FILTERS} filters"
        raise PlacementError(message, "filters")
    try:
        parse_filters(list(filters))
    except FilterError as error:
        raise PlacementError(str(error), "filters") from error
    relative = tuple(sorted(set(content.relative)))
    return replace(content, title=title, filters=filters, relative=relative)


def _check_number(number: int | None, field: str, lowest: int) -> None:
    if number is not None and not lowest <= number <= MAX_NUM:
        message = f"{field} must be a whole number from {lowest} to {MAX_NUM}"
        raise PlacementError(message, field)
