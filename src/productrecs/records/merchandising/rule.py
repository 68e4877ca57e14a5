"""Rule: its action, its target products, its lists, its schedule, and their validation."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.iso_dates import (
    InvalidDateError,
    normalise_date_or_datetime,
    window_end_ms,
    window_start_ms,
)
from productrecs.records.catalog.title_words import folded_words

BOOST_STRENGTH: Final = 1.5
BURY_STRENGTH: Final = 10.0
_NO_END_MS: Final = 2**62


class RuleAction(StrEnum):
    """The effect of a rule on its target products."""

    EXCLUDE = "exclude"  # never shown
    BOOST = "boost"  # shown earlier
    BURY = "bury"  # shown later
    PIN = "pin"  # shown at a position


class ListKind(StrEnum):
    """The kinds of lists that rules can name: page types and sources."""

    PRODUCT = "product"
    CART = "cart"
    SHOPPER = "shopper"
    NO_CONTEXT = "nobody"  # a call without product, cart and shopper
    TRENDING = "trending"
    SEARCH = "search"  # applies excludes, and boosts and buries that name it
    MIX = "mix"
    BUY = "buy"
    BROWSE = "browse"
    SIMILAR = "similar"


SOURCE_KINDS: Final = frozenset(
    {ListKind.MIX, ListKind.BUY, ListKind.BROWSE, ListKind.SIMILAR}
)


class RuleState(StrEnum):
    """Whether a rule is in force at a time, and if not, why."""

    ON = "on"
    WAITING = "waiting"  # its schedule has not begun
    OVER = "over"  # its schedule has ended
    OFF = "off"  # it was disabled


@dataclass(frozen=True, slots=True)
class RuleTarget:
    """The products of a rule: those that match every given condition.

    `items` are ids; `categories` are names as in an item's `categories`. One of each is
    enough, but the title must contain all `title_words`. A product without a price is in
    no price range. `attributes` are (name, value) pairs such as ("brand", "Acme"): one
    value of each name is enough.
    """

    items: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    title_words: tuple[str, ...] = ()
    price_min: float | None = None
    price_max: float | None = None
    attributes: tuple[tuple[str, str], ...] = ()

    @property
    def has_prices(self) -> bool:
        """Whether it has a price condition."""
        return self.price_min is not None or self.price_max is not None

    @property
    def is_empty(self) -> bool:
        """Whether it has no condition: invalid, as it would match every product."""
        return self == RuleTarget()


@dataclass(frozen=True, slots=True)
class RuleListScope:
    """The lists of a rule; without conditions, all of them.

    Page types and sources in `only_in` are separate conditions, and both must hold:
    `cart` with `buy` means cart lists of the source `buy`. With `placements` only the
    lists of these merchant's placements count; `cart:b` is what the variant `b` of a
    test shows in `cart`.
    """

    only_in: tuple[ListKind, ...] = ()
    not_in: tuple[ListKind, ...] = ()
    placements: tuple[str, ...] = ()

    def matches(
        self, page_type: ListKind, source: ListKind | None, placement: str = ""
    ) -> bool:
        """Return whether the filter includes a list; `placement` is "" without one."""
        names = {placement, placement.partition(":")[0]}
        if self.placements and names.isdisjoint(self.placements):
            return False
        list_kinds = {page_type} if source is None else {page_type, source}
        if list_kinds & set(self.not_in):
            return False
        allowed = set(self.only_in)
        return all(
            not kinds or list_kinds & kinds
            for kinds in (allowed & SOURCE_KINDS, allowed - SOURCE_KINDS)
        )


@dataclass(frozen=True, slots=True)
class RuleContent:
    """The merchant's part of a rule.

    `starts` and `ends` are normalised ISO dates or datetimes in the store's zone, both
    inclusive. If two rules conflict, the higher `priority` applies. `strength` is the
    factor by which a boost multiplies, or a bury divides, a product's score. `position`,
    from 1, is the position of the first pinned item of `target.items`; the others follow.
    """

    action: RuleAction
    target: RuleTarget
    name: str = ""
    places: RuleListScope = field(default_factory=RuleListScope)
    starts: str | None = None
    ends: str | None = None
    priority: int = 0
    enabled: bool = True
    strength: float | None = None
    position: int | None = None

    @property
    def factor(self) -> float:
        """The factor for scores."""
        if self.action is RuleAction.BOOST:
            return self.strength or BOOST_STRENGTH
        if self.action is RuleAction.BURY:
            return 1.0 / (self.strength or BURY_STRENGTH)
        return 1.0

    def window(self, zone: tzinfo) -> tuple[int, int]:
        """Return the first and last UTC millisecond of the schedule."""
        first = window_start_ms(self.starts, zone) if self.starts else -_NO_END_MS
        last = window_end_ms(self.ends, zone) if self.ends else _NO_END_MS
        return first, last

    def state(self, now_ms: int, zone: tzinfo) -> RuleState:
        """Return whether the rule is in force at `now_ms`."""
        if not self.enabled:
            return RuleState.OFF
        first, last = self.window(zone)
        if now_ms < first:
            return RuleState.WAITING
        return RuleState.ON if now_ms <= last else RuleState.OVER


@dataclass(frozen=True, slots=True)
class Rule:
    """A stored rule; ids ascend and are never reused."""

    rule_id: int
    content: RuleContent
    created_at: int
    updated_at: int

    @property
    def title(self) -> str:
        """The rule's name, else its description."""
        return self.content.name or describe_rule(self.content)


