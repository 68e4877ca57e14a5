"""CSV download: the table of any report in the registry."""

import re
from dataclasses import replace
from typing import Final

from productrecs.core.report import Report, ReportQuery, ReportValue
from productrecs.dashboard.formats import Formats
from productrecs.dashboard.page import Page, PageOrRecordNotFoundError, Reply, Visit
from productrecs.dashboard.report_period import REPORT_FILE_PATH, chosen_period
from productrecs.dashboard.report_values import with_max_rows
from productrecs.report_registry import (
    CUSTOMERS,
    FORECASTS,
    REPORT_TYPES,
    make_report,
    report_to_csv,
)

FILTERS: Final = ("widget", "source", "position", "touch", "supplier")
_PLACES: Final = {"share": 4, "money": 2}
_TOUCHES: Final = ("click", "impression")


def download_report_csv(visit: Visit) -> Reply:
    """Send a report's whole table; the query string has its days and grouping."""
    name, query = visit.query["report"], visit.query
    if name not in REPORT_TYPES:
        message = "There is no such report."
        raise PageOrRecordNotFoundError(message)
    group_columns = tuple(column for column in query["by"].split(",") if column)
    query_of_rows = with_max_rows(chosen_period(visit).query_by(*group_columns))
    query_of_rows = replace(
        query_of_rows, where=parse_sale_filters(visit), test=query["test"] or None
    )
    report = make_report(visit.services, visit.store, name, query_of_rows)
    file_name = _csv_file_name(name, query_of_rows)
    return Reply(
        body=spreadsheet_csv(report, Formats.of(visit.store.settings).prices.point),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{file_name}"'},
    )


def spreadsheet_csv(report: Report, decimal_point: str) -> bytes:
    """Return a report as spreadsheets in the store's language open it.

    They need a byte order mark, and where `decimal_point` is a comma, semicolons.
    """

    def round_and_localize(value: ReportValue, unit: str) -> ReportValue:
        if not isinstance(value, float):
            return value
        rounded = round(value, _PLACES.get(unit, 3))
        return rounded if decimal_point == "." else str(rounded).replace(".", decimal_point)

    units = [column.unit for column in report.columns]
    rounded = replace(
        report,
        figures=tuple(
            replace(figure, value=round_and_localize(figure.value, figure.definition.unit))
            for figure in report.figures
        ),
        rows=tuple(tuple(map(round_and_localize, row, units)) for row in report.rows),
    )
    separator = "," if decimal_point == "." else ";"
    return report_to_csv(rounded, separator).encode("utf-8-sig")


def _csv_file_name(name: str, query: ReportQuery) -> str:
    """Return a name with the days of the report, and of an order sheet the supplier."""
    if name not in FORECASTS | CUSTOMERS:
        return f"{name}-{query.first_day}-{query.last_day}.csv"
    supplier = re.sub(r"[^a-z0-9]+", "-", (dict(query.where).get("supplier") or "").lower())
    return "-".join(filter(None, (name, supplier.strip("-"), query.last_day))) + ".csv"


def parse_sale_filters(visit: Visit) -> tuple[tuple[str, str], ...]:
    """Return the sale filters of a query string; invalid ones are ignored."""
    found = []
    for name in FILTERS:
        value = visit.query[name]
        if name not in visit.query:
            continue
        if name == "position" and value and not (value.isdecimal() and len(value) < 7):  # noqa: PLR2004 - digits of a position
            continue
        if name == "touch" and value not in _TOUCHES:
            continue
        found.append((name, value))
    return tuple(found)


PAGES: Final = (Page(REPORT_FILE_PATH, "Report as a file", download_report_csv),)
