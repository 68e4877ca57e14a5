"""Impression fatigue: discounts products that a shopper saw often and ignored."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from productrecs.engines.fusion import RANK_OFFSET
from productrecs.records.orders.shopper_history import ShopperHistory

_FREE: Final = 2.0  # times that a product may be shown before it sinks
_STEEPNESS: Final = 0.15


def ignored_impressions(
    histories: Sequence[ShopperHistory], now_ms: int
) -> Mapping[int, float]:
    """Return how often a shopper saw each ignored product."""
    times: dict[int, float] = {}
    for history in histories:
        for item, seen in history.shown.ignored(now_ms).items():
            times[item] = times.get(item, 0.0) + seen
    return times


def fatigue_factors(ignored: Mapping[int, float]) -> Mapping[int, float]:
    """Return the score factors of a shopper's ignored products, each below 1.

    Shown three times and never taken up, a product counts 0.87, five times 0.69, ten times
    0.45; the times fade with the days since. What either name of a call saw counts.
    """
    return {
        item: 1.0 / (1.0 + _STEEPNESS * (seen - _FREE))
        for item, seen in ignored.items()
        if seen > _FREE
    }


def discounted_order(
    items: Iterator[int], sinking: Callable[[int], float] | None, wanted: int
) -> Iterator[int]:
    """Yield items in order, with discounted ones moved down among the first `wanted`.

    An order without scores is weighed by its places, as ranks are in a blend.
    """
    if sinking is None:
        yield from items
        return
    order = dict.fromkeys(islice(items, 2 * wanted + 2))
    head = sorted(
        enumerate(order),
        key=lambda placed: -sinking(placed[1]) / (RANK_OFFSET + placed[0]),
    )
    yield from (item for _, item in head)
    yield from items
