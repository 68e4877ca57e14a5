"""Events: POST /v1/events, acknowledged once the events are on disk."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, get_type_hints
from urllib.parse import urlsplit

import msgspec
from fastapi import Request, Response

from productrecs.core.errors import ProductRecsError
from productrecs.http.limits.client_address import (
    address_of_client,
    peer_of,
    public_network_of,
)
from productrecs.http.openapi_responses import (
    OK_EXAMPLE,
    OK_REPLY,
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
    with_warnings,
)
from productrecs.http.pipeline.live_view_recorder import EventRequestContext
from productrecs.http.pipeline.process_metrics import CounterMetric
from productrecs.http.pipeline.route_declaration import PUBLISHABLE, FastReply, Routes
from productrecs.http.routes.widget.shopper_history_access import (
    record_refused_identities,
)
from productrecs.http.transport.request_body import read_event_body
from productrecs.records.events.append_and_link_events import is_about_product
from productrecs.records.events.event import EVENT_KINDS, EventKind, NewEvent
from productrecs.schemas.body_warnings import MAX_WARNINGS, BodyWarnings
from productrecs.schemas.events import (
    EVENT_LIMIT,
    MAX_EVENT_ID,
    MAX_SHOWN,
    EventBody,
    EventId,
    PlacementName,
    QueryText,
    ShownItems,
    ShownPositions,
    ShownSources,
    find_field_problems,
    parse_events_with_indexes,
    to_events,
)
from productrecs.schemas.field_readers import (
    MAX_CURRENCY,
    MAX_ID,
    MAX_INTEGER,
    MAX_NUMBER,
    OptionalCount,
    OptionalCurrency,
    OptionalIdentifier,
    OptionalItemId,
    OptionalNumber,
    SignedIdentity,
    read_currency,
)
from productrecs.schemas.strict_json import parse_json
from productrecs.serving.writes.write_messages import (
    Groups,
    WriteKind,
    estimated_memory_bytes,
)
from productrecs.tenancy.accounts.api_keys import PAGES_KEY_ID, KeyUse
from productrecs.tenancy.accounts.shopper_identity import (
    IdentityVerdict,
    check_identity,
    identity_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from productrecs.core.memory_budget import ByteClaim
    from productrecs.http.pipeline.route_context import (
        FastRouteCall,
        ProcessContext,
        RequestContext,
    )
    from productrecs.serving.cached_store import CachedStore
    from productrecs.tenancy.accounts.api_keys import SecretKeyHashes
    from productrecs.tenancy.accounts.store import Store

_Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=MAX_INTEGER)]
_UP_TO_SHOWN: Final = msgspec.Meta(max_length=MAX_SHOWN)
_MAX_ARRAYS: Final = 3  # item_ids, sources, positions
_PLAIN_TYPES: Final[dict[object, object]] = {
    OptionalItemId: _Id | None,
    OptionalIdentifier: _Id | None,
    SignedIdentity: _Id | None,
    PlacementName: _Id | None,
    EventId: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_EVENT_ID)] | None,
    QueryText: str | None,
    OptionalNumber: Annotated[float, msgspec.Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)] | None,
    OptionalCurrency: Annotated[str, msgspec.Meta(max_length=MAX_CURRENCY)] | None,
    OptionalCount: _Count | None,
    ShownItems: Annotated[tuple[_Id, ...], _UP_TO_SHOWN],
    ShownSources: Annotated[tuple[_Id | None, ...], _UP_TO_SHOWN] | None,
    ShownPositions: Annotated[tuple[_Count | None, ...], _UP_TO_SHOWN] | None,
}
"""The values of each type of field that need no reading."""


def _plain_event_type() -> type[msgspec.Struct]:
    """Return the fields of `EventBody`, each in the type that needs no reading."""
    readers = get_type_hints(EventBody, include_extras=True)
    fields: list[tuple[str, Any, Any]] = [
        (name, _PLAIN_TYPES[readers[name]], field.default)
        for name, field in EventBody.model_fields.items()
        if name != "event"
    ]
    return msgspec.defstruct(
        "PlainEvent", [("event", str), *fields], forbid_unknown_fields=True
    )


_CONTROL: Final = re.compile(
    rb"\\(?:[bfnrt]|u00[01789][0-9A-Fa-f]|u202[89])|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]"
)
"""What may be a control character in JSON; below U+0020 each is an escape."""

_decode: Callable[[bytes], Any] = msgspec.json.Decoder(_plain_event_type()).decode


def parse_event_fast(body_bytes: bytes) -> list[NewEvent] | None:
    """Return the events of a plain single-event body, or None.

    After None, `parse_events_with_indexes` decides: the body may be right in an unusual
    form (unknown fields, ids as numbers, an array of events) or wrong.
    """
    # one object cannot nest its fields deeply
    if (
        body_bytes.count(b"{") != 1
        or body_bytes.count(b"[") > _MAX_ARRAYS
        or _CONTROL.search(body_bytes)
    ):
        return None
    try:
        body = _decode(body_bytes)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    kind = EVENT_KINDS.get(body.event)
    if kind is None:
        return None
    if body.currency is not None:
        body.currency = read_currency(body.currency)
    if find_field_problems(kind, body, None, ()):
        return None
    return to_events(kind, body)


routes = Routes("widget")

OK: Final = b'{"ok":true}'
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


async def _store_events_fast(call: FastRouteCall) -> FastReply:
    """Store the events of a body; the live view of a store shows what became of it."""
    context, store = call.context, call.caller.store
    data = await read_event_body(call.receive, call.scope["headers"], call.claim)
    arguments = (context, store, data, call.claim, call.headers, call.peer)
    if store.store_id not in context.live_view_recorder.watched_stores:
        return FastReply(await store_events_of_body(*arguments))
    sender = EventRequestContext(
        *(store.store_id, context.clock(), call.peer, call.headers, call.is_misuse),
        bots=context.bots,
        secrets=store.secrets,
    )
    try:
        body = await store_events_of_body(*arguments)
    except ProductRecsError as error:
        context.live_view_recorder.record_request(sender, data, error)
        raise
    context.live_view_recorder.record_request(sender, data)
    return FastReply(body)


@routes.post(
    "/v1/events",
    PUBLISHABLE,
    widget=True,
    is_rate_limited=False,
    fast_handler=_store_events_fast,
    operation_id="track",
    summary="Record shopper events",
    responses=success_response(
        "Stored durably.",
        with_warnings(object_schema(ok=OK_REPLY)),
        OK_EXAMPLE,
    )
    | error_responses(401, 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        EventBody, _EXAMPLES, accepts_text=True, accepts_list=True
    ),
)
async def record_events(request: Request) -> Response:
    """Record one event, or an array of up to 500, in the order in which they happened.

    The reply is sent when they are on the disk. `event_id` makes a retry harmless for
    seven days. Accepted but suspicious values, and fields that are unknown and ignored, are
    listed in `warnings`.
    """
    exchange: RequestContext = request.scope["productrecs"]
    claim = exchange.claim
    data = await read_event_body(request.receive, request.scope["headers"], claim)
    content = await store_events_of_body(
        *(exchange.context, exchange.known_caller.store, data, claim),
        dict(request.scope["headers"]),
        peer_of(request.scope),
    )
    return Response(content, media_type="application/json")


async def store_events_of_body(
    context: ProcessContext,
    store: Store,
    body: bytes,
    claim: ByteClaim,
    headers: Mapping[bytes, bytes],
    peer: str,
) -> bytes:
    """Store the events of a body durably, and return the reply.

    The headers and the peer tell which events come from bots, and which from one network
    that sends very many. Waiting writes count in the byte budget
    beside what `claim` holds for the body.

    Raises:
        InvalidInputError: when it does not match the schema; nothing is stored.
        QueueFullError: when too many writes wait; nothing is stored.
        UnconfirmedWriteError: when the write is not confirmed in time.
    """
    cached_store = context.stores.get(store) or await context.stores.open(store)
    body_warnings = BodyWarnings()
    if len(body) <= EVENT_LIMIT:
        groups = _parse_events_by_object(body, body_warnings)
    else:  # parsing a large body would block the event loop
        groups = await asyncio.get_running_loop().run_in_executor(
            context.parser_pool, _parse_events_by_object, body, body_warnings
        )
    groups, checks = _verify_identities(groups, store.secrets, context.clock())
    identity_warning_texts = identity_warnings(
        (id_and_identity[0], check) for id_and_identity, check in checks.items()
    )
    record_refused_identities(context, store.store_id, checks.values())
    network = public_network_of(address_of_client(peer, headers))
    if network is not None:
        groups = [[replace(event, network=network) for event in group] for group in groups]
    groups = context.bots.count_actions_and_mark_bots(store.store_id, groups, headers)
    count = sum(map(len, groups))
    warnings = [
        *identity_warning_texts,
        *body_warnings.texts(),
        *_event_warnings(cached_store, groups),
    ][:MAX_WARNINGS]
    with claim.another().grow(estimated_memory_bytes(groups)) as write_claim:
        write = context.write_client.submit_write(
            WriteKind.EVENTS, store.store_id, groups, write_claim
        )
    del groups  # parsed events take up to 100 times the size of the body
    await write
    context.process_metrics.add(CounterMetric.EVENTS, count)
    host = _host_of_origin(headers.get(b"origin", b""))
    if host:
        used_at_ms = context.services.system_clock()
        use = KeyUse(store.store_id, PAGES_KEY_ID, used_at_ms, host)
        context.write_client.write_later(use)
    return OK if not warnings else _encode({"ok": True, "warnings": warnings})


def _host_of_origin(origin: bytes) -> str:
    """Return the host of a page's origin; "" if it has none."""
    try:
        return urlsplit(origin.decode("ascii")).hostname or ""
    except ValueError:
        return ""


