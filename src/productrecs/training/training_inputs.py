"""Training inputs: a store's log and catalog as arrays, read incrementally."""

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from productrecs.core.ids import visitor_hash
from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints, Items
from productrecs.engines.copurchase import VariantGroups
from productrecs.records.catalog.title_words import size_code_in_title, variant_key
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.training.fit_cache import FitCache
from productrecs.training.interest_signals import InterestSignalInputs
from productrecs.training.partitioned_shopper_events import (
    ShopperEventArrays,
    ShopperEvents,
    concatenate_rows,
    select_rows,
)
from productrecs.training.repository import TrainingLogHead, TrainingRepository
from productrecs.training.search.click_boost_inputs import (
    ClickBoostInputs,
    SearchInteractionRows,
)

FieldValue = TypeVar("FieldValue", int, tuple[str, ...])
_UNKNOWN: Final[tuple[tuple[str, ...], int, int]] = ((), 0, 0)


class CatalogTrainingInputs:
    """A store's items for training: categories, variant groups and sizes."""

    def __init__(self) -> None:
        """Start with an empty catalog."""
        self.seq = -1
        self._categories: dict[int, tuple[str, ...]] = {}
        self._group_codes: dict[int, int] = {}
        self._category_tuples: dict[str, tuple[str, ...]] = {}
        self._sizes: dict[int, int] = {}
        self._cached: tuple[Items, VariantGroups] | None = None

    def apply_changes(self, changed_items: Iterable[tuple[Any, ...]], seq: int) -> None:
        """Apply rows of (number, present, title, categories) up to a change's number."""
        for number, present, title, categories in changed_items:
            previous = (
                self._categories.get(number, ()),
                self._group_codes.get(number, 0),
                self._sizes.get(number, 0),
            )
            current = _UNKNOWN
            if present:
                key = variant_key(title)
                code = visitor_hash(key) if key else 0
                current = (
                    self._parse_distinct_categories(categories),
                    code,
                    size_code_in_title(title),
                )
            if current != previous:  # most changes are of prices and stock only
                self._cached = None
                _set_or_remove(self._categories, number, current[0])
                _set_or_remove(self._group_codes, number, current[1])
                _set_or_remove(self._sizes, number, current[2])
        self.seq = seq

    @property
    def has_categories(self) -> bool:
        """Whether any item has a category."""
        return bool(self._categories)

    def categories_and_variants(self, n_items: int) -> tuple[Items, VariantGroups]:
        """Return each item's category [n_items], and the variant groups.

        An item's category is the one with the fewest items, as a number from 0; -1 for
        none. Items whose titles differ only in size or colour share a variant group; it is
        0 for none and for items without variants. The same objects are returned until the
        catalog changes.
        """
        if self._cached is None or len(self._cached[0]) != n_items:
            groups = self._variant_group_numbers(n_items)
            sizes = np.zeros(n_items, dtype=np.int32)
            for item, size in self._sizes.items():
                if item < n_items:
                    sizes[item] = size
            categories = self._narrowest_category_numbers(n_items)
            self._cached = categories, VariantGroups(groups, sizes, categories)
        return self._cached

    def _narrowest_category_numbers(self, n_items: int) -> Items:
        counts = Counter(name for names in self._categories.values() for name in names)
        narrowest = {
            names: min(names, key=lambda name: (counts[name], name))
            for names in set(self._categories.values())
        }
        names_in_use = sorted(set(narrowest.values()))
        category_numbers = {name: number for number, name in enumerate(names_in_use)}
        categories = np.full(n_items, -1, dtype=np.int32)
        for item, names in self._categories.items():
            if item < n_items:
                categories[item] = category_numbers[narrowest[names]]
        return categories

    def _variant_group_numbers(self, n_items: int) -> Items:
        groups = np.zeros(n_items, dtype=np.int32)
        items = array("q", (item for item in sorted(self._group_codes) if item < n_items))
        codes = np.array([self._group_codes[item] for item in items], dtype=np.int64)
        _, code_index, sizes = np.unique(codes, return_inverse=True, return_counts=True)
        is_single = (codes == 0) | (sizes[code_index] == 1)
        groups[np.asarray(items)] = np.where(is_single, 0, code_index + 1)
        return groups

    def _parse_distinct_categories(self, categories_json: str) -> tuple[str, ...]:
        """Return an item's distinct categories; equal ones share one object."""
        distinct = self._category_tuples.get(categories_json)
        if distinct is None:
            distinct = tuple(dict.fromkeys(json.loads(categories_json)))
            self._category_tuples[categories_json] = distinct
        return distinct


