"""Experiment report: the result of a test in the merchant's words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from productrecs.core.report import (
    Figure,
    FigureDefinition,
    Report,
    ReportQuery,
    ReportQueryError,
    ReportValue,
    define_figure,
)
from productrecs.core.timestamps import iso
from productrecs.features.experiments.experiment_measurement import (
    TARGET_LIFT,
    ExperimentDesign,
    design_of_experiment,
    holdout_design,
)
from productrecs.features.experiments.experiment_statistics import (
    MIN_CONVERSIONS,
    SRM_P,
    LiftVerdict,
)
from productrecs.features.experiments.repository import (
    DailyExperimentResult,
    ExperimentResultRepository,
)
from productrecs.records.experiments.arm_assignment import HoldoutArm
from productrecs.records.experiments.experiment import CONTROL, Experiment, ExperimentState
from productrecs.records.experiments.repository import ExperimentRepository
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

RULE: Final = (
    "All shoppers who requested what the test changes are compared, whether or not they "
    "saw it, by what they did since they were first assigned; a person with several "
    "ids is one visitor. The intervals are always valid (95 % each, together): look "
    "whenever you like, and stop when it suits you."
)
MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "conversion": "share of visitors who bought",
        "clicks": "share of visitors who clicked",
        "carts": "share of visitors who added to their cart",
        "orders": "orders per visitor",
        "revenue": "revenue per visitor in the store's currency",
        "margin": "margin per visitor in the store's currency, of products with a cost",
    }
)
SHARES: Final = frozenset({"conversion", "clicks", "carts"})
"""The metrics that are shares of visitors."""

_MORE_VISITORS: Final = "You need about"
_NO_PURCHASE: Final = "One arm has no purchase yet"
EARLIER_TESTS_NOTE: Final = "There are results of "
"""How the note begins that names the earlier holdout tests."""
DURATION_NOTES: Final = (_MORE_VISITORS, _NO_PURCHASE)
"""How the notes begin that estimate the duration of a test."""
_TARGET: Final = f"{100 * TARGET_LIFT:.0f} %"
_OPEN: Final = {LiftVerdict.COLLECTING.value, LiftVerdict.OPEN.value}
DAILY: Final = ("day",)
_DAY: Final = FigureDefinition("day", "day", "the result as it was at the end of that day")


def _result_columns(
    test: ExperimentDesign, by: tuple[str, ...]
) -> tuple[FigureDefinition, ...]:
    """Return the columns; a holdout test has its two arms as columns, others their name."""
    is_holdout = HoldoutArm.SHOWN in test.shares
    arm, control = ("shown", "held_out") if is_holdout else ("mean", "control")
    names = {
        "shown": "the mean of visitors who are shown recommendations",
        "held_out": "the mean of visitors who are held out",
        "mean": "the mean of the variant's visitors",
        "control": "the mean of visitors without a variant",
    }
    variant = FigureDefinition("variant", "text", "the variant, compared with the control")
    return (
        *((_DAY,) if by else ()),
        *(() if is_holdout else (variant,)),
        FigureDefinition("metric", "text", "the metric that is compared"),
        FigureDefinition("verdict", "text", "the conclusion so far"),
        FigureDefinition(arm, "number", names[arm]),
        FigureDefinition(control, "number", names[control]),
        FigureDefinition(
            "difference", "number", f"{arm} - {control}, once there is enough data"
        ),
        FigureDefinition(
            "low", "number", "the lower end of its always-valid 95 % interval"
        ),
        FigureDefinition("high", "number", "the upper end"),
        FigureDefinition("lift", "share", f"difference / {control}"),
        FigureDefinition("lift_low", "share", f"low / {control}"),
        FigureDefinition("lift_high", "share", f"high / {control}"),
        FigureDefinition(
            "visitors_more",
            "count",
            f"how many more visitors are needed to show a lift of {_TARGET} with 80 % "
            "probability",
        ),
    )


def experiment_report(database: Database, store: Store, query: ReportQuery) -> Report:
    """Return the newest computed result of a test: of the one named, else the holdout.

    The means are adjusted for what visitors bought before their assignment (CUPED).

    Raises:
        ReportQueryError: for any grouping except by day.
    """
    if query.by not in {(), DAILY}:
        message = "a test is reported as it is now, or by day: as it was on each"
        raise ReportQueryError(message)
    name = query.test or store.settings.holdout_test
    with database.reading() as connection:
        repository = ExperimentResultRepository(connection, store.store_id)
        stored = ExperimentRepository(connection, store.store_id).all()
        experiment = next((test for test in stored if test.name == query.test), None)
        test = (
            holdout_design(store, name)
            if experiment is None
            else design_of_experiment(experiment)
        )
        limit = query.limit if query.by else 1
        results, tests = (
            repository.newest_results(test.name, limit),
            repository.tests_and_first_exposures(),
        )
    title = f"Test {name!r}: variants against the control"
    if experiment is None:
        title = f"Holdout test {name!r}: with and without recommendations"
    if not results or not any(arm["visitors"] for arm in results[0].result["arms"]):
        notes = (
            tuple(_no_visitor_notes(store, _other_holdout_tests(tests, stored, but=name)))
            if experiment is None
            else (_no_result_reason(experiment),)
        )
        columns = _result_columns(test, query.by)
        return Report("experiment", title=title, columns=columns, notes=notes)
    newest_result = results[0].result
    is_running = _is_running(store, name, experiment)
    rows = tuple(
        (*((stored_result.day,) if query.by else ()), *row)
        for stored_result in results
        for row in _result_rows(stored_result)
    )
    return Report(
        name="experiment",
        title=title,
        figures=tuple(_result_figures(results[0], experiment, is_running=is_running)),
        columns=_result_columns(test, query.by),
        rows=rows,
        notes=(
            RULE,
            *_result_notes(store, newest_result, experiment, is_running=is_running),
        ),
    )


def _is_running(store: Store, name: str, experiment: Experiment | None) -> bool:
    if experiment is not None:
        return experiment.state is ExperimentState.RUNNING
    return store.settings.holdout_percent > 0 and name == store.settings.holdout_test


def other_holdout_test_names(database: Database, store: Store) -> list[str]:
    """Return the names of the store's other holdout tests with visitors, newest first."""
    with database.reading() as connection:
        tests = ExperimentResultRepository(
            connection, store.store_id
        ).tests_and_first_exposures()
        stored = ExperimentRepository(connection, store.store_id).all()
    return _other_holdout_tests(tests, stored, but=store.settings.holdout_test)


