"""Recommender settings: GET and PUT /integration/recommender-settings."""

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.documentation import answers, body, errors, reply
from productrecs.entrypoints.http.integration.changes import body_of, change
from productrecs.entrypoints.http.schemas.integration import (
    RecommenderSettingsBody,
    parse_recommender_settings,
)
from productrecs.storage.group_commit import Work
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

if TYPE_CHECKING:
    from productrecs.entrypoints.http.context import Exchange

router = APIRouter(tags=["integration"])

_encode: Final = msgspec.json.Encoder().encode
_EXAMPLE: Final = {"rec_num": 12, "allow_repeat_recommendations": False}
_REPLY: Final = reply(
    "The settings that hold now, defaults included.",
    answers(
        rec_num={"type": "integer", "minimum": 1, "maximum": 20},
        allow_repeat_recommendations={"type": "boolean"},
    ),
    _EXAMPLE,
)


@router.get(
    "/integration/recommender-settings",
    operation_id="read_recommender_settings",
    summary="Read the recommender's settings",
    responses=_REPLY | errors(401, 503),
    response_class=Response,
)
async def read_recommender_settings(request: Request) -> Response:
    """Return the settings as they hold now; what was never set has its default."""
    exchange: Exchange = request.scope["productrecs"]
    database, store = exchange.context.services.database, exchange.known_caller.store

    def read() -> Store:
        with database.reading() as connection:
            return AccountRepository(connection).find(store.domain) or store

    return _reply(await asyncio.to_thread(read))


@router.put(
    "/integration/recommender-settings",
    operation_id="change_recommender_settings",
    summary="Change the recommender's settings",
    responses=_REPLY | errors(401, 402, 413, 415, 422, 503),
    openapi_extra=body(RecommenderSettingsBody, {"both": _EXAMPLE}),
    response_class=Response,
)
async def change_recommender_settings(request: Request) -> Response:
    """Change what is sent and leave the rest; null returns a setting to its default.

    Every reply follows within a second.
    """
    exchange: Exchange = request.scope["productrecs"]
    changes = parse_recommender_settings(await body_of(request))
    store_id = exchange.known_caller.store.store_id

    def carry_out(work: Work) -> Store:
        return AccountRepository(work.connection).merge_settings(store_id, changes)

    changed = await change(exchange, carry_out)
    await exchange.context.look_again()
    return _reply(changed)


def _reply(store: Store) -> Response:
    settings = store.settings
    content = {
        "rec_num": settings.rec_num,
        "allow_repeat_recommendations": settings.allow_repeat_recommendations,
    }
    return Response(_encode(content), media_type="application/json")
