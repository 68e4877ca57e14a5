"""Test duration texts: when a test shows a difference, before and after its start."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from productrecs.core.clock import DAY_MS
from productrecs.dashboard.page import Visit
from productrecs.features.experiments.experiment_duration import (
    ExperimentTraffic,
    days_remaining,
    days_to_detect,
    measure_recent_traffic,
    update_traffic_with_result,
)
from productrecs.features.experiments.experiment_measurement import (
    ExperimentDesign,
    conversion_metric,
    design_of_experiment,
    holdout_design,
)
from productrecs.features.experiments.experiment_report import DURATION_NOTES, is_decided
from productrecs.features.experiments.repository import ExperimentResultRepository
from productrecs.records.experiments.experiment import (
    Experiment,
    ExperimentContent,
    ExperimentState,
)

_LIFTS: Final = (0.1, 0.2, 0.5)
_LONGEST_DAYS: Final = 365
_HOLDOUT_SHARES: Final = (0.5, 0.1, 0.05)
_GOALS: Final = MappingProxyType(
    {
        "clicks": "the share who click",
        "carts": "the share who add to their cart",
        "orders": "orders per visitor",
        "revenue": "sales per visitor",
        "margin": "margin per visitor",
    }
)
_CONVERTED: Final = MappingProxyType({"clicks": "clicked", "carts": "added to their cart"})


def describe_planned_duration(visit: Visit, content: ExperimentContent) -> str:
    """Return how long a test of these shares takes, before its start."""
    goal = str(content.goal)
    traffic = _read_traffic(visit, content.placement, goal)
    if not traffic.mean > 0 or not traffic.conversion:
        return _no_estimate_text(visit, traffic, goal)
    subject = "this list" if content.placement else "search"
    shares = [share / 100 for share in content.shares.values()]
    visitors_text = _describe_visitors(visit, traffic, goal, subject)
    text = f"{visitors_text} {_describe_when_differences_show(traffic, shares, goal)}"
    if traffic.is_whole_store:
        text += " With half as many visitors it takes twice as long."
    return text


def describe_planned_holdout_durations(visit: Visit) -> str:
    """Return how long a holdout test takes that holds out 50, 10 or 5 %."""
    traffic = _read_traffic(visit, None, "revenue")
    if not traffic.mean > 0:
        return _no_estimate_text(visit, traffic, "revenue")
    durations = "; ".join(
        _describe_planned_holdout(traffic, share) for share in _HOLDOUT_SHARES
    )
    seen = _describe_visitors(visit, traffic, "revenue", "")
    return f"{seen} When a difference in sales per visitor shows: {durations}."


def _describe_planned_holdout(traffic: ExperimentTraffic, share: float) -> str:
    shares = (share, 1 - share)
    lift = _detectable_larger_lift(traffic, shares) or _LIFTS[-1]
    duration = _describe_duration(days_to_detect(traffic, shares, lift))
    return f"with {100 * share:.0f} % without lists, one of {100 * lift:.0f} % {duration}"


def describe_running_holdout_duration(visit: Visit) -> str:
    """Return the day of the running holdout test, and when it shows a difference."""
    settings = visit.store.settings
    if not settings.holdout_percent:
        return ""
    return _describe_running_duration(
        visit, holdout_design(visit.store, settings.holdout_test), None
    )


def describe_experiment_duration(visit: Visit, experiment: Experiment) -> str:
    """Return how long a draft takes, or when a running test shows a difference."""
    if experiment.state is ExperimentState.DRAFT:
        return describe_planned_duration(visit, experiment.content)
    if experiment.state is not ExperimentState.RUNNING:
        return ""
    design = design_of_experiment(experiment)
    return _describe_running_duration(
        visit, design, experiment.content.placement, experiment.started_at
    )


def notes_without_duration(notes: Sequence[str], duration: str) -> list[str]:
    """Return a report's notes; without its own estimate where the page shows one."""
    return [note for note in notes if not (duration and note.startswith(DURATION_NOTES))]


