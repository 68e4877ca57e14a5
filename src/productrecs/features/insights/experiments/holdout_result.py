"""Holdout result: computes the result of a holdout test in the background and stores it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.features.insights.experiments.confidence_sequence import (
    MIN_CONVERSIONS,
    SRM_P,
    Arms,
    Difference,
    LiftVerdict,
    conversions,
    difference,
    sample_ratio_p,
    verdict,
    visitors_needed,
)
from productrecs.features.insights.experiments.repository import (
    ExperimentRepository,
    Row,
    StoredHoldoutResult,
)
from productrecs.records.experiments.holdouts_and_explorations import Arm
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

BEFORE_MS: Final = 90 * DAY_MS
"""The window before the assignment whose purchases are the covariates."""

CAP_QUANTILE: Final = 0.99
_MIN_ORDERS_TO_CAP: Final = 100  # orders needed to compute a cap


@dataclass(frozen=True, slots=True)
class HoldoutVisitors:
    """The visitors of a test, and the excluded records."""

    arms: Arms
    began_at: int
    crossed: int  # visitors in both arms: the share changed during the test
    cap: float | None  # the maximum value of one order
    foreign_orders: int  # in a currency other than the store's


class VisitorIndex:
    """The visitors of a test, by each of their identities."""

    def __init__(self, exposures: Sequence[Row], links: Iterable[Row]) -> None:
        """Read (identity, arm, unit, first_at), the earliest first, and the links."""
        self.first_at: dict[str, int] = {}
        self.arms: dict[str, set[str]] = defaultdict(set)
        self._unit_of: dict[str, str] = {}
        for identity, arm, unit, first_at in exposures:
            self._unit_of.setdefault(identity, unit)
            self.first_at.setdefault(unit, first_at)
            self.arms[unit].add(arm)
        self._order = {identity: place for place, identity in enumerate(self._unit_of)}
        self._sessions: dict[str, list[str]] = defaultdict(list)
        for session, customer in links:
            if session in self._unit_of:
                self._sessions[customer].append(session)

    def unit(self, person: str) -> str | None:
        """Return a person's visitor id, or None if the person was never assigned."""
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
    exposures: VisitorIndex, pages: Iterable[Sequence[Row]], currency: str
) -> HoldoutVisitors:
    """Return every visitor with their purchases, sorted by unit."""
    orders: dict[tuple[str, int, bool], _Order] = {}
    foreign: set[int] = set()
    for page in pages:
        for line_seq, person, ts, basket, quantity, total, paid_in in page:
            unit = exposures.unit(person)
            if unit is None:
                continue
            is_before = ts < exposures.first_at[unit]
            if ts < exposures.first_at[unit] - BEFORE_MS:
                continue
            key = line_seq if basket is None else basket
            order = orders.setdefault((unit, key, is_before), _Order(is_before))
            order.is_bought |= quantity is None or quantity > 0
            if (paid_in or currency) == currency:
                order.value += total or 0.0
            else:
                foreign.add(key)
    cap = _cap([order.value for order in orders.values() if order.is_bought])
    return _visitor_outcomes(exposures, orders, cap, len(foreign))


def _visitor_outcomes(
    exposures: VisitorIndex,
    orders: Mapping[tuple[str, int, bool], _Order],
    cap: float | None,
    foreign: int,
) -> HoldoutVisitors:
    units = sorted(unit for unit, arms in exposures.arms.items() if len(arms) == 1)
    places = {unit: place for place, unit in enumerate(units)}
    converted, revenue = np.zeros(len(units)), np.zeros(len(units))
    before = np.zeros((len(units), 2))  # covariates: money spent, and whether they bought
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
    shown = np.array([Arm.SHOWN in exposures.arms[unit] for unit in units], np.bool_)
    return HoldoutVisitors(
        Arms(shown, converted, revenue, before),
        began_at=min(exposures.first_at.values(), default=0),
        crossed=len(exposures.arms) - len(units),
        cap=cap,
        foreign_orders=foreign,
    )


def _cap(values: Sequence[float]) -> float | None:
    """Return the 99th percentile of order values, so that a few orders do not decide."""
    if len(values) < _MIN_ORDERS_TO_CAP:
        return None
    return float(np.quantile(np.array(values), CAP_QUANTILE))


