"""Holdout report: the result of a holdout test in the merchant's words."""

import math
from collections.abc import Iterator
from typing import Any, Final

from productrecs.core.clock import iso
from productrecs.core.report import (
    Definition,
    Figure,
    Report,
    ReportError,
    ReportQuery,
    ReportValue,
)
from productrecs.features.insights.experiments.confidence_sequence import (
    MIN_CONVERSIONS,
    SRM_P,
    LiftVerdict,
)
from productrecs.features.insights.experiments.holdout_result import METRICS, TARGET_LIFT
from productrecs.features.insights.experiments.repository import (
    ExperimentRepository,
    StoredHoldoutResult,
)
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store

RULE: Final = (
    "All shoppers who requested a list of the test are compared, whether or not they "
    "saw it, by what they bought since they were first assigned; a person with several "
    "ids is one visitor. The intervals are always valid (95 % each, together): look "
    "whenever you like, and stop when it suits you."
)
_TARGET: Final = f"{100 * TARGET_LIFT:.0f} %"
_MEANINGS: Final = {
    "conversion": "share of visitors who bought",
    "revenue": "revenue per visitor in the store's currency",
}
COLUMNS: Final = (
    Definition("metric", "text", "the metric that is compared"),
    Definition("verdict", "text", "the conclusion so far"),
    Definition("shown", "number", "the mean of visitors who are shown recommendations"),
    Definition("held_out", "number", "the mean of visitors who are held out"),
    Definition("difference", "number", "shown - held_out, once there is enough data"),
    Definition("low", "number", "the lower end of its always-valid 95 % interval"),
    Definition("high", "number", "the upper end"),
    Definition("lift", "share", "difference / held_out"),
    Definition("lift_low", "share", "low / held_out"),
    Definition("lift_high", "share", "high / held_out"),
    Definition(
        "visitors_more",
        "count",
        f"how many more visitors are needed to show a lift of {_TARGET} with 80 % "
        "probability",
    ),
)


DAILY: Final = ("day",)
_DAY: Final = Definition("day", "day", "the result as it was at the end of that day")


def experiment_report(database: Database, store: Store, query: ReportQuery) -> Report:
    """Return the newest computed result of a test.

    The means are adjusted for what visitors bought before their assignment (CUPED).

    Raises:
        ReportError: for any grouping except by day.
    """
    if query.by not in {(), DAILY}:
        message = "a holdout test is reported as it is now, or by day: as it was on each"
        raise ReportError(message)
    test = query.test or store.settings.holdout_test
    with database.reading() as connection:
        repository = ExperimentRepository(connection, store.store_id)
        limit = query.limit if query.by else 1
        results, tests = repository.results(test, limit), repository.tests()
    title = f"Holdout test {test!r}: with and without recommendations"
    if not results or not results[0].result["visitors_shown"]:
        return Report(
            name="experiment",
            title=title,
            columns=COLUMNS,
            notes=tuple(_no_visitors_yet(store, test, [name for name, _ in tests])),
        )
    found = results[0]
    rows = tuple(
        (*((one.day,) if query.by else ()), *_row(name, one.result["metrics"][name]))
        for one in results
        for name in METRICS
        if name in one.result["metrics"]
    )
    return Report(
        name="experiment",
        title=title,
        figures=tuple(_figures(found)),
        columns=(*((_DAY,) if query.by else ()), *COLUMNS),
        rows=rows,
        notes=(RULE, *_notes(store, found)),
    )


def _no_visitors_yet(store: Store, test: str, tests: list[str]) -> Iterator[str]:
    if store.settings.holdout_percent:
        yield "No visitors yet: a call needs user_id or customer_id to take part."
    else:
        yield (
            f"No test runs: productrecs settings {store.domain} holdout_percent=10 "
            "holdout_test='a name' starts one."
        )
    other_tests = [name for name in tests if name != test]
    if other_tests:
        yield f"There are results of {', '.join(map(repr, other_tests))}: use --test."


