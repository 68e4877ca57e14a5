"""Holdout report: the result of a holdout test in words that a merchant can act on."""

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
    GATE,
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
    "All shoppers who reached a list of the test are compared, whether or not they saw it, "
    "by what they bought since they were first met; somebody under several names is one "
    "visitor. The intervals hold at every look together, with 95 % each: look whenever you "
    "like, and stop when it suits."
)
_TARGET: Final = f"{100 * TARGET_LIFT:.0f} %"
_MEANINGS: Final = {
    "conversion": "share of visitors who bought",
    "revenue": "revenue per visitor in the store's currency",
}
COLUMNS: Final = (
    Definition("metric", "text", "what is compared"),
    Definition("verdict", "text", "what may be said now"),
    Definition("shown", "number", "its mean, of visitors who are shown recommendations"),
    Definition("held_out", "number", "its mean, of visitors who are held out"),
    Definition("difference", "number", "shown - held_out, told from the gate on"),
    Definition("low", "number", "the lower end of its always-valid 95 % interval"),
    Definition("high", "number", "the upper end"),
    Definition("lift", "share", "difference / held_out"),
    Definition("lift_low", "share", "low / held_out"),
    Definition("lift_high", "share", "high / held_out"),
    Definition(
        "visitors_more",
        "count",
        f"how many more visitors show a lift of {_TARGET} with 80 % probability",
    ),
)


DAILY: Final = ("day",)
_DAY: Final = Definition("day", "day", "the result as it was at the end of that day")


def experiment_report(database: Database, store: Store, asked: ReportQuery) -> Report:
    """Return the newest result of a test that the background has worked out.

    The means are adjusted for what visitors bought before they were met (CUPED).

    Raises:
        ReportError: for another grouping than by day.
    """
    if asked.by not in {(), DAILY}:
        message = "a holdout test is told as it is now, or by day: as it was on each"
        raise ReportError(message)
    test = asked.test or store.settings.holdout_test
    with database.reading() as connection:
        repository = ExperimentRepository(connection, store.store_id)
        most = asked.limit if asked.by else 1
        results, tests = repository.results(test, most), repository.tests()
    title = f"Holdout test {test!r}: with and without recommendations"
    if not results or not results[0].result["visitors_shown"]:
        return Report(
            name="experiment",
            title=title,
            columns=COLUMNS,
            notes=tuple(_not_begun(store, test, [name for name, _ in tests])),
        )
    found = results[0]
    rows = tuple(
        (*((one.day,) if asked.by else ()), *_row(name, one.result["metrics"][name]))
        for one in results
        for name in METRICS
        if name in one.result["metrics"]
    )
    return Report(
        name="experiment",
        title=title,
        figures=tuple(_figures(found)),
        columns=(*((_DAY,) if asked.by else ()), *COLUMNS),
        rows=rows,
        notes=(RULE, *_notes(store, found)),
    )


def _not_begun(store: Store, test: str, tests: list[str]) -> Iterator[str]:
    if store.settings.holdout_percent:
        yield "Nobody was met yet: a call needs user_id or customer_id to take part."
    else:
        yield (
            "No test runs: productrecs settings "
            f"{store.domain} holdout_percent=10 holdout_test='a name' begins one."
        )
    others = [name for name in tests if name != test]
    if others:
        yield f"There are results of {', '.join(map(repr, others))}: ask with --test."


def _row(name: str, metric: dict[str, Any]) -> tuple[ReportValue, ...]:
    return (name, *(metric[column.name] for column in COLUMNS[1:]))


def _figures(found: StoredHoldoutResult) -> Iterator[Figure]:
    told = found.result
    began, last = iso(told["began_at"]), iso(found.computed_at)
    yield _figure("began", "time", began, "when the first visitor was met")
    yield _figure("worked_out", "time", last, "when this result was worked out")
    for arm, words in (("shown", "shown recommendations"), ("held_out", "held out")):
        visitors, bought = told[f"visitors_{arm}"], told[f"conversions_{arm}"]
        yield _figure(f"visitors_{arm}", "count", visitors, f"visitors who are {words}")
        yield _figure(f"conversions_{arm}", "count", bought, "those of them who bought")
    yield _figure(
        "mismatch_p",
        "number",
        told["mismatch_p"],
        f"how likely such sizes are by chance (chi-squared); below {SRM_P} is an alarm",
    )
    for name in METRICS:
        metric = told["metrics"].get(name)
        if metric:
            yield _figure(
                f"visitors_more_{name}",
                "count",
                metric["visitors_more"],
                f"visitors still needed to show a lift of {_TARGET} in {_MEANINGS[name]}",
            )


def _notes(store: Store, found: StoredHoldoutResult) -> Iterator[str]:
    told = found.result
    if told["is_mismatched"]:
        yield (
            "ALARM: the arms' sizes do not fit the share that is held out, so no result "
            "can be trusted. Was holdout_percent changed within the test, or do pages ask "
            "only for one arm? Begin anew: productrecs settings "
            f"{store.domain} holdout_test='another name'."
        )
    if told["crossed"]:
        yield (
            f"{told['crossed']} visitors seen in both arms are excluded: "
            "holdout_percent was changed within the test. Give the next one another name."
        )
    fewest = min(told["conversions_shown"], told["conversions_held_out"])
    if fewest < GATE and not told["is_mismatched"]:
        yield (
            f"Collecting data: each arm needs {GATE} visitors who bought before a "
            f"difference is told; the smaller one has {fewest}."
        )
    yield from _power(told)
    if told["order_cap"] is not None:
        yield (
            f"An order counts {told['order_cap']:,.2f} at most, the 99th percentile, so "
            "that a few large ones do not decide."
        )
    if told["foreign_orders"]:
        yield f"{told['foreign_orders']} orders in other currencies count no revenue."


def _power(told: dict[str, Any]) -> Iterator[str]:
    visitors = told["visitors_shown"] + told["visitors_held_out"]
    untold = {LiftVerdict.COLLECTING.value, LiftVerdict.OPEN.value}
    more = {
        _MEANINGS[name]: one["visitors_more"]
        for name, one in told["metrics"].items()
        if one["verdict"] in untold
    }
    if told["is_mismatched"] or not more:
        return
    if None in more.values():
        yield "One of the arms bought nothing yet: it cannot be told how long it takes."
        return
    most = max(more.values())
    if most:
        pace = visitors / max(told["days"], 1.0)
        days = math.ceil(most / pace)
        yield (
            f"You need about {_rounded(most):,} more visitors to show a lift of "
            f"{_TARGET} in {' and '.join(more)}: {days:,} days, at "
            f"{pace:,.0f} a day."
        )


def _rounded(count: int) -> int:
    """Return a number to two digits: more would be pretence."""
    digits = max(0, len(str(count)) - 2)
    return int(round(count, -digits))


def _figure(name: str, unit: str, value: ReportValue, meaning: str) -> Figure:
    return Figure(Definition(name, unit, meaning), value)
