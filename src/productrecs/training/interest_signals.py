"""Interest signals: categories, brands and colours, and the items chosen after them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.core.ids import visitor_hash
from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints
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

INTEREST_WINDOW_MS: Final = 30 * MINUTE_MS
_BUY_WINDOW_MS: Final = DAY_MS
_FOLLOWING: Final = 10  # interactions after a signal that count for it


@dataclass(slots=True)
class ItemInteractions:
    """Interactions with items, parallel arrays; visitors by their code."""

    visitors: Ints
    times: Ints
    items: Ints
    weights: Floats


class InterestSignals(NamedTuple):
    """Interest signals in log order, parallel arrays."""

    numbers: Ints  # indexes into the keys of `InterestSignalInputs`
    times: Ints
    visitors: Ints

    def select(self, is_chosen: Bools) -> "InterestSignals":
        """Return the chosen signals."""
        return InterestSignals(*(column[is_chosen] for column in self))


def _no_signals() -> InterestSignals:
    return InterestSignals(*(np.zeros(0, np.int64) for _ in InterestSignals._fields))


@dataclass(slots=True)
class InterestSignalInputs:
    """One store's interest signals."""

    keys: list[str] = field(default_factory=list)  # by number
    signals: InterestSignals = field(default_factory=_no_signals)
    _term_codes: dict[str, int] = field(default_factory=dict)

    def encode(self, rows: Sequence[tuple[Any, ...]]) -> InterestSignals:
        """Return rows of (ts, kind, term, visitor) as signals, for `add`."""
        numbers = [
            self._assign_number(interest_key(kind, term)) for _, kind, term, _ in rows
        ]
        return InterestSignals(
            np.array(numbers, np.int64),
            np.array([row[0] for row in rows], np.int64),
            np.array([visitor_hash(row[3]) for row in rows], np.int64),
        )

    def add(self, pages: Sequence[InterestSignals]) -> None:
        """Append pages of signals."""
        if pages:
            columns = zip(self.signals, *pages, strict=True)
            self.signals = InterestSignals(*(np.concatenate(column) for column in columns))

    def _assign_number(self, key: str) -> int:
        number = self._term_codes.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number


class ChoicesAfterSignals(NamedTuple):
    """Items that shoppers chose after a signal, parallel arrays."""

    signals: Ints  # numbers of the signals
    items: Ints
    visitors: Ints
    weights: Floats
    times: Ints


def fit_items_chosen_after_signals(
    inputs: InterestSignalInputs,
    visit_choices: Sequence[ChoicesAfterSignals],
    purchases: ItemInteractions,
    now_ms: int,
) -> ClickBoostModel:
    """Fit the products that shoppers viewed, carted or bought after each signal.

    The next ten interactions of the same visit count; purchases count for a day.
    `visit_choices` are the views and carts of any partition of the shoppers.
    """
    if not inputs.keys:
        return ClickBoostModel.empty()
    parts = [
        *visit_choices,
        _choices_after_signals(inputs.signals, purchases, _BUY_WINDOW_MS),
    ]
    queries, items, visitors, weights, times = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    ages = ((now_ms - times) / DAY_MS).clip(min=0)
    choices = SearchInteractions(queries, items, visitors, weights, ages)
    # A category view is followed by views of many products: each of them counts.
    options = ClickBoostOptions(max_weight_per_shopper=PURCHASE + CART + 4 * CLICK)
    return ClickBoostModel.from_query_boosts(
        fit_click_boosts(choices, options), inputs.keys
    )


def choices_in_visits(
    signals: InterestSignals, interactions: ItemInteractions
) -> ChoicesAfterSignals:
    """Return the views and carts that follow signals of the same visit."""
    return _choices_after_signals(signals, interactions, INTEREST_WINDOW_MS)


def _choices_after_signals(
    signals: InterestSignals, interactions: ItemInteractions, window_ms: int
) -> ChoicesAfterSignals:
    has_signal = np.isin(interactions.visitors, signals.visitors)
    visitors = np.concatenate((signals.visitors, interactions.visitors[has_signal]))
    times = np.concatenate((signals.times, interactions.times[has_signal]))
    count = len(signals.times)
    order = np.lexsort((np.arange(len(times)), times, visitors))
    places = np.flatnonzero(order < count)
    pairs = []
    for step in range(1, _FOLLOWING + 1):
        later = places + step
        inside = later < len(order)
        signal_rows, later_rows = order[places[inside]], order[later[inside]]
        fits = (visitors[signal_rows] == visitors[later_rows]) & (later_rows >= count)
        fits &= times[later_rows] - times[signal_rows] <= window_ms
        pairs.append(np.stack((signal_rows[fits], later_rows[fits] - count)))
    signal_index, items = np.concatenate(pairs, axis=1)
    return ChoicesAfterSignals(
        signals.numbers[signal_index],
        interactions.items[has_signal][items],
        signals.visitors[signal_index],
        interactions.weights[has_signal][items],
        interactions.times[has_signal][items],
    )
