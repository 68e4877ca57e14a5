"""Personal search: item traits of a catalog, and a backtest on a store's own searches.

The backtest repeats past searches that led to a click, with what the shopper had done
before them. Results are personal only where clicked products rank clearly higher: on two
earlier periods, on which the options are chosen, and again on the newest one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Floats, Ints
from productrecs.engines.click_boosts import CART, CLICK, PURCHASE
from productrecs.engines.personal_search import (
    ItemTraits,
    PersonalSearchOptions,
    ShopperProfile,
    TraitsOf,
    lift_scores,
)
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.events.event import EventKind
from productrecs.training.partitioned_shopper_events import Behaviour
from productrecs.training.search.click_boost_inputs import SearchInputs
from productrecs.training.training_inputs import Purchases
from productrecs.training.tuning.hyperparameter_search import (
    Changes,
    TuningTrial,
    grid_search,
    is_better,
)

MAX_CHOSEN: Final = 50  # newest products of a shopper that make the profile
LEAST_CHOSEN: Final = 2  # fewer say nothing of a shopper
_LEAST_PRICED: Final = 5  # items of a category from which price levels are read

_UNKNOWN: Final = ItemTraits("", (), (), float("nan"))


def choice_weight(kind: int) -> float:
    """Return the weight of an interaction in a profile."""
    if kind == EventKind.BUY:
        return PURCHASE
    return CART if kind == EventKind.ADD_TO_CART else CLICK


class CatalogTraits:
    """The traits of a catalog's items, computed on first use and cached for its version."""

    def __init__(self, catalog: CatalogView) -> None:
        """Read from `catalog`, as it is at each call."""
        self._catalog = catalog
        self._version = -1
        self._traits: dict[int, ItemTraits] = {}
        self._prices: dict[str, Floats] = {}

    def of(self, item: int) -> ItemTraits:
        """Return an item's traits; empty ones for an item that is not in the catalog."""
        catalog = self._catalog
        if self._version != catalog.version:
            self._version, self._traits, self._prices = catalog.version, {}, {}
        found = self._traits.get(item)
        if found is None:
            self._traits[item] = found = self._read(item)
        return found

    def _read(self, item: int) -> ItemTraits:
        catalog = self._catalog
        if item >= len(catalog) or catalog.ids[item] is None:
            return _UNKNOWN
        category, values = catalog.narrowest[item], catalog.attributes.value_ids
        return ItemTraits(
            category,
            values(item, "brand"),
            values(item, "size"),
            self._level(item, category),
        )

    def _level(self, item: int, category: str) -> float:
        price = float(self._catalog.prices[item])
        prices = self._prices.get(category)
        if prices is None:
            members = np.array(self._catalog.members.get(category, ()), dtype=np.int64)
            prices = self._catalog.prices[members]
            self._prices[category] = prices = np.sort(prices[~np.isnan(prices)])
        if np.isnan(price) or len(prices) < _LEAST_PRICED:
            return float("nan")
        lower, upper = (
            np.searchsorted(prices, price),
            np.searchsorted(prices, price, "right"),
        )
        return float(lower + upper) / 2 / len(prices)


_MIXES: Final[tuple[Changes, ...]] = (
    {},
    {"seen": 0.0},
    {"category": 0.0, "brand": 0.0, "size": 0.0, "price": 0.0},  # seen before
    {"seen": 0.0, "category": 0.0, "size": 0.0, "price": 0.0},  # brand
    {"seen": 0.0, "category": 0.0, "price": 0.0},  # brand and size
    {"seen": 0.0, "category": 0.0, "size": 0.0},  # brand and price
)
GRID: Final[tuple[Changes, ...]] = tuple(
    {**mix, "weight": weight} for mix in _MIXES for weight in (0.1, 0.2, 0.4)
)
N_PERIODS: Final = 3  # two to choose the options on, the newest to judge them
MIN_CASES: Final = 100  # searches in each period
_MAX_CASES: Final = 1_000  # in each period


class PersonalSearchResult(NamedTuple):
    """The chosen options, and how high the newest period's clicked products ranked.

    `before` and `after` are mean reciprocal ranks of the same `cases`, without and with the
    best options; these are used only if they are clearly better.
    """

    options: PersonalSearchOptions
    cases: int
    before: float
    after: float


