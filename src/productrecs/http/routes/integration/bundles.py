"""Bundles: GET, POST, PUT and DELETE /integration/bundles."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Query, Request, Response

from productrecs.features.recommendations.bundles import BundleOverview, bundle_overviews
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
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.placements.bundle import BundleContent, BundleError
from productrecs.records.placements.bundle_editor import BundleWriter
from productrecs.records.placements.repository import BundleRepository
from productrecs.schemas.field_readers import MAX_INTEGER
from productrecs.schemas.integration import (
    BUNDLE_FIELDS,
    BundleBody,
    parse_bundle_fields_and_version,
)
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem
from productrecs.storage.sql.group_commit import WriteTransaction

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("integration")

_NUMBER: Final = {"type": ["number", "null"]}
_INTEGER: Final = {"type": ["integer", "null"]}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_BUNDLE: Final[dict[str, Any]] = titled(
    "StoredBundle",
    object_schema(
        state={"type": "string", "enum": ["proposed", "accepted", "rejected"]},
        item_ids=_TEXTS,
        titles=_TEXTS,
        is_shown={"type": "boolean"},
    ),
)
_BUNDLE["properties"] |= {
    "id": _INTEGER,
    "version": _INTEGER,
    "name": {"type": ["string", "null"]},
    "orders": _INTEGER,
    "lift": _NUMBER,
    "sum": _NUMBER,
    "discount_percent": _NUMBER,
    "discount_amount": _NUMBER,
    "price": _NUMBER,
    "cost": _NUMBER,
    "margin": _NUMBER,
}
_PROPOSAL: Final = {
    "state": "proposed",
    "item_ids": ["tent", "rope"],
    "titles": ["Tent", "Rope"],
    "orders": 41,
    "lift": 6.2,
    "sum": 148.9,
    "price": 148.9,
    "cost": 80.0,
    "margin": 68.9,
    "is_shown": False,
}
_ACCEPTED: Final = _PROPOSAL | {
    "id": 3,
    "version": 7,
    "state": "accepted",
    "name": "Camping night",
    "discount_percent": 10.0,
    "price": 134.01,
    "margin": 54.01,
    "is_shown": True,
}
_BODY: Final = {
    "item_ids": ["rope", "stove"],
    "name": "Camping night",
    "discount_percent": 10,
}
_ID_QUERY: Final = Query(
    alias="id", ge=1, le=MAX_INTEGER, description="The bundle's number.", examples=[3]
)
BundleId = Annotated[int, _ID_QUERY]


@routes.get(
    "/integration/bundles",
    SECRET,
    summary="List bundles, rejected sets and proposals",
    responses=success_response(
        "All stored bundles, the oldest first, then the proposals, best first. `orders` "
        "of the last year contain the whole set, at least `lift` times as many as by "
        "chance. `margin` is null unless every product has a `cost`.",
        object_schema(bundles={"type": "array", "items": _BUNDLE}),
        {"bundles": [_ACCEPTED, _PROPOSAL]},
    )
    | error_responses(401, 503),
)
async def list_bundles(request: Request) -> Response:
    """Return every bundle with its price and margin, and the sets worth offering."""
    exchange: RequestContext = request.scope["productrecs"]
    rows = await _read_bundle_rows(exchange)
    return json_reply({"bundles": [row.as_fields() for row in rows]})


@routes.post(
    "/integration/bundles",
    SECRET,
    operation_id="add_bundle",
    summary="Accept or reject a proposal, or add a bundle",
    responses=success_response("The stored bundle.", _BUNDLE, _ACCEPTED)
    | error_responses(401, 402, 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        BundleBody,
        {"accept": _BODY, "reject": {"item_ids": ["tent", "lamp"], "state": "rejected"}},
    ),
)
async def create_bundle(request: Request) -> Response:
    """Store a set of two to four products; `state` is `accepted` unless the body says so.

    A rejected set is not proposed again. For a proposal that was changed, send its own
    products as `proposed_item_ids`.
    """
    exchange: RequestContext = request.scope["productrecs"]
    fields, _ = parse_bundle_fields_and_version(await read_json_body(request), is_new=True)

    def store_bundle(work: WriteTransaction) -> int:
        return _bundle_writer(exchange, work).add(BundleContent(**fields)).bundle_id

    return await _change_bundle_and_reply(exchange, store_bundle)


@routes.put(
    "/integration/bundles",
    SECRET,
    operation_id="change_bundle",
    summary="Change a bundle",
    responses=success_response("The changed bundle.", _BUNDLE, _ACCEPTED)
    | error_responses(401, 402, "bundle_unknown", "bundle_changed", 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        BundleBody, {"another discount": {"discount_amount": 15, "version": 7}}
    ),
)
async def edit_bundle(request: Request, bundle_id: BundleId) -> Response:
    """Change the fields in the body and leave the rest; null removes a discount or a name.

    With `version`, nothing is stored if the bundle has changed since: 409.
    """
    exchange: RequestContext = request.scope["productrecs"]
    fields, version = parse_bundle_fields_and_version(
        await read_json_body(request), is_new=False
    )

    def store_bundle(work: WriteTransaction) -> int:
        return _bundle_writer(exchange, work).change(bundle_id, version, fields).bundle_id

    return await _change_bundle_and_reply(exchange, store_bundle)


@routes.delete(
    "/integration/bundles",
    SECRET,
    summary="Delete a bundle",
    responses=success_response(
        "The bundle is deleted; its set may be proposed again.",
        object_schema(ok=OK_REPLY, id={"type": "integer"}),
        {"ok": True, "id": 3},
    )
    | error_responses(401, "bundle_unknown", 422, 503),
)
async def delete_bundle(request: Request, bundle_id: BundleId) -> Response:
    """Delete an accepted bundle, which no page shows then, or forget a rejection.

    Orders that were made with the bundle's discount are not affected.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = exchange.known_caller.store
    await change_in_transaction(
        exchange, lambda work: _bundle_writer(exchange, work).remove(bundle_id)
    )
    await exchange.context.stores.refresh(store)
    return json_reply({"ok": True, "id": bundle_id})


def _bundle_writer(exchange: "RequestContext", work: WriteTransaction) -> BundleWriter:
    store_id = exchange.known_caller.store.store_id
    bundles = BundleRepository(work.connection, store_id)
    catalog = CatalogRepository(work.connection, store_id)
    return BundleWriter(bundles, catalog, exchange.context.clock())


async def _change_bundle_and_reply(
    exchange: "RequestContext", action: Callable[[WriteTransaction], int]
) -> Response:
    """Change the store's bundles, and return the reply with the changed one.

    Raises:
        InvalidInputError: when the bundle is invalid.
    """
    try:
        bundle_id = await change_in_transaction(exchange, action)
    except BundleError as error:
        location = ("body", BUNDLE_FIELDS[error.field])
        raise InvalidInputError(
            [ValidationProblem(location, str(error), "value_error")]
        ) from error
    await exchange.context.stores.refresh(exchange.known_caller.store)
    rows = await _read_bundle_rows(exchange)
    fields = next(row.as_fields() for row in rows if row.bundle_id == bundle_id)
    return json_reply(fields)


async def _read_bundle_rows(exchange: "RequestContext") -> list[BundleOverview]:
    context, store = exchange.context, exchange.known_caller.store
    opened = await context.stores.open(store)
    database, now_ms = context.services.database, context.clock()
    return await asyncio.to_thread(bundle_overviews, database, opened.state, now_ms)
