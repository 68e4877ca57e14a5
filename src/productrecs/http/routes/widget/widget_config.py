"""Widget config: GET /v1/widget-config returns the settings that a widget renders with."""

import asyncio
import logging
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from fastapi import Depends, Query, Request, Response

from productrecs.features.widgets.repository import read_widget_config
from productrecs.features.widgets.widget_config import WidgetConfig
from productrecs.features.widgets.widget_settings import DEFAULT_TYPE
from productrecs.http.openapi_responses import (
    NULLABLE_TEXT,
    error_responses,
    not_modified_response,
    object_schema,
    success_response,
    titled,
)
from productrecs.http.pipeline.etag_responses import conditional_reply
from productrecs.http.pipeline.fast_query_reader import FastQueryReader, as_dependency
from productrecs.http.pipeline.route_context import (
    FastRouteCall,
    ProcessContext,
    RequestContext,
)
from productrecs.http.pipeline.route_declaration import PUBLISHABLE, FastReply, Routes
from productrecs.records.catalog.price_lists import PriceListNameError, parse_list_name
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem
from productrecs.serving.cached_store import CachedStore
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings

_log = logging.getLogger(__name__)

routes = Routes("widget")

CACHE_SECONDS: Final = 60
"""How long a browser caches a widget's settings."""
_encode: Final = msgspec.json.Encoder().encode
CONFIG_SCHEMA: Final[dict[str, Any]] = titled(
    "StoredWidgetConfig",
    object_schema(
        type={"type": "string"},
        settings={"type": "object"},
        custom_css=NULLABLE_TEXT,
        scoped={"type": ["boolean", "null"]},
    ),
)
_EXAMPLE: Final = {
    "type": "recs",
    **msgspec.to_builtins(WidgetConfig().with_defaults(DEFAULT_TYPE, StoreSettings())),
    "custom_css": ".card { border-radius: 8px }",
    "scoped": True,
}


class WidgetConfigRequest(NamedTuple):
    """A page's request for a config: its widget, language and price list."""

    widget_type: str
    lang: str
    price_list: str


def _read_config_request(
    type_: Annotated[
        str,
        Query(
            alias="type",
            description="The widget: recs, fbt, cart, search, ...",
            examples=["recs"],
        ),
    ] = DEFAULT_TYPE,
    lang: Annotated[
        str,
        Query(
            description="The page's language, for texts without a setting.",
            examples=["de"],
        ),
    ] = "",
    price_list: Annotated[
        str,
        Query(
            description="The price list of the page's products, whose currency counts.",
            examples=["USD"],
        ),
    ] = "",
) -> WidgetConfigRequest:
    """Return the request that the parameters describe."""
    return WidgetConfigRequest(type_, lang, price_list)


_request_reader: Final = FastQueryReader(_read_config_request)


async def _answer_config_fast(call: FastRouteCall) -> FastReply | None:
    store = call.caller.store
    cached_store = call.context.stores.get(store)
    config_request = None if call.query is None else _request_reader.read(call.query)
    if config_request is None or cached_store is None:
        return None
    body = await answer_config(call.context, store, cached_store, config_request)
    return FastReply(body, cache_seconds=CACHE_SECONDS)


@routes.get(
    "/v1/widget-config",
    PUBLISHABLE,
    widget=True,
    sends_timing=True,
    fast_handler=_answer_config_fast,
    summary="Return a widget's settings",
    responses=success_response(
        ("Every setting, including defaults."), CONFIG_SCHEMA, _EXAMPLE
    )
    | not_modified_response()
    | error_responses(401, 422, 503),
)
async def widget_config(
    request: Request,
    config_request: Annotated[
        WidgetConfigRequest, Depends(as_dependency(_read_config_request))
    ],
) -> Response:
    """Return a widget's settings; a type without saved settings has the defaults.

    The currency, the locale and the number of products come from the store's settings
    if the widget has none of its own.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context, store = exchange.context, exchange.known_caller.store
    cached_store = await context.stores.open(store)
    content = await answer_config(context, store, cached_store, config_request)
    return conditional_reply(request, content, CACHE_SECONDS)


async def answer_config(
    context: ProcessContext,
    store: Store,
    cached_store: CachedStore,
    config_request: WidgetConfigRequest,
) -> bytes:
    """Return the body of a reply; a blank type is the default one.

    Raises:
        InvalidInputError: when the price list's name has an invalid form.
    """
    widget_type = config_request.widget_type or DEFAULT_TYPE
    config = await _read_config_or_cached(context, store, cached_store, widget_type)
    settings = store.settings
    if config_request.price_list:
        config, settings = _config_and_settings_in_price_list(
            config, settings, config_request.price_list
        )
    return config_body(
        widget_type, config.with_defaults(widget_type, settings, config_request.lang)
    )


def _config_and_settings_in_price_list(
    config: WidgetConfig, settings: StoreSettings, list_name: str
) -> tuple[WidgetConfig, StoreSettings]:
    """Return the config and settings with the list, and with its currency if it has one."""
    try:
        currency = parse_list_name(list_name).currency or settings.currency
    except PriceListNameError as error:
        problem = ValidationProblem(
            ("query", "price_list"), str(error), "unknown_price_list", list_name
        )
        raise InvalidInputError([problem]) from error
    widget_settings = {**config.settings, "price_list": list_name}
    if currency != settings.currency:
        widget_settings.pop("currency", None)
        settings = replace(settings, currency=currency, price_format="")
    return replace(config, settings=widget_settings), settings


def config_body(widget_type: str, config: WidgetConfig) -> bytes:
    """Return the body of a reply with a config, resolved or not."""
    content = {
        "type": widget_type,
        "settings": config.settings,
        "custom_css": config.custom_css,
        "scoped": config.scoped,
    }
    return _encode(content)


async def _read_config_or_cached(
    context: ProcessContext, store: Store, cached_store: CachedStore, widget_type: str
) -> WidgetConfig:
    def read() -> WidgetConfig:
        return read_widget_config(context.reader, store.store_id, widget_type)

    try:
        if context.reading is None:
            config = read()
        else:
            loop = asyncio.get_running_loop()
            config = await loop.run_in_executor(context.reading, read)
    except Exception:
        # The last settings that were read are better for a shop's page than an error.
        _log.exception("widget settings read failed")
        return cached_store.widgets.get(widget_type, WidgetConfig())
    if config == WidgetConfig():
        cached_store.widgets.pop(widget_type, None)
    else:
        cached_store.widgets[widget_type] = config
    return config
