"""POST /v1/events: what is stored, and what the reply says."""

from typing import Final

import pytest

from productrecs.core.timestamps import parse_timestamp
from productrecs.records.events.event import EVENT_KINDS, EventKind
from tests.api.stored import event_rows, line_rows
from tests.support.service import Merchant, Reply, Service

NOON: Final = parse_timestamp("2026-03-01T12:00:00Z")
Body = dict[str, object]


def view(item_id: str = "a", **fields: object) -> Body:
    return {"event": "detail-page-view", "item_id": item_id, "session_id": "s_1"} | fields


def check_taken(reply: Reply, *expected: str) -> None:
    assert reply.status == 200, reply
    assert reply.json.pop("ok") is True
    received = reply.json.get("warnings", [])
    assert len(received) == len(expected), received
    for warning, word in zip(received, expected, strict=True):
        assert word in warning


def locs(reply: Reply) -> list[list[str | int]]:
    assert reply.status == 422, reply
    return [problem["loc"] for problem in reply.json["detail"]]


@pytest.fixture
def merchant(merchant: Merchant) -> Merchant:
    """Return a fresh store with two items."""
    assert merchant.push({"id": "a"}, {"id": "b"}).status == 200
    return merchant


EXAMPLES: Final[dict[str, Body]] = {
    "detail-page-view": {"item_id": "a"},
    "add-to-cart": {"item_id": "a", "value": 5, "currency": "EUR", "quantity": 2},
    "buy": {"item_id": "a", "order_id": "A-1", "value": "7.50", "currency": "EUR"},
    "category-view": {"item_id": "Tents"},
    "search-pref": {"search_query": "red tent"},
    "search-click": {"item_id": "a", "search_query": "red tent"},
    "image-search-click": {"item_id": "a"},
    "metadata-pref": {"item_id": "Acme"},
    "rec-impression": {"item_ids": "a, b", "sources": ["buy", "mix"], "positions": [1, 2]},
    "rec-click": {"item_id": "b", "source": "buy", "position": 3, "widget": "fbt"},
}


@pytest.mark.parametrize("name", sorted(EVENT_KINDS))
def test_every_kind_of_event_is_stored(
    service: Service, merchant: Merchant, name: str
) -> None:
    check_taken(merchant.track({"event": name, "session_id": "s_1"} | EXAMPLES[name]))

    rows = event_rows(service, merchant)
    if name == "buy":
        (line,) = line_rows(service, merchant)
        assert (line["item"], line["total"], line["quantity"]) == ("a", 7.5, None)
        assert rows == []
    else:
        assert {EventKind(row["kind"]) for row in rows} == {EVENT_KINDS[name]}


def test_what_an_event_says_is_kept_and_what_it_does_not_say_is_unknown(
    service: Service, merchant: Merchant
) -> None:
    check_taken(
        merchant.track(
            view(widget="my-own", color="red", user_id=12, session_id="s_9"),
            {"event": "add-to-cart", "item_id": "b", "user_id": "u", "value": 3},
            {"event": "rec-click", "item_id": "a", "session_id": "s_9", "position": "2"},
            {
                "event": "search-click",
                "item_id": "a",
                "user_id": "u",
                "search_query": " x ",
            },
            {"event": "category-view", "item_id": "Tents", "user_id": "u"},
        ),
        "field 'color' was ignored",
    )

    first, cart, click, found, category = event_rows(service, merchant)

    assert (first["shopper"], first["session"], first["widget"]) == ("12", "s_9", "my-own")
    assert (cart["value"], cart["quantity"], cart["currency"]) == (3.0, None, None)
    assert (click["position"], click["source"], click["session"]) == (2, None, "s_9")
    assert (found["item"], found["term"]) == ("a", "x")
    assert (category["item"], category["term"]) == (None, "Tents")


def test_an_impression_becomes_one_row_for_each_item(
    service: Service, merchant: Merchant
) -> None:
    shown = {"sources": ["buy", None, "similar"], "positions": [1, 2, 3]}
    sent = {"event": "rec-impression", "session_id": "s_1", "item_ids": ["a", "b", "zz"]}

    check_taken(merchant.track(sent | shown), "'zz'")

    rows = event_rows(service, merchant)
    assert [(row["item"], row["source"], row["position"]) for row in rows] == [
        ("a", "buy", 1),
        ("b", None, 2),
        ("zz", "similar", 3),
    ]