def _describe_running_duration(
    visit: Visit,
    design: ExperimentDesign,
    subject: str | None,
    started_at: int | None = None,
) -> str:
    with visit.database.reading() as connection:
        repository = ExperimentResultRepository(connection, visit.store.store_id)
        stored = repository.newest_results(design.name, 1)
    result: dict[str, Any] | None = stored[0].result if stored else None
    if result is not None and not any(arm["visitors"] for arm in result["arms"]):
        result = None
    if result is not None and is_decided(result):
        return ""
    began_at = started_at or (visit.now_ms if result is None else result["began_at"])
    day = f"Day {(visit.now_ms - began_at) // DAY_MS + 1}"
    traffic = update_traffic_with_result(_read_traffic(visit, subject, design.goal), result)
    if not traffic.mean > 0 or not traffic.conversion or not traffic.visitors_per_day:
        return f"{day}. {_no_estimate_text(visit, traffic, design.goal)}"
    visitors = 0 if result is None else sum(arm["visitors"] for arm in result["arms"])
    shares = tuple(design.shares.values())
    lift = _detectable_larger_lift(traffic, shares)
    days = None if lift is None else days_remaining(traffic, shares, lift, visitors)
    if lift is None or days is None:
        return f"{day}. {_too_few_visitors_text(traffic, _LIFTS[-1])}"
    difference = f"a difference of {100 * lift:.0f} % in {_GOALS[design.goal]}"
    if not days:
        return f"{day}; {difference} would be clear by now."
    today = datetime.fromtimestamp(visit.now_ms / 1000, UTC)
    end = (today.astimezone(visit.store.settings.zone) + timedelta(days=days)).date()
    per_day = visit.formats.count(round(traffic.visitors_per_day), "visitor")
    return (
        f"{day}; with today's traffic ({per_day} a day) {difference} would be clear by "
        f"about {visit.formats.day(end)}."
    )


def _read_traffic(visit: Visit, subject: str | None, goal: str) -> ExperimentTraffic:
    return measure_recent_traffic(visit.database, visit.store, subject, goal, visit.now_ms)


def _detectable_larger_lift(
    traffic: ExperimentTraffic, shares: Sequence[float]
) -> float | None:
    """Return 20 %, or 50 % where only that shows within a year, or None."""
    for lift in _LIFTS[1:]:
        days = days_to_detect(traffic, shares, lift)
        if days is not None and days <= _LONGEST_DAYS:
            return lift
    return None


def _describe_when_differences_show(
    traffic: ExperimentTraffic, shares: Sequence[float], goal: str
) -> str:
    lift = _detectable_larger_lift(traffic, shares)
    if lift is None:
        return _too_few_visitors_text(traffic, _LIFTS[-1])
    smaller, larger = (_LIFTS[0], lift) if lift == _LIFTS[1] else _LIFTS[1:]
    first, second = (
        _describe_duration(days_to_detect(traffic, shares, one))
        for one in (smaller, larger)
    )
    return (
        f"A difference of {100 * smaller:.0f} % in {_GOALS[goal]} shows {first}, one of "
        f"{100 * larger:.0f} % {second}."
    )


def _describe_duration(days: float | None) -> str:
    if days is None or days > _LONGEST_DAYS:
        return "not within a year"
    full_days = math.ceil(days)
    return f"after about {full_days} {'day' if full_days == 1 else 'days'}"


def _describe_visitors(
    visit: Visit, traffic: ExperimentTraffic, goal: str, subject: str
) -> str:
    count = visit.formats.count(round(traffic.visitors_per_day, 1), "visitor")
    share = visit.formats.share(traffic.conversion)
    converted = _CONVERTED.get(conversion_metric(goal), "bought")
    if traffic.is_whole_store:
        seen = (
            f"It is unknown who saw {subject} in the last 28 days. If all visitors of your "
            f"shop do, these are about {count} a day"
        )
    elif subject:
        verb = "saw" if subject == "this list" else "used"
        seen = f"About {count} a day {verb} {subject} in the last 28 days"
    else:
        seen = f"Your shop had about {count} a day in the last 28 days"
    return f"{seen}; {share} of them {converted}."


def _no_estimate_text(visit: Visit, traffic: ExperimentTraffic, goal: str) -> str:
    if not traffic.visitors_per_day:
        return (
            "No visitors in the last 28 days. With so few visitors a test does not decide "
            "within a year."
        )
    if goal == "margin" and traffic.conversion:
        return "No sold product has a cost, so the margin is not known: no decision."
    converted = _CONVERTED.get(conversion_metric(goal), "bought")
    count = visit.formats.count(round(traffic.visitors_per_day), "visitor")
    return (
        f"About {count} a day, but none of them {converted} in the last 28 days: no "
        "decision within a year."
    )


def _too_few_visitors_text(traffic: ExperimentTraffic, lift: float) -> str:
    return (
        f"Too few visitors ({traffic.visitors_per_day:,.0f} a day): no decision within a "
        f"year, not even about a difference of {100 * lift:.0f} %."
    )
