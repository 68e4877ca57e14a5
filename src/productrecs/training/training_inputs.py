"""Training inputs: a log and a catalog as arrays, and a cache of fitted results.

Interest indicators are items that shoppers chose after a category, brand or colour.
"""

import json
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import Cache
from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.core.ids import visitor_hash
from productrecs.engines.arrays import Items
from productrecs.engines.click_boosts import (
    CART,
    CLICK,
    PURCHASE,
    ClickBoostModel,
    ClickBoostOptions,
    SearchInteractions,
    fit_click_boosts,
)
from productrecs.engines.copurchase import VariantGroups
from productrecs.engines.item_impression_stats import ItemStats
from productrecs.records.catalog.title_words import size_in_title, variant_key
from productrecs.records.events.event import interest_key
from productrecs.training.repository import TrainingHead, TrainingRepository
from productrecs.training.search.click_boost_inputs import SearchInputs
from productrecs.training.search.repository import SearchEventRepository

Ints = npt.NDArray[np.int64]

INTEREST_WINDOW_MS: Final = 30 * MINUTE_MS
_BUY_WINDOW_MS: Final = DAY_MS
_FOLLOWING: Final = 10  # interactions after a signal that count for it


@dataclass(slots=True)
class Interactions:
    """Interactions with items, parallel arrays; visitors by their code."""

    visitors: Ints
    times: Ints
    items: Ints
    weights: npt.NDArray[np.float64]


