"""POST /v1/orders: an order is stored whole and once, whatever its form."""

import json
from typing import Final

import pytest

from tests.api.stored import Row, line_rows
from tests.support.service import Merchant, Reply, Service

Line = dict[str, object]
LONGEST: Final = 255


def check_received(reply: Reply, order_id: str, lines: int) -> None:
    assert reply.status == 200, reply
    assert reply.json == {
        "ok": True,
        "order_id": order_id,
        "items_ingested": lines,
        "duplicate": lines == 0,
    }


def locs(reply: Reply) -> list[list[str | int]]:
    assert reply.status == 422, reply
    return [problem["loc"] for problem in reply.json["detail"]]


def values_of(rows: list[Row], *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[column] for column in columns) for row in rows]


def test_an_order_is_received_once_whatever_the_repeat_says(
    service: Service, merchant: Merchant
) -> None:
    check_received(merchant.order("A-1", "tent", "stove", user_id="c"), "A-1", 2)
    before = line_rows(service, merchant)

    check_received(merchant.order("A-1", "tent", "stove", user_id="c"), "A-1", 0)
    check_received(merchant.order("A-1", "lamp", user_id="d"), "A-1", 0)

    assert line_rows(service, merchant) == before
    assert values_of(before, "item", "order_id", "shopper") == [
        ("tent", "A-1", "c"),
        ("stove", "A-1", "c"),
    ]
    assert len({row["basket"] for row in before}) == 1


def test_the_same_order_id_of_another_store_is_another_order(
    service: Service, merchant: Merchant, other: Merchant
) -> None:
    check_received(merchant.order("A-1", "tent"), "A-1", 1)
    check_received(other.order("A-1", "tent"), "A-1", 1)

    assert len(line_rows(service, other)) == 1


def test_either_key_brings_an_order_and_both_know_of_it(merchant: Merchant) -> None:
    body = json.dumps({"order_id": "A-1", "items": [{"item_id": "a"}]}).encode()
    account = merchant.account
    ways: list[tuple[str, dict[str, str]]] = [
        (f"/v1/orders?key={account.publishable}", {}),
        ("/v1/orders", {"x-pub-key": account.publishable}),
        ("/v1/orders", {"x-api-key": account.secret}),
        ("/v1/orders", {"authorization": f"Bearer {account.secret}"}),
    ]

    replies = [merchant.client.ask("POST", target, body, keys) for target, keys in ways]

    assert [reply.json["duplicate"] for reply in replies] == [False, True, True, True]


def test_two_lines_of_one_item_both_count(service: Service, merchant: Merchant) -> None:
    lines: list[Line] = [
        {"item_id": "a", "quantity": 2, "price": 5},
        {"item_id": "a", "quantity": 1, "price": 4},
        {"item_id": 7, "price": "2.5"},
    ]

    check_received(merchant.order("A-1", *lines), "A-1", 3)

    assert values_of(line_rows(service, merchant), "item", "line", "quantity", "total") == [
        ("a", 0, 2, 10.0),
        ("a", 1, 1, 4.0),
        ("7", 0, None, 2.5),
    ]


@pytest.mark.parametrize(
    ("line", "quantity", "total"),
    [
        ({}, None, None),
        ({"price": 5}, None, 5.0),
        ({"price": 5, "quantity": 3}, 3, 15.0),
        ({"price": 5, "quantity": 3, "total": 12}, 3, 12.0),
        ({"total": 12}, None, 12.0),
        ({"price": None, "quantity": None, "total": None}, None, None),
        ({"price": 0.1, "quantity": "3"}, 3, 0.3),
        ({"price": 0, "quantity": 2.0}, 2, 0.0),
    ],
)
def test_a_line_keeps_what_it_says_and_no_quantity_is_made_up(
    service: Service,
    merchant: Merchant,
    line: Line,
    quantity: int | None,
    total: float | None,
) -> None:
    check_received(merchant.order("A-1", {"item_id": "a"} | line), "A-1", 1)

    (row,) = line_rows(service, merchant)
    assert row["quantity"] == quantity
    assert row["total"] == (None if total is None else pytest.approx(total))


@pytest.mark.parametrize("order_first", [True, False])
def test_an_order_takes_the_place_of_buy_events_before_and_after_it(
    service: Service,
    merchant: Merchant,
    order_first: bool,  # noqa: FBT001 - which of two
) -> None:
    buy = {"event": "buy", "order_id": "A-1", "session_id": "s_1", "value": 9}

    def events() -> None:
        for item_id in ("a", "b", "only-event"):
            assert merchant.track(buy | {"item_id": item_id}).status == 200

    def order() -> None:
        lines: list[Line] = [
            {"item_id": one, "price": 10} for one in ("a", "b", "only-order")
        ]
        check_received(merchant.order("A-1", *lines, user_id="c"), "A-1", 3)

    for act in (order, events) if order_first else (events, order):
        act()

    rows = line_rows(service, merchant)
    assert sorted(values_of(rows, "item", "total")) == [
        ("a", 10.0),
        ("b", 10.0),
        ("only-event", 9.0),
        ("only-order", 10.0),
    ]
    assert len({row["basket"] for row in rows}) == 1


def test_a_buy_event_sent_twice_for_one_order_counts_once(
    service: Service, merchant: Merchant
) -> None:
    buy = {"event": "buy", "item_id": "a", "order_id": "A-1", "session_id": "s_1"}
    for _ in range(2):
        merchant.track(buy)

    assert values_of(line_rows(service, merchant), "item", "order_id") == [("a", "A-1")]


@pytest.mark.parametrize("count", [1, 100])
def test_an_order_has_up_to_a_hundred_lines(merchant: Merchant, count: int) -> None:
    check_received(merchant.order("A-1", *["a"] * count), "A-1", count)


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"items": []}, ["body", "items"]),
        ({"items": [{"item_id": "a"}, {}]}, ["body", "items", 1, "item_id"]),
        ({"items": [{"item_id": "a", "quantity": 0}]}, ["body", "items", 0, "quantity"]),
        ({"order_id": ["A"]}, ["body", "order_id"]),
    ],
)
def test_what_is_no_order_is_refused_at_its_place_and_leaves_no_receipt(
    service: Service, merchant: Merchant, fields: dict[str, object], loc: list[str | int]
) -> None:
    good: dict[str, object] = {"order_id": "A-1", "items": [{"item_id": "a"}]}
    body = json.dumps(good | fields).encode()

    refused = merchant.client.ask("POST", "/v1/orders", body, merchant.server)

    assert loc in locs(refused)
    assert line_rows(service, merchant) == []
    check_received(merchant.order("A-1", "a"), "A-1", 1)


@pytest.mark.parametrize("character", ["x", "é", "\U0001f600"])
def test_ids_may_have_255_characters_of_any_kind(
    merchant: Merchant, character: str
) -> None:
    longest = character * LONGEST

    received = merchant.order(
        longest, longest, user_id=longest, session_id=longest, currency="x" * 8
    )

    check_received(received, longest, 1)
    check_received(merchant.order(longest, longest), longest, 0)
