"""Event schema: read exactly as the contract says; errors have a location."""

import json
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from productrecs.http.routes.widget.events import parse_event_fast
from productrecs.records.events.event import EVENT_KINDS, EventKind, NewEvent
from productrecs.schemas.events import (
    EventBody,
    parse_events_with_indexes,
    parse_imported_event,
)
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError, validation_error_body
from tests.http.hostile import MISSHAPEN

ABOUT_A_PRODUCT = [
    "detail-page-view",
    "add-to-cart",
    "buy",
    "search-click",
    "image-search-click",
    "rec-click",
]
ABOUT_A_NAME = ["category-view", "metadata-pref"]


def _event(event: object = "detail-page-view", **fields: object) -> dict[str, object]:
    return {"event": event, "item_id": "a", "session_id": "s_1", **fields}


def _one(body: object) -> NewEvent:
    """Return the only event that `body` tells."""
    (event,), origins = parse_events_with_indexes(body)
    assert origins == [0]
    return event


def _refused(body: object) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(InvalidInputError) as refused:
        parse_events_with_indexes(body)
    assert len(validation_error_body(refused.value.problems)) <= 64 * 1024
    return [(problem.loc, problem.type) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("sent", "source", "look"),
    [
        ("look:7", "look", "7"),
        ("look", "look", None),
        ("look:", "look:", None),
        ("mix:7", "mix:7", None),
        (None, None, None),
    ],
)
def test_the_source_of_a_look_names_the_look(
    sent: str | None, source: str | None, look: str | None
) -> None:
    click = _one(_event("rec-click", source=sent, widget="look"))
    shown, other = parse_events_with_indexes(
        {
            "event": "rec-impression",
            "session_id": "s_1",
            "item_ids": ["a", "b"],
            "sources": [sent, "mix"],
            "widget": "look",
        }
    )[0]

    assert (click.source, click.term) == (source, look)
    assert (shown.source, shown.term) == (source, look)
    assert (other.source, other.term) == ("mix", None)


@pytest.mark.parametrize("name", ABOUT_A_PRODUCT)
def test_most_kinds_are_about_a_product(name: str) -> None:
    event = _one(_event(name))

    assert (event.kind, event.item_id, event.term) == (EVENT_KINDS[name], "a", None)
    assert _refused({"event": name, "user_id": "u"}) == [(("body", "item_id"), "missing")]
    assert _refused(_event(name, item_id="")) == [(("body", "item_id"), "missing")]


@pytest.mark.parametrize("name", ABOUT_A_NAME)
def test_some_kinds_are_about_a_category_or_a_value(name: str) -> None:
    event = _one(_event(name, item_id="Tents"))

    assert (event.item_id, event.term) == (None, "Tents")
    assert _refused({"event": name, "user_id": "u"}) == [(("body", "item_id"), "missing")]


def test_a_search_is_about_its_words() -> None:
    event = _one({"event": "search-pref", "user_id": "u", "search_query": "  red tent "})

    assert (event.item_id, event.term) == (None, "red tent")
    for query in (None, "", "   "):
        body = {"event": "search-pref", "user_id": "u", "search_query": query}
        assert _refused(body) == [(("body", "search_query"), "missing")]


def test_a_search_is_about_no_product() -> None:
    assert _one(_event("search-pref", search_query="tent")).item_id is None


def test_a_long_query_is_cut_at_256_characters() -> None:
    assert _one(_event("search-pref", search_query="é" * 5000)).term == "é" * 256


@pytest.mark.parametrize(("query", "term"), [("tent ", "tent"), (None, None), (" ", None)])
def test_a_click_on_a_search_result_may_say_the_words(
    query: str | None, term: str | None
) -> None:
    event = _one(_event("search-click", search_query=query))

    assert (event.item_id, event.term) == ("a", term)


