"""Event schema: the body of `POST /v1/events`, and events to import."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from productrecs.core.timestamps import parse_timestamp
from productrecs.records.events.event import (
    EVENT_KINDS,
    EVENT_SUBJECTS,
    KINDS_WITH_PLACEMENT,
    KINDS_WITH_POSITION,
    KINDS_WITH_REVENUE,
    EventKind,
    EventSubject,
    NewEvent,
    split_source_and_look,
)
from productrecs.schemas.field_readers import (
    COUNT_SCHEMA,
    INTEGER_SCHEMA,
    ITEM_ID_SCHEMA,
    NAME_SCHEMA,
    ItemId,
    OptionalCount,
    OptionalCurrency,
    OptionalIdentifier,
    OptionalItemId,
    OptionalNumber,
    Schema,
    SignedIdentity,
    check_string,
    id_schema,
    list_validator,
    nullable,
    read_optional_identifier,
    read_optional_name,
    string_schema,
    text_reader,
)
from productrecs.schemas.validation_errors import (
    MAX_PROBLEMS,
    InvalidInputError,
    Loc,
    ValidationProblem,
    validate_body,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo


MAX_QUERY = 256
"""Longer queries are truncated, as in `GET /v1/search`."""


def find_field_problems(
    kind: EventKind, body: EventBody, sent: object, at: Loc
) -> list[ValidationProblem]:
    """Return the missing fields of an event of `kind`, and lists of unequal length.

    `sent` is the input and `at` its location, for the report.
    """
    problems: list[ValidationProblem] = []
    if body.user_id is None and body.session_id is None:
        message = "user_id or session_id is required: it says whose event this is"
        problems.append(ValidationProblem((*at, "user_id"), message, "missing", sent))
    name = _SUBJECT_READERS[EVENT_SUBJECTS[kind]](body)
    if name is not None:
        message = f"{name} is required for {kind.wire_name}"
        problems.append(ValidationProblem((*at, name), message, "missing", sent))
    if kind is EventKind.REC_IMPRESSION:
        problems += _misaligned_list_problems(body, at)
    return problems


def to_events(kind: EventKind, body: EventBody, ts_ms: int | None = None) -> list[NewEvent]:
    """Return the events of a complete `body`: one, or one per product shown."""
    if kind is EventKind.REC_IMPRESSION:
        return _impression_events(body, ts_ms)
    subject = EVENT_SUBJECTS[kind]
    revenue = kind in KINDS_WITH_REVENUE
    source, look = split_source_and_look(body.source)
    event = NewEvent(
        kind=kind,
        item_id=body.item_id if subject is EventSubject.PRODUCT else None,
        term=look if kind is EventKind.REC_CLICK else _event_term(kind, subject, body),
        user_id=body.user_id,
        session_id=body.session_id,
        order_id=body.order_id if kind is EventKind.BUY else None,
        value=body.value if revenue else None,
        currency=body.currency if revenue else None,
        quantity=body.quantity if revenue else None,
        source=source if kind in KINDS_WITH_PLACEMENT else None,
        position=body.position if kind in KINDS_WITH_POSITION else None,
        widget=body.widget,
        event_id=body.event_id,
        ts_ms=ts_ms,
        identity=body.identity,
    )
    return [event]


def _impression_events(body: EventBody, ts_ms: int | None) -> list[NewEvent]:
    """Return one event per product shown; a lone product may have scalar placement."""
    item_ids = _shown_item_ids(body)
    is_single = len(item_ids) == 1
    sources = body.sources or ((body.source,) if is_single else (None,) * len(item_ids))
    positions = body.positions or (
        (body.position,) if is_single else (None,) * len(item_ids)
    )
    return [
        NewEvent(
            kind=EventKind.REC_IMPRESSION,
            item_id=item_id,
            term=look,
            user_id=body.user_id,
            session_id=body.session_id,
            source=source,
            position=position,
            widget=body.widget,
            event_id=body.event_id,
            ts_ms=ts_ms,
            identity=body.identity,
        )
        for item_id, (source, look), position in zip(
            item_ids, map(split_source_and_look, sources), positions, strict=True
        )
    ]


def _shown_item_ids(body: EventBody) -> tuple[str, ...]:
    return body.item_ids or (() if body.item_id is None else (body.item_id,))


def _misaligned_list_problems(body: EventBody, at: Loc) -> list[ValidationProblem]:
    shown_count = len(_shown_item_ids(body))
    lists = {"sources": body.sources, "positions": body.positions}
    return [
        ValidationProblem(
            loc=(*at, name),
            msg=(
                f"{name} should have one entry per shown item: {shown_count}, "
                f"not {len(listed)}"
            ),
            type="misaligned",
            input=listed,
            ctx={"expected_length": shown_count, "actual_length": len(listed)},
        )
        for name, listed in lists.items()
        if listed is not None and len(listed) != shown_count
    ]


def _event_term(kind: EventKind, subject: EventSubject, body: EventBody) -> str | None:
    if subject is EventSubject.INDICATOR:
        return body.item_id
    if subject is EventSubject.QUERY or kind is EventKind.SEARCH_CLICK:
        return _stored_query(body)
    return None


def _stored_query(body: EventBody) -> str | None:
    query = body.search_query
    return None if query is None else query.strip()[:MAX_QUERY].rstrip() or None


def _missing_item_field(body: EventBody) -> str | None:
    return "item_id" if body.item_id is None else None


def _missing_items_field(body: EventBody) -> str | None:
    return None if _shown_item_ids(body) else "item_ids"


def _missing_query_field(body: EventBody) -> str | None:
    return "search_query" if _stored_query(body) is None else None


_SUBJECT_READERS: Mapping[EventSubject, Callable[[EventBody], str | None]] = (
    MappingProxyType(
        {
            EventSubject.PRODUCT: _missing_item_field,
            EventSubject.INDICATOR: _missing_item_field,
            EventSubject.PRODUCTS: _missing_items_field,
            EventSubject.QUERY: _missing_query_field,
        }
    )
)
"""Functions that return the missing field of each subject, or None."""


MAX_EVENTS = 500
MAX_SHOWN = 200
"""Products of one impression; each becomes a row."""
MAX_EVENT_ID = 64
_LONGEST_KIND = 32
EVENT_LIMIT: Final = 64 * 1024
"""The most bytes of one event, as a body or as a line of a file."""


_MEANT_KINDS: Final = MappingProxyType(
    {
        "purchase": EventKind.BUY,
        "order": EventKind.BUY,
        "transaction": EventKind.BUY,
        "view": EventKind.DETAIL_PAGE_VIEW,
        "page-view": EventKind.DETAIL_PAGE_VIEW,
        "view-item": EventKind.DETAIL_PAGE_VIEW,
        "product-view": EventKind.DETAIL_PAGE_VIEW,
        "cart": EventKind.ADD_TO_CART,
        "view-category": EventKind.CATEGORY_VIEW,
        "search": EventKind.SEARCH_PREF,
        "click": EventKind.REC_CLICK,
        "impression": EventKind.REC_IMPRESSION,
    }
)
"""What other systems call the kinds of events."""


def _guess_kind_name(value: object) -> str | None:
    """Return the kind that an unknown one probably means."""
    if not isinstance(value, str):
        return None
    name = value[:_LONGEST_KIND].strip().lower().replace("_", "-").replace(" ", "-")
    known = _MEANT_KINDS.get(name)
    if known is not None:
        return known.wire_name
    return next(iter(get_close_matches(name, EVENT_KINDS, 1)), None)


def _read_kind(value: object) -> EventKind:
    kind = EVENT_KINDS.get(value) if isinstance(value, str) else None
    if kind is None:
        expected = ", ".join(EVENT_KINDS)
        meant = _guess_kind_name(value)
        if meant is not None:
            message = "Input should be one of {expected}; did you mean `{meant}`?"
            raise PydanticCustomError(
                "enum", message, {"expected": expected, "meant": meant}
            )
        raise PydanticKnownError("enum", {"expected": expected})
    return kind


def _read_event_id(value: object) -> str | None:
    event_id = read_optional_identifier(value)
    return None if event_id is None else check_string(event_id, MAX_EVENT_ID)


_WHEN: Final = (
    "write when it happened as text: year, month, day and time, such as "
    "2026-03-01T09:00:00Z; in JavaScript: new Date().toISOString()"
)


def _read_timestamp(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("iso_date", _WHEN)
    return value


def _split_ids(value: object) -> object:
    """Return the ids of a comma-separated string; other values unchanged."""
    if not isinstance(value, str):
        return value
    return [part for part in map(str.strip, value.split(",")) if part]


def _list_schema(member: Schema, *other_members: Schema) -> WithJsonSchema:
    listed: Schema = {"type": "array", "maxItems": MAX_SHOWN, "items": member}
    return WithJsonSchema(nullable(listed, *other_members))


PlacementName = Annotated[
    str | None, PlainValidator(read_optional_name), WithJsonSchema(NAME_SCHEMA)
]
QueryText = Annotated[
    str | None,
    PlainValidator(text_reader(EVENT_LIMIT, None)),
    WithJsonSchema(nullable(string_schema(0, EVENT_LIMIT))),
]
EventId = Annotated[
    str | None,
    PlainValidator(_read_event_id),
    WithJsonSchema(nullable(id_schema(0, MAX_EVENT_ID), INTEGER_SCHEMA)),
]
ShownItems = Annotated[
    tuple[ItemId, ...],
    list_validator(MAX_SHOWN),
    BeforeValidator(_split_ids),
    _list_schema(ITEM_ID_SCHEMA, string_schema(0, EVENT_LIMIT)),
]
ShownSources = Annotated[
    tuple[PlacementName, ...] | None,
    list_validator(MAX_SHOWN, None),
    _list_schema(NAME_SCHEMA),
]
ShownPositions = Annotated[
    tuple[OptionalCount, ...] | None,
    list_validator(MAX_SHOWN, None),
    _list_schema(COUNT_SCHEMA),
]


class EventBody(BaseModel):
    """One thing a shopper did; which fields count depends on `event`.

    `user_id` or `session_id` is required, and the product, category, value or query
    that the event is about.
    """

    model_config = ConfigDict(title="Event", extra="ignore")

    event: Annotated[
        EventKind,
        PlainValidator(_read_kind),
        WithJsonSchema({"type": "string", "enum": list(EVENT_KINDS)}),
    ]
    item_id: OptionalItemId = Field(
        None, description="A product; for category-view and metadata-pref, a name or value."
    )
    user_id: OptionalIdentifier = Field(
        None, description=("The customer; takes precedence if sent.")
    )
    session_id: OptionalIdentifier = Field(None, description="The widgets' `pr_sid`.")
    order_id: OptionalIdentifier = Field(
        None, description=("For buy: the order whose products were bought together.")
    )
    value: OptionalNumber = Field(None, description="Unit price x units of the line.")
    currency: OptionalCurrency = None
    quantity: OptionalCount = Field(None, description="Units; absent: unknown.")
    item_ids: ShownItems = Field((), description="For rec-impression: all products shown.")
    sources: ShownSources = Field(None, description="One for each of `item_ids`.")
    positions: ShownPositions = Field(
        None, description="One for each of `item_ids`, from 1."
    )
    source: PlacementName = Field(None, description="Of rec-click.")
    position: OptionalCount = Field(None, description="For a click on a list, from 1.")
    search_query: QueryText = Field(None, description="For search-pref and search-click.")
    widget: PlacementName = Field(
        None, description="recs, fbt, cart, trending, search, or yours."
    )
    event_id: EventId = Field(None, description="The idempotency key, for 7 days.")
    identity: SignedIdentity = Field(None, description="Proves that `user_id` is theirs.")


class ImportedEventBody(EventBody):
    """An event of the past, with the time it happened."""

    timestamp: Annotated[
        str,
        PlainValidator(_read_timestamp),
        WithJsonSchema({"type": "string", "format": "date-time"}),
    ]


def parse_events_with_indexes(body: object) -> tuple[list[NewEvent], list[int]]:
    """Return the events of a body in order, and the index of each one's object.

    A `rec-impression` gives one event per product shown, so the second list (indexes
    into the array sent, all 0 for a single object) rises and may repeat.

    Raises:
        InvalidInputError: when the body or any event is invalid; no event is accepted then.
    """
    if not isinstance(body, list):
        events = _parse_event_body(body, ("body",))
        return events, [0] * len(events)
    _check_event_count(body)
    parsed: list[NewEvent] = []
    body_indexes: list[int] = []
    problems: list[ValidationProblem] = []
    for index, member in enumerate(body):
        try:
            events = _parse_event_body(member, ("body", index))
        except InvalidInputError as error:
            problems += error.problems
            if len(problems) >= MAX_PROBLEMS:  # more are not reported
                break
        else:
            parsed += events
            body_indexes += [index] * len(events)
    if problems:
        raise InvalidInputError(problems)
    return parsed, body_indexes


def parse_imported_event(row: object, zone: tzinfo) -> list[NewEvent]:
    """Return the events of one line of a file to import, each at its own `timestamp`.

    A `timestamp` without an offset is in `zone`; a date alone means its midnight.

    Raises:
        InvalidInputError: when the line is not an event with a timestamp.
    """
    body = validate_body(ImportedEventBody, row, ())
    try:
        event_ms = parse_timestamp(body.timestamp, zone)
    except ValueError:
        problem = ValidationProblem(("timestamp",), _WHEN, "iso_date", body.timestamp)
        raise InvalidInputError([problem]) from None
    problems = find_field_problems(body.event, body, row, ())
    if problems:
        raise InvalidInputError(problems)
    return to_events(body.event, body, event_ms)


def _parse_event_body(body: object, at: Loc) -> list[NewEvent]:
    event = validate_body(EventBody, body, at)
    problems = find_field_problems(event.event, event, body, at)
    if problems:
        raise InvalidInputError(problems)
    return to_events(event.event, event)


def _check_event_count(body: Sequence[object]) -> None:
    if 1 <= len(body) <= MAX_EVENTS:
        return
    kind = "too_long" if body else "too_short"
    message = f"An array should hold 1 to {MAX_EVENTS} events, not {len(body)}"
    raise InvalidInputError([ValidationProblem(("body",), message, kind, body)])
