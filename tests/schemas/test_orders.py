"""Order schema: read exactly as the contract says; errors have a location."""

from datetime import UTC

import pytest

from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.schemas.orders import OrderBody, parse_order
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError
from tests.http.hostile import MISSHAPEN


def _parse(body: object) -> NewOrder:
    return parse_order(body, 0, UTC, confirmed=True)


def _order(**changes: object) -> dict[str, object]:
    return {"order_id": "A-1", "items": [{"item_id": "tent"}], **changes}


def _line(**changes: object) -> dict[str, object]:
    return _order(items=[{"item_id": "tent", **changes}])


def _refused(body: object) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(InvalidInputError) as refused:
        _parse(body)
    return [(problem.loc, problem.type) for problem in refused.value.problems]


def test_an_order_is_read_line_by_line() -> None:
    body = {
        "order_id": 1001,
        "user_id": 42,
        "session_id": "s_abc",
        "currency": "eur",
        "coupon": "SPRING",
        "items": [
            {"item_id": "tent", "quantity": 2, "price": "49.5", "colour": "red"},
            {"item_id": "tent", "quantity": "3.0", "price": 10, "total": 25},
            {"item_id": 7},
        ],
    }

    assert _parse(body) == NewOrder(
        order_id="1001",
        lines=(
            NewOrderLine("tent", 2, 49.5, 99.0),
            NewOrderLine("tent", 3, 10.0, 25.0),
            NewOrderLine("7", None, None, None),
        ),
        user_id="42",
        session_id="s_abc",
        currency="EUR",
    )


def test_null_is_the_default_of_every_optional_field() -> None:
    body = _line(quantity=None, price=None, total=None)
    body |= {"user_id": None, "session_id": None, "currency": None}

    assert _parse(body) == NewOrder("A-1", (NewOrderLine("tent"),))


def test_an_empty_identity_is_none() -> None:
    order = _parse(_order(user_id="", session_id="", currency=""))

    assert (order.user_id, order.session_id, order.currency) == (None, None, None)


def test_an_absent_quantity_is_unknown_and_counts_as_one_in_revenue() -> None:
    assert _parse(_line(price=5)).lines == (NewOrderLine("tent", None, 5.0, 5.0),)


def test_a_total_of_nothing_is_not_an_absent_one() -> None:
    assert _parse(_line(price=5, total=0)).lines == (NewOrderLine("tent", None, 5.0, 0.0),)


@pytest.mark.parametrize("value", ["A1\r=1", "\x7f"])
def test_an_orders_id_has_no_control_character(value: str) -> None:
    assert [loc for loc, _ in _refused(_order(order_id=value))] == [("body", "order_id")]
    assert _parse(_line(item_id=value)).lines[0].item_id == value  # any text is an item's


@pytest.mark.parametrize(
    "value",
    [
        "",
        None,
        True,
        1.5,
        [],
        {},
        "a\0",
        "\ud800",
        2**53 + 1,
        "x" * 256,
        "\U0001f600" * 256,
    ],
)
def test_an_order_and_a_line_need_an_id(value: object) -> None:
    assert [loc for loc, _ in _refused(_order(order_id=value))] == [("body", "order_id")]
    assert [loc for loc, _ in _refused(_line(item_id=value))] == [
        ("body", "items", 0, "item_id")
    ]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("EUR", "EUR"), ("usd", "USD"), ("x" * 8, "X" * 8), (" sek ", "SEK"), ("  ", None)],
)
def test_a_currency_is_kept_in_capitals(sent: str, kept: str | None) -> None:
    assert _parse(_order(currency=sent)).currency == kept


@pytest.mark.parametrize("value", ["x" * 9, " " * 9, 978, True, ["EUR"], "E\0", "E\ud800"])
def test_a_currency_has_at_most_8_characters(value: object) -> None:
    ((loc, _),) = _refused(_order(currency=value))

    assert loc == ("body", "currency")


@pytest.mark.parametrize(
    ("sent", "read"), [(1, 1), (2.0, 2), ("3", 3), (2**53, 2**53), (None, None)]
)
def test_quantities_are_integers_of_1_to_2_to_the_53(
    sent: object, read: int | None
) -> None:
    assert _parse(_line(quantity=sent)).lines[0].quantity == read


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        0.0,
        0.5,
        1.5,
        "0",
        "x",
        "",
        True,
        False,
        [],
        2**53 + 1,
        10**30,
        10**400,
        "9007199254740993",
        1e300,
        float("nan"),
        float("inf"),
    ],
)
def test_anything_else_is_no_quantity(value: object) -> None:
    ((loc, _),) = _refused(_line(quantity=value))

    assert loc == ("body", "items", 0, "quantity")


@pytest.mark.parametrize("name", ["price", "total"])
@pytest.mark.parametrize("value", ["x", True, [], 1e13, -1e13, 10**400, float("nan")])
def test_anything_but_a_number_is_no_price_and_no_total(name: str, value: object) -> None:
    ((loc, _),) = _refused(_line(**{name: value}))

    assert loc == ("body", "items", 0, name)


@pytest.mark.parametrize(
    ("body", "locs"),
    [
        ({}, [("body", "order_id"), ("body", "items")]),
        ({"order_id": "A"}, [("body", "items")]),
        (_order(items=None), [("body", "items")]),
        (_order(items={}), [("body", "items")]),
        (_order(items=[{"item_id": "a"}, {}]), [("body", "items", 1, "item_id")]),
        (_order(items=[7]), [("body", "items", 0)]),
        (_order(user_id="x" * 256), [("body", "user_id")]),
        (_order(session_id="x" * 256), [("body", "session_id")]),
        ([], [("body",)]),
        (None, [("body",)]),
    ],
)
def test_a_wrong_shape_is_refused_at_its_place(body: object, locs: list[object]) -> None:
    assert [loc for loc, _ in _refused(body)] == locs


@pytest.mark.parametrize("body", MISSHAPEN.values(), ids=MISSHAPEN)
def test_no_misshapen_body_is_an_order(body: bytes) -> None:
    assert _refused(parse_json(body))


def test_the_published_schema_has_every_limit() -> None:
    schema = OrderBody.model_json_schema()
    lines = schema["properties"]["items"]

    assert (lines["minItems"], lines["maxItems"]) == (1, 100)
    assert set(schema["required"]) == {"order_id", "items"}
