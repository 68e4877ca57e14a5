"""Widget config: GET and PUT /integration/widget-config, as the merchant set it."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from productrecs.entrypoints.http.openapi.responses import (
    error_responses,
    request_body,
    success_response,
)
from productrecs.entrypoints.http.routes.integration.store_update import body_of, change
from productrecs.entrypoints.http.routes.widget.config import CONFIG_SCHEMA, config_body
from productrecs.entrypoints.http.schemas.widget_config import (
    WidgetConfigBody,
    parse_widget_config,
)
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import TYPE_PATTERN, WidgetConfig
from productrecs.features.widgets.widget_settings import DEFAULT_TYPE
from productrecs.storage.group_commit import WriteTransaction

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.route_context import RequestContext

router = APIRouter(tags=["integration"])

_CHANGE: Final = {
    "settings": {"layout": "grid", "columns": 3},
    "custom_css": ".card { border-radius: 8px }",
    "scoped": True,
}
_SAVED: Final[dict[str, Any]] = {"type": "recs", **_CHANGE}


@router.get(
    "/integration/widget-config",
    operation_id="read_widget_config",
    summary="Return a widget's saved settings",
    responses=success_response(
        "The saved settings, without defaults; empty for a type without any.",
        CONFIG_SCHEMA,
        _SAVED,
    )
    | error_responses(401, 422, 503),
    response_class=Response,
)
async def read_widget_config(
    request: Request,
    type_: Annotated[
        str,
        Query(
            alias="type",
            description="The widget: recs, fbt, cart, search, ...",
            examples=["recs"],
        ),
    ] = DEFAULT_TYPE,
) -> Response:
    """Return the saved settings; `GET /v1/widget-config` adds the defaults."""
    exchange: RequestContext = request.scope["productrecs"]
    database = exchange.context.services.database
    store_id, widget_type = exchange.known_caller.store.store_id, type_ or DEFAULT_TYPE

    def read() -> WidgetConfig:
        with database.reading() as connection:
            return WidgetRepository(connection, store_id).find(widget_type)

    content = config_body(widget_type, await asyncio.to_thread(read))
    return Response(content, media_type="application/json")


@router.put(
    "/integration/widget-config",
    operation_id="change_widget_config",
    summary="Change a widget's settings",
    responses=success_response(
        "All saved settings of the widget, without defaults.",
        CONFIG_SCHEMA,
        _SAVED,
    )
    | error_responses(
        *("too_many_widget_types", "widget_config_too_large"),
        *(401, 402, 413, 415, 422, 503),
    ),
    openapi_extra=request_body(WidgetConfigBody, {"a grid of three": _CHANGE}),
    response_class=Response,
)
async def change_widget_config(
    request: Request,
    type_: Annotated[
        str,
        Query(
            alias="type",
            pattern=f"^$|{TYPE_PATTERN}",
            description="The widget: recs, fbt, cart, search, or a name of your own.",
            examples=["recs"],
        ),
    ] = DEFAULT_TYPE,
) -> Response:
    """Merge the body with the saved settings; settings that are not in it stay.

    A setting that is null returns to its default, and so do `custom_css` and `scoped`;
    `settings` that are null leave all settings unchanged. Unknown keys are stored for
    the theme. Concurrent changes are merged one after the other.
    """
    exchange: RequestContext = request.scope["productrecs"]
    requested = parse_widget_config(await body_of(request))
    store_id, widget_type = exchange.known_caller.store.store_id, type_ or DEFAULT_TYPE
    clock = exchange.context.clock

    def store_config(work: WriteTransaction) -> WidgetConfig:
        repository = WidgetRepository(work.connection, store_id)
        return repository.change(widget_type, requested, clock())

    content = config_body(widget_type, await change(exchange, store_config))
    return Response(content, media_type="application/json")
