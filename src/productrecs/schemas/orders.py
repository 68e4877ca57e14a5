"""Order schema: the body of `POST /v1/orders`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticKnownError

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.core.iso_dates import window_start_ms
from productrecs.records.orders.order_and_purchase_ledger import (
    NewOrder,
    NewOrderLine,
    line_total,
)
from productrecs.schemas.body_warnings import BodyWarnings
from productrecs.schemas.field_readers import (
    Identifier,
    ItemId,
    OptionalCount,
    OptionalCurrency,
    OptionalIdentifier,
    OptionalNumber,
    OptionalTime,
    SignedIdentity,
    too_long_error,
)
from productrecs.schemas.validation_errors import (
    InvalidInputError,
    ValidationProblem,
    validate_body,
)

if TYPE_CHECKING:
    from datetime import tzinfo

MAX_LINES = 100
MAX_DELAY_MS = 30 * DAY_MS
MAX_CLOCK_ERROR_MS = 5 * MINUTE_MS


def _check_lines(value: object) -> object:
    if not isinstance(value, list):
        raise PydanticKnownError("list_type")
    if len(value) > MAX_LINES:
        raise too_long_error(MAX_LINES, len(value))
    return value


class OrderLineBody(BaseModel):
    """One line. An absent `quantity` is unknown and counts as 1 in revenue and units."""

    model_config = ConfigDict(title="OrderLine", extra="ignore")

    item_id: ItemId
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
    identity: SignedIdentity = Field(None, description="Proves that `user_id` is theirs.")
    currency: OptionalCurrency = None
    ordered_at: OptionalTime = Field(
        None,
        description="The time of purchase, when you send it late: at most 30 days ago. "
        "Needs the secret key. Without it, the order was placed just now.",
    )
    items: Annotated[
        list[OrderLineBody],
        BeforeValidator(_check_lines),
        Field(min_length=1, max_length=MAX_LINES),
    ]


def parse_order(body: object, now_ms: int, zone: tzinfo, *, confirmed: bool) -> NewOrder:
    """Return the order of `body`; a line's absent total is price x quantity.

    `confirmed` orders come with the secret key. Times without an offset are in `zone`.

    Raises:
        InvalidInputError: when the body is not an order.
    """
    order = validate_body(OrderBody, body)
    return NewOrder(
        order_id=order.order_id,
        lines=tuple(_to_order_line(line) for line in order.items),
        user_id=order.user_id,
        session_id=order.session_id,
        identity=order.identity,
        currency=order.currency,
        ordered_ms=_parse_purchase_ms(order.ordered_at, now_ms, zone, confirmed=confirmed),
        confirmed=confirmed,
    )


def find_order_warnings(body: object, order: NewOrder) -> list[str]:
    """Return what looks wrong in the body of an order: fields, amounts and ids."""
    warnings = BodyWarnings()
    warnings.count_unknown_fields(OrderBody, body)
    lines = body.get("items") if isinstance(body, dict) else None
    for line in lines if isinstance(lines, list) else ():
        warnings.count_unknown_fields(OrderLineBody, line)
    for stored in order.lines:
        warnings.count_negative_amounts(stored, ("price", "total"))
    warnings.count_unknown_currency(order.currency)
    warnings.count_email_as_user_id(order.user_id)
    return warnings.texts()


def _parse_purchase_ms(
    text: str | None, now_ms: int, zone: tzinfo, *, confirmed: bool
) -> int | None:
    """Return when the order was placed; None for just now."""
    if text is None:
        return None
    ordered_ms = window_start_ms(text, zone)
    if not confirmed:
        message = "needs the secret key; send the order from your server, or without it"
    elif ordered_ms < now_ms - MAX_DELAY_MS:
        message = "is more than 30 days ago; upload such orders as a file"
    elif ordered_ms > now_ms + MAX_CLOCK_ERROR_MS:
        message = "is in the future; compare your server's clock and the time's offset"
    else:
        return min(ordered_ms, now_ms)
    problem = ValidationProblem(
        ("body", "ordered_at"), f"Time {message}", "ordered_at", text
    )
    raise InvalidInputError([problem])


def _to_order_line(line: OrderLineBody) -> NewOrderLine:
    total = line.total
    if total is None:
        total = line_total(line.price, line.quantity)
    return NewOrderLine(line.item_id, line.quantity, line.price, total)
