"""Order schema: the body of `POST /v1/orders`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticKnownError

from productrecs.entrypoints.http.schemas.field_readers import (
    Identifier,
    OptionalCount,
    OptionalCurrency,
    OptionalIdentifier,
    OptionalNumber,
    too_long,
)
from productrecs.entrypoints.http.schemas.validation_errors import BodyError, from_details
from productrecs.records.orders.order_and_purchase_ledger import (
    NewOrder,
    NewOrderLine,
    line_total,
)

MAX_LINES = 100


def _check_lines(value: object) -> object:
    if not isinstance(value, list):
        raise PydanticKnownError("list_type")
    if len(value) > MAX_LINES:
        raise too_long(MAX_LINES, len(value))
    return value


class OrderLineBody(BaseModel):
    """One line. An absent `quantity` is unknown and counts as 1 in revenue and units."""

    model_config = ConfigDict(title="OrderLine", extra="ignore")

    item_id: Identifier
    quantity: OptionalCount = None
    price: OptionalNumber = Field(None, description="The price of one unit.")
    total: OptionalNumber = Field(
        None, description="The line's revenue; price x quantity when absent."
    )


class OrderBody(BaseModel):
    """One order; the same `order_id` within 7 days is acknowledged and not stored again."""

    model_config = ConfigDict(title="Order", extra="ignore")

    order_id: Identifier = Field(description="The idempotency key, for 7 days.")
    user_id: OptionalIdentifier = Field(None, description="The customer, if known.")
    session_id: OptionalIdentifier = Field(None, description="The widgets' `pr_sid`.")
    currency: OptionalCurrency = None
    items: Annotated[
        list[OrderLineBody],
        BeforeValidator(_check_lines),
        Field(min_length=1, max_length=MAX_LINES),
    ]


_validate = OrderBody.__pydantic_validator__.validate_python


def parse_order(body: object) -> NewOrder:
    """Return the order of `body`; a line's absent total is price x quantity.

    Raises:
        BodyError: when the body is not an order.
    """
    try:
        order: OrderBody = _validate(body)
    except ValidationError as error:
        raise BodyError(from_details(error.errors(include_url=False), ("body",))) from None
    return NewOrder(
        order_id=order.order_id,
        lines=tuple(_line(line) for line in order.items),
        user_id=order.user_id,
        session_id=order.session_id,
        currency=order.currency,
    )


def _line(line: OrderLineBody) -> NewOrderLine:
    total = line.total
    if total is None:
        total = line_total(line.price, line.quantity)
    return NewOrderLine(line.item_id, line.quantity, line.price, total)
