"""Experiment measurement: computes the result of a test in the background and stores it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints
from productrecs.features.experiments.experiment_statistics import (
    ALPHA,
    MIN_CONVERSIONS,
    SRM_P,
    LiftVerdict,
    MeanDifference,
    cuped_mean_difference,
    lift_verdict,
    sample_ratio_p_value,
    visitors_needed,
)
from productrecs.features.experiments.repository import (
    DailyExperimentResult,
    ExperimentResultRepository,
    Row,
)
from productrecs.records.events.event import EventKind
from productrecs.records.experiments.arm_assignment import HoldoutArm
from productrecs.records.experiments.experiment import (
    Experiment,
    ExperimentState,
    Goal,
)
from productrecs.records.experiments.repository import (
    ExperimentRepository,
    stores_with_open_or_recent_tests,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

BEFORE_MS: Final = 90 * DAY_MS
"""The window before the assignment whose purchases are the covariates."""

CAP_QUANTILE: Final = 0.99
_MIN_ORDERS_TO_CAP: Final = 100  # orders needed to compute a cap
TARGET_LIFT: Final = 0.1
"""The relative lift that a test should be able to detect."""

_MIN_VISITORS: Final = 2  # visitors per arm that a variance needs
_LATE_MS: Final = 2 * 3_600_000  # how long an ended test is still measured
_CONVERSION: Final = "conversion"


class ExperimentDesign(NamedTuple):
    """What to measure: a test, by the name of its exposures, and its arms.

    `shares` are from 0 to 1, the control first; all 0 if they are unknown. `clicks` is the
    kind of click that counts. Events count after `since_seq`, all until `until_ms`.
    """

    name: str
    shares: Mapping[str, float]
    metrics: tuple[str, ...]
    goal: str
    clicks: EventKind | None = None
    since_seq: int = 0
    until_ms: int | None = None


def holdout_design(store: Store, name: str) -> ExperimentDesign:
    """Return a holdout test, in which shoppers without lists are the control."""
    is_running = name == store.settings.holdout_test
    held_out = store.settings.holdout_percent / 100 if is_running else 0
    shares = {
        HoldoutArm.HELD_OUT.value: held_out,
        HoldoutArm.SHOWN.value: 1 - held_out if held_out else 0,
    }
    return ExperimentDesign(name, shares, (_CONVERSION, Goal.REVENUE.value), Goal.REVENUE)


def design_of_experiment(experiment: Experiment) -> ExperimentDesign:
    """Return a test of a placement or of search."""
    content = experiment.content
    return ExperimentDesign(
        experiment.split.name,
        {name: share / 100 for name, share in content.shares.items()},
        tuple(goal.value for goal in Goal),
        content.goal,
        EventKind.REC_CLICK if content.placement else EventKind.SEARCH_CLICK,
        experiment.started_seq,
        experiment.ended_at,
    )


@dataclass(slots=True)
class VisitorOutcomes:
    """The visitors of a test, and the excluded records."""

    arms: Ints  # the place of each visitor's arm in the test's shares
    values: dict[str, Floats]  # by metric, a value for each visitor
    before: Floats  # (visitors, 2): money spent, and whether they bought
    began_at: int
    crossed: int = 0  # visitors in several arms: the share changed during the test
    bots: int = 0
    cap: float | None = None  # the maximum value of one order
    foreign_orders: int = 0  # in a currency other than the store's
    lines: int = 0
    costed: int = 0  # lines of products with a cost


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
        self._order = {identity: index for index, identity in enumerate(self._unit_of)}
        self._sessions: dict[str, list[str]] = defaultdict(list)
        for session, customer in links:
            if session in self._unit_of:
                self._sessions[customer].append(session)

    def visitor_of(self, person: str) -> str | None:
        """Return a person's visitor id, or None if the person was never assigned."""
        known = self._unit_of.get(person)
        if known is None and (sessions := self._sessions.get(person)):
            known = self._unit_of[min(sessions, key=self._order.__getitem__)]
        return known

    def remove(self, people: Iterable[str]) -> int:
        """Leave out the visitors whom these names belong to; return their number."""
        units = {unit for name in people if (unit := self.visitor_of(name)) is not None}
        return sum(self.arms.pop(unit, None) is not None for unit in units)


