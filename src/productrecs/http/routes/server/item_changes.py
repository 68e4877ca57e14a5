"""Items: POST /v1/items and DELETE /v1/items/{item_id} change the catalog."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, NamedTuple, TypeVar

from fastapi import Path, Request, Response

from productrecs.core.errors import UnknownItemError
from productrecs.http.openapi_responses import (
    OK_REPLY,
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
    with_warnings,
)
from productrecs.http.pipeline.idempotency import (
    REPLAYED_HEADERS,
    IdempotencyKeyHeader,
    identify_call,
    run_once_or_replay,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.process_metrics import CounterMetric
from productrecs.http.pipeline.route_context import RequestContext
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import decode_id_in_path
from productrecs.http.transport.request_body import read_body
from productrecs.records.catalog.catalog_push import (
    PushResult,
    remove_item,
    upsert_items,
)
from productrecs.records.catalog.item import PackedItemPatch
from productrecs.schemas.body_warnings import BodyWarnings
from productrecs.schemas.items import (
    MAX_ITEMS,
    ItemsPush,
    parse_and_pack_items,
    parse_items,
)
from productrecs.schemas.strict_json import parse_json, split_item_list
from productrecs.serving.writes.write_messages import WriteKind
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.storage.sql.idempotency_keys import IdempotentCall
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store_management import catalog_limit

routes = Routes("server")

BODY_LIMIT: Final = 32 << 20
_EXAMPLES: Final = {
    "two products": {
        "items": [
            {
                "id": "tent",
                "sku": "T-2",
                "title": "Tent for two",
                "price": 149,
                "stock_qty": 7,
                "categories": ["Camping", "Camping > Tents"],
                "product_url": "https://shop.example.com/p/tent",
                "image_url": "https://shop.example.com/i/tent.jpg",
            },
            {"id": "rope", "title": "Rope, 60 m", "price": "89.00"},
        ]
    },
    "a new price": {"items": [{"id": "tent", "price": 129}]},
}
_LARGE: Final = 128 << 10
_WEIGHT: Final = 2
"""While a push is read its items are in memory twice: as received, and packed."""
_READ_WEIGHT: Final = 1.5
"""What waits to be written takes so many times its size.