def _other_holdout_tests(
    tests: list[tuple[str, int]], stored: Sequence[Experiment], but: str
) -> list[str]:
    others = {but, *(test.name for test in stored)}
    return [name for name, _ in tests if name not in others and ":" not in name]


def _no_visitor_notes(store: Store, other_tests: list[str]) -> Iterator[str]:
    if store.settings.holdout_percent:
        yield (
            "No visitors yet. Shoppers take part once a page shows them a list and sends "
            "their user_id or customer_id, as the widgets do."
        )
    else:
        yield (
            f"No test runs: productrecs settings {store.domain} holdout_percent=10 "
            "holdout_test='a name' starts one."
        )
    if other_tests:
        names = ", ".join(map(repr, other_tests))
        yield f"{EARLIER_TESTS_NOTE}{names}. Choose one by its name (--test)."


def _no_result_reason(experiment: Experiment) -> str:
    if experiment.state is ExperimentState.DRAFT:
        return "The test is a draft: start it."
    return "No visitors yet. Visitors take part once a page shows them the list."


def _result_rows(stored: DailyExperimentResult) -> Iterator[tuple[ReportValue, ...]]:
    for variant, metrics in stored.result["metrics"].items():
        is_holdout = variant == HoldoutArm.SHOWN
        than = "with recommendations" if is_holdout else "than the control"
        for name, metric in metrics.items():
            is_conclusion = metric["verdict"] in {LiftVerdict.MORE, LiftVerdict.LESS}
            yield (
                *(() if is_holdout else (variant,)),
                name,
                f"{metric['verdict']} {than}" if is_conclusion else metric["verdict"],
                *(metric[column] for column in ("mean", "control", "difference")),
                *(metric[column] for column in ("low", "high")),
                *(metric[column] for column in ("lift", "lift_low", "lift_high")),
                metric["visitors_more"],
            )