@dataclass(slots=True)
class IndicatorInputs:
    """One store's interest signals in log order: visitor, signal and time."""

    keys: list[str] = field(default_factory=list)  # by number
    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    visitors: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _term_codes: dict[str, int] = field(default_factory=dict)

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows of (ts, kind, term, visitor)."""
        if not rows:
            return
        numbers = [self._number(interest_key(kind, term)) for _, kind, term, _ in rows]
        codes = [visitor_hash(row[3]) for row in rows]
        self.numbers = np.concatenate((self.numbers, np.array(numbers, np.int64)))
        self.times = np.concatenate(
            (self.times, np.array([row[0] for row in rows], np.int64))
        )
        self.visitors = np.concatenate((self.visitors, np.array(codes, np.int64)))

    def _number(self, key: str) -> int:
        number = self._term_codes.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number


def fit_indicators(
    signals: IndicatorInputs, interactions: Interactions, bought: Interactions, now_ms: int
) -> ClickBoostModel:
    """Fit the products that shoppers viewed, carted or bought after each signal.

    The next ten interactions of the same visit count; purchases count for a day.
    """
    if not signals.keys:
        return ClickBoostModel.empty()
    parts = [
        _following(signals, interactions, INTEREST_WINDOW_MS),
        _following(signals, bought, _BUY_WINDOW_MS),
    ]
    queries, items, visitors, weights, times = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    ages = ((now_ms - times) / DAY_MS).clip(min=0)
    choices = SearchInteractions(queries, items, visitors, weights, ages)
    # A category view is followed by views of many products: each of them counts.
    options = ClickBoostOptions(max_of_one_shopper=PURCHASE + CART + 4 * CLICK)
    return ClickBoostModel.of(fit_click_boosts(choices, options), signals.keys)


def _following(
    signals: IndicatorInputs, interactions: Interactions, window_ms: int
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.float64], Ints]:
    """Return signals, items, visitors, weights and times of the later interactions."""
    has_signal = np.isin(interactions.visitors, signals.visitors)
    visitors = np.concatenate((signals.visitors, interactions.visitors[has_signal]))
    times = np.concatenate((signals.times, interactions.times[has_signal]))
    count = len(signals.times)
    order = np.lexsort((np.arange(len(times)), times, visitors))
    places = np.flatnonzero(order < count)
    found = []
    for step in range(1, _FOLLOWING + 1):
        later = places + step
        inside = later < len(order)
        signal_rows, later_rows = order[places[inside]], order[later[inside]]
        fits = (visitors[signal_rows] == visitors[later_rows]) & (later_rows >= count)
        fits &= times[later_rows] - times[signal_rows] <= window_ms
        found.append(np.stack((signal_rows[fits], later_rows[fits] - count)))
    signal_index, items = np.concatenate(found, axis=1)
    return (
        signals.numbers[signal_index],
        interactions.items[has_signal][items],
        signals.visitors[signal_index],
        interactions.weights[has_signal][items],
        interactions.times[has_signal][items],
    )


FieldValue = TypeVar("FieldValue", int, tuple[str, ...])
_UNKNOWN: Final[tuple[tuple[str, ...], int, int]] = ((), 0, 0)


class CatalogInputs:
    """A store's items for training: categories and title codes."""

    def __init__(self) -> None:
        """Start with an empty catalog."""
        self.seq = -1
        self._categories: dict[int, tuple[str, ...]] = {}
        self._category_sets_by_item: dict[int, int] = {}
        self._sets: dict[str, tuple[str, ...]] = {}
        self._sizes: dict[int, int] = {}
        self._cached: tuple[Items, VariantGroups] | None = None

    def add(self, rows: Iterable[tuple[Any, ...]], seq: int) -> None:
        """Apply rows of (number, present, title, categories) up to a change's number."""
        for number, present, title, categories in rows:
            rows_kept = (
                self._categories.get(number, ()),
                self._category_sets_by_item.get(number, 0),
                self._sizes.get(number, 0),
            )
            current = _UNKNOWN
            if present:
                key = variant_key(title)
                code = visitor_hash(key) if key else 0
                current = self._set_of(categories), code, size_in_title(title)
            if current != rows_kept:  # most changes are of prices and stock only
                self._cached = None
                _set_field(self._categories, number, current[0])
                _set_field(self._category_sets_by_item, number, current[1])
                _set_field(self._sizes, number, current[2])
        self.seq = seq

    @property
    def has_kinds(self) -> bool:
        """Whether any item has a category."""
        return bool(self._categories)

    def kinds(self, n_items: int) -> tuple[Items, VariantGroups]:
        """Return each item's kind [n_items], and the variant groups.

        A kind is the item's category with the fewest items, as a number from 0; -1 for
        none. Items whose titles differ only in size or colour share a family; it is 0 for
        none and for items without variants. The same objects are returned until the catalog
        changes.
        """
        if self._cached is None or len(self._cached[0]) != n_items:
            category_sets = self._numbered_category_sets(n_items)
            sizes = np.zeros(n_items, dtype=np.int32)
            for item, size in self._sizes.items():
                if item < n_items:
                    sizes[item] = size
            self._cached = self._numbered(n_items), VariantGroups(category_sets, sizes)
        return self._cached

    def _numbered(self, n_items: int) -> Items:
        counts = Counter(name for names in self._categories.values() for name in names)
        narrowest = {
            names: min(names, key=lambda one: (counts[one], one))
            for names in set(self._categories.values())
        }
        used = sorted(set(narrowest.values()))
        numbers = {name: number for number, name in enumerate(used)}
        kinds = np.full(n_items, -1, dtype=np.int32)
        for item, names in self._categories.items():
            if item < n_items:
                kinds[item] = numbers[narrowest[names]]
        return kinds

    def _numbered_category_sets(self, n_items: int) -> Items:
        category_sets = np.zeros(n_items, dtype=np.int32)
        items = array(
            "q", (item for item in sorted(self._category_sets_by_item) if item < n_items)
        )
        codes = np.array(
            [self._category_sets_by_item[item] for item in items], dtype=np.int64
        )
        _, code_index, sizes = np.unique(codes, return_inverse=True, return_counts=True)
        is_single = (codes == 0) | (sizes[code_index] == 1)
        category_sets[np.asarray(items)] = np.where(is_single, 0, code_index + 1)
        return category_sets

    def _set_of(self, categories: str) -> tuple[str, ...]:
        """Return an item's distinct categories; equal ones share one object."""
        found = self._sets.get(categories)
        if found is None:
            found = tuple(dict.fromkeys(json.loads(categories)))
            self._sets[categories] = found
        return found


