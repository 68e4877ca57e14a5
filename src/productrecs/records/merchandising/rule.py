"""Rule: its action, its target products, its lists and its schedule."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import StrEnum
from typing import Final

from productrecs.core.time_window import window_end_ms, window_start_ms

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
class ListFilter:
    """The lists of a rule; without conditions, all of them.

    Page types and sources in `only_in` are separate conditions, and both must hold:
    `cart` with `buy` means cart lists of the source `buy`. With `placements` only the
    lists of these merchant's placements count.
    """

    only_in: tuple[ListKind, ...] = ()
    not_in: tuple[ListKind, ...] = ()
    placements: tuple[str, ...] = ()

    def matches(
        self, page_type: ListKind, source: ListKind | None, placement: str = ""
    ) -> bool:
        """Return whether the filter includes a list; `placement` is "" without one."""
        if self.placements and placement not in self.placements:
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
    places: ListFilter = field(default_factory=ListFilter)
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


def describe_rule(content: RuleContent) -> str:
    """Describe a rule in one line."""
    target = content.target
    parts = [
        _abbreviated("", target.items),
        _abbreviated("in ", target.categories),
        _abbreviated("", tuple(f"{name} {value}" for name, value in target.attributes)),
        f"titled {' '.join(target.title_words)}" if target.title_words else "",
        f"from {target.price_min:g}" if target.price_min is not None else "",
        f"up to {target.price_max:g}" if target.price_max is not None else "",
    ]
    joined = ", ".join(part for part in parts if part)
    position = f" at {content.position}" if content.position is not None else ""
    if content.strength is not None:
        position = f" by {content.strength:g}"
    return f"{content.action} {joined}{position}"


def _abbreviated(before: str, names: tuple[str, ...]) -> str:
    if not names:
        return ""
    remainder = f" and {len(names) - 3} more" if len(names) > 3 else ""  # noqa: PLR2004 - a line's worth
    return before + " or ".join(names[:3]) + remainder
