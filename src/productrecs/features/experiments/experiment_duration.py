"""Test duration: the days until a test shows a difference, from the store's traffic."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from productrecs.core.clock import DAY_MS
from productrecs.features.experiments.experiment_measurement import (
    ExperimentDesign,
    VisitorIndex,
    VisitorPurchases,
    compute_visitor_outcomes,
    conversion_metric,
)
from productrecs.features.experiments.experiment_statistics import (
    ALPHA,
    MIN_CONVERSIONS,
    visitors_needed,
)
from productrecs.features.experiments.repository import ExperimentResultRepository, Row
from productrecs.records.events.event import EventKind
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.store_counters_and_versions import log_seq
from productrecs.tenancy.accounts.store import Store

TRAFFIC_DAYS: Final = 28
_MAX_LOG_ROWS: Final = 200_000
"""A busy store is measured by its newest records only, so that a page stays quick."""

_SEARCHES: Final = frozenset({EventKind.SEARCH_PREF, EventKind.SEARCH_CLICK})
_CONTROL: Final = "control"


@dataclass(frozen=True, slots=True)
class ExperimentTraffic:
    """The visitors that a test would compare, and what they do for its goal.

    `mean` and `variance` are of the goal per visitor. `conversion` is the share of visitors
    who bought, or who clicked or added to their cart if that is the goal.
    `is_whole_store`: nothing tells who sees what is tested, so these are all visitors.
    """

    visitors_per_day: float
    conversion: float
    mean: float
    variance: float
    is_whole_store: bool = False


def days_to_detect(
    traffic: ExperimentTraffic, shares: Sequence[float], lift: float
) -> float | None:
    """Return the days until every variant shows a relative difference with 80 % power.

    `shares` are from 0 to 1, the control first. The days hold for the always-valid 95 %
    interval of the result and for its minimum of conversions. None: never.
    """
    control, *variants = shares
    days = 0.0
    for share in variants:
        smaller, pair = min(control, share), control + share
        if smaller * traffic.visitors_per_day * traffic.conversion <= 0:
            return None
        # Of the difference, times the visitors of both arms.
        variance = traffic.variance * pair * (1 / control + 1 / share)
        alpha = ALPHA / len(variants)
        needed = visitors_needed(variance, 1, lift * traffic.mean, alpha)
        if needed is None:
            return None
        gate = MIN_CONVERSIONS / (smaller * traffic.conversion)
        days = max(days, max(needed / pair, gate) / traffic.visitors_per_day)
    return days


def measure_recent_traffic(
    database: Database, store: Store, subject: str | None, goal: str, now_ms: int
) -> ExperimentTraffic:
    """Return the traffic of the last 28 days, or of the newest records of a busy store.

    `subject` is a placement, empty for search, None for a holdout test.
    """
    since_ms = now_ms - TRAFFIC_DAYS * DAY_MS
    with database.reading() as connection:
        repository = ExperimentResultRepository(connection, store.store_id)
        after_seq = max(0, log_seq(connection, store.store_id) - _MAX_LOG_ROWS)
        visits = repository.visits_by_person_and_kind(subject or "", since_ms, after_seq)
        first_at = _first_exposure_times(visits, subject)
        is_whole_store = subject is not None and not first_at
        if is_whole_store:
            first_at = _first_exposure_times(visits, None)
        index = VisitorIndex(
            [(person, _CONTROL, person, at) for person, at in first_at.items()], ()
        )
        bought = VisitorPurchases()
        for page in repository.pages_of_order_lines(since_ms, after_seq):
            bought.add_order_lines(index, page, store.settings.currency, now_ms)
    click = EventKind.REC_CLICK if subject else EventKind.SEARCH_CLICK
    events = [
        (person, kind, last)
        for person, kind, _, last, _ in visits
        if kind in {click, EventKind.ADD_TO_CART}
    ]
    design = ExperimentDesign("", {_CONTROL: 1.0}, (goal,), goal)
    values = compute_visitor_outcomes(design, index, bought, events).values
    if not first_at:
        return ExperimentTraffic(0, 0, 0, 0, is_whole_store)
    began_at = min(first for _, _, first, _, _ in visits)
    # A day is the least, except for a store whose newest records are of a few hours.
    least_ms = DAY_MS / 24 if after_seq else DAY_MS
    days = max(now_ms - began_at, least_ms) / DAY_MS
    return ExperimentTraffic(
        visitors_per_day=len(first_at) / days,
        conversion=float((values[conversion_metric(goal)] > 0).mean()),
        mean=float(values[goal].mean()),
        variance=float(values[goal].var()),
        is_whole_store=is_whole_store,
    )


def _first_exposure_times(visits: Iterable[Row], subject: str | None) -> dict[str, int]:
    """Return when each visitor first saw what is tested."""
    first_at: dict[str, int] = {}
    for person, kind, first, _, named in visits:
        at = named if subject else first
        is_exposed = kind == EventKind.REC_IMPRESSION if subject else kind in _SEARCHES
        if at is not None and (is_exposed or subject is None):
            first_at[person] = min(at, first_at.get(person, at))
    return first_at


def update_traffic_with_result(
    traffic_before: ExperimentTraffic, result: Mapping[str, Any] | None
) -> ExperimentTraffic:
    """Return a running test's traffic; `traffic_before` where the test knows too little.

    The test's visitors a day count from its first full day on, its variance once each arm
    has enough conversions.
    """
    if result is None or result["days"] < 1:
        return traffic_before
    visitors = sum(arm["visitors"] for arm in result["arms"])
    traffic = replace(
        traffic_before, visitors_per_day=visitors / result["days"], is_whole_store=False
    )
    metrics = [of_arm.get(result["goal"], {}) for of_arm in result["metrics"].values()]
    if not metrics or any(
        not metric.get("control")
        or not metric.get("visitor_variance")
        or metric["conversions"] < MIN_CONVERSIONS
        for metric in metrics
    ):
        return traffic
    control, *arms = [arm["visitors"] for arm in result["arms"]]
    converted = sum(arm[conversion_metric(result["goal"])] for arm in result["arms"])
    return replace(
        traffic,
        conversion=converted / visitors,
        mean=metrics[0]["control"],
        variance=max(
            metric["visitor_variance"] / ((control + arm) * (1 / control + 1 / arm))
            for metric, arm in zip(metrics, arms, strict=True)
        ),
    )


def days_remaining(
    traffic: ExperimentTraffic, shares: Sequence[float], lift: float, visitors: int
) -> int | None:
    """Return the full days until a test with so many visitors shows a difference."""
    days = days_to_detect(traffic, shares, lift)
    if days is None:
        return None
    return max(0, math.ceil(days - visitors / traffic.visitors_per_day))