def test_a_purchase_carries_its_order_and_revenue() -> None:
    body = _event(
        "buy",
        user_id=42,
        order_id=1001,
        value="99.80",
        currency="eur",
        quantity=2.0,
        widget="fbt",
        event_id="e-1",
    )

    assert _one(body) == NewEvent(
        kind=EventKind.BUY,
        item_id="a",
        user_id="42",
        session_id="s_1",
        order_id="1001",
        value=99.8,
        currency="EUR",
        quantity=2,
        widget="fbt",
        event_id="e-1",
    )


def test_a_quantity_is_never_fabricated() -> None:
    assert _one(_event("buy", order_id="A")).quantity is None
    assert _one(_event("add-to-cart")).quantity is None


def test_an_event_keeps_only_what_its_kind_carries() -> None:
    everything = {
        "order_id": "A",
        "value": 1,
        "currency": "EUR",
        "quantity": 1,
        "source": "buy",
        "position": 1,
        "search_query": "tent",
        "item_ids": ["x", "y"],
        "sources": ["mix"],
        "shoe_size": 44,
    }

    bare = NewEvent(EventKind.DETAIL_PAGE_VIEW, "a", session_id="s_1")
    assert _one(_event(**everything)) == bare
    click = _one(_event("rec-click", **everything))
    assert (click.source, click.position, click.value) == ("buy", 1, None)
    cart = _one(_event("add-to-cart", **everything))
    assert (cart.value, cart.quantity, cart.order_id, cart.source) == (1.0, 1, None, None)


@pytest.mark.parametrize("widget", ["recs", "fbt", "cart", "trending", "search", "my own"])
def test_an_unknown_widget_is_kept(widget: str) -> None:
    assert _one(_event(widget=widget)).widget == widget


@pytest.mark.parametrize(
    "identity",
    [{}, {"user_id": None}, {"user_id": "", "session_id": ""}, {"session_id": None}],
)
def test_an_event_without_an_identity_is_refused(identity: dict[str, object]) -> None:
    body = {"event": "detail-page-view", "item_id": "a", **identity}

    assert _refused(body) == [(("body", "user_id"), "missing")]


@pytest.mark.parametrize(
    ("identity", "shopper"),
    [
        ({"user_id": "u", "session_id": ""}, "u"),
        ({"user_id": "", "session_id": "s"}, "s"),
        ({"user_id": "u", "session_id": "s"}, "u"),
        ({"user_id": 0}, "0"),
    ],
)
def test_one_identity_is_enough(identity: dict[str, object], shopper: str) -> None:
    assert _one({"event": "buy", "item_id": "a", **identity}).shopper == shopper


@pytest.mark.parametrize("character", ["\r", "\n", "\t", "\x1b", "\x7f", "\x85", "\u2028"])
@pytest.mark.parametrize(
    "name", ["user_id", "session_id", "order_id", "widget", "source", "event_id"]
)
def test_a_control_character_in_an_id_or_a_name_is_refused(
    name: str, character: str
) -> None:
    """A bare CR started a row of an export, with a formula."""
    body = _event("buy", **{name: f"A1{character}=1+1"})

    assert _refused(body) == [(("body", name), "string_control")]
    for ascii_only in (True, False):
        sent = json.dumps(body, ensure_ascii=ascii_only).encode()
        assert parse_event_fast(sent) is None  # the reference has the say


@pytest.mark.parametrize("name", ["view", "Buy", "BUY", " buy", "", None, 1, True, [], {}])
def test_an_unknown_event_is_refused(name: object) -> None:
    assert _refused(_event(name)) == [(("body", "event"), "enum")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("item_id", "x" * 256),
        ("item_id", True),
        ("item_id", "a\0"),
        ("user_id", "x" * 256),
        ("session_id", ["s"]),
        ("order_id", 1.5),
        ("value", "dear"),
        ("value", 1e13),
        ("currency", "x" * 9),
        ("quantity", 0),
        ("quantity", 1.5),
        ("quantity", 2**53 + 1),
        ("position", 0),
        ("position", "first"),
        ("source", 5),
        ("widget", 5),
        ("widget", "x" * 256),
        ("search_query", 5),
        ("search_query", "\ud800"),
        ("event_id", "x" * 65),
        ("event_id", 1.5),
        ("item_ids", {}),
        ("sources", "buy"),
        ("positions", 5),
    ],
)
@pytest.mark.parametrize("kind", ["detail-page-view", "rec-impression"])
def test_a_wrong_value_is_refused_whether_its_kind_needs_it_or_not(
    kind: str, name: str, value: object
) -> None:
    assert [loc for loc, _ in _refused(_event(kind, **{name: value}))] == [("body", name)]


