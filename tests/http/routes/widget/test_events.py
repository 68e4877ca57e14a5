"""Fast event parser: always the same result as the reference."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from productrecs.http.routes.widget.events import parse_event_fast
from productrecs.records.events.event import EVENT_KINDS, EventKind, NewEvent
from productrecs.schemas.events import parse_events_with_indexes
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError
from tests.http.hostile import MISSHAPEN, UNREADABLE

COMMON: dict[str, dict[str, Any]] = {
    "a view": {"event": "detail-page-view", "item_id": "a", "session_id": "s_1"},
    "a view by a customer": {
        "event": "detail-page-view",
        "item_id": "Röd tröja/1",
        "user_id": "c1",
        "session_id": "s_1",
        "widget": "recs",
        "event_id": "e",
    },
    "a cart": {"event": "add-to-cart", "item_id": "a", "user_id": "c1", "value": 5},
    "a purchase": {
        "event": "buy",
        "item_id": "a",
        "user_id": "c1",
        "order_id": "A-1",
        "value": 9.9,
        "currency": "eur",
        "quantity": 2,
    },
    "a category": {"event": "category-view", "item_id": "Tents", "session_id": "s_1"},
    "a search": {"event": "search-pref", "search_query": " tent ", "session_id": "s_1"},
    "an impression": {
        "event": "rec-impression",
        "item_ids": ["a", "b"],
        "sources": ["buy", "mix"],
        "positions": [1, 2],
        "session_id": "s_1",
    },
    "a click": {
        "event": "rec-click",
        "item_id": "a",
        "source": "mix",
        "position": 3,
        "session_id": "s_1",
    },
    "nulls": {"event": "rec-click", "item_id": "a", "session_id": "s_1", "user_id": None},
}

ids = st.sampled_from(["a", "b", "é", "x" * 255, "x" * 256, "\U0001f600" * 255, " ", "a\0"])
odd: st.SearchStrategy[object] = st.sampled_from(
    [None, "", 0, 7, -1, 2.0, 2.5, True, [], {}, "7", 2**53, 2**53 + 1]
)
texts = st.one_of(ids, st.text(max_size=5), odd)
numbers = st.one_of(
    odd, st.floats(), st.integers(), st.sampled_from([1e12, 1e13, -1e12, "1e3", 10**30])
)
lists = st.one_of(odd, st.lists(texts, max_size=3), st.just(["a"] * 200), st.just("a,b"))
FIELDS = {
    "item_id": texts,
    "user_id": texts,
    "session_id": texts,
    "order_id": texts,
    "value": numbers,
    "currency": st.one_of(
        texts, st.sampled_from(["EUR", "usd", " sek", "ßßßßßßßß", "x" * 9])
    ),
    "quantity": numbers,
    "item_ids": lists,
    "sources": lists,
    "positions": st.one_of(odd, st.lists(numbers, max_size=3)),
    "source": texts,
    "position": numbers,
    "search_query": st.one_of(texts, st.text(min_size=250, max_size=260)),
    "widget": texts,
    "event_id": st.one_of(texts, st.just("x" * 64), st.just("x" * 65)),
    "undeclared": odd,
}
events = st.fixed_dictionaries(
    {
        "event": st.one_of(
            st.sampled_from(list(EVENT_KINDS)), st.sampled_from(list(EVENT_KINDS)), odd
        )
    },
    optional=FIELDS,
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Return an event, mostly nearly right, as some client would write it."""
    event = {**draw(st.sampled_from(list(COMMON.values()))), **draw(events)}
    if draw(st.booleans()):  # nearly right is where two readers would differ
        kept = draw(st.sets(st.sampled_from(list(event)), max_size=2))
        common = draw(st.sampled_from(list(COMMON.values())))
        event = {**common, **{name: event[name] for name in kept}}
    text = json.dumps(event, ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 9)) == 0:  # a key twice
        text = '{"event": "buy", ' + text[1:]
    return text.encode(errors="surrogatepass")


def _reference(body: bytes) -> list[NewEvent] | None:
    try:
        return parse_events_with_indexes(parse_json(body))[0]
    except InvalidInputError:
        return None


def _disagrees(fast: Callable[[bytes], list[NewEvent] | None], body: bytes) -> bool:
    """Return whether the fast way says something, and the reference another thing."""
    parsed = fast(body)
    return parsed is not None and parsed != _reference(body)


@pytest.mark.parametrize("event", COMMON.values(), ids=COMMON)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_common_events_take_the_fast_way(event: object, ascii_only: bool) -> None:  # noqa: FBT001 a table
    body = json.dumps(event, ensure_ascii=ascii_only).encode()

    assert parse_event_fast(body) is not None
    assert parse_event_fast(body) == parse_events_with_indexes(parse_json(body))[0]


def _compare(examples: int) -> int:
    """Compare both ways on random bodies; return how many of them took the fast one."""
    taken: list[bytes] = []

    @settings(max_examples=examples)
    @given(bodies())
    def compare(body: bytes) -> None:
        assert not _disagrees(parse_event_fast, body)
        if parse_event_fast(body) is not None:
            taken.append(body)

    compare()
    return len(taken)


def test_the_fast_way_says_what_the_reference_says() -> None:
    assert _compare(800) >= 80  # else the test compares next to nothing


@pytest.mark.trust
def test_the_fast_way_says_what_the_reference_says_at_length() -> None:
    assert _compare(200_000) >= 20_000


def test_a_careless_fast_way_would_be_caught() -> None:
    # the control: a reader that forgets identities, ranges and kinds
    def careless(body: bytes) -> list[NewEvent] | None:
        try:
            event = json.loads(body)
            return [NewEvent(EventKind.BUY, event["item_id"], user_id=event["user_id"])]
        except (ValueError, KeyError, TypeError):
            return None

    caught = find(
        bodies(),
        lambda body: _disagrees(careless, body),
        settings=settings(max_examples=500),
    )

    assert caught


@pytest.mark.parametrize("body", [*UNREADABLE.values(), *MISSHAPEN.values()])
def test_hostile_bodies_never_take_the_fast_way(body: bytes) -> None:
    assert parse_event_fast(body) is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"event": "detail-page-view", "item_id": "a\\u0000", "user_id": "u"}',
        b'{"event": "detail-page-view", "item_id": "a", "user_id": "u", "x": "\xff"}',
        b'{"event": "detail-page-view", "item_id": "a", "user_id": "u", "x": [[1]]}',
        b'{"event": "detail-page-view", "item_id": "a"}',
        b'{"event": "detail-page-view", "item_id": "", "user_id": "u"}',
        b'{"event": "no such event", "item_id": "a", "user_id": "u"}',
        b'{"event": "buy", "item_id": "a", "user_id": "u", "quantity": 0}',
        b'{"event": "buy", "item_id": "a", "user_id": "u", "value": 1e13}',
        b'[{"event": "detail-page-view", "item_id": "a", "user_id": "u"}]',
    ],
)
def test_what_is_not_plainly_right_is_left_to_the_reference(body: bytes) -> None:
    assert parse_event_fast(body) is None