def _set_or_remove(
    values_by_item: dict[int, FieldValue], number: int, value: FieldValue
) -> None:
    """Store an item's value; an empty one is removed, to save memory."""
    if value:
        values_by_item[number] = value
    else:
        values_by_item.pop(number, None)


_FACT_BYTES: Final = 30
_RANGE_ROWS: Final = 2_000_000  # rows of the log
MAX_LOG_ROWS: Final = 20_000_000  # rows whose events tuning and backtests read


def _ints(values: Sequence[Any], missing: int = 0) -> Ints:
    return np.array(
        [missing if value is None else value for value in values], dtype=np.int64
    )


def _floats(values: Sequence[Any]) -> Floats:
    return np.array(
        [np.nan if value is None else value for value in values], dtype=np.float64
    )


@dataclass(slots=True)
class OrderLineArrays:
    """Order lines, by `line_seq`: parallel arrays, one entry a line."""

    line_seqs: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    baskets: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # -1: none
    items: Items = field(default_factory=lambda: np.zeros(0, np.int32))
    quantities: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # unknown: 1
    totals: Floats = field(default_factory=lambda: np.zeros(0, np.float64))  # nan: unknown
    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # UTC ms
    is_active: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    buyers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # 0: unknown
    visitors: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # as Behaviour's


class TrainingInputs:
    """One store's log up to `applied_seq`. Incremental reading equals a full read."""

    def __init__(self, folder: Path | None = None) -> None:
        """Start with an empty log; events of a large store lie in files of `folder`."""
        self._folder = folder
        self._reset(0)

    @property
    def behaviour(self) -> ShopperEventArrays:
        """All events of shoppers in memory, in log order unless some are in files."""
        return self.events.load_all()

    @behaviour.setter
    def behaviour(self, behaviour: ShopperEventArrays) -> None:
        self.events = ShopperEvents(self._folder)
        self.events.add(behaviour)

    def restart_after_removals(self, removals: int) -> None:
        """Start over if the log has lost events since: of erased shoppers, or of bots."""
        if removals != self.removals:
            self._reset(removals)

    def _reset(self, removals: int) -> None:
        self.removals = removals
        self.applied_seq = 0
        self.events = ShopperEvents(self._folder)
        self.purchases = OrderLineArrays()
        self.searches = ClickBoostInputs()
        self.indicators = InterestSignalInputs()
        self.catalog = CatalogTrainingInputs()
        self.fit_cache = FitCache()

    @property
    def size(self) -> int:
        """Number of events and order lines in memory; caches count by their size."""
        facts = self.events.count_in_memory + len(self.purchases.items)
        facts += self.fit_cache.size_bytes // _FACT_BYTES
        return facts + self.searches.size + len(self.indicators.signals.times)

    def events_and_orders_before(self, until_ms: int) -> "TrainingInputs":
        """Return behaviour and purchases before a moment, without searches.

        The catalog is today's: it has no history.
        """
        earlier = TrainingInputs()
        earlier.catalog = self.catalog
        earlier.behaviour = select_rows(self.behaviour, self.behaviour.times < until_ms)
        earlier.purchases = select_rows(self.purchases, self.purchases.times < until_ms)
        return earlier

    def read_log_up_to(
        self,
        repository: TrainingRepository,
        up_to_seq: int,
        events_after: int = 0,
        searches: EventLogRepository | None = None,
    ) -> None:
        """Read the log after `applied_seq`; of its events only those after `events_after`.

        Read searches only from a `searches` repository.
        """
        signals, lines = [], []
        for after, last in _log_ranges(self.applied_seq, up_to_seq):
            if searches is not None:
                self.searches.read_searches_and_carts(searches, after, last)
            for page in repository.behaviour_pages(max(events_after, after), last):
                with_shopper = [row for row in page if row[2] is not None]
                self.events.add(_to_shopper_event_arrays(with_shopper))
                if len(with_shopper) < len(page):
                    reported = [row for row in page if row[2] is None and row[4]]
                    signals.append(
                        self.indicators.encode(
                            [(row[0], row[1], row[4], row[3]) for row in reported]
                        )
                    )
            lines += [
                _to_order_line_arrays(page)
                for page in repository.purchase_line_pages(after, last)
            ]
        self.indicators.add(signals)
        self.add_purchases(lines)
        for page in repository.catalog_pages(self.catalog.seq):
            self.catalog.apply_changes(
                [row[:-1] for row in page], max(row[-1] for row in page)
            )
        self.applied_seq = up_to_seq

    def add_purchases(self, pages: Sequence[OrderLineArrays]) -> None:
        """Add changed lines; each replaces its earlier version."""
        if pages:
            self.purchases = _replace_lines(self.purchases, concatenate_rows(pages))