def _parse_events_by_object(body_bytes: bytes, warnings: BodyWarnings) -> Groups:
    """Return the events of a body, a group for each of its objects.

    `warnings` counts what looks wrong in them.

    Raises:
        InvalidInputError: when it does not match the schema.
    """
    fast = parse_event_fast(body_bytes)
    if fast is not None:
        groups = [fast]
    else:
        body = parse_json(body_bytes)
        events, sources = parse_events_with_indexes(body)
        for member in body if isinstance(body, list) else (body,):
            warnings.count_unknown_fields(EventBody, member)
        paired = groupby(zip(sources, events, strict=True), key=lambda pair: pair[0])
        groups = [[event for _, event in pairs] for _, pairs in paired]
    for first, *_ in groups:
        warnings.count_negative_amounts(first, ("value",))
        warnings.count_unknown_currency(first.currency)
        warnings.count_email_as_user_id(first.user_id)
    return groups


_IdAndIdentity = tuple[str | None, str | None]


def _verify_identities(
    groups: Groups, secrets: SecretKeyHashes, now_ms: int
) -> tuple[Groups, Mapping[_IdAndIdentity, IdentityVerdict]]:
    """Return the events, `signed` where an identity proves it; and what each proves."""
    if not any(group and group[0].identity for group in groups):
        return groups, {}
    senders = [(group[0].user_id, group[0].identity) for group in groups]
    checks = {
        sender: check_identity(secrets, sender[1], sender[0], now_ms)
        for sender in dict.fromkeys(senders)
    }
    checked_groups = [
        [
            replace(event, identity=None, signed=checks[sender] is IdentityVerdict.VALID)
            for event in group
        ]
        for group, sender in zip(groups, senders, strict=True)
    ]
    return checked_groups, checks


def _event_warnings(cached_store: CachedStore, groups: Groups) -> list[str]:
    catalog_numbers, warnings = cached_store.state.catalog.numbers, list[str]()
    for group in groups:
        for event in group:
            if len(warnings) == MAX_WARNINGS:
                return warnings
            if is_about_product(event) and event.item_id not in catalog_numbers:
                warnings.append(f"item {event.item_id!r} is not in the catalog (yet)")
            if event.kind is EventKind.BUY and not event.order_id:
                warnings.append(
                    "a buy without order_id is not used for products bought together"
                )
    return warnings
