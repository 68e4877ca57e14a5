"""Recommender settings: GET and PUT /integration/recommender-settings."""

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.openapi.responses import (
    error_responses,
    object_schema,
    request_body,
    success_response,
)
from productrecs.entrypoints.http.routes.integration.store_update import body_of, change
from productrecs.entrypoints.http.schemas.integration import (
    RecommenderSettingsBody,
    parse_recommender_settings,
)
from productrecs.storage.group_commit import WriteTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.route_context import RequestContext

router = APIRouter(tags=["integration"])

_encode: Final = msgspec.json.Encoder().encode
_EXAMPLE: Final = {"rec_num": 12, "allow_repeat_recommendations": False}
_REPLY: Final = success_response(
    "The current settings, including defaults.",
    object_schema(
        rec_num={"type": "integer", "minimum": 1, "maximum": 20},
        allow_repeat_recommendations={"type": "boolean"},
    ),
    _EXAMPLE,
)


@router.get(
    "/integration/recommender-settings",
    operation_id="read_recommender_settings",
    summary="Return the recommendation settings",
    responses=_REPLY | error_responses(401, 503),
    response_class=Response,
)
async def read_recommender_settings(request: Request) -> Response:
    """Return the current settings; those that were never set have their default."""
    exchange: RequestContext = request.scope["productrecs"]
    database, store = exchange.context.services.database, exchange.known_caller.store

    def read() -> Store:
        with database.reading() as connection:
            return AccountRepository(connection).find(store.domain) or store

    return _reply(await asyncio.to_thread(read))


@router.put(
    "/integration/recommender-settings",
    operation_id="change_recommender_settings",
    summary="Change the recommendation settings",
    responses=_REPLY | error_responses(401, 402, 413, 415, 422, 503),
    openapi_extra=request_body(RecommenderSettingsBody, {"both": _EXAMPLE}),
    response_class=Response,
)
async def change_recommender_settings(request: Request) -> Response:
    """Change the settings in the body and leave the rest; null resets one to its default.

    Every reply follows within a second.
    """
    exchange: RequestContext = request.scope["productrecs"]
    changes = parse_recommender_settings(await body_of(request))
    store_id = exchange.known_caller.store.store_id

    def store_settings(work: WriteTransaction) -> Store:
        return AccountRepository(work.connection).merge_settings(store_id, changes)

    changed = await change(exchange, store_settings)
    await exchange.context.refresh_accounts()
    return _reply(changed)


def _reply(store: Store) -> Response:
    settings = store.settings
    content = {
        "rec_num": settings.rec_num,
        "allow_repeat_recommendations": settings.allow_repeat_recommendations,
    }
    return Response(_encode(content), media_type="application/json")
