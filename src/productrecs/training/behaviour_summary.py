"""Behaviour summary: what training reads from shoppers' events, partition by partition.

A partition has all events and interest signals of its shoppers. Its summary is small, and
joined summaries equal that of all events at once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import (
    Bools,
    Ints,
    Items,
    check_item_numbers,
)
from productrecs.engines.browse import (
    PartitionSessions,
    SessionIndex,
    SessionKnnOptions,
    build_session_index,
    gather_visits,
)
from productrecs.engines.click_boosts import CART, CLICK
from productrecs.records.events.event import EventKind
from productrecs.training.interest_signals import (
    ChoicesAfterSignals,
    InterestSignals,
    ItemInteractions,
    choices_in_visits,
)
from productrecs.training.partitioned_shopper_events import (
    ShopperEventArrays,
    ShopperEvents,
    join_events,
    partition_numbers,
    select_rows,
)


class BehaviourSummaryOptions(NamedTuple):
    """The limits of a summary, the same for every partition."""

    n_items: int
    longest: int  # items of a session
    since_ms: int  # the trending window: since_ms < time <= until_ms
    until_ms: int


class BehaviourSummary(NamedTuple):
    """The session index, and what other engines need of the events."""

    sessions: SessionIndex
    carts: ShopperEventArrays  # all events that added to a cart
    carted: Ints  # [n_items] in the trending window
    viewed: Ints
    choices: list[ChoicesAfterSignals]  # items chosen after interest signals


class _PartitionSummary(NamedTuple):
    sessions: PartitionSessions
    carts: ShopperEventArrays
    carted: npt.NDArray[Any]
    viewed: npt.NDArray[Any]
    choices: ChoicesAfterSignals


def summarize_behaviour(
    events: ShopperEvents,
    signals: InterestSignals,
    limits: BehaviourSummaryOptions,
    options: SessionKnnOptions,
) -> BehaviourSummary:
    """Return what training needs of all events, read partition by partition."""
    sessions: list[PartitionSessions] = []
    carts: list[ShopperEventArrays] = []
    choices: list[ChoicesAfterSignals] = []
    carted, viewed = np.zeros(limits.n_items, np.int64), np.zeros(limits.n_items, np.int64)
    for partition_events, partition_signals in _iterate_partitions(events, signals):
        summary = _summarize_partition(limits, partition_events, partition_signals)
        part = summary.sessions
        sessions.append(part.copy_to(events.allocate) if events.is_in_file else part)
        carts.append(summary.carts)
        choices.append(summary.choices)
        carted += summary.carted
        viewed += summary.viewed
    return BehaviourSummary(
        build_session_index(sessions, limits.n_items, options, events.allocate),
        carts[0] if len(carts) == 1 else join_events(carts),
        carted,
        viewed,
        choices,
    )


def _iterate_partitions(
    events: ShopperEvents, signals: InterestSignals
) -> Iterator[tuple[ShopperEventArrays, InterestSignals]]:
    """Yield the events and interest signals of each partition of the shoppers."""
    count = events.partition_count
    numbers = partition_numbers(signals.visitors, count)
    for number in range(count):
        yield events.partition(number), signals.select(numbers == number)


def _summarize_partition(
    limits: BehaviourSummaryOptions, events: ShopperEventArrays, signals: InterestSignals
) -> _PartitionSummary:
    check_item_numbers(events.items, limits.n_items)
    in_cart = events.kinds == EventKind.ADD_TO_CART
    is_recent = (events.times > limits.since_ms) & (events.times <= limits.until_ms)
    is_viewed = is_recent & (events.kinds == EventKind.DETAIL_PAGE_VIEW)
    return _PartitionSummary(
        gather_visits(events.visitors, events.items, events.times, limits.longest),
        select_rows(events, in_cart),
        _counts(events.items[is_recent & in_cart], limits.n_items),
        _counts(events.items[is_viewed], limits.n_items),
        _partition_choices_in_visits(events, in_cart, signals),
    )


def _partition_choices_in_visits(
    events: ShopperEventArrays, in_cart: Bools, signals: InterestSignals
) -> ChoicesAfterSignals:
    has_signal = np.isin(events.visitors, signals.visitors)
    interactions = ItemInteractions(
        events.visitors[has_signal],
        events.times[has_signal],
        events.items[has_signal].astype(np.int64),
        np.where(in_cart[has_signal], CART, CLICK),
    )
    return choices_in_visits(signals, interactions)


def _counts(items: Items, n_items: int) -> Items:
    return np.bincount(items, minlength=n_items).astype(np.int32)