@pytest.mark.parametrize(("length", "taken"), [(1, True), (64, True), (65, False)])
def test_an_event_id_has_at_most_64_characters(length: int, taken: bool) -> None:  # noqa: FBT001 a table
    body = _event(event_id="é" * length)

    if taken:
        assert _one(body).event_id == "é" * length
    else:
        assert _refused(body) == [(("body", "event_id"), "string_too_long")]


@pytest.mark.parametrize(("sent", "read"), [("", None), (None, None), (7, "7")])
def test_an_event_id_may_be_empty_or_a_number(sent: object, read: str | None) -> None:
    assert _one(_event(event_id=sent)).event_id == read


@pytest.mark.parametrize("items", [["a", "b", 7], "a,b,7", " a , b ,7, "])
def test_an_impression_is_one_event_per_product_shown(items: object) -> None:
    body = {
        "event": "rec-impression",
        "session_id": "s_1",
        "item_ids": items,
        "sources": ["buy", None, "mix"],
        "positions": [1, "2", 3.0],
        "widget": "recs",
        "event_id": "e",
    }

    events, origins = parse_events_with_indexes(body)

    assert origins == [0, 0, 0]
    assert [(event.item_id, event.source, event.position) for event in events] == [
        ("a", "buy", 1),
        ("b", None, 2),
        ("7", "mix", 3),
    ]
    assert {
        (event.kind, event.shopper, event.widget, event.event_id) for event in events
    } == {(EventKind.REC_IMPRESSION, "s_1", "recs", "e")}


def test_an_impression_of_one_product_may_have_scalars() -> None:
    event = _one(_event("rec-impression", source="mix", position=4))

    assert (event.item_id, event.source, event.position) == ("a", "mix", 4)


def test_scalars_are_ignored_for_several_products() -> None:
    events, _ = parse_events_with_indexes(
        _event("rec-impression", item_ids="a,b", source="mix")
    )

    assert [event.source for event in events] == [None, None]


def test_the_products_shown_win_over_a_single_one() -> None:
    events, _ = parse_events_with_indexes(_event("rec-impression", item_ids=["x", "y"]))

    assert [event.item_id for event in events] == ["x", "y"]


@pytest.mark.parametrize("items", [[], "", " , ", None])
def test_an_impression_of_nothing_is_refused(items: object) -> None:
    body = {"event": "rec-impression", "user_id": "u", "item_ids": items}

    assert _refused(body) == [(("body", "item_ids"), "missing")]


@pytest.mark.parametrize("name", ["sources", "positions"])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_lists_that_do_not_align_are_refused(name: str, length: int) -> None:
    listed: list[object] = [1 if name == "positions" else "buy"] * length
    body = _event("rec-impression", item_ids=["a", "b"], **{name: listed})

    assert _refused(body) == [(("body", name), "misaligned")]


@pytest.mark.parametrize(
    ("name", "value", "index"),
    [("item_ids", ["a", ""], 1), ("sources", [5], 0), ("positions", [1, 0], 1)],
)
def test_a_wrong_member_is_refused_at_its_place(
    name: str, value: list[object], index: int
) -> None:
    assert [loc for loc, _ in _refused(_event("rec-impression", **{name: value}))] == [
        ("body", name, index)
    ]


