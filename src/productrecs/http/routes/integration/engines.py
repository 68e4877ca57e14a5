"""Engines: POST /integration/engines/init, /sync-engines and /train.

Usually unnecessary: engines are created, follow the catalog and train automatically.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Query, Request, Response

from productrecs.core.ids import StoreId
from productrecs.engines.registry import TRAINED, TRAINING_CHOICES
from productrecs.http.openapi_responses import (
    OK_REPLY,
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
    with_warnings,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_context import RequestContext
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.http.routes.integration.call_body_and_transaction import (
    change_in_transaction,
    read_optional_json_body,
)
from productrecs.schemas.integration import (
    EnginesInitBody,
    parse_engines_init,
)
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.shop_connections.repository import (
    ShopConnectionRepository,
)
from productrecs.tenancy.accounts.store_settings import SettingError, parse_setting
from productrecs.training.repository import TrainingRepository

routes = Routes("integration")

READY, WAITING = "ready", "waiting"
_JOB_ID: Final = {"type": "string"}
_STATE: Final = {"type": "string", "enum": [READY, WAITING]}


if TYPE_CHECKING:

    class TrainingTarget(StrEnum):
        """What a manual training makes fresh."""

        BOTH = "both"

else:
    TrainingTarget = StrEnum(
        "TrainingTarget", [(name.upper(), name) for name in TRAINING_CHOICES]
    )


@routes.post(
    "/integration/engines/init",
    SECRET,
    summary="Prepare the recommendation engines",
    responses=success_response(
        "Every engine, and whether it is ready or waits for data.",
        with_warnings(
            object_schema(
                ok=OK_REPLY, engines=object_schema(**dict.fromkeys(TRAINED, _STATE))
            )
        ),
        {"ok": True, "engines": dict.fromkeys(TRAINED, WAITING)},
    )
    | error_responses(401, 402, 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        EnginesInitBody,
        {"all of it": {"store_url": "https://shop.example.com", "currency": "EUR"}},
        required=False,
    ),
)
async def init_engines(request: Request) -> Response:
    """Provision the engines; store the shop's currency, address and the like, when given.

    A currency that is no code of ISO 4217 is not stored; `warnings` then
    names the nearest ones.
    Repeating the call is harmless. A waiting engine returns backfill until the store has
    sent enough data; it is then ready within a minute, without another call.
    """
    exchange: RequestContext = request.scope["productrecs"]
    options = parse_engines_init(await read_optional_json_body(request))
    warnings = _remove_unknown_currency_with_warnings(options)
    store_id = exchange.known_caller.store.store_id
    services = exchange.context.services

    def store_options_and_enqueue_training(work: WriteTransaction) -> str:
        _store_settings_and_url(work, store_id, options)
        training = TrainingRepository(work.connection, store_id)
        if training.serving_model() is not None:
            return READY
        head = training.head()
        if head is not None and head.seq > 0:
            services.queue.enqueue(work.connection, NewJob(store_id, "train"))
        return WAITING

    state = await change_in_transaction(exchange, store_options_and_enqueue_training)
    await exchange.context.refresh_accounts()
    content = {"ok": True, "engines": dict.fromkeys(TRAINED, state)}
    if warnings:
        content["warnings"] = warnings
    return json_reply(content)


@routes.post(
    "/integration/sync-engines",
    SECRET,
    summary="Push the whole catalog to the engines again",
    status_code=202,
    responses=success_response(
        "Queued, or merged with a push that is already queued.",
        object_schema(ok=OK_REPLY, job_id=_JOB_ID),
        {"ok": True, "job_id": "job_9nVbW2kQm4TzLx7p"},
        status=202,
    )
    | error_responses(401, 402, 503),
)
async def sync_engines(request: Request) -> Response:
    """Queue a full push of the catalog to the engines, and a training after it.

    Every change of the catalog reaches them within a second without this call.
    """
    exchange: RequestContext = request.scope["productrecs"]
    job_id = await _enqueue_job(exchange, "sync-engines")
    return json_reply({"ok": True, "job_id": job_id}, 202)


@routes.post(
    "/integration/train",
    SECRET,
    operation_id="train",
    summary="Train now",
    responses=success_response(
        "Queued, or merged with a training that is already queued.",
        object_schema(
            ok=OK_REPLY,
            engine={"type": "string", "enum": [target.value for target in TrainingTarget]},
            job_id=_JOB_ID,
        ),
        {"ok": True, "engine": "both", "job_id": "job_9nVbW2kQm4TzLx7p"},
    )
    | error_responses(401, 402, 422, 503),
)
async def enqueue_training(
    request: Request,
    engine: Annotated[
        TrainingTarget,
        Query(
            description=(
                "The engine that must be current; one training updates all engines."
            ),
            examples=["both"],
        ),
    ] = TrainingTarget.BOTH,
) -> Response:
    """Enqueue a training.

    Usually unnecessary: the worker trains a store within a minute of new data.
    """
    exchange: RequestContext = request.scope["productrecs"]
    job_id = await _enqueue_job(exchange, "train")
    return json_reply({"ok": True, "engine": engine, "job_id": job_id})


async def _enqueue_job(exchange: RequestContext, kind: str) -> str:
    store_id = exchange.known_caller.store.store_id
    queue = exchange.context.services.queue

    def enqueue_job(work: WriteTransaction) -> str:
        AccountRepository(work.connection).lock(store_id)  # no job for a deleted store
        return queue.enqueue(work.connection, NewJob(store_id, kind))

    return await change_in_transaction(exchange, enqueue_job)


def _store_settings_and_url(
    work: WriteTransaction, store_id: StoreId, options: EnginesInitBody
) -> None:
    accounts = AccountRepository(work.connection)
    settings = options.model_dump(exclude={"store_url"}, exclude_none=True)
    accounts.merge_settings(store_id, settings)
    if options.store_url is not None:
        connections = ShopConnectionRepository(work.connection, store_id)
        connections.put(connections.find().with_store_url(options.store_url))


def _remove_unknown_currency_with_warnings(options: EnginesInitBody) -> list[str]:
    """Remove a currency that no store can have; return why."""
    if options.currency is None:
        return []
    try:
        options.currency = str(parse_setting("currency", options.currency))
    except SettingError as error:
        options.currency = None
        return [f"the currency was not stored: {error}"]
    return []
