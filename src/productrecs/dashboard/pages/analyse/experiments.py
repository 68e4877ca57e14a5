"""Tests pages: the store's tests of variants, the form of a new one, and their results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from productrecs.core.report import ReportValue, parse_report_query
from productrecs.core.written_numbers import parse_typed_number
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    RowRemoval,
    Visit,
)
from productrecs.dashboard.pages.analyse.experiment_duration_text import (
    describe_experiment_duration,
    describe_planned_duration,
    notes_without_duration,
)
from productrecs.dashboard.pages.catalog.placements import (
    STRATEGIES,
    placement_editor_of,
    to_code_name,
)
from productrecs.dashboard.report_values import as_number, figures_by_name, rows_by_column
from productrecs.features.experiments.experiment_report import SHARES
from productrecs.records.experiments.experiment import (
    MAX_VARIANTS,
    MIN_SHARE,
    PLACEMENT,
    PLACEMENT_FIELDS,
    SEARCH,
    SEARCH_FIELDS,
    ExperimentContent,
    ExperimentError,
    ExperimentState,
    Goal,
    Treatment,
    UnknownExperimentError,
)
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.placements.placement import UnknownPlacementError
from productrecs.report_registry import make_report

TESTS_PATH: Final = "/dashboard/tests"
_TEST_PATH: Final = f"{TESTS_PATH}/test"
_NEW_PATH: Final = f"{TESTS_PATH}/new"
_HALF: Final = 150  # half the width of the interval's drawing, in SVG units
_VERDICTS: Final = MappingProxyType(
    {
        "collecting data": ("Not enough data yet", "warn"),
        "no significant difference yet": ("No significant difference yet", "warn"),
        "more with recommendations": ("More with recommendations", "good"),
        "less with recommendations": ("Less with recommendations", "bad"),
        "more than the control": ("More than the control", "good"),
        "less than the control": ("Less than the control", "bad"),
        "suppressed": ("Not valid", "bad"),
    }
)
METRICS: Final = MappingProxyType(
    {
        "conversion": "Visitors who bought",
        "clicks": "Visitors who clicked",
        "carts": "Visitors who added to the cart",
        "orders": "Orders per visitor",
        "revenue": "Sales per visitor",
        "margin": "Margin per visitor",
    }
)
STATES: Final = MappingProxyType(
    {
        ExperimentState.DRAFT: ("Draft", ""),
        ExperimentState.RUNNING: ("Running", "good"),
        ExperimentState.PAUSED: ("Paused", "warn"),
        ExperimentState.ENDED: ("Ended", ""),
    }
)
_SEARCH: Final = "Search"
_AS_NOW: Final = ("", "As now")
_SWITCH: Final = (_AS_NOW, ("true", "On"), ("false", "Off"))
_NAMES: Final = "bcde"
_NONE: Final = "none"
CHOICES: Final[Mapping[str, tuple[str, tuple[tuple[str, str], ...]]]] = MappingProxyType(
    {
        "strategy": (
            "Show",
            (_AS_NOW, *((key.value, text) for key, text in STRATEGIES.items())),
        ),
        "fallback": (
            "Fill up with",
            (
                _AS_NOW,
                (_NONE, "Nothing"),
                *((key.value, text) for key, text in STRATEGIES.items()),
            ),
        ),
        "num": ("Products", ()),
        "minimum": ("Hide below", ()),
        "most_per_category": ("At most of one category", ()),
        "most_per_brand": ("At most of one brand", ()),
        "title": ("Title", ()),
        "filters": ("Filters", ()),
        "search_meaning": ("Products of similar meaning", _SWITCH),
        "search_sold_out": (
            "Sold-out products",
            (_AS_NOW, ("mixed", "Mixed"), ("last", "Last"), ("hidden", "Hidden")),
        ),
    }
)
"""The fields of the form, each with its label and its choices; no choices: text."""


@dataclass(frozen=True, slots=True)
class ExperimentMetricComparison:
    """One metric of a test: the verdict, the interval, and its drawing."""

    name: str
    verdict: str
    tone: str
    mean: str
    control: str
    lift: str
    interval: str
    low: float
    high: float
    middle: float
    missing: str


@dataclass(frozen=True, slots=True)
class _ExperimentDraft:
    """The fields of a new test; shares are text as typed."""

    subject: str
    name: str = ""
    goal: str = Goal.REVENUE
    variants: tuple[dict[str, str], ...] = field(default=({"variant": "b", "share": "50"},))

    @property
    def changeable_fields(self) -> tuple[str, ...]:
        """The fields that a variant may change."""
        return tuple(
            field
            for field in CHOICES
            if field in (SEARCH_FIELDS if self.subject == SEARCH else PLACEMENT_FIELDS)
        )

    def content(self) -> ExperimentContent:
        """Return the test of the fields.

        Raises:
            ExperimentError: when a share is no number.
        """
        goal = Goal(self.goal) if self.goal in set(Goal) else Goal.REVENUE
        variants = tuple(self._parse_variant(variant) for variant in self.variants)
        return ExperimentContent(self.subject, variants, goal)

    def _parse_variant(self, fields: Mapping[str, str]) -> Treatment:
        changes: dict[str, Any] = {
            name: None if fields[name] == _NONE else fields[name]
            for name in self.changeable_fields
            if fields.get(name)
        }
        if "filters" in changes:
            changes["filters"] = fields["filters"].splitlines()
        try:
            share = parse_typed_number(fields["share"].removesuffix("%"))
        except ValueError as error:
            message = f"{fields['variant']}: write the share as a number of per cent"
            raise ExperimentError(message, "variants") from error
        return Treatment(fields["variant"], share, changes)


def show_tests(visit: Visit) -> Reply:
    """Show every test."""
    rows = [
        (experiment, subject_of(experiment.content), STATES[experiment.state])
        for experiment in _editor(visit).all()
    ]
    return visit.render("experiments.html", rows=rows)


def show_test_form(visit: Visit) -> Reply:
    """Show the form of a new test; first, what it tests."""
    draft = _ExperimentDraft(
        visit.query["subject"], variants=_blank_variants(visit.query["variants"])
    )
    return _test_form_page(visit, draft)


def _blank_variants(count: str) -> tuple[dict[str, str], ...]:
    """Return so many variants with equal shares."""
    number = int(count) if count in {"2", "3", "4"} else 1
    share = f"{100 // (number + 1)}"
    return tuple({"variant": name, "share": share} for name in _NAMES[:number])


def add_test(visit: Visit) -> Reply:
    """Store a new test as a draft; if it is invalid, show the form with the error."""
    form = visit.form
    names = form.all_with_blanks("variant")[:MAX_VARIANTS]
    columns = {
        "variant": names,
        "share": form.all_with_blanks("share"),
        **{name: form.all_with_blanks(name) for name in CHOICES},
    }
    variants = tuple(
        {
            name: column[index] if index < len(column) else ""
            for name, column in columns.items()
        }
        for index in range(len(names))
    )
    draft = _ExperimentDraft(
        form["subject"], to_code_name(form["test"]), form["goal"], variants
    )
    try:
        experiment = _editor(visit).add(draft.name, draft.content())
    except (ExperimentError, UnknownPlacementError) as error:
        return _test_form_page(visit, draft, sentence(error))
    return visit.redirect(
        f"{_TEST_PATH}?test={experiment.name}", "Saved. Start it when ready."
    )


def show_test(visit: Visit) -> Reply:
    """Show a test with its result.

    Raises:
        PageOrRecordNotFoundError: when the store has no such test.
    """
    return _test_page(visit, visit.query["test"])


def change_state_or_remove_test(visit: Visit) -> Reply:
    """Start, pause, stop or remove a test, or choose a variant."""
    name, action = visit.form["test"], visit.form["then"]
    try:
        experiment = _editor(visit).act(name, action, visit.form["variant"])
    except UnknownExperimentError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    except (ExperimentError, UnknownPlacementError) as error:
        return _test_page(visit, name, sentence(error))
    visit.refresh_store()
    visit.refresh_accounts()
    if action == "remove":
        return visit.redirect(TESTS_PATH, f"“{name}” is removed.")
    state = STATES[experiment.state][0].lower()
    message = f"“{name}” is {state}. Replies follow within a second."
    if experiment.winner:
        message = f"“{experiment.winner}” is what every shopper gets now."
    return visit.redirect(f"{_TEST_PATH}?test={name}", message)


def _test_page(visit: Visit, test_name: str, error: str = "") -> Reply:
    try:
        test = _editor(visit).find(test_name)
    except UnknownExperimentError as unknown:
        raise PageOrRecordNotFoundError(sentence(unknown)) from unknown
    query = parse_report_query(visit.now_ms, visit.store.settings.zone, test=test_name)
    report = make_report(visit.services, visit.store, "experiment", query)
    comparisons: dict[str, list[ExperimentMetricComparison]] = {}
    for row in rows_by_column(report):
        comparison = metric_comparison(
            visit,
            row,
            ("mean", "control"),
            is_running=test.state is ExperimentState.RUNNING,
        )
        comparisons.setdefault(str(row["variant"]), []).append(comparison)
    arms = [
        (
            arm,
            test.content.shares[arm],
            _describe_variant_changes(test.content.variant(arm)),
        )
        for arm in test.content.shares
    ]
    duration = describe_experiment_duration(visit, test)
    return visit.render(
        "experiment.html",
        status=422 if error else 200,
        title=f"Test {test_name}",
        test=test,
        subject=subject_of(test.content),
        state=STATES[test.state],
        arms=arms,
        duration=duration,
        notes=notes_without_duration(report.notes, duration),
        figures=figures_by_name(report),
        compared=comparisons,
        goal=METRICS[test.content.goal],
        error=error,
    )


def _test_form_page(visit: Visit, draft: _ExperimentDraft, error: str = "") -> Reply:
    subjects = [(SEARCH, _SEARCH)]
    subjects += [
        (f"{PLACEMENT}{placement.name}", f"Placement {placement.name}")
        for placement in placement_editor_of(visit).all()
    ]
    is_known_subject = draft.subject in dict(subjects)
    return visit.render(
        "experiment_form.html",
        status=422 if error else 200,
        draft=draft,
        subjects=subjects,
        is_known=is_known_subject,
        choices=[(name, *CHOICES[name]) for name in draft.changeable_fields],
        goals=[(goal.value, METRICS[goal]) for goal in Goal],
        most=MAX_VARIANTS,
        duration=_describe_draft_duration(visit, draft) if is_known_subject else "",
        error=error,
    )


def _describe_draft_duration(visit: Visit, draft: _ExperimentDraft) -> str:
    """Return how long the draft takes; empty while its shares are invalid."""
    try:
        content = draft.content()
    except ExperimentError:
        return ""
    is_valid = all(share >= MIN_SHARE for share in content.shares.values())
    return describe_planned_duration(visit, content) if is_valid else ""


def _editor(visit: Visit) -> ExperimentEditor:
    who = visit.user.email or ""
    return ExperimentEditor(visit.database, visit.store, visit.context.clock, who)


def subject_of(content: ExperimentContent) -> str:
    """Return what is tested, in the merchant's words."""
    return f"Placement {content.placement}" if content.placement else _SEARCH