def _set_field(values: dict[int, FieldValue], number: int, value: FieldValue) -> None:
    """Store an item's value; an empty one is removed, to save memory."""
    if value:
        values[number] = value
    else:
        values.pop(number, None)


Fitted = TypeVar("Fitted")


class FitCache:
    """The last result of each fitter, with the inputs it was fitted on.

    Most trainings only have new views: purchases are then the same object as before, and
    their fitted result is reused.
    """

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._cached: dict[str, tuple[tuple[object, ...], Hashable, Any]] = {}

    @property
    def size(self) -> int:
        """Memory of the cached arrays, in bytes."""
        return sum(
            array.nbytes
            for _, _, model in self._cached.values()
            if hasattr(model, "to_arrays")
            for array in model.to_arrays().values()
        )

    def of(
        self,
        name: str,
        facts: tuple[object, ...],
        by: Hashable,
        compute: Callable[[], Fitted],
    ) -> Fitted:
        """Return the result of `compute`, cached while `facts` and `by` are the same.

        `facts` are compared by identity, so they must not change in place; `by` holds all
        other arguments. One result per name is cached.
        """
        last = self._cached.get(name)
        if last is not None and _are_same(last[0], facts) and last[1] == by:
            found: Fitted = last[2]
            return found
        self._cached.pop(name, None)  # frees memory before the next fit
        if len(self._cached) >= Cache.FITS.limit:
            self._cached.clear()
        model = compute()
        self._cached[name] = (facts, by, model)
        return model


def _are_same(some: tuple[object, ...], other_values: tuple[object, ...]) -> bool:
    if len(some) != len(other_values):
        return False
    return all(one is other for one, other in zip(some, other_values, strict=True))


Floats = npt.NDArray[np.float64]
_FACT_BYTES: Final = 30


def _ints(values: Sequence[Any], missing: int = 0) -> Ints:
    return np.array([missing if one is None else one for one in values], dtype=np.int64)


def _floats(values: Sequence[Any]) -> Floats:
    return np.array([np.nan if one is None else one for one in values], dtype=np.float64)


@dataclass(slots=True)
class Behaviour:
    """Events of shoppers, in log order: parallel arrays, one entry an event."""

    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # UTC ms
    kinds: npt.NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    items: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    visitors: Ints = field(  # core.shopper.visitor_code
        default_factory=lambda: np.zeros(0, np.int64)
    )


@dataclass(slots=True)
class Purchases:
    """Order lines, by `line_seq`: parallel arrays, one entry a line."""

    line_seqs: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    baskets: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # -1: none
    items: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    quantities: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # unknown: 1
    totals: Floats = field(default_factory=lambda: np.zeros(0, np.float64))  # unknown: 0
    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # UTC ms
    is_active: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    buyers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # 0: unknown
    visitors: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # as Behaviour's


F = TypeVar("F", Behaviour, Purchases)


