"""Purchase order schema: the body of `PUT /integration/purchase-orders`."""

from datetime import date
from typing import Annotated, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from productrecs.records.purchase_orders.purchase_order_line import PurchaseOrderLine
from productrecs.records.suppliers.supplier import MAX_NAME, MAX_UNITS
from productrecs.schemas.field_readers import (
    ItemId,
    integer_reader,
    integer_schema,
    nullable,
    string_schema,
    text_reader,
)
from productrecs.schemas.validation_errors import validate_body

MAX_SENT_LINES: Final = 5_000


def _read_units(value: object) -> int:
    units = integer_reader(1, MAX_UNITS)(value)
    if units is None:
        message = f"Input should be a whole number from 1 to {MAX_UNITS}"
        raise PydanticCustomError("units", message)
    return units


def _read_day(value: object) -> str:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        message = "Input should be a day such as 2026-03-01"
        raise PydanticCustomError("day", message) from error


class PurchaseOrderLineBody(BaseModel):
    """Units of one product that a supplier will deliver."""

    model_config = ConfigDict(title="PurchaseOrderLine", extra="ignore")

    item_id: ItemId = Field(description="The product's id or SKU.")
    quantity: Annotated[
        int, PlainValidator(_read_units), WithJsonSchema(integer_schema(1, MAX_UNITS))
    ]
    expected_day: Annotated[
        str,
        PlainValidator(_read_day),
        WithJsonSchema({"type": "string", "format": "date"}),
    ] = Field(description="The day on which the goods can be sold.")
    supplier: Annotated[
        str | None,
        PlainValidator(text_reader(MAX_NAME, None)),
        WithJsonSchema(nullable(string_schema(0, MAX_NAME))),
    ] = None


class PurchaseOrdersBody(BaseModel):
    """All goods on order."""

    model_config = ConfigDict(title="PurchaseOrders", extra="ignore")

    lines: list[PurchaseOrderLineBody] = Field(max_length=MAX_SENT_LINES)


def parse_sent_purchase_orders(body: object) -> list[PurchaseOrderLine]:
    """Return the lines of a body.

    Raises:
        InvalidInputError: when the body has no valid lines, or too many.
    """
    sent = validate_body(PurchaseOrdersBody, body)
    return [
        PurchaseOrderLine(
            line.item_id, line.quantity, line.expected_day, line.supplier or ""
        )
        for line in sent.lines
    ]
