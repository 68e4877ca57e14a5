"""CSV download: the table of any report in the registry."""

from dataclasses import replace
from typing import Final

from productrecs.dashboard.page import NotFoundError, Page, Reply, Visit
from productrecs.dashboard.report_period import (
    REPORT_FILE_PATH,
    chosen_period,
    every_row,
)
from productrecs.report_registry import REPORT_TYPES, make_report, report_to_csv

FILTERS: Final = ("widget", "source", "position", "touch")
_TOUCHES: Final = ("click", "impression")


def send_report(visit: Visit) -> Reply:
    """Send a report's whole table; the query string has its days and grouping."""
    name, query = visit.query["report"], visit.query
    if name not in REPORT_TYPES:
        message = "There is no such report."
        raise NotFoundError(message)
    by = tuple(one for one in query["by"].split(",") if one)
    asked = every_row(chosen_period(visit).by(*by))
    asked = replace(asked, where=sale_filters(visit))
    made = make_report(visit.services, visit.store, name, asked)
    file = f"{name}-{asked.first_day}-{asked.last_day}.csv"
    return Reply(
        body=report_to_csv(made).encode(),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{file}"'},
    )


def sale_filters(visit: Visit) -> tuple[tuple[str, str], ...]:
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


PAGES: Final = (Page(REPORT_FILE_PATH, "Report as a file", send_report),)
