"""Report values for pages: a report's figures and rows by name, and their changes."""

from dataclasses import replace
from typing import NamedTuple

from productrecs.core.report import (
    MAX_ROWS,
    Report,
    ReportQuery,
    ReportValue,
    parse_report_query,
)
from productrecs.dashboard.page import Visit
from productrecs.report_registry import make_report
from productrecs.storage.sql.attribution_backlog import attribution_backlog


def recount_note(visit: Visit) -> str:
    """Return a note while most figures of clicks and sales are counted again, else "".

    Then comparisons and lists of problems mislead, so pages do not show them.
    """
    with visit.database.reading() as connection:
        backlog = attribution_backlog(connection, visit.store.store_id)
    if not backlog.distorts_figures:
        return ""
    return f"{backlog.note} Until they are, figures are too low and are not compared."


def with_max_rows(asked: ReportQuery) -> ReportQuery:
    """Return the same query with the maximal number of rows."""
    return replace(asked, limit=MAX_ROWS)


def figures_by_name(report: Report) -> dict[str, ReportValue]:
    """Return a report's figures by name."""
    return {figure.definition.name: figure.value for figure in report.figures}


def column_meanings(report: Report) -> dict[str, str]:
    """Return the meaning of each column of a report by its name."""
    return {column.name: column.meaning for column in report.columns}


def rows_by_column(report: Report) -> list[dict[str, ReportValue]]:
    """Return a report's rows, each value by the name of its column."""
    names = [column.name for column in report.columns]
    return [dict(zip(names, row, strict=True)) for row in report.rows]


class SalesAfterClicks(NamedTuple):
    """Sales after a click in the last 30 days: how many, and their value."""

    sales: ReportValue = 0
    revenue: float = 0.0


def sales_after_clicks(visit: Visit, widget_prefix: str) -> dict[str, SalesAfterClicks]:
    """Return the sales after clicks in widgets whose names begin with `widget_prefix`.

    They are those of the attribution report, by the rest of the widget's name.
    """
    query = parse_report_query(visit.now_ms, visit.store.settings.zone, by="widget")
    report = make_report(visit.services, visit.store, "attribution", with_max_rows(query))
    currency = visit.store.settings.currency
    return {
        str(row["widget"]).removeprefix(widget_prefix): SalesAfterClicks(
            row["sales_clicked"], as_number(row["revenue_clicked"]) or 0.0
        )
        for row in rows_by_column(report)
        if row["currency"] == currency and str(row["widget"]).startswith(widget_prefix)
    }


def as_number(value: ReportValue) -> float | None:
    """Return a report's value as a number; None if it is not one."""
    return float(value) if isinstance(value, int | float) else None


def relative_change(now: ReportValue, before: ReportValue) -> float | None:
    """Return the relative change of a number."""
    new, old = as_number(now), as_number(before)
    return None if new is None or not old else (new - old) / old
