"""Orders: POST /v1/orders stores a purchase once, however often it is sent."""

from typing import TYPE_CHECKING, Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.openapi.responses import (
    OK_REPLY,
    error_responses,
    object_schema,
    request_body,
    success_response,
)
from productrecs.entrypoints.http.pipeline.request_metrics import CounterMetric
from productrecs.entrypoints.http.schemas.orders import OrderBody, parse_order
from productrecs.entrypoints.http.transport.request_body import parse_json, read_body
from productrecs.entrypoints.http.writes.batched_writes import WriteKind

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.route_context import RequestContext
    from productrecs.records.orders.ingest_events_and_orders import OrderReceipt

router = APIRouter(tags=["server"])

BODY_LIMIT: Final = 1 << 20
_EXAMPLE: Final = {
    "order_id": "A-1001",
    "user_id": "c-7",
    "session_id": "s_4fQ9xZ",
    "currency": "EUR",
    "items": [
        {"item_id": "tent", "quantity": 1, "price": 149},
        {"item_id": "rope", "quantity": 2, "price": 89, "total": 160},
    ],
}
_encode: Final = msgspec.json.Encoder().encode


@router.post(
    "/v1/orders",
    operation_id="sync_order",
    summary="Record an order",
    responses=success_response(
        "Stored durably, or already known.",
        object_schema(
            ok=OK_REPLY,
            order_id={"type": "string"},
            items_ingested={"type": "integer"},
            duplicate={"type": "boolean"},
        ),
        {"ok": True, "order_id": "A-1001", "items_ingested": 2, "duplicate": False},
    )
    | error_responses(401, 413, 415, 422, 503),
    openapi_extra=request_body(OrderBody, {"an order": _EXAMPLE}, text=True),
    response_class=Response,
)
async def sync_order(request: Request) -> Response:
    """Store an order with its lines; a repeat within seven days changes nothing.

    Each line counts as a purchase. Send it from your server with the secret key; a page may
    send it with the publishable key.
    """
    exchange: RequestContext = request.scope["productrecs"]
    headers, claim = request.scope["headers"], exchange.claim
    data = await read_body(request.receive, headers, BODY_LIMIT, claim, weight=2)
    order = parse_order(parse_json(data))
    context, store = exchange.context, exchange.known_caller.store
    receipt: OrderReceipt = await context.write_client.write(
        WriteKind.ORDER, store.store_id, order, claim
    )
    counted = CounterMetric.ORDERS_REPEATED if receipt.duplicate else CounterMetric.ORDERS
    context.request_metrics.add(counted)
    content = {
        "ok": True,
        "order_id": receipt.order_id,
        "items_ingested": receipt.items_ingested,
        "duplicate": receipt.duplicate,
    }
    return Response(_encode(content), media_type="application/json")