def _result_figures(
    stored: DailyExperimentResult, experiment: Experiment | None, *, is_running: bool
) -> Iterator[Figure]:
    result = stored.result
    began, last = iso(result["began_at"]), iso(stored.computed_at)
    yield define_figure("began", "time", began, "when the first visitor was assigned")
    yield define_figure("worked_out", "time", last, "when this result was computed")
    if not is_running and (experiment is None or experiment.ended_at is not None):
        ended = experiment.ended_at if experiment is not None else stored.computed_at
        yield define_figure("ended", "time", iso(ended or 0), "since when the test is off")
    advice_text = advice(result, is_running=is_running)
    yield define_figure("advice", "text", advice_text, "what to do")
    words = {
        HoldoutArm.SHOWN: "are shown recommendations",
        HoldoutArm.HELD_OUT: "are held out",
    }
    arms = result["arms"] if experiment is not None else result["arms"][::-1]
    for arm in arms:
        name, count = arm["name"], arm["visitors"]
        what = words.get(name, f"got {name}")
        yield define_figure(f"visitors_{name}", "count", count, f"visitors who {what}")
        bought = arm["conversion"]
        yield define_figure(
            f"conversions_{name}", "count", bought, "those of them who bought"
        )
        for metric in ("clicks", "carts") if experiment else ():
            meaning = MEANINGS[metric].removeprefix("share of visitors who ")
            metric_meaning = f"those of them who {meaning}"
            yield define_figure(f"{metric}_{name}", "count", arm[metric], metric_meaning)
        for metric in ("orders", "revenue", "margin") if experiment else ():
            unit = "count" if metric == "orders" else "money"
            yield define_figure(
                f"{metric}_{name}", unit, arm[metric], f"{metric} of {name}"
            )
    yield define_figure(
        "mismatch_p",
        "number",
        result["mismatch_p"],
        f"the probability of such sizes by chance (chi-squared); below {SRM_P} is an alarm",
    )
    for name, metric in result["metrics"].get(HoldoutArm.SHOWN, {}).items():
        yield define_figure(
            f"visitors_more_{name}",
            "count",
            metric["visitors_more"],
            f"visitors still needed to show a lift of {_TARGET} in {MEANINGS[name]}",
        )


def _result_notes(
    store: Store,
    result: dict[str, Any],
    experiment: Experiment | None,
    *,
    is_running: bool,
) -> Iterator[str]:
    if result["is_mismatched"]:
        new_test = (
            f"productrecs settings {store.domain} holdout_test='another name'"
            if experiment is None
            else f"productrecs tests add {store.domain} ..."
        )
        yield (
            "ALARM: the sizes of the arms do not match their shares (sample ratio "
            "mismatch), so the result is not valid. Was the share changed during "
            "the test, or do pages send the shopper's id for one arm only? Start a new "
            f"test: {new_test}."
        )
    if result["crossed"]:
        yield (
            f"{result['crossed']} visitors seen in both arms are excluded: the share "
            "was changed during the test, or their ids were linked later."
        )
    if result["bots"]:
        yield f"{result['bots']} visitors who turned out to be bots are left out."
    if is_running:
        yield from _too_few_conversions_notes(result)
        yield from _remaining_duration_notes(result)
    if result["order_cap"] is not None:
        most = f"{result['order_cap']:,.2f} {store.settings.currency}"
        yield (
            f"One order counts {most} at most, the 99th percentile, so that a few large "
            "orders do not decide."
        )
    if result["foreign_orders"]:
        foreign = result["foreign_orders"]
        yield f"{foreign} orders in other currencies are not in the revenue."
    if experiment is not None and result["lines"] and result["costed"] < result["lines"]:
        costed = result["costed"] / result["lines"]
        yield f"The margin is that of {costed:.0%} of sold lines: the others have no cost."


def _too_few_conversions_notes(result: dict[str, Any]) -> Iterator[str]:
    least = min(arm["conversion"] for arm in result["arms"])
    if least < MIN_CONVERSIONS and not result["is_mismatched"]:
        yield (
            f"Collecting data: each arm needs {MIN_CONVERSIONS} visitors who bought "
            f"before a difference is shown; the smallest has {least:.0f}."
        )


