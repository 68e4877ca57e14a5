"""Orders: the shopper of an order, and the value of a line."""

import pytest

from productrecs.records.orders.order_and_purchase_ledger import (
    NewOrder,
    NewOrderLine,
    line_total,
)


@pytest.mark.parametrize(
    ("price", "quantity", "total"),
    [
        (2.5, 4, 10.0),
        (2.5, 1, 2.5),
        (2.5, None, 2.5),
        (0.0, 7, 0.0),
        (-2.5, 2, -5.0),
        (None, 3, None),
        (None, None, None),
    ],
)
def test_a_line_is_worth_price_times_units_an_unknown_count_being_one(
    price: float | None, quantity: int | None, total: float | None
) -> None:
    assert line_total(price, quantity) == total


@pytest.mark.parametrize(
    ("user_id", "session_id", "shopper"),
    [("c1", None, "c1"), (None, "s_1", "s_1"), ("c1", "s_1", "c1"), (None, None, None)],
)
def test_the_customer_is_the_shopper_when_known(
    user_id: str | None, session_id: str | None, shopper: str | None
) -> None:
    order = NewOrder("A-1", (NewOrderLine("a"),), user_id, session_id)

    assert order.shopper == shopper
