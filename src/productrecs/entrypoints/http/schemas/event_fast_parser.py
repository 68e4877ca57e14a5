"""Fast event parser: one plain event, read without pydantic.

The pydantic schema of events is the reference. This parser takes the most common form of a
valid event and leaves everything else to the reference; a test with random input compares
the two.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from productrecs.entrypoints.http.schemas.events import (
    MAX_EVENT_ID,
    MAX_SHOWN,
    missing_fields,
    to_events,
)
from productrecs.entrypoints.http.schemas.field_readers import (
    MAX_CURRENCY,
    MAX_ID,
    MAX_INTEGER,
    MAX_NUMBER,
    read_currency,
)
from productrecs.records.events.event import EVENT_KINDS, NewEvent

_Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=MAX_INTEGER)]
_Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
_Currency: TypeAlias = Annotated[str, msgspec.Meta(max_length=MAX_CURRENCY)]
_EventId: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_EVENT_ID)]
_UpToShown = msgspec.Meta(max_length=MAX_SHOWN)
_MAX_ARRAYS = 3  # item_ids, sources, positions


class _PlainEvent(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of an event, each in the type that needs no reading."""

    event: str
    item_id: _Id | None = None
    user_id: _Id | None = None
    session_id: _Id | None = None
    order_id: _Id | None = None
    value: _Amount | None = None
    currency: _Currency | None = None
    quantity: _Count | None = None
    item_ids: Annotated[tuple[_Id, ...], _UpToShown] = ()
    sources: Annotated[tuple[_Id | None, ...], _UpToShown] | None = None
    positions: Annotated[tuple[_Count | None, ...], _UpToShown] | None = None
    source: _Id | None = None
    position: _Count | None = None
    search_query: str | None = None
    widget: _Id | None = None
    event_id: _EventId | None = None


_decode = msgspec.json.Decoder(_PlainEvent).decode


def parse_event_fast(data: bytes) -> list[NewEvent] | None:
    """Return the events of a plain single-event body, or None: ask `parse_events`.

    None is no verdict: the body may be right in an unusual form (unknown fields, ids
    as numbers, an array of events) or wrong.
    """
    # a NUL is always an escape in JSON, and one object cannot nest its fields deeply
    if b"\\u0000" in data or data.count(b"{") != 1 or data.count(b"[") > _MAX_ARRAYS:
        return None
    try:
        body = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    kind = EVENT_KINDS.get(body.event)
    if kind is None:
        return None
    if body.currency is not None:
        body.currency = read_currency(body.currency)
    if missing_fields(kind, body, None, ()):
        return None
    return to_events(kind, body)
