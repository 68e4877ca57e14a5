"""Demand forecast: GET /v1/forecast/... for a store and for one product."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from fastapi import Path, Request, Response

from productrecs.core.errors import UnknownItemError
from productrecs.features.forecast.forecast_replies import (
    item_forecast_reply,
    store_forecast_reply,
)
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.http.openapi_responses import (
    NULLABLE_TEXT,
    NULLABLE_TIME,
    error_responses,
    object_schema,
    success_response,
    titled,
)
from productrecs.http.pipeline.authentication import Caller, SecretKeyRequiredError
from productrecs.http.pipeline.route_declaration import EITHER, PUBLISHABLE, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import (
    FORECAST_PREFIX,
    decode_id_in_path,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("widget")

_encode: Final = msgspec.json.Encoder().encode
_AMOUNT: Final = {"type": "number", "minimum": 0}
_DATE: Final = {"type": "string", "format": "date"}
_DAY: Final = titled(
    "ForecastDay",
    object_schema(date=_DATE, mean=_AMOUNT, p10=_AMOUNT, p50=_AMOUNT, p90=_AMOUNT),
)
_BAND: Final = titled("ForecastTotal", object_schema(p10=_AMOUNT, p50=_AMOUNT, p90=_AMOUNT))
_MODE: Final = {"type": ["string", "null"], "enum": ["units", "order_lines", None]}
_NUMBER: Final = {"type": "number"}
_ACCURACY: Final = titled(
    "ForecastAccuracy",
    object_schema(
        wape=_NUMBER,
        rmsse=_NUMBER,
        bias=_NUMBER,
        coverage_p10_p90=_NUMBER,
        baseline_rmsse=_NUMBER,
    ),
)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_SUMMARY_SCHEMA: Final = object_schema(
    enabled={"type": "boolean"},
    target_mode=_MODE,
    currency=NULLABLE_TEXT,
    generated_at=NULLABLE_TIME,
    horizon_days={"type": "integer", "const": 28},
    history={
        "type": "array",
        "items": titled("SalesDay", object_schema(date=_DATE, actual=_AMOUNT)),
    },
    forecast={"type": "array", "items": _DAY, "maxItems": 28},
    totals=_nullable(
        titled("ForecastTotals", object_schema(next_7_days=_BAND, next_28_days=_BAND))
    ),
    accuracy=_nullable(_ACCURACY),
)
_TIME_EXAMPLE: Final = "2026-11-21T02:00:04.120Z"
_SUMMARY_EXAMPLE: Final = {
    "enabled": True,
    "target_mode": "units",
    "currency": "EUR",
    "generated_at": _TIME_EXAMPLE,
    "horizon_days": 28,
    "history": [{"date": "2026-11-20", "actual": 212.0}],
    "forecast": [
        {"date": "2026-11-22", "mean": 204.1, "p10": 151.0, "p50": 201.3, "p90": 262.8}
    ],
    "totals": {
        "next_7_days": {"p10": 1210.5, "p50": 1421.0, "p90": 1660.2},
        "next_28_days": {"p10": 4890.0, "p50": 5702.4, "p90": 6610.9},
    },
    "accuracy": {
        "wape": 0.19,
        "rmsse": 0.74,
        "bias": 0.02,
        "coverage_p10_p90": 0.81,
        "baseline_rmsse": 0.93,
    },
}
_ITEM_SCHEMA: Final = object_schema(
    item_id={"type": "string"},
    method={"type": ["string", "null"], "enum": ["lgbm", "statistical", None]},
    target_mode=_MODE,
    generated_at=NULLABLE_TIME,
    forecast={"type": "array", "items": _DAY, "maxItems": 28},
    stock_qty={"type": ["integer", "null"]},
    days_of_cover={"type": ["number", "null"], "minimum": 0},
    stockout_date={"type": ["string", "null"], "format": "date"},
)
_ITEM_EXAMPLE: Final = {
    "item_id": "tent",
    "method": "lgbm",
    "target_mode": "units",
    "generated_at": _TIME_EXAMPLE,
    "forecast": [{"date": "2026-11-22", "mean": 2.4, "p10": 0.0, "p50": 2.0, "p90": 5.0}],
    "stock_qty": 31,
    "days_of_cover": 12.9,
    "stockout_date": "2026-12-04",
}


@routes.get(
    "/v1/forecast/summary",
    EITHER,
    widget=True,
    operation_id="forecast_summary",
    summary="Forecast a store's sales",
    responses=success_response(
        "The store's past and coming days; empty before the first run.",
        _SUMMARY_SCHEMA,
        _SUMMARY_EXAMPLE,
    )
    | error_responses(401, 503),
)
async def read_store_forecast(request: Request) -> Response:
    """Return the store's forecast for the 28 days after `generated_at`, by day.

    `mean` is the expected value, which may be summed; `p50` is the median; in four of
    five days the amount is between `p10` and `p90`. All are in units or order lines,
    see `target_mode`. `accuracy` is the accuracy of the same forecast in past weeks,
    beside the better of two simple baselines. Needs the demand add-on; without it, and
    before its first run, lists are empty and the rest is null.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = _check_forecast_access(exchange.known_caller)
    database = exchange.context.services.database
    content = await asyncio.to_thread(_encode_store_forecast, database, store)
    return Response(content, media_type="application/json")