class SearchReplay(NamedTuple):
    """What a backtest of searches needs of the store as it is now."""

    traits_of: TraitsOf
    find: Callable[[str], tuple[Sequence[int], Sequence[float]]]
    """Returns the items that a query finds for anybody, best first, and their scores."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One search: the results' scores [n] and matches [n, 5], and the clicked one's row."""

    scores: Floats
    matches: Floats
    clicked: int

    def score(self, options: PersonalSearchOptions) -> float:
        """Return the reciprocal rank of the clicked product."""
        scores = lift_scores(self.scores, self.matches, options)
        mine = scores[self.clicked]
        ahead = int((scores > mine).sum()) + int((scores[: self.clicked] == mine).sum())
        return 1.0 / (1.0 + ahead)


def tune_personal_search(
    searches: SearchInputs,
    facts: tuple[Behaviour, Purchases],
    replay: SearchReplay,
    on_trial: Callable[[], None],
) -> PersonalSearchResult | None:
    """Return the options of personal search; None when there are too few searches.

    `on_trial` is called after each trial.
    """
    cases = list(_cases(searches, _Choices(*facts), replay))
    size = len(cases) // N_PERIODS
    if size < MIN_CASES:
        return None
    size = min(size, _MAX_CASES)
    newest_first = [cases[size * n : size * (n + 1)] for n in range(N_PERIODS)]
    judged, *earlier = newest_first

    def trial(options: PersonalSearchOptions, *periods: list[_Case]) -> TuningTrial:
        scores = [np.array([case.score(options) for case in period]) for period in periods]
        on_trial()
        return TuningTrial(tuple(scores))

    usual = PersonalSearchOptions()
    best, _ = grid_search(usual, (GRID,), lambda options: trial(options, *earlier))
    before, after = trial(usual, judged), trial(best, judged)
    options = best if is_better(after, before) else usual
    return PersonalSearchResult(options, len(judged), before.mean, after.mean)


class _Choices:
    """What shoppers did with products, by visitor and time."""

    def __init__(self, done: Behaviour, bought: Purchases) -> None:
        counts = bought.is_active & (bought.quantities > 0)
        kinds = np.full(int(counts.sum()), EventKind.BUY, np.int8)
        visitors = np.concatenate((done.visitors, bought.visitors[counts]))
        times = np.concatenate((done.times, bought.times[counts]))
        order = np.lexsort((times, visitors))
        self._visitors, self._times = visitors[order], times[order]
        self._items = np.concatenate((done.items, bought.items[counts]))[order]
        self._kinds = np.concatenate((done.kinds, kinds))[order]

    def before(self, visitor: int, time: int) -> list[tuple[int, float]]:
        """Return the newest (item, weight) of a visitor before a time."""
        first, last = np.searchsorted(self._visitors, (visitor, visitor + 1))
        last = first + int(np.searchsorted(self._times[first:last], time))
        mine = slice(max(first, last - MAX_CHOSEN), last)
        weights = map(choice_weight, self._kinds[mine].tolist())
        return list(zip(self._items[mine].tolist(), weights, strict=True))


def _cases(
    searches: SearchInputs, choices: _Choices, replay: SearchReplay
) -> Iterator[_Case]:
    """Yield the searches that can be judged, the newest first."""
    rows = searches.searches
    visitors: Ints = np.where(rows.sessions != 0, rows.sessions, rows.shoppers)
    clicks = np.flatnonzero((rows.items >= 0) & (visitors != 0))
    newest_first = clicks[np.argsort(rows.times[clicks], kind="stable")][::-1]
    found: dict[int, tuple[list[int], Floats]] = {}
    left = N_PERIODS * _MAX_CASES
    for row in newest_first.tolist():
        chosen = choices.before(int(visitors[row]), int(rows.times[row]))
        profile = ShopperProfile.of(chosen, replay.traits_of)
        if profile is None or len(chosen) < LEAST_CHOSEN:
            continue
        query = int(rows.queries[row])
        if query not in found:
            hits, hit_scores = replay.find(searches.terms[query])
            found[query] = list(hits), np.array(hit_scores, dtype=np.float64)
        items, scores = found[query]
        if int(rows.items[row]) not in items or len(items) == 1:
            continue
        place = items.index(int(rows.items[row]))
        yield _Case(scores, profile.matches(items, replay.traits_of), place)
        left -= 1
        if not left:
            return