The packed items take 1.35 times the body (the allocator's gaps between them), and those
that are being written are unpacked.
"""
_COUNT: Final = {"type": "integer"}
_Result = TypeVar("_Result")
CatalogChange = Callable[[StoreLogTransaction, int, int | None], _Result]
"""Changes a store's catalog at a moment (UTC ms), up to the size that its plan allows."""


@routes.post(
    "/v1/items",
    SECRET,
    summary="Create or update items",
    responses=success_response(
        "All items are stored.",
        with_warnings(
            object_schema(ok=OK_REPLY, created=_COUNT, updated=_COUNT, total=_COUNT)
        ),
        {"ok": True, "created": 1, "updated": 1, "total": 1250},
    )
    | error_responses(
        *(
            "too_many_items",
            "too_many_price_lists",
            401,
            402,
            "plan_limit_catalog",
            "idempotency_key_reused",
        ),
        *(413, 415, 422, 503),
    ),
    openapi_extra=documented_request_body(ItemsPush, _EXAMPLES),
)
async def push_items(
    request: Request, *, idempotency_key: IdempotencyKeyHeader = None
) -> Response:
    """Create or update up to 1000 items; fields that an item does not have stay unchanged.

    New ids are created, known ones updated, all of them or none. `null` resets a field
    to its default. Every reply shows it within a second. New ids count for the plan's
    catalog limit: a push that would exceed it is rejected as a whole. Updates always
    pass. `warnings` names unknown fields, which are ignored, and values that look wrong.

    A retry with the `Idempotency-Key` and the body of a call of the last day changes
    nothing and gets its reply again, with `Idempotent-Replayed: true`.
    """
    exchange: RequestContext = request.scope["productrecs"]
    patches, call, warnings = await _read_push(request, exchange, idempotency_key)
    is_replay = False

    def upsert_once_or_replay(
        log: StoreLogTransaction, now_ms: int, limit: int | None
    ) -> PushResult:
        nonlocal is_replay
        pushed, is_replay = run_once_or_replay(
            log, call, now_ms, lambda: upsert_items(log, patches, now_ms, limit), PushResult
        )
        return pushed

    pushed = await _change_catalog(exchange, upsert_once_or_replay)
    if is_replay:
        return _push_reply(pushed, warnings, REPLAYED_HEADERS)
    exchange.context.process_metrics.add(CounterMetric.ITEMS_CREATED, pushed.created)
    exchange.context.process_metrics.add(CounterMetric.ITEMS_UPDATED, pushed.updated)
    return _push_reply(pushed, warnings)


def _push_reply(
    pushed: PushResult, warnings: Sequence[str], headers: Mapping[str, str] | None = None
) -> Response:
    content: dict[str, object] = {
        "ok": True,
        "created": pushed.created,
        "updated": pushed.updated,
        "total": pushed.total,
    }
    if warnings:
        content["warnings"] = warnings
    return json_reply(content, headers=headers)


@routes.delete(
    "/v1/items/{item_id:text}",
    SECRET,
    summary="Delete an item",
    responses=success_response(
        "The item is deleted.",
        object_schema(ok=OK_REPLY, id={"type": "string"}),
        {"ok": True, "id": "tent"},
    )
    | error_responses("bad_path", 401, "item_unknown", 503),
)
async def delete_item(
    request: Request,
    item_id: Annotated[
        str,
        Path(
            description="The item's id, percent-encoded; it may contain `/`.",
            examples=["tent"],
        ),
    ],
) -> Response:
    """Delete an item from the catalog; its orders and events stay for statistics.

    It is never shown again, even during a training. If it is pushed again, it counts as
    new.
    """
    exchange: RequestContext = request.scope["productrecs"]
    item_id_in_path = decode_id_in_path(request.scope["raw_path"]) or item_id
    if "\0" in item_id_in_path:
        message = "the catalog has no item of this id; nothing was deleted"
        raise UnknownItemError(message)
    await _change_catalog(
        exchange, lambda log, now_ms, _: remove_item(log, item_id_in_path, now_ms)
    )
    exchange.context.process_metrics.add(CounterMetric.ITEMS_DELETED)
    return json_reply({"ok": True, "id": item_id_in_path})


def parse_push(body: bytes, warnings: BodyWarnings | None = None) -> list[PackedItemPatch]:
    """Return the items of a body, decoded item by item.

    `warnings` counts what looks wrong in them.

    Raises:
        TooManyItemsError: when it has more than 1000.
        InvalidInputError: when it is not JSON, or does not match the schema.
    """
    items = split_item_list(body, MAX_ITEMS)
    if items is not None:
        return parse_and_pack_items(items, warnings)
    return [PackedItemPatch.of(item) for item in parse_items(parse_json(body), warnings)]


class _ParsedPush(NamedTuple):
    """The items of a push, its idempotency key, and what looks wrong in it."""

    patches: list[PackedItemPatch]
    call: IdempotentCall | None
    warnings: list[str]


async def _read_push(
    request: Request, exchange: RequestContext, key: str | None
) -> _ParsedPush:
    """Return what a push says; of its body nothing is left then."""
    headers, claim = request.scope["headers"], exchange.claim
    data = await read_body(request.receive, headers, BODY_LIMIT, claim, weight=_WEIGHT)

    def read() -> _ParsedPush:
        warnings = BodyWarnings()
        patches = parse_push(data, warnings)
        return _ParsedPush(patches, identify_call("items", key, data), warnings.texts())

    if len(data) < _LARGE:
        return read()
    # Parsing a full push would block the event loop for as long as hundreds of calls take.
    # It runs in a thread, one push at a time, because each holds the GIL.
    loop = asyncio.get_running_loop()
    push = await loop.run_in_executor(exchange.context.parser_pool, read)
    claim.shrink_to(int(_READ_WEIGHT * len(data)))
    return push


async def _change_catalog(
    exchange: RequestContext, change: CatalogChange[_Result]
) -> _Result:
    context, store = exchange.context, exchange.known_caller.store
    services, store_id = context.services, store.store_id

    def change_in_log(work: WriteTransaction) -> _Result:
        log = StoreLogTransaction(
            work.database, work.connection, store_id, services.numbers
        )
        work.after_commit.append(log.cache_committed_numbers)
        # Read in the transaction of the push, so that the plan's current limit applies.
        accounts = AccountRepository(work.connection)
        item_limit = catalog_limit(accounts, store_id, services.settings.plans)
        return change(log, services.clock(), item_limit)

    result: _Result = await context.write_client.submit_write(
        WriteKind.CHANGE, store_id, change_in_log, exchange.claim
    )
    await context.stores.refresh(store)
    return result
