"""RFM segments: recency, frequency and monetary value of each customer.

The expected gap between a customer's orders is the mean time between the days on which they
bought, shrunk towards the shop's mean while they have bought few times.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import MINUTE_MS
from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints
from productrecs.storage.sql.dialects import Row

SHOP_WEIGHT: Final = 2
"""How many gaps of the shop's mean length are added to each customer's (shrinkage)."""

DUE, SLIPPING, LOST = 1.0, 1.5, 3.0
"""Expected gaps since the last order after which a customer is due, slipping or lost."""

HIGH_SHARE, MIDDLE_SHARE = 0.1, 0.5
_CLASSES: Final = 5
_QUARTER_MS: Final = 15 * MINUTE_MS  # zones change their offset in quarters of an hour


class CustomerSegment(StrEnum):
    """A customer's stage in their own purchase cycle."""

    NEW = "new"
    ONCE = "once"
    ACTIVE = "active"
    DUE = "due"
    SLIPPING = "slipping"
    LOST = "lost"


MEANINGS: Final = {
    CustomerSegment.NEW: "bought on one day, no longer ago than the store's usual gap",
    CustomerSegment.ONCE: "bought on one day, longer ago than that",
    CustomerSegment.ACTIVE: "bought again; the next order is not due yet",
    CustomerSegment.DUE: (
        "bought again; the next order is due: 1 to 1.5 of their usual gaps ago"
    ),
    CustomerSegment.SLIPPING: (
        "bought again; the next order is late: 1.5 to 3 of their usual gaps ago"
    ),
    CustomerSegment.LOST: "bought again, but not for more than 3 of their usual gaps",
}


@dataclass(frozen=True, slots=True)
class RfmCustomer:
    """The purchases of one customer so far."""

    name: str
    orders: int
    revenue: float  # in the store's currency, minus returns
    first_day: date
    last_day: date
    segment: CustomerSegment
    value: str  # high, middle, low
    recency: int  # quintile: 5 bought most recently, 1 longest ago
    frequency: int  # quintile: 5 ordered most
    money: int  # quintile: 5 spent most
    next_day: date | None  # expected day of the next order; None: unknown


@dataclass(frozen=True, slots=True)
class OrderLineColumns:
    """Purchased order lines: parallel arrays."""

    persons: Ints  # codes of persons
    orders: Ints
    days: Ints  # ordinals
    values: Floats
    bought: Bools  # False: a return


@dataclass(frozen=True, slots=True)
class PurchaseHistories:
    """All customers' purchases: parallel arrays, one entry each; days are ordinals."""

    names: Sequence[str]
    orders: Ints
    revenue: Floats
    first: Ints
    last: Ints
    purchase_days: Ints  # distinct days with a purchase
    usual_gap: (
        float | None
    )  # the median days between two purchase days; None: no repeat customers


def segment_customers(
    pages: Iterable[Sequence[Row]], currency: str, zone: tzinfo, today: date
) -> list[RfmCustomer]:
    """Return every customer, sorted by revenue, highest first.

    Rows are (line_seq, person, ts, basket, quantity, total, currency). A person with
    returns only is not a customer.
    """
    histories = compute_purchase_histories(pages, currency, zone, today)
    names = histories.names
    order = sorted(range(len(names)), key=lambda n: (-histories.revenue[n], names[n]))
    recency, frequency, money = map(
        _quintiles, (histories.last, histories.orders, histories.revenue)
    )
    customers = []
    for rank, row in enumerate(order):
        last_day = date.fromordinal(int(histories.last[row]))
        purchase_days = int(histories.purchase_days[row])
        span = int(histories.last[row] - histories.first[row])
        rhythm = expected_days_between_orders(purchase_days, span, histories.usual_gap)
        customers.append(
            RfmCustomer(
                name=names[row],
                orders=int(histories.orders[row]),
                revenue=float(histories.revenue[row]),
                first_day=date.fromordinal(int(histories.first[row])),
                last_day=last_day,
                segment=choose_customer_segment(purchase_days, last_day, rhythm, today),
                value=_value_class(rank, len(order)),
                recency=int(recency[row]),
                frequency=int(frequency[row]),
                money=int(money[row]),
                next_day=expected_next_order_day(last_day, rhythm, today),
            )
        )
    return customers


def expected_days_between_orders(
    purchase_days: int, span: int, usual_gap: float | None
) -> float | None:
    """Return the expected days until the next order; None without repeat customers.

    The customer bought on `purchase_days` days, the last one `span` days after the first.
    """
    if usual_gap is None:
        return None
    return (SHOP_WEIGHT * usual_gap + span) / (SHOP_WEIGHT + purchase_days - 1)


def choose_customer_segment(
    purchase_days: int, last_day: date, rhythm: float | None, today: date
) -> CustomerSegment:
    """Return the segment of a customer who bought on this many days."""
    days_since = (today - last_day).days
    rhythms = days_since / rhythm if rhythm else 0.0
    if purchase_days == 1:
        return CustomerSegment.NEW if rhythms <= DUE else CustomerSegment.ONCE
    if rhythm is None or today < _due_day(last_day, rhythm):
        return CustomerSegment.ACTIVE
    if rhythms <= SLIPPING:
        return CustomerSegment.DUE
    return CustomerSegment.SLIPPING if rhythms <= LOST else CustomerSegment.LOST


