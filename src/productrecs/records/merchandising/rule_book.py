"""Rule book: the rules in force, resolved to item numbers, factors and positions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Bools, Floats, Ints
from productrecs.records.merchandising.rule import ListKind, Rule, RuleAction

_STRONGEST: Final = 100.0
_NO_ITEMS: Final = np.zeros(0, dtype=np.int64)


class Pin(NamedTuple):
    """A pinned item and its position, from 0."""

    place: int
    item: int


@dataclass(slots=True, eq=False)
class ListRules:
    """The effect of the active rules on one kind of list.

    `excluded` are item numbers, ascending, and `known` is the number of checked items;
    None when no rule excludes. `factors` multiplies scores, by item number (1 without a
    rule), with a final 1 for all later items; None without boosts and buries. `pins` are
    in the order of application.
    """

    excluded: Ints
    known: int | None
    factors: Floats | None
    pins: tuple[Pin, ...]
    _shown: tuple[Bools, Bools] | None = field(default=None, init=False)

    def shown(self, visible: Bools) -> Bools:
        """Return `visible` without excluded items; read-only.

        The same `visible` gives the same mask. An item that was added after the rules were
        resolved is hidden until the next book, which may exclude it.
        """
        if self.known is None:
            return visible
        cached = self._shown
        if cached is not None and cached[0] is visible:
            return cached[1]
        mask = visible.copy()
        mask[self.excluded[self.excluded < len(mask)]] = False
        mask[self.known :] = False
        self._shown = (visible, mask)
        return mask


@dataclass(slots=True, eq=False)
class RuleBook:
    """The rules in force at one time, resolved to item numbers; immutable.

    `rules` are in the order of application; `selected` has the items of each.
    """

    rules: tuple[Rule, ...]
    selected: Mapping[int, Ints]
    size: int
    _lists: dict[tuple[ListKind, ListKind | None, str], ListRules] = field(
        default_factory=dict
    )
    _cache: dict[tuple[int, ...], ListRules] = field(default_factory=dict)

    def of(
        self, page_type: ListKind, source: ListKind | None = None, placement: str = ""
    ) -> ListRules:
        """Return the rules' effect on lists of a page type, a source and a placement."""
        found = self._lists.get((page_type, source, placement))
        if found is None:
            applicable = self._rules_for(page_type, source, placement)
            key = tuple(rule.rule_id for rule in applicable)
            found = self._cache.get(key)
            if found is None:
                found = self._cache[key] = self._list(applicable)
            self._lists[page_type, source, placement] = found
        return found

    def rules_of(self, page_type: ListKind) -> ListRules:
        """Return the effect on a page type of only those rules that name it."""
        applicable = [
            rule
            for rule in self._rules_for(page_type, None)
            if page_type in rule.content.places.only_in
        ]
        key = tuple(rule.rule_id for rule in applicable)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._list(applicable)
        return found

    def is_equivalent(self, other: "RuleBook") -> bool:
        """Return whether both have the same effect on every item."""
        return (
            self.rules == other.rules
            and self.size == other.size
            and all(
                np.array_equal(items, other.selected[rule_id])
                for rule_id, items in self.selected.items()
            )
        )

    def about(
        self,
        item: int,
        page_type: ListKind,
        source: ListKind | None = None,
        placement: str = "",
    ) -> list[Rule]:
        """Return the rules about one item in such a list, in the order of application."""
        return [
            rule
            for rule in self._rules_for(page_type, source, placement)
            if item in self.selected[rule.rule_id]
        ]

    def _rules_for(
        self, page_type: ListKind, source: ListKind | None, placement: str = ""
    ) -> list[Rule]:
        return [
            rule
            for rule in self.rules
            if rule.content.places.matches(page_type, source, placement)
        ]

    def _list(self, applicable: Sequence[Rule]) -> ListRules:
        excluded = [
            self.selected[rule.rule_id]
            for rule in applicable
            if rule.content.action is RuleAction.EXCLUDE
        ]
        return ListRules(
            excluded=np.unique(np.concatenate([_NO_ITEMS, *excluded])),
            known=self.size if excluded else None,
            factors=self._factors(applicable),
            pins=self._pins(applicable),
        )

    def _factors(self, applicable: Iterable[Rule]) -> Floats | None:
        """Return each item's factor: rules of equal priority multiply.

        Of different priorities only the highest that affects an item counts.
        """
        reordering = [
            rule
            for rule in applicable
            if rule.content.action in {RuleAction.BOOST, RuleAction.BURY}
        ]
        if not reordering:
            return None
        factors = np.ones(self.size + 1)
        reordering.sort(key=lambda rule: rule.content.priority)
        for _, group in groupby(reordering, key=lambda rule: rule.content.priority):
            rules = list(group)
            for rule in rules:
                factors[self.selected[rule.rule_id]] = 1.0
            for rule in rules:
                factors[self.selected[rule.rule_id]] *= rule.content.factor
        return factors.clip(1.0 / _STRONGEST, _STRONGEST)

    def _pins(self, applicable: Iterable[Rule]) -> tuple[Pin, ...]:
        pins: dict[int, Pin] = {}
        for rule in applicable:
            first = rule.content.position
            if rule.content.action is RuleAction.PIN and first is not None:
                for step, item in enumerate(self.selected[rule.rule_id].tolist()):
                    pins.setdefault(item, Pin(first - 1 + step, item))
        return tuple(pins.values())
