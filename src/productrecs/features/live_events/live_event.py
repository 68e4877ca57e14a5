"""Live events: the last events and orders of a store as received, each with a verdict.

API processes record the events of watched stores and store them within a second, so that
the view covers all processes. Unwatched stores cost one look-up per request.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel

from productrecs.core.clock import MINUTE_MS
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import parse_timestamp
from productrecs.records.events.event import (
    EVENT_KINDS,
    EVENT_SUBJECTS,
    EventKind,
    EventSubject,
)
from productrecs.schemas.body_warnings import BodyWarnings
from productrecs.schemas.events import EventBody
from productrecs.schemas.orders import OrderBody

MAX_BODY: Final = 2_000  # characters of one event that are stored
_MAX_NAME: Final = 128
ORDER: Final = "order"
"""The kind of an order; events have their own kinds."""

_MAX_SKEW: Final = 5  # minutes
_PRODUCTS: Final = frozenset({EventSubject.PRODUCT, EventSubject.PRODUCTS})


class LiveEventVerdict(StrEnum):
    """The result of processing an event."""

    ACCEPTED = "accepted"
    UNKNOWN_ITEM = "unknown_item"
    NO_ORDER_ID = "no_order_id"
    NO_SHOPPER = "no_shopper"  # an order without a shopper
    DUPLICATE = "duplicate"
    ORDER_AGAIN = "order_again"
    BUY_AGAIN = "buy_again"  # the last of an order's purchases of one product counts
    FOREIGN_ORIGIN = "foreign_origin"
    BOT = "bot"
    IDENTITY = "identity"  # its signed identity is refused
    CLOCK = "clock"  # its timestamp is far from the server's time
    INVALID = "invalid"
    NOT_STORED = "not_stored"  # another event of its request was invalid
    KEY_REFUSED = "key_refused"
    REFUSED = "refused"


VERDICTS_OF_PURCHASES: Final = frozenset(
    {
        LiveEventVerdict.ACCEPTED,
        LiveEventVerdict.UNKNOWN_ITEM,
        LiveEventVerdict.BUY_AGAIN,
    }
)


@dataclass(frozen=True, slots=True)
class ReceivedEventRequest:
    """A request with events or an order, as an API process records it.

    `problems` are the reasons of invalid events by index in the request; index -1 is the
    whole request. `refusal` is the reason for which the request was refused.
    """

    store_id: StoreId
    at_ms: int
    client: str
    data: bytes
    is_foreign: bool = False
    problems: Mapping[int, str] = field(default_factory=dict)
    refusal: str = ""
    is_key_refused: bool = False
    is_order: bool = False
    is_repeated: bool = False  # a repeated order
    crawler: str | None = None  # the name of the crawler that sent it
    is_flagged: Callable[[Mapping[str, Any]], bool] | None = None  # an event, by its rate
    identity_refusal: Callable[[Mapping[str, Any]], str] | None = None  # why, or ""

    @property
    def key(self) -> None:
        """Return None: requests are not deduplicated."""


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """One event of the live view."""

    at_ms: int
    verdict: LiveEventVerdict
    kind: str
    session: str
    item: str
    client: str
    detail: str
    body: str
    event_id: str = ""
    items: tuple[str, ...] = ()
    entry_id: str = ""


def client_hash(store_id: StoreId, address: str, agent: str) -> str:
    """Return a hash that distinguishes browsers without storing their address."""
    text = f"{store_id}\n{address}\n{agent}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def live_events_of_request(received: ReceivedEventRequest) -> list[LiveEvent]:
    """Return the events of a request, judged by the request alone."""
    if received.refusal or -1 in received.problems:
        verdict = (
            LiveEventVerdict.KEY_REFUSED
            if received.is_key_refused
            else LiveEventVerdict.REFUSED
        )
        if not received.refusal:
            verdict = LiveEventVerdict.INVALID
        detail = received.refusal or received.problems[-1]
        body_text = received.data[:MAX_BODY].decode("utf-8", "replace")
        return [_to_live_event(received, {}, verdict, detail, body_text)]
    events = []
    for index, body in enumerate(_parse_event_bodies(received.data)):
        verdict, detail = _verdict_and_detail(received, index, body)
        events.append(_to_live_event(received, body, verdict, detail, ""))
    return events


def order_id_of(body_text: str) -> str:
    """Return the order id in an event's recorded body; "" if it has none."""
    try:
        return str(json.loads(body_text).get("order_id") or "")
    except ValueError:  # the recorded text is cut
        return ""


def catalog_verdict(event: LiveEvent, known_items: Collection[str]) -> LiveEventVerdict:
    """Return the verdict on an event, given which products are in the catalog."""
    if event.verdict is not LiveEventVerdict.ACCEPTED:
        return event.verdict
    unknown = any(item not in known_items for item in event.items)
    return LiveEventVerdict.UNKNOWN_ITEM if unknown else event.verdict


def _verdict_and_detail(
    received: ReceivedEventRequest, index: int, body: Mapping[str, Any]
) -> tuple[LiveEventVerdict, str]:
    if index in received.problems:
        return LiveEventVerdict.INVALID, received.problems[index]
    if received.is_order:
        return _order_verdict_and_detail(received, body)
    if received.problems:
        return LiveEventVerdict.NOT_STORED, ""
    return _event_verdict_and_detail(received, body)