@dataclass(slots=True)
class _VisitorOrder:
    is_before: bool
    value: float = 0.0
    margin: float = 0.0
    is_bought: bool = False


@dataclass(slots=True)
class VisitorPurchases:
    """The orders of a test's visitors, by visitor, order, and whether it is before."""

    orders: dict[tuple[str, int, bool], _VisitorOrder] = field(default_factory=dict)
    foreign: set[int] = field(default_factory=set)
    lines: int = 0
    costed: int = 0

    def add_order_lines(
        self, exposures: VisitorIndex, lines: Iterable[Row], currency: str, until_ms: float
    ) -> None:
        """Add bought lines, each with the cost of its product."""
        for line_seq, person, ts, basket, quantity, total, paid_in, cost in lines:
            unit = exposures.visitor_of(person)
            if unit is None or ts > until_ms:
                continue
            is_before = ts < exposures.first_at[unit]
            if ts < exposures.first_at[unit] - BEFORE_MS:
                continue
            key = line_seq if basket is None else basket
            order = self.orders.setdefault((unit, key, is_before), _VisitorOrder(is_before))
            order.is_bought |= quantity is None or quantity > 0
            if (paid_in or currency) != currency:
                self.foreign.add(key)
                continue
            order.value += total or 0.0
            self.lines += not is_before
            if cost is not None and total is not None:
                order.margin += total - cost * (1 if quantity is None else quantity)
                self.costed += not is_before

    def order_value_cap(self) -> float | None:
        """Return the 99th percentile of order values, so that a few do not decide."""
        values = [order.value for order in self.orders.values() if order.is_bought]
        if len(values) < _MIN_ORDERS_TO_CAP:
            return None
        return float(np.quantile(np.array(values), CAP_QUANTILE))


def compute_visitor_outcomes(
    test: ExperimentDesign,
    exposures: VisitorIndex,
    bought: VisitorPurchases,
    events: Iterable[Row],
) -> VisitorOutcomes:
    """Return every visitor of one arm with their outcomes, sorted by unit.

    An event is (person, kind, ts).
    """
    names = list(test.shares)
    units = sorted(unit for unit, arms in exposures.arms.items() if len(arms) == 1)
    indexes = {unit: index for index, unit in enumerate(units)}
    values = {name: np.zeros(len(units)) for name in (_CONVERSION, *Goal)}
    before, cap = np.zeros((len(units), 2)), bought.order_value_cap()
    for (unit, _, is_before), order in bought.orders.items():
        index = indexes.get(unit)
        if index is None:
            continue
        is_capped = cap is not None and order.value > cap
        scale = cap / order.value if cap is not None and is_capped else 1.0
        if is_before:
            before[index, 0] += order.value * scale
            before[index, 1] = max(before[index, 1], float(order.is_bought))
        else:
            values[Goal.REVENUE][index] += order.value * scale
            values[Goal.MARGIN][index] += order.margin * scale
            values[Goal.ORDERS][index] += order.is_bought
    values[_CONVERSION] = (values[Goal.ORDERS] > 0).astype(np.float64)
    for person, kind, ts in events:
        visitor = exposures.visitor_of(person)
        if visitor not in indexes or ts < exposures.first_at[visitor]:
            continue
        metric = Goal.CARTS if kind == EventKind.ADD_TO_CART else Goal.CLICKS
        values[metric][indexes[visitor]] = 1.0
    arms = np.array([names.index(next(iter(exposures.arms[unit]))) for unit in units], int)
    return VisitorOutcomes(
        arms,
        values,
        before,
        began_at=min(exposures.first_at.values(), default=0),
        crossed=len(exposures.arms) - len(units),
        cap=cap,
        foreign_orders=len(bought.foreign),
        lines=bought.lines,
        costed=bought.costed,
    )


