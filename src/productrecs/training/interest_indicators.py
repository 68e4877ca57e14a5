"""Interest indicators: items that shoppers chose after a category, brand or colour."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.core.ids import visitor_hash
from productrecs.engines.click_boosts import (
    CART,
    CLICK,
    PURCHASE,
    ClickBoostModel,
    ClickBoostOptions,
    SearchInteractions,
    fit_click_boosts,
)
from productrecs.records.events.event import interest_key

Ints = npt.NDArray[np.int64]

VISIT_MS: Final = 30 * MINUTE_MS
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
    _known: dict[str, int] = field(default_factory=dict)

    def take(self, rows: Sequence[tuple[Any, ...]]) -> None:
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
        number = self._known.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number


def fit_indicators(
    signs: IndicatorInputs, done: Interactions, bought: Interactions, now_ms: int
) -> ClickBoostModel:
    """Fit the products that shoppers viewed, carted or bought after each signal.

    The next ten interactions of the same visit count; purchases count for a day.
    """
    if not signs.keys:
        return ClickBoostModel.empty()
    parts = [_following(signs, done, VISIT_MS), _following(signs, bought, _BUY_WINDOW_MS)]
    queries, items, visitors, weights, times = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    ages = ((now_ms - times) / DAY_MS).clip(min=0)
    choices = SearchInteractions(queries, items, visitors, weights, ages)
    # A category view is followed by views of many products: each of them counts.
    options = ClickBoostOptions(most_of_a_shopper=PURCHASE + CART + 4 * CLICK)
    return ClickBoostModel.of(fit_click_boosts(choices, options), signs.keys)


def _following(
    signs: IndicatorInputs, interactions: Interactions, window_ms: int
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.float64], Ints]:
    """Return signals, items, visitors, weights and times of the later interactions."""
    theirs = np.isin(interactions.visitors, signs.visitors)
    visitors = np.concatenate((signs.visitors, interactions.visitors[theirs]))
    times = np.concatenate((signs.times, interactions.times[theirs]))
    count = len(signs.times)
    order = np.lexsort((np.arange(len(times)), times, visitors))
    places = np.flatnonzero(order < count)
    found = []
    for step in range(1, _FOLLOWING + 1):
        later = places + step
        inside = later < len(order)
        mine, other = order[places[inside]], order[later[inside]]
        fits = (visitors[mine] == visitors[other]) & (other >= count)
        fits &= times[other] - times[mine] <= window_ms
        found.append(np.stack((mine[fits], other[fits] - count)))
    which, what = np.concatenate(found, axis=1)
    return (
        signs.numbers[which],
        interactions.items[theirs][what],
        signs.visitors[which],
        interactions.weights[theirs][what],
        interactions.times[theirs][what],
    )