class TrainingInputs:
    """One store's log up to `applied_seq`. Incremental reading equals a full read."""

    def __init__(self) -> None:
        """Start with an empty log."""
        self._begin(0)

    def follow(self, removals: int) -> None:
        """Start over if the log has lost events since: of erased shoppers, or of bots."""
        if removals != self.removals:
            self._begin(removals)

    def _begin(self, removals: int) -> None:
        self.removals = removals
        self.applied_seq = 0
        self.behaviour = Behaviour()
        self.purchases = Purchases()
        self.searches = SearchInputs()
        self.signs = IndicatorInputs()
        self.trials = ItemStats()
        self.catalog = CatalogInputs()
        self.fit_cache = FitCache()

    @property
    def size(self) -> int:
        """Number of events and order lines in memory; caches count by their size."""
        facts = len(self.behaviour.items) + len(self.purchases.items)
        facts += self.fit_cache.size // _FACT_BYTES
        return facts + self.searches.size + len(self.signs.times)

    def read_searches(self, repository: SearchEventRepository, up_to_seq: int) -> None:
        """Read the searches after `applied_seq`; call it before `read_on`."""
        self.searches.read_on(repository, self.applied_seq, up_to_seq)

    def before(self, until_ms: int) -> "TrainingInputs":
        """Return behaviour and purchases before a moment, without searches.

        The catalog is today's: it has no history.
        """
        earlier = TrainingInputs()
        earlier.catalog = self.catalog
        earlier.behaviour = select_rows(self.behaviour, self.behaviour.times < until_ms)
        earlier.purchases = select_rows(self.purchases, self.purchases.times < until_ms)
        return earlier

    def read_on(self, repository: TrainingRepository, up_to_seq: int) -> int:
        """Read the facts after `applied_seq`; return their number."""
        read, pages = 0, [self.behaviour]
        for page in repository.behaviour(self.applied_seq, up_to_seq):
            read += len(page)
            with_shopper = [row for row in page if row[2] is not None]
            pages.append(_behaviour(with_shopper))
            if len(with_shopper) < len(page):
                reported = [row for row in page if row[2] is None and row[4]]
                self.signs.add([(row[0], row[1], row[4], row[3]) for row in reported])
        self.behaviour = _joined(pages)
        self.trials = self.trials.plus(repository.trials(self.applied_seq, up_to_seq))
        changed = [
            row
            for page in repository.purchases(self.applied_seq, up_to_seq)
            for row in page
        ]
        if changed:
            self._add_purchases(changed)
        self.catalog.add(*repository.catalog(self.catalog.seq))
        self.applied_seq = up_to_seq
        return read + len(changed)

    def _add_purchases(self, rows: list[tuple[Any, ...]]) -> None:
        # A line that changed twice since is read once, in its last state.
        line_seqs, baskets, items, quantities, totals, times, voids, *shopper_columns = zip(
            *rows, strict=True
        )
        buyers, sessions = shopper_columns
        added = Purchases(
            line_seqs=_ints(line_seqs),
            baskets=_ints(baskets, missing=-1),
            items=np.array(items, np.int32),
            quantities=_ints(quantities, missing=1),
            totals=np.nan_to_num(_floats(totals)),
            times=_ints(times),
            is_active=~np.array(voids, np.bool_),
            buyers=_codes(buyers),
            visitors=_codes(
                [one or two for one, two in zip(sessions, buyers, strict=True)]
            ),
        )
        self.purchases = _merged(self.purchases, added)


def read_whole_log(repository: TrainingRepository) -> tuple[TrainingInputs, TrainingHead]:
    """Return a store's whole log without searches, and its head.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    inputs, head = TrainingInputs(), repository.existing_head()
    inputs.read_on(repository, head.seq)
    return inputs, head


def _behaviour(page: Sequence[tuple[Any, ...]]) -> Behaviour:
    if not page:
        return Behaviour()
    times, kinds, items, visitors, *_ = zip(*page, strict=True)
    return Behaviour(
        times=np.array(times, np.int64),
        kinds=np.array(kinds, np.int8),
        items=np.array(items, np.int32),
        visitors=_codes(visitors),
    )


def _joined(parts: Sequence[Behaviour]) -> Behaviour:
    names = Behaviour.__dataclass_fields__
    return Behaviour(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def select_rows(facts: F, chosen: npt.NDArray[np.bool_]) -> F:
    """Return the selected rows of parallel arrays."""
    return replace(
        facts, **{name: getattr(facts, name)[chosen] for name in facts.__dataclass_fields__}
    )


def _codes(names: Sequence[str | None]) -> Ints:
    """Return each visitor's hash; 0 for an event without one."""
    codes = {name: visitor_hash(name) if name else 0 for name in set(names)}
    return np.array([codes[name] for name in names], dtype=np.int64)


def _merged(old: Purchases, added: Purchases) -> Purchases:
    remaining = ~np.isin(old.line_seqs, added.line_seqs)
    names = Purchases.__dataclass_fields__
    joined = {
        name: np.concatenate((getattr(old, name)[remaining], getattr(added, name)))
        for name in names
    }
    order = np.argsort(joined["line_seqs"], kind="stable")
    return Purchases(**{name: values[order] for name, values in joined.items()})
