"""Reports: GET /integration/report returns a store's numbers with their definitions."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Query, Request, Response

from productrecs.core.report import DEFAULT_ROWS, MAX_ROWS, parse_report_query
from productrecs.http.openapi_responses import (
    error_responses,
    object_schema,
    success_response,
    titled,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.report_registry import (
    REPORT_TYPES,
    make_report,
    report_to_dict,
)

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("integration")

_TEXT: Final = {"type": "string"}
_DEFINED: Final = {"name": _TEXT, "unit": _TEXT, "meaning": _TEXT}
_VALUE: Final[dict[str, Any]] = {"type": ["string", "number", "boolean", "null"]}
_FIGURE: Final = titled("ReportFigure", object_schema(**_DEFINED, value=_VALUE))
_COLUMN: Final = titled("ReportColumn", object_schema(**_DEFINED))
_EXAMPLE: Final = {
    "report": "attribution",
    "title": "Carts and sales after recommendations, 2026-11-01 to 2026-11-21",
    "figures": [
        {
            "name": "revenue",
            "unit": "money",
            "meaning": "credited revenue in EUR",
            "value": 1840.5,
        },
        {
            "name": "revenue_clicked",
            "unit": "money",
            "meaning": "credited revenue in EUR: credited to a click",
            "value": 1102.25,
        },
        {
            "name": "revenue_seen",
            "unit": "money",
            "meaning": "credited revenue in EUR: credited to an impression, no click",
            "value": 738.25,
        },
    ],
    "columns": [
        {"name": "widget", "unit": "text", "meaning": "the widget"},
        {"name": "sales", "unit": "count", "meaning": "credited lines"},
        {"name": "sales_clicked", "unit": "count", "meaning": "sales credited to a click"},
        {
            "name": "sales_seen",
            "unit": "count",
            "meaning": "sales credited to an impression",
        },
    ],
    "rows": [{"widget": "recs", "sales": 31, "sales_clicked": 19, "sales_seen": 12}],
    "notes": ["The newest 12 records are not counted yet."],
}


def _array_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


@routes.get(
    "/integration/report",
    SECRET,
    operation_id="report",
    summary="Return a report",
    responses=success_response(
        "Figures, a table whose rows have a value for each column, and notes.",
        object_schema(
            report=_TEXT,
            title=_TEXT,
            figures=_array_schema(_FIGURE),
            columns=_array_schema(_COLUMN),
            rows=_array_schema({"type": "object", "additionalProperties": _VALUE}),
            notes=_array_schema(_TEXT),
        ),
        _EXAMPLE,
    )
    | error_responses("report_impossible", 401, 422, 503),
)
async def read_report(
    request: Request,
    name: Annotated[
        str,
        Query(description=f"One of {', '.join(REPORT_TYPES)}.", examples=["attribution"]),
    ] = "attribution",
    first_day: Annotated[
        str | None,
        Query(
            alias="from",
            description=(
                "The first day, in the store's time zone; default: 30 days in total."
            ),
            examples=["2026-11-01"],
        ),
    ] = None,
    last_day: Annotated[
        str | None,
        Query(
            alias="until",
            description="The last day; default: today.",
            examples=["2026-11-21"],
        ),
    ] = None,
    by: Annotated[
        str | None,
        Query(description="The columns to group by.", examples=["widget,source"]),
    ] = None,
    limit: Annotated[
        int, Query(ge=1, le=MAX_ROWS, description="The most rows to return.", examples=[20])
    ] = DEFAULT_ROWS,
    test: Annotated[
        str | None,
        Query(
            description="The test; default: the current holdout test.",
            examples=["holdout"],
        ),
    ] = None,
) -> Response:
    """Return a report; background jobs update its figures, seconds behind the events.

    Every figure and column has its definition. Money is in the store's currency unless
    another is named.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context, store = exchange.context, exchange.known_caller.store
    query = parse_report_query(
        context.clock(),
        store.settings.zone,
        first_day=first_day,
        last_day=last_day,
        by=by,
        limit=limit,
        test=test,
    )
    table = await asyncio.to_thread(make_report, context.services, store, name, query)
    return json_reply(report_to_dict(table))
