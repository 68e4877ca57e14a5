"""Settings and widget config: routes of recommender settings and widget settings."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Query, Request, Response

from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import TYPE_PATTERN, WidgetConfig
from productrecs.features.widgets.widget_config_update import (
    WidgetConfigBody,
    parse_widget_config_change,
)
from productrecs.features.widgets.widget_settings import DEFAULT_TYPE
from productrecs.http.openapi_responses import (
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
    titled,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.http.routes.integration.call_body_and_transaction import (
    change_in_transaction,
    read_json_body,
)
from productrecs.http.routes.widget.widget_config import (
    CONFIG_SCHEMA,
    config_body,
)
from productrecs.schemas.integration import (
    RecommenderSettingsBody,
    parse_recommender_settings,
)
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext


routes = Routes("integration")

_EXAMPLE: Final = {"rec_num": 12, "allow_repeat_recommendations": False}
_REPLY: Final = success_response(
    "The current settings, including defaults.",
    titled(
        "StoredRecommenderSettings",
        object_schema(
            rec_num={"type": "integer", "minimum": 1, "maximum": 20},
            allow_repeat_recommendations={"type": "boolean"},
        ),
    ),
    _EXAMPLE,
)


@routes.get(
    "/integration/recommender-settings",
    SECRET,
    summary="Return the recommendation settings",
    responses=_REPLY | error_responses(401, 503),
)
async def read_recommender_settings(request: Request) -> Response:
    """Return the current settings; those that were never set have their default."""
    exchange: RequestContext = request.scope["productrecs"]
    database, store = exchange.context.services.database, exchange.known_caller.store

    def read() -> Store:
        with database.reading() as connection:
            return AccountRepository(connection).find(store.domain) or store

    return _recommender_settings_reply(await asyncio.to_thread(read))


@routes.put(
    "/integration/recommender-settings",
    SECRET,
    summary="Change the recommendation settings",
    responses=_REPLY | error_responses(401, 402, 413, 415, 422, 503),
    openapi_extra=documented_request_body(RecommenderSettingsBody, {"both": _EXAMPLE}),
)
async def change_recommender_settings(request: Request) -> Response:
    """Change the settings in the body and leave the rest; null resets one to its default.

    Every reply follows within a second.
    """
    exchange: RequestContext = request.scope["productrecs"]
    changes = parse_recommender_settings(await read_json_body(request))
    store_id = exchange.known_caller.store.store_id

    def store_settings(work: WriteTransaction) -> Store:
        return AccountRepository(work.connection).merge_settings(store_id, changes)

    changed = await change_in_transaction(exchange, store_settings)
    await exchange.context.refresh_accounts()
    return _recommender_settings_reply(changed)


def _recommender_settings_reply(store: Store) -> Response:
    settings = store.settings
    content = {
        "rec_num": settings.rec_num,
        "allow_repeat_recommendations": settings.allow_repeat_recommendations,
    }
    return json_reply(content)


_CHANGE: Final = {
    "settings": {"layout": "grid", "columns": 3},
    "custom_css": ".card { border-radius: 8px }",
    "scoped": True,
}
_SAVED: Final[dict[str, Any]] = {"type": "recs", **_CHANGE}


@routes.get(
    "/integration/widget-config",
    SECRET,
    summary="Return a widget's saved settings",
    responses=success_response(
        "The saved settings, without defaults; empty for a type without any.",
        CONFIG_SCHEMA,
        _SAVED,
    )
    | error_responses(401, 422, 503),
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


@routes.put(
    "/integration/widget-config",
    SECRET,
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
    openapi_extra=documented_request_body(WidgetConfigBody, {"a grid of three": _CHANGE}),
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
    requested = parse_widget_config_change(await read_json_body(request))
    store_id, widget_type = exchange.known_caller.store.store_id, type_ or DEFAULT_TYPE
    clock = exchange.context.clock

    def store_config(work: WriteTransaction) -> WidgetConfig:
        repository = WidgetRepository(work.connection, store_id)
        return repository.merge_change(widget_type, requested, clock())

    content = config_body(widget_type, await change_in_transaction(exchange, store_config))
    return Response(content, media_type="application/json")
