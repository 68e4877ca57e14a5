"""Customer ids: POST /integration/customer-ids links former ids to new ones."""

from typing import TYPE_CHECKING, Final

from fastapi import Request, Response

from productrecs.http.openapi_responses import (
    OK_REPLY,
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.http.routes.integration.call_body_and_transaction import (
    change_in_transaction,
    read_json_body,
)
from productrecs.records.events.append_and_link_events import link_customer_ids
from productrecs.schemas.integration import (
    CustomerIdChangesBody,
    parse_customer_id_changes,
)
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("integration")

_EXAMPLE: Final = {"customers": [{"old": "7", "new": "c_5b1f0c9a4e7d2f68"}]}


@routes.post(
    "/integration/customer-ids",
    SECRET,
    operation_id="link_customer_ids",
    summary="Link former ids of customers to their new ones",
    responses=success_response(
        "How many of the pairs are linked now; a pair of one id is not.",
        object_schema(ok=OK_REPLY, linked={"type": "integer", "minimum": 0}),
        {"ok": True, "linked": 1},
    )
    | error_responses(401, 402, 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        CustomerIdChangesBody, {"one customer": _EXAMPLE}
    ),
)
async def link_former_customer_ids(request: Request) -> Response:
    """Give new ids the history of former ones, once, when your shop changes its ids.

    Lists and reports then know one customer. The former id shows nothing of the new one's
    history to a caller with the publishable key. A repeat changes nothing.
    """
    exchange: RequestContext = request.scope["productrecs"]
    pairs = parse_customer_id_changes(await read_json_body(request))
    store_id, services = exchange.known_caller.store.store_id, exchange.context.services

    def link_pairs(work: WriteTransaction) -> int:
        log = StoreLogTransaction(
            work.database, work.connection, store_id, services.numbers
        )
        work.after_commit.append(log.cache_committed_numbers)
        return link_customer_ids(log, pairs)

    linked = await change_in_transaction(exchange, link_pairs)
    return json_reply({"ok": True, "linked": linked})
