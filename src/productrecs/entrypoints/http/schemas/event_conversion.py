"""Event conversion: from a validated body to events, and what a body lacks for that."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from productrecs.entrypoints.http.schemas.validation_errors import Problem
from productrecs.records.events.event import (
    EVENT_SUBJECTS,
    KINDS_WITH_PLACEMENT,
    KINDS_WITH_POSITION,
    KINDS_WITH_REVENUE,
    EventKind,
    EventSubject,
    NewEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from productrecs.entrypoints.http.schemas.validation_errors import Loc

MAX_QUERY = 256
"""Longer queries are cut, as `GET /v1/search` cuts them."""


class EventFields(Protocol):
    """The fields of an event once each is valid by itself."""

    item_id: str | None
    user_id: str | None
    session_id: str | None
    order_id: str | None
    value: float | None
    currency: str | None
    quantity: int | None
    item_ids: tuple[str, ...]
    sources: tuple[str | None, ...] | None
    positions: tuple[int | None, ...] | None
    source: str | None
    position: int | None
    search_query: str | None
    widget: str | None
    event_id: str | None


def missing_fields(
    kind: EventKind, body: EventFields, sent: object, at: Loc
) -> list[Problem]:
    """Return what `body` lacks to be an event of `kind`, and lists of unequal length.

    `sent` is the input and `at` its location, for the report.
    """
    problems: list[Problem] = []
    if body.user_id is None and body.session_id is None:
        message = "user_id or session_id is required: it says whose event this is"
        problems.append(Problem((*at, "user_id"), message, "missing", sent))
    name = _UNNAMED[EVENT_SUBJECTS[kind]](body)
    if name is not None:
        message = f"{name} is required for {kind.wire_name}"
        problems.append(Problem((*at, name), message, "missing", sent))
    if kind is EventKind.REC_IMPRESSION:
        problems += _misaligned(body, at)
    return problems


def to_events(
    kind: EventKind, body: EventFields, ts_ms: int | None = None
) -> list[NewEvent]:
    """Return the events of a complete `body`: one, or one per product shown."""
    if kind is EventKind.REC_IMPRESSION:
        return _impressions(body, ts_ms)
    subject = EVENT_SUBJECTS[kind]
    revenue = kind in KINDS_WITH_REVENUE
    event = NewEvent(
        kind=kind,
        item_id=body.item_id if subject is EventSubject.PRODUCT else None,
        term=_term(kind, subject, body),
        user_id=body.user_id,
        session_id=body.session_id,
        order_id=body.order_id if kind is EventKind.BUY else None,
        value=body.value if revenue else None,
        currency=body.currency if revenue else None,
        quantity=body.quantity if revenue else None,
        source=body.source if kind in KINDS_WITH_PLACEMENT else None,
        position=body.position if kind in KINDS_WITH_POSITION else None,
        widget=body.widget,
        event_id=body.event_id,
        ts_ms=ts_ms,
    )
    return [event]


def _impressions(body: EventFields, ts_ms: int | None) -> list[NewEvent]:
    """Return one event per product shown; a lone product may have scalar placement."""
    shown = _shown(body)
    alone = len(shown) == 1
    sources = body.sources or ((body.source,) if alone else (None,) * len(shown))
    positions = body.positions or ((body.position,) if alone else (None,) * len(shown))
    return [
        NewEvent(
            kind=EventKind.REC_IMPRESSION,
            item_id=item_id,
            user_id=body.user_id,
            session_id=body.session_id,
            source=source,
            position=position,
            widget=body.widget,
            event_id=body.event_id,
            ts_ms=ts_ms,
        )
        for item_id, source, position in zip(shown, sources, positions, strict=True)
    ]


def _shown(body: EventFields) -> tuple[str, ...]:
    return body.item_ids or (() if body.item_id is None else (body.item_id,))


def _misaligned(body: EventFields, at: Loc) -> list[Problem]:
    shown = len(_shown(body))
    lists = {"sources": body.sources, "positions": body.positions}
    return [
        Problem(
            loc=(*at, name),
            msg=f"{name} should have one entry per shown item: {shown}, not {len(listed)}",
            type="misaligned",
            input=listed,
            ctx={"expected_length": shown, "actual_length": len(listed)},
        )
        for name, listed in lists.items()
        if listed is not None and len(listed) != shown
    ]


def _term(kind: EventKind, subject: EventSubject, body: EventFields) -> str | None:
    if subject is EventSubject.INDICATOR:
        return body.item_id
    if subject is EventSubject.QUERY or kind is EventKind.SEARCH_CLICK:
        return _query(body)
    return None


def _query(body: EventFields) -> str | None:
    query = body.search_query
    return None if query is None else query.strip()[:MAX_QUERY].rstrip() or None


def _without_item(body: EventFields) -> str | None:
    return "item_id" if body.item_id is None else None


def _without_items(body: EventFields) -> str | None:
    return None if _shown(body) else "item_ids"


def _without_query(body: EventFields) -> str | None:
    return "search_query" if _query(body) is None else None


_UNNAMED: Mapping[EventSubject, Callable[[EventFields], str | None]] = MappingProxyType(
    {
        EventSubject.PRODUCT: _without_item,
        EventSubject.INDICATOR: _without_item,
        EventSubject.PRODUCTS: _without_items,
        EventSubject.QUERY: _without_query,
    }
)
"""How each subject tells which field it misses, or None."""
