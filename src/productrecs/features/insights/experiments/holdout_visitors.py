"""Holdout visitors: who took part in a test, in which arm, and what they bought since.

A visitor is a unit of the test: the first name by which somebody was met. A purchase is
theirs when it belongs to the person that this name leads to; the service decides the arm by
the same rule. All visitors count, whether or not they saw a list (intention to treat).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.features.insights.experiments.confidence_sequence import Arms
from productrecs.features.insights.experiments.repository import Row
from productrecs.records.experiments.assignment import Arm

BEFORE_MS: Final = 90 * DAY_MS
"""What a visitor spent so long before they were met says what to expect of them."""

CAP_QUANTILE: Final = 0.99
_ENOUGH_TO_CAP: Final = 100  # orders


@dataclass(frozen=True, slots=True)
class HoldoutVisitors:
    """The visitors of a test, and what had to be left out."""

    arms: Arms
    began_at: int
    crossed: int  # met in both arms: the share was changed within the test
    cap: float | None  # what a single order counts at most
    foreign_orders: int  # in another currency than the store's


class VisitorIndex:
    """Who was met in a test: which visitor is a person?"""

    def __init__(self, met: Sequence[Row], links: Iterable[Row]) -> None:
        """Read (identity, arm, unit, first_at), the earliest first, and the links."""
        self.first_at: dict[str, int] = {}
        self.arms: dict[str, set[str]] = defaultdict(set)
        self._unit_of: dict[str, str] = {}
        for identity, arm, unit, first_at in met:
            self._unit_of.setdefault(identity, unit)
            self.first_at.setdefault(unit, first_at)
            self.arms[unit].add(arm)
        self._order = {identity: place for place, identity in enumerate(self._unit_of)}
        self._sessions: dict[str, list[str]] = defaultdict(list)
        for session, customer in links:
            if session in self._unit_of:
                self._sessions[customer].append(session)

    def unit(self, person: str) -> str | None:
        """Return the visitor that a person is, or None if never assigned."""
        known = self._unit_of.get(person)
        if known is None and (sessions := self._sessions.get(person)):
            known = self._unit_of[min(sessions, key=self._order.__getitem__)]
        return known


@dataclass(slots=True)
class _Order:
    is_before: bool
    value: float = 0.0
    is_bought: bool = False


def holdout_visitors(
    met: VisitorIndex, pages: Iterable[Sequence[Row]], currency: str
) -> HoldoutVisitors:
    """Return every visitor with their purchases, sorted by unit."""
    orders: dict[tuple[str, int, bool], _Order] = {}
    foreign: set[int] = set()
    for page in pages:
        for line_seq, person, ts, basket, quantity, total, paid_in in page:
            unit = met.unit(person)
            if unit is None:
                continue
            is_before = ts < met.first_at[unit]
            if ts < met.first_at[unit] - BEFORE_MS:
                continue
            key = line_seq if basket is None else basket
            order = orders.setdefault((unit, key, is_before), _Order(is_before))
            order.is_bought |= quantity is None or quantity > 0
            if (paid_in or currency) == currency:
                order.value += total or 0.0
            else:
                foreign.add(key)
    cap = _cap([order.value for order in orders.values() if order.is_bought])
    return _gathered(met, orders, cap, len(foreign))


def _gathered(
    met: VisitorIndex,
    orders: Mapping[tuple[str, int, bool], _Order],
    cap: float | None,
    foreign: int,
) -> HoldoutVisitors:
    units = sorted(unit for unit, arms in met.arms.items() if len(arms) == 1)
    places = {unit: place for place, unit in enumerate(units)}
    converted, revenue = np.zeros(len(units)), np.zeros(len(units))
    before = np.zeros((len(units), 2))  # what they spent, and whether they bought
    for (unit, _, is_before), order in orders.items():
        place = places.get(unit)
        if place is None:
            continue
        value = order.value if cap is None else min(order.value, cap)
        if is_before:
            before[place, 0] += value
            before[place, 1] = max(before[place, 1], float(order.is_bought))
        else:
            revenue[place] += value
            converted[place] = max(converted[place], float(order.is_bought))
    shown = np.array([Arm.SHOWN in met.arms[unit] for unit in units], np.bool_)
    return HoldoutVisitors(
        Arms(shown, converted, revenue, before),
        began_at=min(met.first_at.values(), default=0),
        crossed=len(met.arms) - len(units),
        cap=cap,
        foreign_orders=foreign,
    )


def _cap(values: Sequence[float]) -> float | None:
    """Return the value that one order in a hundred exceeds: a few must not decide."""
    if len(values) < _ENOUGH_TO_CAP:
        return None
    return float(np.quantile(np.array(values), CAP_QUANTILE))