def _remaining_duration_notes(result: dict[str, Any]) -> Iterator[str]:
    visitors = sum(arm["visitors"] for arm in result["arms"])
    more_visitors: dict[str, list[int | None]] = {}
    for metrics in result["metrics"].values():
        for name in {"conversion", result["goal"]} & set(metrics):
            if metrics[name]["verdict"] in _OPEN:
                more = metrics[name]["visitors_more"]
                more_visitors.setdefault(name, []).append(more)
    if result["is_mismatched"] or not more_visitors:
        return
    counts = [
        count for counts_of_metric in more_visitors.values() for count in counts_of_metric
    ]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        yield f"{_NO_PURCHASE}: the duration cannot be estimated."
        return
    # A pair of arms is a part of all visitors.
    limit = round(max(known) * len(result["arms"]) / 2)
    if limit:
        visitors_per_day = visitors / max(result["days"], 1.0)
        days = math.ceil(limit / visitors_per_day)
        words = [text for name, text in MEANINGS.items() if name in more_visitors]
        yield (
            f"{_MORE_VISITORS} {_rounded(limit):,} more visitors to show a lift of "
            f"{_TARGET} in {' and '.join(words)}: {days:,} days, at "
            f"{visitors_per_day:,.0f} a day."
        )


def advice(result: dict[str, Any], *, is_running: bool = True) -> str:
    """Return whether to stop a test, and what to choose, in plain words."""
    text = _advice_while_running(result)
    if is_running:
        return text
    if text.startswith("Go on"):
        return "The test ended before it could decide. Let a new one run longer."
    rest = text.removeprefix("Stop and ").removeprefix("Stop: ")
    return f"{rest[:1].upper()}{rest[1:]}"


def is_decided(result: dict[str, Any]) -> bool:
    """Return whether a test can be stopped: its goal is decided, or it is not valid."""
    return not _advice_while_running(result).startswith("Go on")


def _advice_while_running(result: dict[str, Any]) -> str:
    if result["is_mismatched"]:
        return "Stop: the result is not valid. Find the cause, then start a new test."
    goal = result["goal"]
    metrics = {
        name: metric[goal] for name, metric in result["metrics"].items() if goal in metric
    }
    if not metrics:
        if goal == "margin" and result["metrics"]:
            return "Go on once products have a cost: without, the margin is not known."
        return "Go on: there are too few visitors yet."
    better = [
        name for name, metric in metrics.items() if metric["verdict"] == LiftVerdict.MORE
    ]
    if better:
        best = max(better, key=lambda name: float(metrics[name]["difference"]))
        return _advice_for_winner(result, best, metrics[best])
    return _advice_without_winner(goal, metrics)


def _advice_without_winner(goal: str, metrics: Mapping[str, dict[str, Any]]) -> str:
    verdicts = {metric["verdict"] for metric in metrics.values()}
    if verdicts == {LiftVerdict.LESS}:
        return f"Stop and keep the {CONTROL}: nothing else brings more {goal}."
    if LiftVerdict.COLLECTING in verdicts:
        return "Go on: there is too little data yet."
    bounds = [(metric["lift_low"], metric["lift_high"]) for metric in metrics.values()]
    if all(
        low is not None and low > -TARGET_LIFT and high < TARGET_LIFT
        for low, high in bounds
    ):
        return (
            f"Stop: no arm differs by {_TARGET} or more in {goal}. Choose what is simpler."
        )
    return f"Go on: a difference in {goal} of {_TARGET} is still possible."


def _advice_for_winner(
    result: dict[str, Any], best: str, best_metric: dict[str, Any]
) -> str:
    lift = "" if best_metric["lift"] is None else f" ({best_metric['lift']:+.1%})"
    worse = [
        name
        for name, metric in result["metrics"][best].items()
        if metric["verdict"] == LiftVerdict.LESS
    ]
    but = f" But it brings less {' and '.join(worse)}." if worse else ""
    if best == HoldoutArm.SHOWN:
        return f"Stop: recommendations bring more {result['goal']}{lift}.{but}"
    return f"Stop and choose {best}: it brings more {result['goal']}{lift}.{but}"


def _rounded(count: int) -> int:
    """Return a number rounded to two significant digits."""
    digits = max(0, len(str(count)) - 2)
    return int(round(count, -digits))
