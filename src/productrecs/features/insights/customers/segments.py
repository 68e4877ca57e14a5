"""How recently, how often and for how much did each customer buy, and when again?

A customer's rhythm is the mean time between the days on which they bought, drawn towards
the shop's own as long as they bought few times.
"""

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Final

from productrecs.features.insights.customers.repository import Row

SHOP_WEIGHT: Final = 2
"""As many gaps of the shop's own length are added to each customer's."""

DUE, SLIPPING, LOST = 1.0, 1.5, 3.0
"""From how many rhythms after the last order a customer is due, slipping, lost."""

HIGH_SHARE, MIDDLE_SHARE = 0.1, 0.5
_CLASSES: Final = 5


class Segment(StrEnum):
    """Where a customer stands in their own rhythm."""

    NEW = "new"
    ONCE = "once"
    ACTIVE = "active"
    DUE = "due"
    SLIPPING = "slipping"
    LOST = "lost"


MEANINGS: Final = {
    Segment.NEW: "bought for the first time, no longer ago than the shop's usual gap",
    Segment.ONCE: "bought once, longer ago than that",
    Segment.ACTIVE: "bought again, and their next order is not due yet",
    Segment.DUE: "bought again, and is due now: 1 to 1.5 of their usual gaps ago",
    Segment.SLIPPING: "bought again, and is late: 1.5 to 3 of their usual gaps ago",
    Segment.LOST: "bought again, but not for more than 3 of their usual gaps",
}


@dataclass(frozen=True, slots=True)
class Customer:
    """What one customer bought until now."""

    name: str
    orders: int
    revenue: float  # in the store's currency, returns taken off
    first_day: date
    last_day: date
    segment: Segment
    value: str  # high, middle, low
    recency: int  # 5: of the fifth that bought last, 1: of the fifth longest ago
    frequency: int  # 5: of the fifth that ordered most
    money: int  # 5: of the fifth that spent most
    next_day: date | None  # when the next order is to be expected; None: not to be told


@dataclass(slots=True)
class _Order:
    day: date
    value: float = 0.0
    is_bought: bool = False


@dataclass(slots=True)
class _Past:
    orders: int = 0
    revenue: float = 0.0
    days: set[date] = field(default_factory=set)


def customers(
    pages: Iterable[Sequence[Row]], currency: str, zone: tzinfo, today: date
) -> list[Customer]:
    """Return everybody who bought, the highest revenue first.

    Rows are (line_seq, person, ts, basket, quantity, total, currency). Who only returned
    is no customer.
    """
    pasts = _pasts(pages, currency, zone, today)
    people = sorted(pasts, key=lambda name: (-pasts[name].revenue, name))
    usual = usual_gap([sorted(past.days) for past in pasts.values()])
    recency = _classes([max(pasts[name].days).toordinal() for name in people])
    frequency = _classes([pasts[name].orders for name in people])
    money = _classes([pasts[name].revenue for name in people])
    found = []
    for place, name in enumerate(people):
        past, days = pasts[name], sorted(pasts[name].days)
        rhythm = rhythm_of(days, usual)
        found.append(
            Customer(
                name=name,
                orders=past.orders,
                revenue=past.revenue,
                first_day=days[0],
                last_day=days[-1],
                segment=segment_of(days, rhythm, today),
                value=_value(place, len(people)),
                recency=recency[place],
                frequency=frequency[place],
                money=money[place],
                next_day=next_day_of(days, rhythm, today),
            )
        )
    return found


def usual_gap(histories: Iterable[Sequence[date]]) -> float | None:
    """Return the median number of days between two orders of a customer; None for none."""
    gaps = [gap for days in histories for gap in _gaps(days)]
    return float(statistics.median(gaps)) if gaps else None


def rhythm_of(days: Sequence[date], usual: float | None) -> float | None:
    """Return after how many days a customer may be expected again; None: nobody came."""
    if usual is None:
        return None
    gaps = _gaps(days)
    return (SHOP_WEIGHT * usual + sum(gaps)) / (SHOP_WEIGHT + len(gaps))


def segment_of(days: Sequence[date], rhythm: float | None, today: date) -> Segment:
    """Return where a customer stands who bought on these days."""
    gone = (today - days[-1]).days
    rhythms = gone / rhythm if rhythm else 0.0
    if len(days) == 1:
        return Segment.NEW if rhythms <= DUE else Segment.ONCE
    if rhythms <= DUE:
        return Segment.ACTIVE
    if rhythms <= SLIPPING:
        return Segment.DUE
    return Segment.SLIPPING if rhythms <= LOST else Segment.LOST


def next_day_of(days: Sequence[date], rhythm: float | None, today: date) -> date | None:
    """Return when to expect the next order: today at the earliest, None of who is late."""
    if rhythm is None or (today - days[-1]).days > SLIPPING * rhythm:
        return None
    return max(today, days[-1] + timedelta(days=round(rhythm)))


def _gaps(days: Sequence[date]) -> list[int]:
    return [(b - a).days for a, b in itertools.pairwise(days)]


def _pasts(
    pages: Iterable[Sequence[Row]], currency: str, zone: tzinfo, today: date
) -> dict[str, _Past]:
    orders: dict[tuple[str, int], _Order] = {}
    for page in pages:
        for line_seq, person, ts, basket, quantity, total, paid_in in page:
            key = (person, line_seq if basket is None else basket)
            order = orders.get(key)
            if order is None:
                order = orders[key] = _Order(_day(ts, zone))
            order.is_bought |= quantity is None or quantity > 0
            if (paid_in or currency) == currency:
                order.value += total or 0.0
    pasts: dict[str, _Past] = defaultdict(_Past)
    for (person, _), order in orders.items():
        if order.day > today:
            continue  # a file may hold orders that are still to come
        past = pasts[person]
        past.revenue += order.value
        if order.is_bought:
            past.orders += 1
            past.days.add(order.day)
    return {name: past for name, past in pasts.items() if past.days}


def _day(moment_ms: int, zone: tzinfo) -> date:
    try:
        return datetime.fromtimestamp(moment_ms / 1000, UTC).astimezone(zone).date()
    except (OverflowError, ValueError):  # a zone carries it out of the calendar
        return date.min if moment_ms < 0 else date.max


def _value(place: int, count: int) -> str:
    if place < HIGH_SHARE * count:
        return "high"
    return "middle" if place < MIDDLE_SHARE * count else "low"


def _classes(values: Sequence[float]) -> list[int]:
    """Return in which fifth each value lies, 1 the lowest; equal ones lie together."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered)))}
    return [1 + first[value] * _CLASSES // len(values) for value in values]
