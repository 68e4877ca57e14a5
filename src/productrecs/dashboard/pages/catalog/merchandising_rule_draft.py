"""Merchandising rule draft: a rule as entered in its form, valid or not."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Self, TypeVar

from productrecs.core.written_numbers import (
    parse_typed_amount,
    parse_typed_number,
    typed_amount,
)
from productrecs.dashboard.page import SubmittedFields
from productrecs.records.merchandising.rule import (
    BOOST_STRENGTH,
    BURY_STRENGTH,
    ListKind,
    Rule,
    RuleAction,
    RuleContent,
    RuleError,
    RuleListScope,
    RuleTarget,
    parse_attribute,
)

ACTIONS: Final = MappingProxyType(
    {
        RuleAction.EXCLUDE.value: (
            "Exclude",
            "Never show these products, in lists and in searches",
        ),
        RuleAction.BOOST.value: ("Boost", "Show them earlier"),
        RuleAction.BURY.value: ("Bury", "Show them later"),
        RuleAction.PIN.value: ("Pin", "Show them at a position of your choice"),
    }
)
PLACES: Final = MappingProxyType(
    {
        ListKind.PRODUCT.value: "Product pages",
        ListKind.CART.value: "Cart",
        ListKind.SHOPPER.value: "For known shoppers",
        ListKind.NO_CONTEXT.value: "For unknown visitors",
        ListKind.TRENDING.value: "Trending",
        ListKind.SEARCH.value: "Search",
        ListKind.MIX.value: "Mix",
        ListKind.BUY.value: "Bought together",
        ListKind.BROWSE.value: "Viewed together",
        ListKind.SIMILAR.value: "Similar",
    }
)
STRENGTHS: Final = f"{BOOST_STRENGTH:g} for boost, {BURY_STRENGTH:g} for bury"
_WHOLE: Final = frozenset({"priority", "position"})
_Value = TypeVar("_Value", int, float)


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """The fields of the rule form; numbers are text as typed."""

    rule_id: str = ""
    action: str = RuleAction.EXCLUDE.value
    name: str = ""
    items: tuple[str, ...] = ()
    categories: str = ""  # one a line
    attributes: str = ""  # one per line, as NAME: VALUE
    title_words: str = ""
    price_min: str = ""
    price_max: str = ""
    strength: str = ""
    position: str = "1"
    only_in: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()
    placements: tuple[str, ...] = ()
    starts: str = ""
    ends: str = ""
    priority: str = "0"
    enabled: bool = True

    @classmethod
    def of_form(cls, form: SubmittedFields) -> Self:
        """Return the submitted rule."""
        action = form["action"]
        return cls(
            rule_id=form["rule"],
            action=action if action in ACTIONS else RuleAction.EXCLUDE.value,
            name=form["name"],
            items=distinct_lines("\n".join(form.all("item"))),
            categories=form["categories"],
            attributes=form["having"],  # "attributes" would hide the form element's own
            title_words=form["title_words"],
            price_min=form["price_min"],
            price_max=form["price_max"],
            strength=form["strength"],
            position=form["position"],
            only_in=tuple(place for place in form.all("only_in") if place in PLACES),
            not_in=tuple(place for place in form.all("not_in") if place in PLACES),
            placements=form.all("placement"),
            starts=form["starts"],
            ends=form["ends"],
            priority=form["priority"],
            enabled="enabled" in form,
        )

    @classmethod
    def of_rule(cls, rule: Rule) -> Self:
        """Return the form of a stored rule."""
        content, target = rule.content, rule.content.target
        return cls(
            rule_id=str(rule.rule_id),
            action=content.action.value,
            name=content.name,
            items=target.items,
            categories="\n".join(target.categories),
            attributes="\n".join(": ".join(pair) for pair in target.attributes),
            title_words=" ".join(target.title_words),
            price_min=typed_amount(target.price_min),
            price_max=typed_amount(target.price_max),
            strength=_number_text(content.strength),
            position=_number_text(content.position) or "1",
            only_in=tuple(content.places.only_in),
            not_in=tuple(content.places.not_in),
            placements=content.places.placements,
            starts=content.starts or "",
            ends=content.ends or "",
            priority=str(content.priority),
            enabled=content.enabled,
        )

    def content(self) -> RuleContent:
        """Return the rule of the fields, without fields that its action does not use.

        Raises:
            RuleError: when a number is invalid; nothing else is validated.
        """
        action = RuleAction(self.action)
        is_pin = action is RuleAction.PIN
        target = RuleTarget(items=self.items)
        if not is_pin:
            target = RuleTarget(
                items=self.items,
                categories=distinct_lines(self.categories),
                title_words=tuple(self.title_words.split()),
                price_min=_parse_number(self.price_min, "price_min", parse_typed_amount),
                price_max=_parse_number(self.price_max, "price_max", parse_typed_amount),
                attributes=tuple(
                    parse_attribute(line) for line in distinct_lines(self.attributes)
                ),
            )
        strength = None
        if action in {RuleAction.BOOST, RuleAction.BURY}:
            strength = _parse_number(self.strength, "strength", parse_typed_number)
        return RuleContent(
            action=action,
            target=target,
            name=self.name,
            places=RuleListScope(
                only_in=tuple(map(ListKind, self.only_in)),
                not_in=tuple(map(ListKind, self.not_in)),
                placements=self.placements,
            ),
            starts=self.starts or None,
            ends=self.ends or None,
            priority=_parse_number(self.priority, "priority", int) or 0,
            enabled=self.enabled,
            strength=strength,
            position=_parse_number(self.position, "position", int) if is_pin else None,
        )

    def content_as_if_in_force(self) -> RuleContent:
        """Return the rule as active within its schedule, for a preview.

        Raises:
            RuleError: when a number is invalid.
        """
        return replace(self.content(), starts=None, ends=None, enabled=True)


def distinct_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a field of several values, each once."""
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:.12g}"


def _parse_number(text: str, field: str, parse: Callable[[str], _Value]) -> _Value | None:
    if not text:
        return None
    try:
        return parse(text)
    except ValueError:
        example = "3" if field in _WHOLE else "1234 or 19.90"
        message = f"{text[:40]!r} is not a clear number; write it as {example}"
        raise RuleError(message, field) from None
