"""Orders: POST /v1/orders stores a purchase once, however often it is sent."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response

from productrecs.core.errors import ProductRecsError
from productrecs.core.memory_budget import ByteClaim
from productrecs.http.limits.client_address import (
    address_of_client,
    peer_of,
    public_network_of,
)
from productrecs.http.openapi_responses import (
    OK_REPLY,
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
    with_warnings,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.live_view_recorder import EventRequestContext
from productrecs.http.pipeline.process_metrics import CounterMetric
from productrecs.http.pipeline.route_declaration import EITHER, SECRET, Routes
from productrecs.http.routes.widget.shopper_history_access import (
    record_refused_identities,
)
from productrecs.http.transport.request_body import read_body
from productrecs.schemas.orders import OrderBody, find_order_warnings, parse_order
from productrecs.schemas.strict_json import parse_json
from productrecs.serving.writes.write_messages import WriteKind
from productrecs.tenancy.accounts.shopper_identity import (
    IdentityVerdict,
    check_identity,
    identity_warnings,
)

if TYPE_CHECKING:
    from starlette.types import Scope

    from productrecs.http.pipeline.route_context import RequestContext
    from productrecs.records.orders.ingest_events_and_orders import OrderReceipt

routes = Routes("server")

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


@routes.post(
    "/v1/orders",
    EITHER,
    widget=True,
    is_rate_limited=False,
    operation_id="sync_order",
    summary="Record an order",
    responses=success_response(
        "Stored durably, or already known.",
        with_warnings(
            object_schema(
                ok=OK_REPLY,
                order_id={"type": "string"},
                items_ingested={"type": "integer"},
                duplicate={"type": "boolean"},
            )
        ),
        {"ok": True, "order_id": "A-1001", "items_ingested": 2, "duplicate": False},
    )
    | error_responses(401, 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        OrderBody, {"an order": _EXAMPLE}, accepts_text=True
    ),
)
async def receive_order(request: Request) -> Response:
    """Store an order with its lines; a repeat within seven days changes nothing.

    Each line counts as a purchase. Send it from your server with the secret key; a page may
    send it with the publishable key. `warnings` names unknown fields, which are ignored,
    and values that look wrong.
    """
    exchange: RequestContext = request.scope["productrecs"]
    headers, claim = request.scope["headers"], exchange.claim
    data = await read_body(request.receive, headers, BODY_LIMIT, claim, weight=2)
    context = exchange.context
    try:
        receipt, warnings = await _store_order_with_warnings(
            exchange, request.scope, data, claim
        )
    except ProductRecsError as error:
        _record_order_for_live_view(request, data, error)
        raise
    _record_order_for_live_view(request, data, is_repeated=receipt.duplicate)
    metric = CounterMetric.ORDERS_REPEATED if receipt.duplicate else CounterMetric.ORDERS
    context.process_metrics.add(metric)
    content = {
        "ok": True,
        "order_id": receipt.order_id,
        "items_ingested": receipt.items_ingested,
        "duplicate": receipt.duplicate,
    }
    if warnings:
        content["warnings"] = warnings
    return json_reply(content)


async def _store_order_with_warnings(
    exchange: "RequestContext", scope: "Scope", body_bytes: bytes, claim: ByteClaim
) -> tuple["OrderReceipt", list[str]]:
    """Return the receipt of the order in a body, once it is on the disk; and warnings."""
    context, caller = exchange.context, exchange.known_caller
    body = parse_json(body_bytes)
    order = parse_order(
        body,
        context.clock(),
        caller.store.settings.zone,
        confirmed=caller.credential is SECRET,
    )
    if not order.confirmed:
        client_address = address_of_client(peer_of(scope), dict(scope["headers"]))
        order = replace(order, network=public_network_of(client_address))
    check = check_identity(
        caller.store.secrets, order.identity, order.user_id, context.clock()
    )
    record_refused_identities(context, caller.store.store_id, [check])
    order = replace(order, identity=None, signed=check is IdentityVerdict.VALID)
    receipt: OrderReceipt = await context.write_client.submit_write(
        WriteKind.ORDER, caller.store.store_id, order, claim
    )
    identity_problems = identity_warnings([(order.user_id, check)])
    return receipt, [*identity_problems, *find_order_warnings(body, order)]


def _record_order_for_live_view(
    request: Request,
    body: bytes,
    error: ProductRecsError | None = None,
    *,
    is_repeated: bool = False,
) -> None:
    """Record an order for the store's open live view, with its outcome."""
    exchange: RequestContext = request.scope["productrecs"]
    context, store = exchange.context, exchange.known_caller.store
    if store.store_id not in context.live_view_recorder.watched_stores:
        return
    headers = dict(request.scope["headers"])
    sender = EventRequestContext(
        *(store.store_id, context.clock(), peer_of(request.scope), headers),
        secrets=store.secrets,
        is_order=True,
        is_repeated=is_repeated,
    )
    context.live_view_recorder.record_request(sender, body, error)