def _describe_variant_changes(variant: Treatment) -> list[str]:
    """Return what a variant changes, in words."""
    found = []
    for name, value in variant.changes.items():
        label, choices = CHOICES.get(name, (name.replace("_", " "), ()))
        text = ", ".join(value) if isinstance(value, list) else value
        key = _NONE if value is None else str(value).lower()
        shown = dict(choices).get(key, str(text or "none"))
        found.append(f"{label}: {shown}")
    return found


def metric_comparison(
    visit: Visit,
    row: dict[str, ReportValue],
    arm_and_control: tuple[str, str],
    *,
    is_running: bool,
) -> ExperimentMetricComparison:
    """Return a row of a test's report, with its interval as a drawing."""
    arm, control = arm_and_control
    fmt, metric = visit.formats, str(row["metric"])

    def format_mean_of_arm_field(name: str) -> str:
        value = as_number(row[name])
        if metric in SHARES:
            return fmt.share(value)
        return fmt.number(value, 3) if metric == Goal.ORDERS else fmt.money(value)

    verdict, tone = _VERDICTS.get(str(row["verdict"]), (str(row["verdict"]), ""))
    low, high, lift = (as_number(row[name]) for name in ("lift_low", "lift_high", "lift"))
    interval, drawn_interval = "", (0.0, 0.0, 0.0)
    if low is not None and high is not None and lift is not None:
        interval = f"{fmt.share(low, 0)} to {fmt.share(high, 0)}"
        widest = max(abs(low), abs(high)) or 1.0
        drawn_interval = (
            low / widest * _HALF,
            high / widest * _HALF,
            lift / widest * _HALF,
        )
    missing_visitors = as_number(row["visitors_more"])
    return ExperimentMetricComparison(
        METRICS[metric],
        verdict,
        tone,
        format_mean_of_arm_field(arm),
        format_mean_of_arm_field(control),
        fmt.share(lift, 0),
        interval,
        *drawn_interval,
        missing=f"{fmt.number(missing_visitors)} more visitors"
        if missing_visitors and is_running and tone == "warn"
        else "",
    )


PAGES: Final = (
    Page(TESTS_PATH, "Tests", show_tests, group=NavigationGroup.ANALYSE),
    Page(_NEW_PATH, "New test", show_test_form, add_test, action="Added a test"),
    Page(
        _TEST_PATH,
        "Test",
        show_test,
        change_state_or_remove_test,
        action="Changed a test",
        actions={
            "start": "Started a test",
            "pause": "Paused a test",
            "stop": "Stopped a test",
            "choose": "Chose a variant of a test",
            "remove": "Removed a test",
        },
        removes=(RowRemoval("experiments", "placements_seq", {"name": "test"}, "remove"),),
    ),
)
