"""Purchase orders: GET and PUT /integration/purchase-orders."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response

from productrecs.http.openapi_responses import (
    OK_REPLY,
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
from productrecs.records.purchase_orders.purchase_order_line import PurchaseOrderLine
from productrecs.records.purchase_orders.repository import PurchaseOrderRepository
from productrecs.schemas.purchase_orders import (
    PurchaseOrdersBody,
    parse_sent_purchase_orders,
)
from productrecs.storage.sql.group_commit import WriteTransaction

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store

routes = Routes("integration")

_LINE: Final[dict[str, Any]] = titled(
    "StoredPurchaseOrderLine",
    object_schema(
        item_id={"type": "string"},
        quantity={"type": "integer"},
        expected_day={"type": "string", "format": "date"},
        supplier={"type": ["string", "null"]},
    ),
)
_EXAMPLE: Final = {
    "lines": [
        {
            "item_id": "tent",
            "quantity": 24,
            "expected_day": "2026-03-20",
            "supplier": "Tents Ltd",
        }
    ]
}


@routes.get(
    "/integration/purchase-orders",
    SECRET,
    summary="List goods on order",
    responses=success_response(
        "The goods on order, the earliest expected day first.",
        object_schema(lines={"type": "array", "items": _LINE}),
        _EXAMPLE,
    )
    | error_responses(401, 503),
)
async def list_purchase_orders(request: Request) -> Response:
    """Return what was ordered and has not arrived, by product.

    A line ends when it is removed, on the page *Order sheets* or by the next list.
    """
    exchange: RequestContext = request.scope["productrecs"]
    lines = await asyncio.to_thread(
        _read_lines, exchange.context.services.database, exchange.known_caller.store
    )
    fields = [
        {
            "item_id": line.product,
            "quantity": line.quantity,
            "expected_day": line.expected_day,
            "supplier": line.supplier or None,
        }
        for line in lines
    ]
    return json_reply({"lines": fields})


@routes.put(
    "/integration/purchase-orders",
    SECRET,
    summary="Replace the goods on order",
    responses=success_response(
        "How many lines are stored, and the products that the catalog lacks.",
        object_schema(
            ok=OK_REPLY,
            stored={"type": "integer", "minimum": 0},
            unknown={"type": "array", "items": {"type": "string"}},
        ),
        {"ok": True, "stored": 1, "unknown": []},
    )
    | error_responses(401, 402, 413, 415, 422, 503),
    openapi_extra=documented_request_body(PurchaseOrdersBody, {"one product": _EXAMPLE}),
)
async def replace_purchase_orders(request: Request) -> Response:
    """Store these lines instead of all others: what your purchasing system has open.

    The order sheets subtract what arrives in time. A repeat changes nothing.
    """
    exchange: RequestContext = request.scope["productrecs"]
    lines = parse_sent_purchase_orders(await read_json_body(request))
    store_id, now_ms = exchange.known_caller.store.store_id, exchange.context.clock()

    def replace(work: WriteTransaction) -> list[str]:
        return PurchaseOrderRepository(work.connection, store_id).replace(lines, now_ms)

    unknown = await change_in_transaction(exchange, replace)
    reply = {"ok": True, "stored": len(lines) - len(unknown), "unknown": unknown}
    return json_reply(reply)


def _read_lines(database: "Database", store: "Store") -> list[PurchaseOrderLine]:
    with database.reading() as connection:
        repository = PurchaseOrderRepository(connection, store.store_id)
        return list(repository.lines().values())