def _row(name: str, metric: dict[str, Any]) -> tuple[ReportValue, ...]:
    return (name, *(metric[column.name] for column in COLUMNS[1:]))


def _figures(found: StoredHoldoutResult) -> Iterator[Figure]:
    result = found.result
    began, last = iso(result["began_at"]), iso(found.computed_at)
    yield _figure("began", "time", began, "when the first visitor was assigned")
    yield _figure("worked_out", "time", last, "when this result was computed")
    for arm, words in (("shown", "shown recommendations"), ("held_out", "held out")):
        visitors, bought = result[f"visitors_{arm}"], result[f"conversions_{arm}"]
        yield _figure(f"visitors_{arm}", "count", visitors, f"visitors who are {words}")
        yield _figure(f"conversions_{arm}", "count", bought, "those of them who bought")
    yield _figure(
        "mismatch_p",
        "number",
        result["mismatch_p"],
        f"the probability of such sizes by chance (chi-squared); below {SRM_P} is an alarm",
    )
    for name in METRICS:
        metric = result["metrics"].get(name)
        if metric:
            yield _figure(
                f"visitors_more_{name}",
                "count",
                metric["visitors_more"],
                f"visitors still needed to show a lift of {_TARGET} in {_MEANINGS[name]}",
            )


def _notes(store: Store, found: StoredHoldoutResult) -> Iterator[str]:
    result = found.result
    if result["is_mismatched"]:
        yield (
            "ALARM: the sizes of the arms do not match the holdout share (sample ratio "
            "mismatch), so the result is not valid. Was holdout_percent changed during "
            "the test, or do pages request lists for one arm only? Start a new test: "
            f"productrecs settings {store.domain} holdout_test='another name'."
        )
    if result["crossed"]:
        yield (
            f"{result['crossed']} visitors seen in both arms are excluded: holdout_percent "
            "was changed during the test. Give the next test a new name."
        )
    conversions = min(result["conversions_shown"], result["conversions_held_out"])
    if conversions < MIN_CONVERSIONS and not result["is_mismatched"]:
        yield (
            f"Collecting data: each arm needs {MIN_CONVERSIONS} visitors who bought "
            "before a "
            f"difference is shown; the smaller one has {conversions}."
        )
    yield from _power(result)
    if result["order_cap"] is not None:
        yield (
            f"One order counts {result['order_cap']:,.2f} at most, the 99th percentile, so "
            "that a few large orders do not decide."
        )
    if result["foreign_orders"]:
        foreign = result["foreign_orders"]
        yield f"{foreign} orders in other currencies are not in the revenue."


def _power(result: dict[str, Any]) -> Iterator[str]:
    visitors = result["visitors_shown"] + result["visitors_held_out"]
    without_conclusion = {LiftVerdict.COLLECTING.value, LiftVerdict.OPEN.value}
    more_visitors = {
        _MEANINGS[name]: one["visitors_more"]
        for name, one in result["metrics"].items()
        if one["verdict"] in without_conclusion
    }
    if result["is_mismatched"] or not more_visitors:
        return
    if None in more_visitors.values():
        yield "One arm has no purchase yet: the duration cannot be estimated."
        return
    limit = max(more_visitors.values())
    if limit:
        visitors_per_day = visitors / max(result["days"], 1.0)
        days = math.ceil(limit / visitors_per_day)
        yield (
            f"You need about {_rounded(limit):,} more visitors to show a lift of "
            f"{_TARGET} in {' and '.join(more_visitors)}: {days:,} days, at "
            f"{visitors_per_day:,.0f} a day."
        )


def _rounded(count: int) -> int:
    """Return a number rounded to two significant digits."""
    digits = max(0, len(str(count)) - 2)
    return int(round(count, -digits))


def _figure(name: str, unit: str, value: ReportValue, meaning: str) -> Figure:
    return Figure(Definition(name, unit, meaning), value)
