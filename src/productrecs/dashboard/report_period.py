"""Report period: the days of a report page, from its query string."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from productrecs.core.report import (
    DEFAULT_DAYS,
    ReportQuery,
    ReportQueryError,
    parse_report_query,
)
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import Visit

CHOICES: Final[Mapping[str, int]] = MappingProxyType({"7": 7, "30": 30, "90": 90})
WEEKS: Final[Mapping[str, int]] = MappingProxyType({"this-week": 0, "last-week": 1})
"""How many weeks ago a week began, by its name in a query."""
_THIS_MONTH: Final = "this-month"
_LAST_MONTH: Final = "last-month"
REPORT_FILE_PATH: Final = "/dashboard/report.csv"


def _query_fields(choice: str, first: str, last: str) -> dict[str, str]:
    return {"days": choice} if choice else {"from": first, "until": last}


@dataclass(frozen=True, slots=True)
class ReportPeriod:
    """The chosen days. If typed dates are invalid, `error` says why and 30 days are shown.

    `choice` is 7, 30, 90, a name of `WEEKS`, or this or last month; it is empty for custom
    dates, which are in `first` and `last`.
    """

    asked: ReportQuery
    choice: str
    first: str
    last: str
    error: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a query that choose the same days."""
        return _query_fields(self.choice, self.first, self.last)

    def link(self, path: str, **fields: str) -> str:
        """Return the address of a page with the same days."""
        return f"{path}?{urlencode({**self.fields, **fields})}"

    def csv_link(self, report: str, **fields: str) -> str:
        """Return the address of a report as a CSV file."""
        return self.link(REPORT_FILE_PATH, report=report, **fields)

    def query_by(self, *names: str, limit: int | None = None) -> ReportQuery:
        """Return the report query for these days, grouped by columns."""
        return replace(self.asked, by=names, limit=limit or self.asked.limit)


def chosen_period(visit: Visit) -> ReportPeriod:
    """Return the period of a page's query; the default is 30 days."""
    query, zone = visit.query, visit.store.settings.zone
    first, last = query["from"], query["until"] or query["to"]
    choice = query["days"]
    today = date.fromisoformat(parse_report_query(visit.now_ms, zone).last_day)
    error = ""
    if first or last:
        try:
            query_of_period = parse_report_query(
                visit.now_ms, zone, first_day=first, last_day=last
            )
        except ReportQueryError as problem:
            error = f"{sentence(problem)} The last 30 days are shown."
        else:
            return ReportPeriod(
                query_of_period, "", query_of_period.first_day, query_of_period.last_day
            )
    if choice in WEEKS and not error:
        return _period_of_week(visit, choice, today)
    if choice in {_THIS_MONTH, _LAST_MONTH} and not error:
        return _period_of_month(visit, choice, today)
    days = CHOICES.get(choice, DEFAULT_DAYS)
    begin = (today - timedelta(days=days - 1)).isoformat()
    query_of_period = parse_report_query(visit.now_ms, zone, first_day=begin)
    shown_dates = (
        (first, last) if error else (query_of_period.first_day, query_of_period.last_day)
    )
    return ReportPeriod(query_of_period, str(days), *shown_dates, error)


def _period_of_week(visit: Visit, choice: str, today: date) -> ReportPeriod:
    """Return a week of the store, as far as it has passed."""
    settings = visit.store.settings
    begin = settings.week_of(today) - timedelta(weeks=WEEKS[choice])
    first, last = begin.isoformat(), min(begin + timedelta(days=6), today).isoformat()
    asked = parse_report_query(visit.now_ms, settings.zone, first_day=first, last_day=last)
    return ReportPeriod(asked, choice, first, last)


def _period_of_month(visit: Visit, choice: str, today: date) -> ReportPeriod:
    """Return this month as far as it has passed, or the last one."""
    begin, last_day = today.replace(day=1), today
    if choice == _LAST_MONTH:
        last_day = begin - timedelta(days=1)
        begin = last_day.replace(day=1)
    first, last = begin.isoformat(), last_day.isoformat()
    zone = visit.store.settings.zone
    asked = parse_report_query(visit.now_ms, zone, first_day=first, last_day=last)
    return ReportPeriod(asked, choice, first, last)


@dataclass(frozen=True, slots=True)
class ChartDays:
    """The days of a chart of past and expected days; `choice` is "" for custom dates."""

    choice: str
    first: str
    last: str
    error: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a query that choose the same days."""
        return _query_fields(self.choice, self.first, self.last)

    def shows(self, day: str) -> bool:
        """Return whether the chart shows a day."""
        return self.first <= day <= self.last


def chosen_chart_days(
    visit: Visit, choices: Mapping[str, int], past: Sequence[str], ahead: Sequence[str]
) -> ChartDays:
    """Return those of the chart's days that a page's query selects.

    A choice is a number of past days, and shows all days ahead; the last choice is the
    default.
    """
    query = visit.query
    choice = query["days"] if query["days"] in choices else list(choices)[-1]
    days = (*past, *ahead)
    begin, end = (*past[-choices[choice] :], *ahead)[0], days[-1]
    first, last = query["from"], query["until"] or query["to"]
    if not first and not last:
        return ChartDays(choice, begin, end)
    chosen = ChartDays("", first or days[0], last or end)
    day = visit.formats.day
    message = f"There are days from {day(days[0])} to {day(end)}."
    if any(map(chosen.shows, days)):
        is_cut = chosen.first < days[0] or chosen.last > end
        return replace(chosen, error=message) if is_cut else chosen
    return ChartDays(choice, begin, end, f"{message} Choose dates among them.")