def by_priority(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules in the order in which they apply: priority, then age."""
    return sorted(rules, key=lambda rule: (-rule.content.priority, rule.rule_id))


def describe_rule(
    content: RuleContent, titles: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Describe a rule in one line; `titles` has the titles of products."""
    target = content.target
    parts = [
        _join_first_three(
            "", tuple(titles.get(item_id, item_id) for item_id in target.items)
        ),
        _join_first_three("in ", target.categories),
        _join_first_three(
            "", tuple(f"{name} {value}" for name, value in target.attributes)
        ),
        f"titled {' '.join(target.title_words)}" if target.title_words else "",
        f"from {target.price_min:.12g}" if target.price_min is not None else "",
        f"up to {target.price_max:.12g}" if target.price_max is not None else "",
    ]
    joined = ", ".join(part for part in parts if part)
    position = f" at {content.position}" if content.position is not None else ""
    if content.strength is not None:
        position = f" by {content.strength:g}"
    return f"{content.action} {joined}{position}"


def _join_first_three(prefix: str, names: tuple[str, ...]) -> str:
    if not names:
        return ""
    remainder = f" and {len(names) - 3} more" if len(names) > 3 else ""  # noqa: PLR2004 - a line's worth
    return prefix + " or ".join(names[:3]) + remainder


MAX_ITEMS: Final = 1_000
MAX_CATEGORIES: Final = 200
MAX_WORDS: Final = 20
MAX_ATTRIBUTES: Final = 100
MAX_ATTRIBUTE_LENGTH: Final = 255
MAX_NAME_LENGTH: Final = 200
MAX_ID_LENGTH: Final = 255
MAX_CATEGORY_LENGTH: Final = 1_000
MAX_STRENGTH: Final = 100.0
MAX_PRICE: Final = 1e12
MAX_POSITION: Final = 20
MAX_PLACEMENTS: Final = 100
MAX_PLACEMENT_LENGTH: Final = 64
PRIORITIES: Final = (-1_000, 1_000)


class RuleError(ProductRecsError):
    """A rule is invalid; `field` names the invalid field."""

    def __init__(self, message: str, field: str) -> None:
        """Set the message, which says what is wrong and what is valid."""
        super().__init__(message)
        self.field = field


def validate_rule(content: RuleContent, zone: tzinfo) -> RuleContent:
    """Return the normalised rule; `zone` is the store's.

    Raises:
        RuleError: when it is invalid; names the first problem.
    """
    name = content.name.strip()
    if len(name) > MAX_NAME_LENGTH or "\0" in name:
        message = f"a name may have at most {MAX_NAME_LENGTH} characters"
        raise RuleError(message, "name")
    lowest, highest = PRIORITIES
    if not lowest <= content.priority <= highest:
        message = f"a priority is a whole number from {lowest} to {highest}"
        raise RuleError(message, "priority")
    clean = replace(
        content,
        name=name,
        target=_validate_target(content.target),
        places=_validate_list_scope(content),
        starts=_validate_time(content.starts, "starts"),
        ends=_validate_time(content.ends, "ends"),
    )
    first, last = clean.window(zone)
    if first > last:
        message = f"the rule ends ({clean.ends}) before it starts ({clean.starts})"
        raise RuleError(message, "ends")
    _check_strength(clean)
    _check_pin(clean)
    return clean


def _validate_target(target: RuleTarget) -> RuleTarget:
    words = tuple(sorted(folded_words(" ".join(target.title_words))))
    if len(words) > MAX_WORDS:
        message = f"a rule may have at most {MAX_WORDS} title words"
        raise RuleError(message, "title_words")
    clean = RuleTarget(
        items=_validate_names(target.items, MAX_ITEMS, MAX_ID_LENGTH, "items"),
        categories=_validate_names(
            target.categories, MAX_CATEGORIES, MAX_CATEGORY_LENGTH, "categories"
        ),
        title_words=words,
        price_min=target.price_min,
        price_max=target.price_max,
        attributes=_validate_attributes(target.attributes),
    )
    for name, price in (("price_min", clean.price_min), ("price_max", clean.price_max)):
        if price is not None and not (math.isfinite(price) and abs(price) <= MAX_PRICE):
            message = f"{name} must be a number up to {MAX_PRICE:.12g}"
            raise RuleError(message, name)
    low, high = clean.price_min, clean.price_max
    if low is not None and high is not None and low > high:
        message = f"the lowest price ({low:.12g}) is above the highest ({high:.12g})"
        raise RuleError(message, "price_max")
    if clean.is_empty:
        message = (
            "choose products, categories, brands and other attributes, words in the title, "
            "or a price"
        )
        raise RuleError(message, "target")
    return clean


def parse_attribute(text: str) -> tuple[str, str]:
    """Return the name and the value in a text such as `brand:Acme`."""
    name, _, value = text.partition(":")
    return name.strip(), value.strip()


def _validate_attributes(
    pairs: Iterable[tuple[str, str]],
) -> tuple[tuple[str, str], ...]:
    distinct = tuple(dict.fromkeys(pairs))
    if len(distinct) > MAX_ATTRIBUTES:
        message = (
            f"one rule may have at most {MAX_ATTRIBUTES} attributes; make a second rule "
            "for the rest"
        )
        raise RuleError(message, "attributes")
    for name, value in distinct:
        if not name or not value or max(map(len, (name, value))) > MAX_ATTRIBUTE_LENGTH:
            message = "write an attribute as NAME:VALUE, such as brand:Acme"
            raise RuleError(message, "attributes")
    return distinct


def _validate_names(
    names: Iterable[str], limit: int, max_length: int, field: str
) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(name for name in names if name.strip()))
    if len(distinct) > limit:
        message = (
            f"one rule may have at most {limit} {field}; make a second rule for the rest"
        )
        raise RuleError(message, field)
    if any(len(name) > max_length or "\0" in name for name in distinct):
        message = f"one of the {field} is invalid: each has 1 to {max_length} characters"
        raise RuleError(message, field)
    return distinct


