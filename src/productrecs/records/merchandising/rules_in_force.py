"""Rules in force, resolved to item numbers, factors and positions.

The rules view follows a store: it resolves them again after a change of rules, catalog or
time.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.catalog.repository import (
    ItemTitle,
    read_all_titles,
    read_changed_titles,
)
from productrecs.records.catalog.title_words import fold_text, folded_words
from productrecs.records.merchandising.repository import (
    read_rules,
)
from productrecs.records.merchandising.rule import (
    ListKind,
    Rule,
    RuleAction,
    RuleState,
    RuleTarget,
    by_priority,
)
from productrecs.storage.sql.dialects import RawReader

_STRONGEST: Final = 100.0
_NO_ITEMS: Final = np.zeros(0, dtype=np.int64)


class PinnedItem(NamedTuple):
    """A pinned item and its position, from 0."""

    place: int
    item: int


@dataclass(slots=True, eq=False)
class ListRuleEffects:
    """The effect of the active rules on one kind of list.

    `excluded` are item numbers, ascending, and `known` is the number of checked items;
    None when no rule excludes. `factors` multiplies scores, by item number (1 without a
    rule), with a final 1 for all later items; None without boosts and buries. `pins` are
    in the order of application.
    """

    excluded: Ints
    known: int | None
    factors: Floats | None
    pins: tuple[PinnedItem, ...]
    _shown: tuple[Bools, Bools] | None = field(default=None, init=False)

    def shown_mask(self, visible: Bools) -> Bools:
        """Return `visible` without excluded items; read-only.

        The same `visible` gives the same mask. An item that was added after the rules were
        resolved is hidden until the next resolution, which may exclude it.
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
class RulesInForce:
    """The rules in force at one time, resolved to item numbers; immutable.

    `rules` are in the order of application; `selected` has the items of each.
    """

    rules: tuple[Rule, ...]
    selected: Mapping[int, Ints]
    size: int
    _lists: dict[tuple[ListKind, ListKind | None, str], ListRuleEffects] = field(
        default_factory=dict
    )
    _cache: dict[tuple[int, ...], ListRuleEffects] = field(default_factory=dict)

    def effects_on_list(
        self, page_type: ListKind, source: ListKind | None = None, placement: str = ""
    ) -> ListRuleEffects:
        """Return the rules' effect on lists of a page type, a source and a placement."""
        found = self._lists.get((page_type, source, placement))
        if found is None:
            applicable = self._rules_for(page_type, source, placement)
            key = tuple(rule.rule_id for rule in applicable)
            found = self._cache.get(key)
            if found is None:
                found = self._cache[key] = self._build_list_effects(applicable)
            self._lists[page_type, source, placement] = found
        return found

    def effects_of_rules_naming(self, page_type: ListKind) -> ListRuleEffects:
        """Return the effect on a page type of only those rules that name it."""
        applicable = [
            rule
            for rule in self._rules_for(page_type, None)
            if page_type in rule.content.places.only_in
        ]
        key = tuple(rule.rule_id for rule in applicable)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._build_list_effects(applicable)
        return found

    def is_equivalent(self, other: "RulesInForce") -> bool:
        """Return whether both have the same effect on every item."""
        return (
            self.rules == other.rules
            and self.size == other.size
            and all(
                np.array_equal(items, other.selected[rule_id])
                for rule_id, items in self.selected.items()
            )
        )

    def rules_about_item(
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

    def _build_list_effects(self, applicable: Sequence[Rule]) -> ListRuleEffects:
        excluded = [
            self.selected[rule.rule_id]
            for rule in applicable
            if rule.content.action is RuleAction.EXCLUDE
        ]
        return ListRuleEffects(
            excluded=np.unique(np.concatenate([_NO_ITEMS, *excluded])),
            known=self.size if excluded else None,
            factors=self._item_factors(applicable),
            pins=self._pins(applicable),
        )

    def _item_factors(self, applicable: Iterable[Rule]) -> Floats | None:
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

    def _pins(self, applicable: Iterable[Rule]) -> tuple[PinnedItem, ...]:
        pins: dict[int, PinnedItem] = {}
        for rule in applicable:
            first = rule.content.position
            if rule.content.action is RuleAction.PIN and first is not None:
                for step, item in enumerate(self.selected[rule.rule_id].tolist()):
                    pins.setdefault(item, PinnedItem(first - 1 + step, item))
        return tuple(pins.values())


Words = frozenset[str]
Matches = Mapping[Words, Ints]

NO_MATCHES: Final[Matches] = MappingProxyType({})
_NO_SEQ: Final = -1


class TitleMatcher:
    """The items whose titles contain each requested word set; one writer at a time.

    Titles are not stored. `matches` is replaced atomically: readers take no lock.
    """

    def __init__(self, store_id: StoreId) -> None:
        """Start without requested words."""
        self._store_id = store_id
        self._seq = _NO_SEQ
        self.matches: Matches = NO_MATCHES

    def refresh(
        self, reader: RawReader, phrases: Iterable[Words], catalog_seq: int
    ) -> None:
        """Read the titles that are needed for all `phrases` as of `catalog_seq`."""
        requested = set(phrases)
        if not requested:
            self.matches, self._seq = NO_MATCHES, _NO_SEQ
        elif requested != self.matches.keys():
            self._match_all_titles(reader, requested)
            self._seq = catalog_seq  # changes during the read are read again
        elif catalog_seq > self._seq:
            changed = read_changed_titles(reader, self._store_id, self._seq)
            self._rematch_titles(changed)
            self._seq = max([catalog_seq, *(one.change_seq for one in changed)])

    def for_phrases(self, reader: RawReader, phrases: set[Words]) -> "TitleMatcher":
        """Return a matcher for `phrases` as of now; reads titles for new phrases."""
        matches = self.matches
        merged = TitleMatcher(self._store_id)
        missing = phrases - matches.keys()
        if missing:
            merged._match_all_titles(reader, missing)
        reused = {words: matches[words] for words in phrases & matches.keys()}
        merged.matches = {**merged.matches, **reused}
        return merged

    def _match_all_titles(self, reader: RawReader, requested: set[Words]) -> None:
        found: dict[Words, list[int]] = {words: [] for words in requested}
        for page in read_all_titles(reader, self._store_id):
            for words, numbers in _match_titles(requested, page).items():
                found[words] += numbers
        self.matches = {
            words: np.array(numbers, np.int64) for words, numbers in found.items()
        }

    def _rematch_titles(self, changed: Sequence[ItemTitle]) -> None:
        if not changed:
            return
        changed_numbers = np.array([one.number for one in changed], np.int64)
        new_matches = _match_titles(self.matches.keys(), changed)
        self.matches = {
            words: np.union1d(
                np.setdiff1d(numbers, changed_numbers),
                np.array(new_matches[words], np.int64),
            )
            for words, numbers in self.matches.items()
        }


def _match_titles(
    phrases: Iterable[Words], titles: Sequence[ItemTitle]
) -> dict[Words, list[int]]:
    found: dict[Words, list[int]] = {words: [] for words in phrases}
    for one in titles:
        in_title = folded_words(one.title) if one.present else frozenset()
        for words, numbers in found.items():
            if words <= in_title:
                numbers.append(one.number)
    return found


_FOREVER: Final = 2**62


class RulesView:
    """The rules of one store, resolved against its catalog.

    `in_force` is None while the store has no rules. It is replaced only when a change of
    the rules, the catalog or the time affects it; readers take no lock.
    """

    def __init__(self, store_id: StoreId, zone: tzinfo, catalog: CatalogView) -> None:
        """Start without rules; schedules are read in `zone`."""
        self._store_id = store_id
        self._zone = zone
        self._catalog = catalog
        self._titles = TitleMatcher(store_id)
        self.in_force: RulesInForce | None = None
        self._rules: tuple[Rule, ...] = ()
        self._resolved_inputs: tuple[object, ...] = (None, None, None)
        self._window = (-_FOREVER, _FOREVER)  # during which the same rules are in force
        self._seq = 0
        self._refreshing = threading.Lock()
        self._names: dict[str, list[str]] = {}  # folded category: spellings in items
        self._names_read = 0

    def refresh(self, reader: RawReader, rules_seq: int, now_ms: int) -> None:
        """Resolve the rules in force at `now_ms`; call it after the catalog's refresh.

        Reads the rules if they changed, and the titles that they match. Without changes,
        `in_force` stays the same object.
        """
        with self._refreshing:
            rules = self._rules
            if rules_seq != self._seq:
                rules = read_rules(reader, self._store_id)
            title_word_sets = {
                frozenset(rule.content.target.title_words)
                for rule in rules
                if rule.content.target.title_words
            }
            self._titles.refresh(reader, title_word_sets, self._catalog.seq)
            self._rules, self._seq = rules, rules_seq
            self._resolve_again_if_due(now_ms)

    def fixed_view_of_rules_alone(
        self, reader: RawReader, rules: Iterable[Rule], now_ms: int
    ) -> "RulesView":
        """Return a fixed view of `rules` alone for the same catalog, as of now.

        Reads titles if the rules match words that no rule of this view matches.
        """
        view = RulesView(self._store_id, self._zone, self._catalog)
        view._rules = tuple(rules)
        active_rules = {frozenset(rule.content.target.title_words) for rule in view._rules}
        view._titles = self._titles.for_phrases(
            reader, {words for words in active_rules if words}
        )
        view._resolve_again_if_due(now_ms)
        return view

    def _resolve_again_if_due(self, now_ms: int) -> None:
        inputs = (self._rules, self._titles.matches, self._catalog.version)
        is_same = all(a is b for a, b in zip(inputs, self._resolved_inputs, strict=True))
        first_ms, last_ms = self._window
        if is_same and first_ms <= now_ms <= last_ms:
            return
        in_force = self._resolve(now_ms) if self._rules else None
        old = self.in_force
        if in_force is None or old is None or not in_force.is_equivalent(old):
            self.in_force = in_force
        self._resolved_inputs, self._window = inputs, self._window_at(now_ms)

    def _window_at(self, now_ms: int) -> tuple[int, int]:
        """Return the time range in which the rules in force are the same as at `now_ms`."""
        windows = [
            rule.content.window(self._zone) for rule in self._rules if rule.content.enabled
        ]
        edges = [edge for first, last in windows for edge in (first, last + 1)]
        first_ms = max((edge for edge in edges if edge <= now_ms), default=-_FOREVER)
        after = min((edge for edge in edges if edge > now_ms), default=_FOREVER)
        return first_ms, after - 1

    def _resolve(self, now_ms: int) -> RulesInForce:
        size = len(self._catalog)
        in_force = by_priority(
            rule
            for rule in self._rules
            if rule.content.state(now_ms, self._zone) is RuleState.ON
        )
        selected = {rule.rule_id: self._target_items(rule) for rule in in_force}
        return RulesInForce(
            rules=tuple(in_force),
            # An item may be added right now: the next resolution will include it.
            selected={rule_id: items[items < size] for rule_id, items in selected.items()},
            size=size,
        )

    def _target_items(self, rule: Rule) -> Ints:
        """Return a rule's target item numbers; a pin's in its own order."""
        target, parts = rule.content.target, []
        if target.items:
            numbers = (self._catalog.number(item_id) for item_id in target.items)
            parts.append(np.array([n for n in numbers if n is not None], np.int64))
        if target.categories:
            parts.append(self._items_in_categories(target.categories))
        for name in dict.fromkeys(name for name, _ in target.attributes):
            values = [
                value
                for attribute_name, value in target.attributes
                if attribute_name == name
            ]
            parts.append(self._catalog.attributes.items_with(name, values))
        if target.title_words:
            parts.append(self._titles.matches[frozenset(target.title_words)])
        if target.has_prices:
            parts.append(self._items_in_price_range(target))
        if rule.content.action is RuleAction.PIN:
            return parts[0]
        items = np.unique(parts[0])
        for part in parts[1:]:
            items = np.intersect1d(items, part)
        return items

    def _items_in_categories(self, names: Iterable[str]) -> Ints:
        """Return the items of categories in any spelling."""
        members = self._catalog.members
        names_so_far = list(members)  # it only grows, at its end
        for name in names_so_far[self._names_read :]:
            self._names.setdefault(fold_text(name), []).append(name)
        self._names_read = len(names_so_far)
        spellings = {
            spelling for name in names for spelling in self._names.get(fold_text(name), ())
        }
        return np.concatenate(
            [
                np.zeros(0, np.int64),
                *(np.array(members[spelling], np.int64) for spelling in spellings),
            ]
        )

    def _items_in_price_range(self, target: RuleTarget) -> Ints:
        prices = self._catalog.prices
        low = -np.inf if target.price_min is None else target.price_min
        high = np.inf if target.price_max is None else target.price_max
        return np.flatnonzero((prices >= low) & (prices <= high))
