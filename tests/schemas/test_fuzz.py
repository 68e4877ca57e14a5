"""Fuzzing of the body readers: any input is read or rejected."""

import json
from collections.abc import Callable
from datetime import UTC

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from productrecs.http.routes.widget.events import parse_event_fast
from productrecs.schemas.events import (
    EventBody,
    parse_events_with_indexes,
    parse_imported_event,
)
from productrecs.schemas.items import (
    ItemBody,
    TooManyItemsError,
    parse_item,
    parse_item_row,
    parse_items,
)
from productrecs.schemas.orders import OrderBody, OrderLineBody, parse_order
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError, validation_error_body
from tests.http.hostile import MISSHAPEN, UNREADABLE

NAMES = sorted(
    {"items", "timestamp", "undeclared"}.union(
        *(model.model_fields for model in (ItemBody, OrderBody, OrderLineBody, EventBody))
    )
)
anything_text = st.text(st.characters(), max_size=12)  # half surrogate pairs too
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    anything_text,
    st.sampled_from(
        ["buy", "rec-impression", "search-pref", "in stock", "2026-03-01", "9999-12-31"]
    ),
    st.sampled_from(
        ["1e5", "1e9999", "-0", "١", "9" * 500, 10**400, -(10**400), "x" * 300]
    ),
    st.sampled_from(
        ["0001-01-01T00:00+14:00", "2026-03-01T24:00", "2026-W53-7", "T", "--"]
    ),
)
anything = st.recursive(
    leaves,
    lambda children: st.one_of(
        st.lists(children, max_size=4),
        st.dictionaries(
            st.one_of(st.sampled_from(NAMES), anything_text), children, max_size=5
        ),
    ),
    max_leaves=20,
)
things = st.one_of(
    anything,
    st.dictionaries(st.sampled_from(NAMES), leaves, max_size=8),
    st.fixed_dictionaries(
        {"items": st.lists(st.dictionaries(st.sampled_from(NAMES), leaves))}
    ),
)
corpus = st.sampled_from([*UNREADABLE.values(), *MISSHAPEN.values()])
broken = st.builds(
    lambda body, at, byte, cut: body[: at % (len(body) + 1)] + byte + body[cut:],
    st.one_of(
        corpus.filter(lambda body: len(body) < 2000),
        st.builds(lambda value: json.dumps(value).encode(), anything),
    ),
    st.integers(0, 2000),
    st.binary(max_size=3),
    st.integers(0, 2000),
)
bodies = st.one_of(st.binary(max_size=60), st.text().map(str.encode), broken, corpus)
READERS: dict[str, Callable[[object], object]] = {
    "items": parse_items,
    "item": parse_item,
    "events": parse_events_with_indexes,
    "imported event": lambda value: parse_imported_event(value, UTC),
    "order": lambda value: parse_order(value, 0, UTC, confirmed=True),
}


def _read_bytes(body: bytes) -> None:
    """Read `body` every way; anything but a refusal would come out as an error."""
    parse_event_fast(body)
    try:
        value = parse_json(body)
    except InvalidInputError as error:
        _check_reply(error)
        return
    assert value == json.loads(body.decode("utf-8-sig"))
    msgspec.json.encode(value)  # so neither NaN nor half a pair came through
    _read_value(value)


def _read_value(value: object) -> None:
    for read in READERS.values():
        try:
            read(value)
        except TooManyItemsError:
            continue
        except InvalidInputError as error:
            _check_reply(error)


def _check_reply(error: InvalidInputError) -> None:
    reply = validation_error_body(error.problems)
    assert len(reply) <= 64 * 1024
    detail = msgspec.json.decode(reply)["detail"]
    assert 1 <= len(detail) <= 100
    for entry in detail:
        assert {"loc", "msg", "type"} <= set(entry)
        assert len(msgspec.json.encode(entry["input"])) <= 256


@settings(max_examples=300)
@given(bodies)
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    _read_bytes(body)


@settings(max_examples=300)
@given(things)
def test_any_value_is_read_or_refused(value: object) -> None:
    _read_value(value)


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(NAMES), st.one_of(st.none(), anything_text)))
def test_any_row_is_read_or_refused(row: dict[str, str | None]) -> None:
    try:
        parse_item_row(row)
    except InvalidInputError as error:
        _check_reply(error)


@settings(max_examples=300)
@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
)
def test_any_text_comes_back_as_it_was_sent(text: str) -> None:
    sent = json.dumps({"items": [{"id": text, "title": text, "description": text}]})

    (patch,) = parse_items(parse_json(sent.encode()))

    assert (patch.item_id, patch.fields) == (text, {"title": text, "description": text})


@pytest.mark.trust
@settings(max_examples=100_000)
@given(bodies)
def test_any_bytes_are_read_or_refused_at_length(body: bytes) -> None:
    _read_bytes(body)


@pytest.mark.trust
@settings(max_examples=100_000)
@given(things)
def test_any_value_is_read_or_refused_at_length(value: object) -> None:
    _read_value(value)