@routes.get(
    "/v1/forecast/items/{item_id:text}",
    EITHER,
    widget=True,
    operation_id="forecast_item",
    summary="Forecast one product's sales",
    responses=success_response(
        "The product's coming days; empty before the first run.",
        _ITEM_SCHEMA,
        _ITEM_EXAMPLE,
    )
    | error_responses("bad_path", 401, "item_unknown", 503),
)
async def read_item_forecast(
    request: Request,
    item_id: Annotated[
        str,
        Path(
            description="The product's id, percent-encoded; it may contain any character.",
            examples=["tent"],
        ),
    ],
) -> Response:
    """Return one product's demand for the 28 days after `generated_at`, and its cover.

    `method` says whether the model learned from all products had a part in it (`lgbm`) or
    the product's own past and its category's alone (`statistical`). `days_of_cover` is how
    long `stock_qty` lasts from tomorrow on, at the expected pace.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = _check_forecast_access(exchange.known_caller)
    services = exchange.context.services
    requested_id = decode_id_in_path(request.scope["raw_path"], FORECAST_PREFIX) or item_id
    content = await asyncio.to_thread(
        _encode_item_forecast, services.database, store, requested_id, services.clock()
    )
    return Response(content, media_type="application/json")


def _check_forecast_access(caller: Caller) -> Store:
    """Return the caller's store.

    Raises:
        SecretKeyRequiredError: for the publishable key of a store that keeps its forecast
            to itself.
    """
    if caller.credential is PUBLISHABLE and not caller.store.settings.public_forecast:
        message = (
            "this store's forecast needs the secret key (sk_...) as the header X-API-Key; "
            "its setting public_forecast is off"
        )
        raise SecretKeyRequiredError(message)
    return caller.store


def _encode_store_forecast(database: Database, store: Store) -> bytes:
    with database.reading() as connection:
        run = ForecastRepository(connection, store.store_id).newest_run()
    settings = store.settings
    summary = store_forecast_reply(run, settings.currency, enabled=settings.demand_forecast)
    return _encode(summary)


def _encode_item_forecast(
    database: Database, store: Store, item_id: str, now_ms: int
) -> bytes:
    item, run = None, None
    if "\0" not in item_id:
        with database.reading() as connection:
            repository = ForecastRepository(connection, store.store_id)
            item, run = repository.find_item_forecast(item_id), repository.newest_run()
    if item is None:
        message = f"the catalog has no item {item_id!r}; push it with POST /v1/items"
        raise UnknownItemError(message)
    settings = store.settings
    enabled = settings.demand_forecast
    return _encode(item_forecast_reply(item, run, settings.zone, now_ms, enabled=enabled))
