"""Holdout result: computes the result of a holdout test in the background and stores it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from productrecs.features.insights.experiments.confidence_sequence import (
    GATE,
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
from productrecs.features.insights.experiments.holdout_visitors import (
    BEFORE_MS,
    HoldoutVisitors,
    VisitorIndex,
    holdout_visitors,
)
from productrecs.features.insights.experiments.repository import (
    ExperimentRepository,
    StoredHoldoutResult,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

METRICS: Final = ("conversion", "revenue")
TARGET_LIFT: Final = 0.1
"""The relative lift that a test should be able to detect."""

_FEWEST: Final = 2  # visitors of an arm that have a variance


def measure_holdout(
    database: Database, store: Store, test: str, now_ms: int
) -> StoredHoldoutResult:
    """Compute and store the current result of a test.

    Reads all purchases since 90 days before the test: seconds for very many.

    Raises:
        StoreDeletedError: when the store was deleted meanwhile.
    """
    with database.reading() as connection:
        repository = ExperimentRepository(connection, store.store_id)
        met = VisitorIndex(repository.met(test), repository.links())
        since_ms = min(met.first_at.values(), default=now_ms) - BEFORE_MS
        found = holdout_visitors(met, repository.lines(since_ms), store.settings.currency)
        share = _share(store, test, repository.results(test, 1))
    today = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(store.settings.zone)
    stored = StoredHoldoutResult(
        test, today.date().isoformat(), now_ms, holdout_result(found, share, now_ms)
    )
    with database.transaction(synced=False) as transaction:
        AccountRepository(transaction).hold(store.store_id)
        ExperimentRepository(transaction, store.store_id).keep(stored)
    return stored


def _share(store: Store, test: str, before: Sequence[StoredHoldoutResult]) -> float:
    """Return which share is held out; of a test that is over, which was; 0: not known."""
    settings = store.settings
    if settings.holdout_test == test and settings.holdout_percent:
        return settings.holdout_percent / 100
    return float(before[0].result["held_out_share"] or 0) if before else 0.0


def holdout_result(
    found: HoldoutVisitors, held_out_share: float, now_ms: int
) -> dict[str, Any]:
    """Return the result as plain values; without a share sizes are not judged."""
    arms = found.arms
    shown, held_out = int(arms.shown.sum()), int((~arms.shown).sum())
    chance = sample_ratio_p(shown, held_out, held_out_share) if held_out_share else None
    is_mismatched = chance is not None and chance < SRM_P
    bought = conversions(arms) if len(arms.shown) else (0, 0)
    result: dict[str, Any] = {
        "began_at": found.began_at,
        "days": max(0.0, (now_ms - found.began_at) / 86_400_000) if shown + held_out else 0,
        "held_out_share": held_out_share or None,
        "visitors_shown": shown,
        "visitors_held_out": held_out,
        "conversions_shown": bought[0],
        "conversions_held_out": bought[1],
        "mismatch_p": chance,
        "is_mismatched": is_mismatched,
        "crossed": found.crossed,
        "order_cap": found.cap,
        "foreign_orders": found.foreign_orders,
        "gate": GATE,
        "metrics": {},
    }
    if min(shown, held_out) < _FEWEST:
        return result
    for name, values in zip(METRICS, (arms.converted, arms.revenue), strict=True):
        one = difference(arms.shown, values, arms.before)
        conclusion = LiftVerdict.SUPPRESSED if is_mismatched else verdict(arms, one)
        result["metrics"][name] = _metric(arms, one, conclusion)
    return result


def _metric(arms: Arms, one: Difference, conclusion: LiftVerdict) -> dict[str, Any]:
    """Return a difference as plain values; what may not be said yet is left out."""
    count = len(arms.shown)
    effect = TARGET_LIFT * one.held_out_mean
    needed = visitors_needed(one.variance, count, effect)
    is_told = conclusion not in {LiftVerdict.COLLECTING, LiftVerdict.SUPPRESSED}
    return {
        "verdict": conclusion.value,
        "shown": one.shown_mean if conclusion is not LiftVerdict.SUPPRESSED else None,
        "held_out": one.held_out_mean if conclusion is not LiftVerdict.SUPPRESSED else None,
        "difference": one.value if is_told else None,
        "low": one.low if is_told else None,
        "high": one.high if is_told else None,
        "lift": one.relative(one.value) if is_told else None,
        "lift_low": one.relative(one.low) if is_told else None,
        "lift_high": one.relative(one.high) if is_told else None,
        "visitors_needed": needed,
        "visitors_more": None if needed is None else max(0, needed - count),
    }