def read_log_without_searches(
    repository: TrainingRepository,
) -> tuple[TrainingInputs, TrainingLogHead]:
    """Return a store's log without searches, in memory, and its head.

    A log longer than `MAX_LOG_ROWS` gives the events of its newest rows, and all orders.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    inputs, head = TrainingInputs(), repository.existing_head()
    inputs.read_log_up_to(repository, head.seq, events_after=head.seq - MAX_LOG_ROWS)
    return inputs, head


def _log_ranges(after_seq: int, up_to_seq: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of the log as (after, last), small enough for the page cache."""
    for after in range(after_seq, up_to_seq, _RANGE_ROWS):
        yield after, min(after + _RANGE_ROWS, up_to_seq)


def _to_shopper_event_arrays(page: Sequence[tuple[Any, ...]]) -> ShopperEventArrays:
    if not page:
        return ShopperEventArrays()
    times, kinds, items, visitors, *_ = zip(*page, strict=True)
    return ShopperEventArrays(
        times=np.array(times, np.int64),
        kinds=np.array(kinds, np.int8),
        items=np.array(items, np.int32),
        visitors=_visitor_hashes(visitors),
    )


def _to_order_line_arrays(page: Sequence[tuple[Any, ...]]) -> OrderLineArrays:
    line_seqs, baskets, items, quantities, totals, times, voids, *shopper_columns = zip(
        *page, strict=True
    )
    buyers, sessions = shopper_columns
    return OrderLineArrays(
        line_seqs=_ints(line_seqs),
        baskets=_ints(baskets, missing=-1),
        items=np.array(items, np.int32),
        quantities=_ints(quantities, missing=1),
        totals=_floats(totals),
        times=_ints(times),
        is_active=~np.array(voids, np.bool_),
        buyers=_visitor_hashes(buyers),
        visitors=_visitor_hashes(
            [session or buyer for session, buyer in zip(sessions, buyers, strict=True)]
        ),
    )


def purchase_interaction_rows(purchases: OrderLineArrays) -> SearchInteractionRows:
    """Return the lines that were bought and not returned, to attribute them to searches."""
    lines = select_rows(purchases, purchases.is_active & (purchases.quantities > 0))
    return SearchInteractionRows(
        lines.line_seqs,
        lines.times,
        lines.items,
        lines.buyers,
        lines.visitors,
        np.zeros(len(lines.items), np.int32),
    )


def _visitor_hashes(names: Sequence[str | None]) -> Ints:
    """Return each visitor's hash; 0 for an event without one."""
    codes = {name: visitor_hash(name) if name else 0 for name in set(names)}
    return np.array([codes[name] for name in names], dtype=np.int64)


def _replace_lines(old: OrderLineArrays, added: OrderLineArrays) -> OrderLineArrays:
    names = OrderLineArrays.__dataclass_fields__
    if len(old.line_seqs):
        remaining = select_rows(old, ~np.isin(old.line_seqs, added.line_seqs))
        added = concatenate_rows([remaining, added])
    if np.all(np.diff(added.line_seqs) > 0):
        return added
    order = np.argsort(added.line_seqs, kind="stable")
    return OrderLineArrays(**{name: getattr(added, name)[order] for name in names})