def test_an_array_is_stored_in_the_order_in_which_things_happened(
    service: Service, merchant: Merchant
) -> None:
    names = [f"i{n}" for n in range(500)]

    reply = merchant.track(*(view(name) for name in names))

    assert reply.status == 200
    rows = event_rows(service, merchant)
    assert [row["item"] for row in rows] == names
    assert [row["seq"] for row in rows] == sorted(row["seq"] for row in rows)
    assert 1 <= len(reply.json["warnings"]) <= 500


@pytest.mark.parametrize("count", [0, 501])
def test_an_array_holds_from_one_to_five_hundred(
    service: Service, merchant: Merchant, count: int
) -> None:
    body = b"[" + b",".join([b'{"event":"detail-page-view"}'] * count) + b"]"
    target = f"/v1/events?key={merchant.account.publishable}"

    assert locs(merchant.client.ask("POST", target, body)) == [["body"]]
    assert event_rows(service, merchant) == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_wrong_event_keeps_the_whole_array_from_being_stored(
    service: Service, merchant: Merchant, place: int
) -> None:
    events = [view(), view("b"), view("c")]
    events[place]["event"] = "look"

    assert locs(merchant.track(*events)) == [["body", place, "event"]]
    assert event_rows(service, merchant) == []


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"event": "Buy", "item_id": "a", "session_id": "s"}, ["body", "event"]),
        ({"event": "detail-page-view", "item_id": "a"}, ["body", "user_id"]),
        ({"event": "rec-impression", "session_id": "s"}, ["body", "item_ids"]),
        (view(quantity=0), ["body", "quantity"]),
    ],
)
def test_an_event_that_lacks_something_is_refused_at_its_place(
    service: Service, merchant: Merchant, body: Body, loc: list[str | int]
) -> None:
    assert loc in locs(merchant.track(body))
    assert event_rows(service, merchant) == []


def test_what_looks_wrong_is_kept_and_said(service: Service, merchant: Merchant) -> None:
    check_taken(merchant.track(view("later")), "'later'")
    check_taken(
        merchant.track({"event": "buy", "item_id": "a", "session_id": "s"}), "order_id"
    )
    check_taken(
        merchant.track({"event": "buy", "item_id": "who", "session_id": "s"}),
        "'who'",
        "order_id",
    )

    assert [row["item"] for row in event_rows(service, merchant)] == ["later"]
    assert [row["item"] for row in line_rows(service, merchant)] == ["a", "who"]
    merchant.push({"id": "later"})
    check_taken(merchant.track(view("later")))


def test_an_event_id_is_stored_once_however_it_comes(
    service: Service, merchant: Merchant, other: Merchant
) -> None:
    impression = {"event": "rec-impression", "session_id": "s_1", "item_ids": ["a", "b"]}
    for _ in range(3):
        check_taken(merchant.track(view(event_id="e-1")))
        check_taken(merchant.track(view(event_id="e-1"), view("b", event_id="e-2")))
        check_taken(merchant.track(impression | {"event_id": "e-3"}))
        check_taken(merchant.track(view("b", event_id=7), view("b", event_id="7")))
    other.track(view(event_id="e-1"))

    assert [row["item"] for row in event_rows(service, merchant)] == [
        "a",
        "b",
        "a",
        "b",
        "b",
    ]
    assert len(event_rows(service, other)) == 1


def test_without_an_event_id_a_repeat_is_another_event(
    service: Service, merchant: Merchant
) -> None:
    for _ in range(3):
        check_taken(merchant.track(view()))

    assert len(event_rows(service, merchant)) == 3


def test_a_suspicious_number_of_warnings_is_cut_and_everything_is_stored(
    service: Service, merchant: Merchant
) -> None:
    reply = merchant.track(*(view(f"new-{n}") for n in range(300)))

    assert len(reply.body) < 16 * 1024
    assert len(event_rows(service, merchant)) == 300


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("purchase", "buy"),
        ("page_view", "detail-page-view"),
        ("add_to_cart", "add-to-cart"),
        ("Search", "search-pref"),
        ("detail-page-views", "detail-page-view"),
        ("x" * 1000, ""),
    ],
)
def test_an_unknown_kind_is_answered_with_the_kind_that_is_meant(
    merchant: Merchant, sent: str, meant: str
) -> None:
    (problem,) = merchant.track({**view(), "event": sent}).json["detail"]

    assert ("did you mean" in problem["msg"]) == bool(meant)
    assert meant in problem["msg"]
    assert "rec-impression" in problem["msg"]