def _event_verdict_and_detail(
    received: ReceivedEventRequest, body: Mapping[str, Any]
) -> tuple[LiveEventVerdict, str]:
    is_buy = body.get("event") == EventKind.BUY.wire_name
    if is_buy and not body.get("order_id"):
        return LiveEventVerdict.NO_ORDER_ID, ""
    if not is_buy and (reason := _bot_reason(received, body)):
        return LiveEventVerdict.BOT, reason
    if received.is_foreign:
        return LiveEventVerdict.FOREIGN_ORIGIN, ""
    if refusal := _identity_refusal_text(received, body):
        return LiveEventVerdict.IDENTITY, refusal
    minutes = _clock_skew_minutes(body.get("timestamp"), received.at_ms)
    if minutes >= _MAX_SKEW:
        return LiveEventVerdict.CLOCK, f"Its own time differs by {minutes:,} minutes."
    return LiveEventVerdict.ACCEPTED, _describe_unknown_fields(EventBody, body)


def _describe_unknown_fields(model: type[BaseModel], body: object) -> str:
    """Return a sentence for each unknown field of an event or order."""
    warnings = BodyWarnings()
    warnings.count_unknown_fields(model, body)
    return " ".join(
        f"{text[:1].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"
        for text in warnings.texts()
    )


def _bot_reason(received: ReceivedEventRequest, body: Mapping[str, Any]) -> str:
    """Return why an event is a bot's; "" if it is not."""
    if received.crawler is not None:
        return f"It came from {received.crawler}."
    if received.is_flagged is not None and received.is_flagged(body):
        return "This shopper id does more than a person can."
    return ""


def _order_verdict_and_detail(
    received: ReceivedEventRequest, body: Mapping[str, Any]
) -> tuple[LiveEventVerdict, str]:
    if received.is_repeated:
        return LiveEventVerdict.ORDER_AGAIN, ""
    if not body.get("user_id") and not body.get("session_id"):
        return LiveEventVerdict.NO_SHOPPER, ""
    if refusal := _identity_refusal_text(received, body):
        return LiveEventVerdict.IDENTITY, refusal
    return LiveEventVerdict.ACCEPTED, _describe_unknown_fields(OrderBody, body)


def _identity_refusal_text(received: ReceivedEventRequest, body: Mapping[str, Any]) -> str:
    """Return why the signed identity of an event or order is refused; "" if it is not."""
    if received.identity_refusal is None:
        return ""
    reason = received.identity_refusal(body)
    return f"Its signed identity counts as none: {reason}." if reason else ""


def _clock_skew_minutes(timestamp: object, at_ms: int) -> int:
    """Return the difference between an event's time and ours; 0 if it has no time."""
    try:
        return abs(parse_timestamp(str(timestamp)) - at_ms) // MINUTE_MS if timestamp else 0
    except ValueError:
        return 0


def _to_live_event(
    received: ReceivedEventRequest,
    body: Mapping[str, Any],
    verdict: LiveEventVerdict,
    detail: str,
    body_text: str,
) -> LiveEvent:
    items = _order_item_ids(body) if received.is_order else _event_item_ids(body)
    order_id = body.get("order_id") if received.is_order else None
    detail = f"Order {order_id}. {detail}" if order_id else detail
    subject = ", ".join(items) or str(body.get("search_query") or body.get("item_id") or "")
    text = body_text or json.dumps(body, ensure_ascii=False, indent=1)
    return LiveEvent(
        at_ms=received.at_ms,
        verdict=verdict,
        kind=ORDER if received.is_order else _clean(str(body.get("event") or ""))[:32],
        session=_clean(str(body.get("session_id") or body.get("user_id") or "")),
        item=_clean(subject),
        client=received.client,
        detail=_clean(detail, 500),
        body=_clean(text, MAX_BODY),
        event_id="" if received.is_order else str(body.get("event_id") or ""),
        items=items if received.is_order or _is_about_products(body) else (),
    )


def _event_item_ids(body: Mapping[str, Any]) -> tuple[str, ...]:
    listed = body.get("item_ids")
    if isinstance(listed, str):
        listed = listed.split(",")
    if isinstance(listed, list) and listed:
        return tuple(str(item_id).strip() for item_id in listed[:200])
    item = body.get("item_id")
    return (str(item).strip(),) if item and _is_about_products(body) else ()


def _order_item_ids(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the products of an order's lines."""
    lines = body.get("items")
    some = lines[:200] if isinstance(lines, list) else []
    ids = (line.get("item_id") for line in some if isinstance(line, dict))
    return tuple(str(item_id).strip() for item_id in ids if item_id is not None)


def _is_about_products(body: Mapping[str, Any]) -> bool:
    kind = EVENT_KINDS.get(str(body.get("event")))
    return kind is not None and EVENT_SUBJECTS[kind] in _PRODUCTS


def _parse_event_bodies(data: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        decoded = json.loads(data)
    except (ValueError, RecursionError):
        decoded = {}
    for body in decoded if isinstance(decoded, list) else [decoded]:
        yield body if isinstance(body, dict) else {}


def _clean(text: str, limit: int = _MAX_NAME) -> str:
    """Return a text that every database stores: no NUL characters, no lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", "�")[:limit]