def _validate_list_scope(content: RuleContent) -> RuleListScope:
    places = content.places
    clash = set(places.only_in) & set(places.not_in)
    if clash:
        message = f"the rule both includes and excludes {min(clash)}"
        raise RuleError(message, "places")
    if content.action is RuleAction.PIN and set(places.only_in) == {ListKind.SEARCH}:
        message = "in search a pin is for a query: productrecs search-rules add D pin QUERY"
        raise RuleError(message, "places")
    return RuleListScope(
        only_in=tuple(sorted(set(places.only_in))),
        not_in=tuple(sorted(set(places.not_in))),
        placements=_validate_names(
            sorted(places.placements), MAX_PLACEMENTS, MAX_PLACEMENT_LENGTH, "placements"
        ),
    )


def _validate_time(text: str | None, field: str) -> str | None:
    if text is None or not text.strip():
        return None
    try:
        return normalise_date_or_datetime(text)
    except InvalidDateError as error:
        message = f"{field}: {error}"
        raise RuleError(message, field) from error


def _check_strength(content: RuleContent) -> None:
    strength = content.strength
    if strength is None:
        return
    if content.action not in {RuleAction.BOOST, RuleAction.BURY}:
        message = f"{content.action} has no strength: only boost and bury have one"
        raise RuleError(message, "strength")
    if not 1 < strength <= MAX_STRENGTH:
        message = f"the strength must be a number above 1, up to {MAX_STRENGTH:g}"
        raise RuleError(message, "strength")


def _check_pin(content: RuleContent) -> None:
    position, items = content.position, content.target.items
    if content.action is not RuleAction.PIN:
        if position is not None:
            message = f"{content.action} has no position: only pin has one"
            raise RuleError(message, "position")
        return
    if position is None or not 1 <= position <= MAX_POSITION:
        message = f"pin needs a position from 1 to {MAX_POSITION}"
        raise RuleError(message, "position")
    if content.target != RuleTarget(items=items):
        message = "pin takes its products by item only"
        raise RuleError(message, "target")
    if position + len(items) - 1 > MAX_POSITION:
        message = f"the last pinned product would be after position {MAX_POSITION}"
        raise RuleError(message, "items")