def stores_with_tests_to_measure(
    database: Database, stores: Iterable[Store], now_ms: int
) -> list[StoreId]:
    """Return the stores with a test whose result may have changed, by one query."""
    with database.reading() as connection:
        started = stores_with_open_or_recent_tests(connection, now_ms - _LATE_MS)
    return [
        store.store_id
        for store in stores
        if store.settings.holdout_percent or store.store_id in started
    ]


def find_tests_to_measure(
    database: Database, store: Store, now_ms: int
) -> list[ExperimentDesign]:
    """Return the tests whose results may still change, and the holdout test."""
    settings = store.settings
    tests = []
    if settings.holdout_percent:
        tests.append(holdout_design(store, settings.holdout_test))
    with database.reading() as connection:
        stored = ExperimentRepository(connection, store.store_id).all()
    for experiment in stored:
        ended_at = experiment.ended_at or 0
        if experiment.is_open or (
            experiment.state is ExperimentState.ENDED and ended_at > now_ms - _LATE_MS
        ):
            tests.append(design_of_experiment(experiment))
    return tests


def measure_and_store_test(
    database: Database, store: Store, test: ExperimentDesign, now_ms: int
) -> DailyExperimentResult:
    """Compute and store the current result of a test.

    Reads all purchases from 90 days before the test on; large stores take seconds.

    Raises:
        StoreDeletedError: when the store was deleted meanwhile.
    """
    until_ms = float("inf") if test.until_ms is None else test.until_ms
    with database.reading() as connection:
        repository = ExperimentResultRepository(connection, store.store_id)
        test = _with_last_shares_if_unknown(test, repository.newest_results(test.name, 1))
        exposures = VisitorIndex(repository.exposures(test.name), repository.links())
        began_at = min(exposures.first_at.values(), default=now_ms)
        bots, bought = exposures.remove(repository.bots(began_at)), VisitorPurchases()
        for page in repository.pages_of_order_lines(began_at - BEFORE_MS):
            bought.add_order_lines(exposures, page, store.settings.currency, until_ms)
        kinds = () if test.clicks is None else (test.clicks, EventKind.ADD_TO_CART)
        events = (
            row
            for page in repository.pages_of_visitor_events(kinds, test.since_seq)
            for row in page
            if row[2] <= until_ms
        )
        visitors = compute_visitor_outcomes(test, exposures, bought, events)
        visitors.bots = bots
    today = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(store.settings.zone)
    end_ms = now_ms if test.until_ms is None else test.until_ms
    result = compute_result_fields(test, visitors, end_ms)
    stored = DailyExperimentResult(test.name, today.date().isoformat(), now_ms, result)
    with database.transaction(synced=False) as transaction:
        AccountRepository(transaction).lock(store.store_id)
        ExperimentResultRepository(transaction, store.store_id).store_result_of_day(stored)
    return stored


def _with_last_shares_if_unknown(
    test: ExperimentDesign, earlier_results: Sequence[DailyExperimentResult]
) -> ExperimentDesign:
    """Return an ended holdout test with the shares of its last result."""
    if any(test.shares.values()) or not earlier_results:
        return test
    arms = earlier_results[0].result["arms"]
    return test._replace(shares={arm["name"]: arm["share"] or 0 for arm in arms})