@pytest.mark.parametrize("listed", [["a"] * 201, ",".join(["a"] * 201)])
def test_an_impression_shows_at_most_200_products(listed: object) -> None:
    assert (
        len(parse_events_with_indexes(_event("rec-impression", item_ids=["a"] * 200))[0])
        == 200
    )
    assert _refused(_event("rec-impression", item_ids=listed)) == [
        (("body", "item_ids"), "too_long")
    ]


def test_an_array_keeps_its_order_and_says_where_each_event_came_from() -> None:
    body = [
        _event(item_id="a"),
        {"event": "rec-impression", "item_ids": "x,y", "user_id": "u"},
        _event("buy", item_id="b"),
    ]

    events, origins = parse_events_with_indexes(body)

    assert [event.item_id for event in events] == ["a", "x", "y", "b"]
    assert origins == [0, 1, 1, 2]


def test_one_wrong_event_refuses_the_array_and_is_found_by_its_number() -> None:
    body = [_event(), _event(item_id=None), _event(value="x"), "buy"]

    assert _refused(body) == [
        (("body", 1, "item_id"), "missing"),
        (("body", 2, "value"), "float_parsing"),
        (("body", 3), "model_type"),
    ]


def test_an_array_of_nothing_but_mistakes_is_refused_in_brief() -> None:
    assert len(_refused([{}] * 500)) == 100


@pytest.mark.parametrize("body", MISSHAPEN.values(), ids=MISSHAPEN)
def test_no_misshapen_body_is_an_event(body: bytes) -> None:
    assert _refused(parse_json(body))


@pytest.mark.parametrize(
    ("timestamp", "zone", "ts_ms"),
    [
        ("1970-01-01T00:00:01Z", "UTC", 1_000),
        ("1970-01-01T02:00:00.5+02:00", "UTC", 500),
        ("1970-01-02", "UTC", 86_400_000),
        ("2026-03-01T12:00:00", "Europe/Berlin", 1_772_362_800_000),
        ("2026-03-01T12:00:00Z", "Europe/Berlin", 1_772_366_400_000),
        ("1969-12-31T23:59:59Z", "UTC", -1_000),
    ],
)
def test_an_imported_event_keeps_its_own_time(
    timestamp: str, zone: str, ts_ms: int
) -> None:
    (event,) = parse_imported_event(_event(timestamp=timestamp), ZoneInfo(zone))

    assert event == NewEvent(EventKind.DETAIL_PAGE_VIEW, "a", session_id="s_1", ts_ms=ts_ms)


def test_an_imported_impression_is_one_event_per_product() -> None:
    row = _event("rec-impression", item_ids="x,y", timestamp="1970-01-01")

    assert [event.ts_ms for event in parse_imported_event(row, UTC)] == [0, 0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "^timestamp: Field required"),
        (
            {"timestamp": "yesterday"},
            "^timestamp: write when it happened as text: .* such as 2026-03-01T09:00:00Z",
        ),
        (
            {"timestamp": ""},
            "^timestamp: write when it happened as text: .* such as 2026-03-01T09:00:00Z",
        ),
        (
            {"timestamp": 1772323200},
            "^timestamp: write when it happened as text: .* such as 2026-03-01T09:00:00Z",
        ),
        (
            {"timestamp": None},
            "^timestamp: write when it happened as text: .* such as 2026-03-01T09:00:00Z",
        ),
        ({"timestamp": "2026-03-01", "session_id": None}, "^user_id: "),
        ({"timestamp": "2026-03-01", "event": "view"}, "^event: "),
    ],
)
def test_a_line_that_cannot_be_imported_says_why(
    changes: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        parse_imported_event(_event(**changes), UTC)


def test_a_live_event_carries_no_time_of_its_own() -> None:
    assert _one(_event(timestamp="2020-01-01T00:00:00Z")).ts_ms is None


def test_the_published_schema_names_every_kind() -> None:
    schema = EventBody.model_json_schema()

    assert schema["properties"]["event"]["enum"] == list(EVENT_KINDS)
    assert schema["required"] == ["event"]