def expected_next_order_day(
    last_day: date, rhythm: float | None, today: date
) -> date | None:
    """Return the expected day of the next order, today at the earliest; None if overdue."""
    if rhythm is None or (today - last_day).days > SLIPPING * rhythm:
        return None
    return max(today, _due_day(last_day, rhythm))


def _due_day(last_day: date, rhythm: float) -> date:
    """Return the day on which the next order is due."""
    return last_day + timedelta(days=max(1, round(rhythm)))


def compute_purchase_histories(
    pages: Iterable[Sequence[Row]], currency: str, zone: tzinfo, today: date
) -> PurchaseHistories:
    """Return all customers' purchases until `today`; holds about 30 bytes a line."""
    codes: dict[str, int] = {}
    days: dict[int, int] = {}
    lines = _concatenate_lines(
        _to_columns_and_extend_codes(page, currency, zone, codes, days) for page in pages
    )
    # Group the lines of an order, the earliest first.
    row = np.lexsort((lines.days, lines.orders, lines.persons))
    row = row[lines.days[row] <= today.toordinal()]  # a file may have future dates
    persons, orders = lines.persons[row], lines.orders[row]
    starts = _group_starts(persons, orders)
    if not len(starts):
        none = np.zeros(0, np.int64)
        return PurchaseHistories((), none, np.zeros(0), none, none, none, None)
    spent = np.add.reduceat(lines.values[row], starts)
    is_bought = np.maximum.reduceat(lines.bought[row], starts) > 0
    return _sum_by_customer(
        list(codes), persons[starts], lines.days[row][starts], spent, is_bought
    )


def _concatenate_lines(pages: Iterable[OrderLineColumns]) -> OrderLineColumns:
    none = np.zeros(0, np.int64)
    all_pages = [
        OrderLineColumns(none, none, none, np.zeros(0), np.zeros(0, np.bool_)),
        *pages,
    ]
    return OrderLineColumns(
        np.concatenate([page.persons for page in all_pages]),
        np.concatenate([page.orders for page in all_pages]),
        np.concatenate([page.days for page in all_pages]),
        np.concatenate([page.values for page in all_pages]),
        np.concatenate([page.bought for page in all_pages]),
    )


def _sum_by_customer(
    names: Sequence[str], persons: Ints, days: Ints, spent: Floats, is_bought: Bools
) -> PurchaseHistories:
    """Return the sums of orders of customers; an order is a person and a day."""
    count = len(names)
    orders = np.bincount(persons[is_bought], minlength=count)
    revenue = np.bincount(persons, spent, minlength=count)
    distinct_days = np.unique(np.column_stack((persons, days))[is_bought], axis=0)
    starts = _group_starts(distinct_days[:, 0], distinct_days[:, 0])
    ends = np.append(starts[1:], len(distinct_days)) - 1 if len(starts) else starts
    buyers = distinct_days[starts, 0]
    gaps = np.diff(distinct_days[:, 1])[np.diff(distinct_days[:, 0]) == 0]
    return PurchaseHistories(
        [names[buyer] for buyer in buyers.tolist()],
        orders[buyers],
        revenue[buyers],
        distinct_days[starts, 1],
        distinct_days[ends, 1],
        ends - starts + 1,
        usual_gap=float(np.median(gaps)) if len(gaps) else None,
    )


def _to_columns_and_extend_codes(
    page: Sequence[Row],
    currency: str,
    zone: tzinfo,
    codes: dict[str, int],
    days: dict[int, int],
) -> OrderLineColumns:
    """Return a non-empty page of rows as columns.

    Adds new people to `codes`, and new quarter hours to `days`.
    """
    seqs, persons, times, baskets, quantities, totals, paid_in = zip(*page, strict=True)
    orders = [
        seq if basket is None else basket for seq, basket in zip(seqs, baskets, strict=True)
    ]
    values = [
        (total or 0.0) if (paid or currency) == currency else 0.0
        for total, paid in zip(totals, paid_in, strict=True)
    ]
    quarters = [ts // _QUARTER_MS for ts in times]
    for quarter in set(quarters) - days.keys():
        days[quarter] = _local_day(quarter * _QUARTER_MS, zone).toordinal()
    return OrderLineColumns(
        np.array([codes.setdefault(person, len(codes)) for person in persons], np.int64),
        np.array(orders, np.int64),
        np.array([days[quarter] for quarter in quarters], np.int64),
        np.array(values, np.float64),
        np.array([units is None or units > 0 for units in quantities], np.bool_),
    )


def _group_starts(values: npt.NDArray[Any], others: npt.NDArray[Any]) -> Ints:
    """Return the indices where the pair changes, including the first."""
    if not len(values):
        return np.zeros(0, np.int64)
    changes = (values[1:] != values[:-1]) | (others[1:] != others[:-1])
    return np.append(0, np.flatnonzero(changes) + 1)


def _local_day(moment_ms: int, zone: tzinfo) -> date:
    try:
        return datetime.fromtimestamp(moment_ms / 1000, UTC).astimezone(zone).date()
    except (OverflowError, ValueError):  # the zone's offset leaves the calendar's range
        return date.min if moment_ms < 0 else date.max


def _value_class(rank: int, count: int) -> str:
    if rank < HIGH_SHARE * count:
        return "high"
    return "middle" if rank < MIDDLE_SHARE * count else "low"


def _quintiles(values: npt.NDArray[Any]) -> Ints:
    """Return the quintile of each value, 1 for the lowest; equal values share one."""
    if not len(values):
        return np.zeros(0, np.int64)
    return 1 + np.searchsorted(np.sort(values), values, "left") * _CLASSES // len(values)