def compute_result_fields(
    test: ExperimentDesign, visitors: VisitorOutcomes, now_ms: int
) -> dict[str, Any]:
    """Return the result as plain values; without shares the arm sizes are not tested."""
    counts = [
        int((visitors.arms == arm_index).sum()) for arm_index in range(len(test.shares))
    ]
    shares, names = list(test.shares.values()), list(test.shares)
    ratio_p = sample_ratio_p_value(counts, shares) if all(shares) else None
    is_mismatched = ratio_p is not None and ratio_p < SRM_P
    days = max(0.0, (now_ms - visitors.began_at) / DAY_MS) if sum(counts) else 0
    sums = [_metric_sums_of_arm(visitors, arm_index) for arm_index in range(len(names))]
    result: dict[str, Any] = {
        "began_at": visitors.began_at,
        "days": days,
        "arms": [
            {"name": name, "share": share or None, "visitors": count, **arm_sums}
            for name, share, count, arm_sums in zip(
                names, shares, counts, sums, strict=True
            )
        ],
        "goal": test.goal,
        "mismatch_p": ratio_p,
        "is_mismatched": is_mismatched,
        "crossed": visitors.crossed,
        "bots": visitors.bots,
        "order_cap": visitors.cap,
        "foreign_orders": visitors.foreign_orders,
        "lines": visitors.lines,
        "costed": visitors.costed,
        "gate": MIN_CONVERSIONS,
        "metrics": {},
    }
    if min(counts) >= _MIN_VISITORS:
        metrics = [
            metric for metric in test.metrics if metric != Goal.MARGIN or visitors.costed
        ]
        result["metrics"] = {
            name: {
                metric: _compare_with_control(
                    visitors, metric, arm_index, len(names) - 1, is_mismatched
                )
                for metric in metrics
            }
            for arm_index, name in enumerate(names)
            if arm_index
        }
    return result


def _metric_sums_of_arm(visitors: VisitorOutcomes, arm_index: int) -> dict[str, float]:
    """Return the sums of an arm; of clicks, carts and conversions the visitors."""
    is_in_arm = visitors.arms == arm_index
    return {
        str(name): float(values[is_in_arm].sum())
        for name, values in visitors.values.items()
    }


_GATES: Final = {
    Goal.CLICKS.value: Goal.CLICKS.value,
    Goal.CARTS.value: Goal.CARTS.value,
}


def conversion_metric(metric: str) -> str:
    """Return the metric whose conversions count: purchases, except for clicks and carts."""
    return _GATES.get(metric, _CONVERSION)


def _compare_with_control(
    visitors: VisitorOutcomes,
    metric: str,
    arm_index: int,
    comparisons: int,
    is_mismatched: bool,  # noqa: FBT001 - a fact about the test
) -> dict[str, Any]:
    """Return a variant's difference from the control as plain values.

    Several comparisons share the probability of a false alarm.
    """
    pair = (visitors.arms == 0) | (visitors.arms == arm_index)
    is_in_variant = visitors.arms[pair] == arm_index
    alpha = ALPHA / comparisons
    effect = cuped_mean_difference(
        is_in_variant, visitors.values[metric][pair], visitors.before[pair], alpha
    )
    gate = visitors.values[conversion_metric(metric)][pair] > 0
    fewest_conversions = min(
        int(gate[is_in_variant].sum()), int(gate[~is_in_variant].sum())
    )
    conclusion = (
        LiftVerdict.SUPPRESSED
        if is_mismatched
        else lift_verdict(effect, fewest_conversions)
    )
    return {
        "conversions": fewest_conversions,
        **_comparison_fields(effect, conclusion, is_in_variant, alpha),
    }


def _comparison_fields(
    effect: MeanDifference, conclusion: LiftVerdict, is_in_variant: Bools, alpha: float
) -> dict[str, Any]:
    """Return a difference as plain values, without figures that are not yet valid."""
    count = len(is_in_variant)
    needed = visitors_needed(
        effect.variance, count, TARGET_LIFT * effect.control_mean, alpha
    )
    has_conclusion = conclusion not in {LiftVerdict.COLLECTING, LiftVerdict.SUPPRESSED}
    is_valid = conclusion is not LiftVerdict.SUPPRESSED
    return {
        "verdict": conclusion.value,
        "mean": effect.mean if is_valid else None,
        "control": effect.control_mean if is_valid else None,
        "difference": effect.value if has_conclusion else None,
        "low": effect.low if has_conclusion else None,
        "high": effect.high if has_conclusion else None,
        "lift": effect.relative(effect.value) if has_conclusion else None,
        "lift_low": effect.relative(effect.low) if has_conclusion else None,
        "lift_high": effect.relative(effect.high) if has_conclusion else None,
        "visitor_variance": effect.variance * count,
        "visitors_needed": needed,
        "visitors_more": None if needed is None else max(0, needed - count),
    }