METRICS: Final = ("conversion", "revenue")
TARGET_LIFT: Final = 0.1
"""The relative lift that a test should be able to detect."""

_MIN_VISITORS: Final = 2  # visitors per arm that a variance needs


def measure_holdout(
    database: Database, store: Store, test: str, now_ms: int
) -> StoredHoldoutResult:
    """Compute and store the current result of a test.

    Reads all purchases from 90 days before the test on; large stores take seconds.

    Raises:
        StoreDeletedError: when the store was deleted meanwhile.
    """
    with database.reading() as connection:
        repository = ExperimentRepository(connection, store.store_id)
        exposures = VisitorIndex(repository.exposures(test), repository.links())
        since_ms = min(exposures.first_at.values(), default=now_ms) - BEFORE_MS
        found = holdout_visitors(
            exposures, repository.lines(since_ms), store.settings.currency
        )
        share = _share(store, test, repository.results(test, 1))
    today = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(store.settings.zone)
    stored = StoredHoldoutResult(
        test, today.date().isoformat(), now_ms, holdout_result(found, share, now_ms)
    )
    with database.transaction(synced=False) as transaction:
        AccountRepository(transaction).lock(store.store_id)
        ExperimentRepository(transaction, store.store_id).store(stored)
    return stored


def _share(store: Store, test: str, before: Sequence[StoredHoldoutResult]) -> float:
    """Return the held-out share, of a finished test the last one; 0: unknown."""
    settings = store.settings
    if settings.holdout_test == test and settings.holdout_percent:
        return settings.holdout_percent / 100
    return float(before[0].result["held_out_share"] or 0) if before else 0.0


def holdout_result(
    found: HoldoutVisitors, held_out_share: float, now_ms: int
) -> dict[str, Any]:
    """Return the result as plain values; without a share the arm sizes are not tested."""
    arms = found.arms
    shown, held_out = int(arms.shown.sum()), int((~arms.shown).sum())
    ratio_p = sample_ratio_p(shown, held_out, held_out_share) if held_out_share else None
    is_mismatched = ratio_p is not None and ratio_p < SRM_P
    bought = conversions(arms) if len(arms.shown) else (0, 0)
    result: dict[str, Any] = {
        "began_at": found.began_at,
        "days": max(0.0, (now_ms - found.began_at) / 86_400_000) if shown + held_out else 0,
        "held_out_share": held_out_share or None,
        "visitors_shown": shown,
        "visitors_held_out": held_out,
        "conversions_shown": bought[0],
        "conversions_held_out": bought[1],
        "mismatch_p": ratio_p,
        "is_mismatched": is_mismatched,
        "crossed": found.crossed,
        "order_cap": found.cap,
        "foreign_orders": found.foreign_orders,
        "gate": MIN_CONVERSIONS,
        "metrics": {},
    }
    if min(shown, held_out) < _MIN_VISITORS:
        return result
    for name, values in zip(METRICS, (arms.converted, arms.revenue), strict=True):
        one = difference(arms.shown, values, arms.before)
        conclusion = LiftVerdict.SUPPRESSED if is_mismatched else verdict(arms, one)
        result["metrics"][name] = _metric(arms, one, conclusion)
    return result


def _metric(arms: Arms, one: Difference, conclusion: LiftVerdict) -> dict[str, Any]:
    """Return a difference as plain values, without figures that are not yet valid."""
    count = len(arms.shown)
    effect = TARGET_LIFT * one.held_out_mean
    needed = visitors_needed(one.variance, count, effect)
    has_conclusion = conclusion not in {LiftVerdict.COLLECTING, LiftVerdict.SUPPRESSED}
    return {
        "verdict": conclusion.value,
        "shown": one.shown_mean if conclusion is not LiftVerdict.SUPPRESSED else None,
        "held_out": one.held_out_mean if conclusion is not LiftVerdict.SUPPRESSED else None,
        "difference": one.value if has_conclusion else None,
        "low": one.low if has_conclusion else None,
        "high": one.high if has_conclusion else None,
        "lift": one.relative(one.value) if has_conclusion else None,
        "lift_low": one.relative(one.low) if has_conclusion else None,
        "lift_high": one.relative(one.high) if has_conclusion else None,
        "visitors_needed": needed,
        "visitors_more": None if needed is None else max(0, needed - count),
    }
