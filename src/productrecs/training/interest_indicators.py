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
