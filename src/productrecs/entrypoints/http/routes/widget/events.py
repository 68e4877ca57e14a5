"""Events: POST /v1/events, acknowledged once the events are on disk."""

import asyncio
from itertools import groupby
from typing import Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.caches.store_cache import CachedStore
from productrecs.entrypoints.http.openapi.responses import (
    OK_EXAMPLE,
    OK_REPLY,
    error_responses,
    object_schema,
    request_body,
    success_response,
)
from productrecs.entrypoints.http.pipeline.request_metrics import CounterMetric
from productrecs.entrypoints.http.pipeline.route_context import Context, RequestContext
from productrecs.entrypoints.http.schemas.event_fast_parser import parse_event_fast
from productrecs.entrypoints.http.schemas.events import EventBody, parse_events
from productrecs.entrypoints.http.transport.request_body import (
    EVENT_LIMIT,
    parse_json,
    read_event_body,
)
from productrecs.entrypoints.http.writes.batched_writes import (
    Groups,
    WriteKind,
    memory_weight,
)
from productrecs.entrypoints.http.writes.write_client import await_durable
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log import is_about_product
from productrecs.storage.byte_budget import Claim
from productrecs.tenancy.accounts.store import Store

router = APIRouter(tags=["widget"])

OK: Final = b'{"ok":true}'
_MOST_WARNINGS: Final = 20
_EXAMPLES: Final = {
    "a view": {"event": "detail-page-view", "item_id": "tent", "session_id": "s_4fQ9xZ"},
    "a purchase": {
        "event": "buy",
        "item_id": "tent",
        "order_id": "A-1001",
        "value": 149,
        "currency": "EUR",
        "quantity": 1,
        "user_id": "c-7",
        "session_id": "s_4fQ9xZ",
        "event_id": "A-1001-tent",
    },
    "an impression and a click": [
        {
            "event": "rec-impression",
            "item_ids": ["stove", "rope"],
            "sources": ["buy", "category"],
            "positions": [1, 2],
            "widget": "recs",
            "session_id": "s_4fQ9xZ",
        },
        {
            "event": "rec-click",
            "item_id": "stove",
            "source": "buy",
            "position": 1,
            "widget": "recs",
            "session_id": "s_4fQ9xZ",
        },
    ],
}
_encode: Final = msgspec.json.Encoder().encode


@router.post(
    "/v1/events",
    operation_id="track",
    summary="Record shopper events",
    responses=success_response(
        "Stored durably.",
        object_schema(ok=OK_REPLY)
        | {
            "properties": {
                "ok": OK_REPLY,
                "warnings": {"type": "array", "items": {"type": "string"}},
            }
        },
        OK_EXAMPLE,
    )
    | error_responses(401, 413, 415, 422, 503),
    openapi_extra=request_body(EventBody, _EXAMPLES, text=True, many=True),
    response_class=Response,
)
async def declared_events(request: Request) -> Response:
    """Record one event, or an array of up to 500, in the order in which they happened.

    The reply is sent when they are on the disk. `event_id` makes a retry harmless for
    seven days. Accepted but suspicious values are listed in `warnings`.
    """
    exchange: RequestContext = request.scope["productrecs"]
    claim = exchange.claim
    data = await read_event_body(request.receive, request.scope["headers"], claim)
    content = await receive_event_body(
        exchange.context, exchange.known_caller.store, data, claim
    )
    return Response(content, media_type="application/json")


async def receive_event_body(
    context: Context, store: Store, data: bytes, claim: Claim
) -> bytes:
    """Store the events of a body durably, and return the reply.

    Waiting writes count in the byte budget beside what `claim` holds for the body.

    Raises:
        BodyError: when it does not match the schema; nothing is stored.
        QueueFullError: when too many writes wait; nothing is stored.
        UnconfirmedWriteError: when the write is not confirmed in time.
    """
    opened = context.shops.get(store) or await context.shops.open(store)
    if len(data) <= EVENT_LIMIT:
        groups = _grouped(data)
    else:  # it may tell of so much that everybody else would wait
        loop = asyncio.get_running_loop()
        groups = await loop.run_in_executor(context.parser_pool, _grouped, data)
    count, warnings = sum(map(len, groups)), _warnings(opened, groups)
    with claim.another().grow(memory_weight(groups)) as queued:
        write = context.write_client.submit(
            WriteKind.EVENTS, store.store_id, groups, queued
        )
    del groups  # an array may tell a hundred times what it weighs
    await await_durable(write, context.outcomes)
    context.request_metrics.add(CounterMetric.EVENTS, count)
    return OK if not warnings else _encode({"ok": True, "warnings": warnings})


def _grouped(data: bytes) -> Groups:
    """Return the events of a body, a group for each of its objects.

    Raises:
        BodyError: when it does not match the schema.
    """
    fast = parse_event_fast(data)
    if fast is not None:
        return [fast]
    events, sources = parse_events(parse_json(data))
    paired = groupby(zip(sources, events, strict=True), key=lambda pair: pair[0])
    return [[event for _, event in pairs] for _, pairs in paired]


def _warnings(opened: CachedStore, groups: Groups) -> list[str]:
    known, warnings = opened.shop.catalog.numbers, list[str]()
    for group in groups:
        for event in group:
            if len(warnings) == _MOST_WARNINGS:
                return warnings
            if is_about_product(event) and event.item_id not in known:
                warnings.append(f"item {event.item_id!r} is not in the catalog (yet)")
            if event.kind is EventKind.BUY and not event.order_id:
                warnings.append(
                    "a buy without order_id is not used for products bought together"
                )
    return warnings
