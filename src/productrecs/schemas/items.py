"""Item schema: the body of `POST /v1/items`, and items to import."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from productrecs.core.errors import ProductRecsError
from productrecs.records.catalog.item import (
    FIELD_DEFAULTS,
    LIST_FIELDS,
    Attributes,
    ItemPatch,
    PackedItemPatch,
)
from productrecs.records.catalog.price_lists import (
    MAX_PRICE_LISTS,
    NAME_FORMS,
    NAME_PATTERN,
    ListPrices,
    PriceListEntry,
    PriceListNameError,
    parse_list_name,
)
from productrecs.schemas.field_readers import (
    INTEGER_SCHEMA,
    NUMERIC,
    ItemId,
    OptionalAvailability,
    OptionalIdentifier,
    OptionalInteger,
    OptionalNumber,
    OptionalTime,
    Schema,
    check_string,
    id_schema,
    list_validator,
    nullable,
    read_identifier,
    read_number,
    read_optional_number,
    string_schema,
    text_reader,
    too_long_error,
)
from productrecs.schemas.validation_errors import (
    MAX_PROBLEMS,
    InvalidInputError,
    ValidationProblem,
    validate_body,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from productrecs.schemas.body_warnings import BodyWarnings

MAX_ITEMS = 1000
MAX_TITLE = 1_000
MAX_DESCRIPTION = 64_000
MAX_URL = 8_192
MAX_CATEGORIES = 200
MAX_CATEGORY = 1_000
MAX_ATTRIBUTES = 50
MAX_ATTRIBUTE_NAME = 100
MAX_VALUES = 100
MAX_VALUE = 255


class UndecodedItem(Protocol):
    """An item that is not decoded yet."""

    def decode(self) -> object:
        """Return the decoded item."""


class TooManyItemsError(ProductRecsError):
    """One push has more than 1000 items; send several pushes."""


def _read_category(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    return check_string(value, MAX_CATEGORY)


def _read_category_id(value: object) -> str:
    return "" if value == "" else read_identifier(value)


def _read_attribute_value(value: object) -> str:
    """Return an attribute's value as text; numbers and booleans are converted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{read_number(value):.12g}"
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    return check_string(value.strip(), MAX_VALUE)


def _read_attribute_values(value: object) -> tuple[str, ...]:
    """Return the distinct values of one attribute, from one value or a list."""
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple) else (value,)
    if len(values) > MAX_VALUES:
        raise too_long_error(MAX_VALUES, len(values))
    return tuple(
        dict.fromkeys(text for one in values if (text := _read_attribute_value(one)))
    )


def _read_attributes(value: object) -> Attributes:
    """Return attributes by name; attributes without a value are dropped."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    if len(value) > MAX_ATTRIBUTES:
        message = f"an item has at most {MAX_ATTRIBUTES} attributes"
        raise PydanticCustomError("too_many_attributes", message)
    attributes: dict[str, tuple[str, ...]] = {}
    for name, values in value.items():
        name = check_string(str(name).strip(), MAX_ATTRIBUTE_NAME)  # noqa: PLW2901
        if not name or ":" in name or "," in name:
            message = "an attribute's name has at least one character, no colon, no comma"
            raise PydanticCustomError("attribute_name", message)
        if texts := _read_attribute_values(values):
            attributes[name] = texts
    return tuple(attributes.items())


def _read_prices(value: object) -> ListPrices:
    """Return an item's prices by list; none for null, which removes them all."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    if len(value) > MAX_PRICE_LISTS:
        message = f"an item is in at most {MAX_PRICE_LISTS} price lists; leave some out"
        raise PydanticCustomError("too_many_price_lists", message)
    prices = {}
    for text, price in value.items():
        try:
            name = str(parse_list_name(text))
        except PriceListNameError:
            raise PydanticCustomError("price_list_name", NAME_FORMS) from None
        prices[name] = _read_price_list_entry(name, price)
    return tuple(prices.values())


def _read_price_list_entry(name: str, value: object) -> PriceListEntry:
    """Return a price from a number, or from an object with the price before a sale.

    This is the `price` beside a `sale_price`, and the `list_price` beside a `price`.
    """
    if not isinstance(value, dict):
        return PriceListEntry(name, read_optional_number(value))
    price, list_price, sale_price = (
        read_optional_number(value.get(field))
        for field in ("price", "list_price", "sale_price")
    )
    if sale_price is None:
        return PriceListEntry(name, price, list_price)
    return PriceListEntry(name, sale_price, price if list_price is None else list_price)


def _without_blanks(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the non-empty names: feeds have empty ones between separators."""
    return tuple(name for name in names if name and not name.isspace())


def _text_schema(maximum: int) -> WithJsonSchema:
    return WithJsonSchema(nullable(string_schema(0, maximum)))


def _list_schema(member: Schema) -> WithJsonSchema:
    listed: Schema = {"type": "array", "maxItems": MAX_CATEGORIES, "items": member}
    return WithJsonSchema(nullable(listed))


Title = Annotated[str, PlainValidator(text_reader(MAX_TITLE, "")), _text_schema(MAX_TITLE)]
Description = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_DESCRIPTION, None)),
    _text_schema(MAX_DESCRIPTION),
]
Address = Annotated[
    str | None, PlainValidator(text_reader(MAX_URL, None)), _text_schema(MAX_URL)
]
_Category = Annotated[str, PlainValidator(_read_category)]
_CategoryId = Annotated[str, PlainValidator(_read_category_id)]
Categories = Annotated[
    tuple[_Category, ...],
    list_validator(MAX_CATEGORIES),
    AfterValidator(_without_blanks),
    _list_schema(string_schema(0, MAX_CATEGORY)),
]
CategoryIds = Annotated[
    tuple[_CategoryId, ...],
    list_validator(MAX_CATEGORIES),
    AfterValidator(_without_blanks),
    _list_schema({"anyOf": [id_schema(0), INTEGER_SCHEMA]}),
]


_VALUE_SCHEMA: Schema = {
    "anyOf": [string_schema(0, MAX_VALUE), {"type": "number"}, {"type": "boolean"}]
}
_VALUES_SCHEMA: Schema = {
    "anyOf": [
        *_VALUE_SCHEMA["anyOf"],
        {"type": "array", "maxItems": MAX_VALUES, "items": _VALUE_SCHEMA},
        {"type": "null"},
    ]
}
Brand = Annotated[
    str | None, PlainValidator(text_reader(MAX_VALUE, None)), _text_schema(MAX_VALUE)
]
Values = Annotated[
    tuple[str, ...], PlainValidator(_read_attribute_values), WithJsonSchema(_VALUES_SCHEMA)
]
NamedValues = Annotated[
    Attributes,
    PlainValidator(_read_attributes),
    WithJsonSchema(
        nullable(
            {
                "type": "object",
                "maxProperties": MAX_ATTRIBUTES,
                "propertyNames": {"maxLength": MAX_ATTRIBUTE_NAME, "pattern": "^[^:,]*$"},
                "additionalProperties": _VALUES_SCHEMA,
                "examples": [{"Season": "Winter", "Pockets": 2}],
            }
        )
    ),
]


_AMOUNT_SCHEMA: Schema = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": NUMERIC}, {"type": "null"}]
}
PricesByList = Annotated[
    tuple[object, ...],  # `ListPrices`, whose class would be another schema
    PlainValidator(_read_prices),
    WithJsonSchema(
        nullable(
            {
                "type": "object",
                "maxProperties": MAX_PRICE_LISTS,
                "propertyNames": {"pattern": NAME_PATTERN},
                "additionalProperties": {
                    "anyOf": [
                        *_AMOUNT_SCHEMA["anyOf"],
                        {
                            "type": "object",
                            "properties": dict.fromkeys(
                                ("price", "list_price", "sale_price"), _AMOUNT_SCHEMA
                            ),
                        },
                    ]
                },
                "examples": [{"USD": 159, "group:trade": {"price": 99, "list_price": 129}}],
            }
        )
    ),
]


class ItemBody(BaseModel):
    """One product. Absent fields keep their stored values; null resets one."""

    model_config = ConfigDict(title="Item", extra="ignore")

    id: ItemId = Field(description="The id that events, orders and replies use.")
    sku: OptionalIdentifier = Field(
        None, description="The merchant's own code; only displayed."
    )
    title: Title = ""
    product_url: Address = None
    image_url: Address = None
    price: OptionalNumber = None
    availability: OptionalAvailability = Field(
        None, description="Absent or null: derived from `stock_qty` (0 is out of stock)."
    )
    stock_qty: OptionalInteger = Field(None, description="Units in stock.")
    cost: OptionalNumber = None
    categories: Categories = ()
    category_ids: CategoryIds = ()
    description: Description = None
    available_from: OptionalTime = Field(
        None,
        description=("The first day (or time) it may be shown, in the store's time zone."),
    )
    available_until: OptionalTime = Field(
        None,
        description=("The last day (or time) it may be shown, in the store's time zone."),
    )
    brand: Brand = Field(None, description="The manufacturer's or the label's name.")
    gtin: OptionalIdentifier = Field(
        None, description="The number under the barcode: GTIN, EAN, UPC or ISBN."
    )
    color: Values = Field((), description="One colour, or a list of them.")
    size: Values = Field((), description="One size, or a list of them.")
    material: Values = Field((), description="One material, or a list of them.")
    attributes: NamedValues = Field(
        (),
        description="Further attributes: an object of names, each with its values.",
        json_schema_extra={"default": {}},
    )
    list_price: OptionalNumber = Field(
        None,
        description="The price before a reduction. Above `price`, the item is on sale.",
    )
    prices: PricesByList = Field(
        (),
        description=(
            "Prices by market and customer group: an object of price lists (`USD`, "
            "`group:trade`, `USD:group:trade`), each with a price, or with `price` and "
            "`list_price`. A list that a push leaves out keeps its price; null removes it."
        ),
        json_schema_extra={"default": {}},
    )
    planned_price: OptionalNumber = Field(
        None,
        description=(
            "A price that will apply on days ahead, such as a sale's. The demand forecast "
            "alone reads it: push `price` when the days begin and end."
        ),
    )
    planned_price_from: OptionalTime = Field(
        None, description="The first day (or time) of `planned_price`."
    )
    planned_price_until: OptionalTime = Field(
        None, description="The last day (or time) of `planned_price`; null: no end."
    )


class ItemsPush(BaseModel):
    """A push of up to 1000 items: created or updated together, or not at all."""

    items: Annotated[list[ItemBody], Field(max_length=MAX_ITEMS)]


_FIELDS = tuple(FIELD_DEFAULTS)
_AMOUNT_FIELDS = ("price", "list_price", "planned_price", "cost")


def parse_items(body: object, warnings: BodyWarnings | None = None) -> list[ItemPatch]:
    """Return the items of a push in the order sent, including repeated ids.

    `warnings` counts what looks wrong in them.

    Raises:
        TooManyItemsError: when it has more than 1000, before any is parsed.
        InvalidInputError: when the body or any item is invalid.
    """
    return list(_parse_patches(_check_item_list(body), warnings))


def parse_and_pack_items(
    items: Sequence[UndecodedItem], warnings: BodyWarnings | None = None
) -> list[PackedItemPatch]:
    """Return the items that `parse_items` returns, decoded one at a time.

    Raises:
        TooManyItemsError: as `parse_items`.
        InvalidInputError: as `parse_items`, and when an item is not JSON.
    """
    if len(items) > MAX_ITEMS:
        message = f"more than {MAX_ITEMS} items in one push; send fewer at a time"
        raise TooManyItemsError(message)
    patches = _parse_patches((item.decode() for item in items), warnings)
    return [PackedItemPatch.of(patch) for patch in patches]


def _parse_patches(
    items: Iterable[object], warnings: BodyWarnings | None
) -> Iterator[ItemPatch]:
    problems: list[ValidationProblem] = []
    for index, item in enumerate(items):
        try:
            valid = validate_body(ItemBody, item, ("body", "items", index))
        except InvalidInputError as error:
            problems += error.problems
            if len(problems) >= MAX_PROBLEMS:  # more are not reported
                break
        else:
            if warnings is not None:
                warnings.count_unknown_fields(ItemBody, item)
                warnings.count_negative_amounts(valid, _AMOUNT_FIELDS)
            yield _to_patch(valid)
    if problems:
        raise InvalidInputError(problems)


def parse_item(row: object) -> ItemPatch:
    """Return the item of one JSON object, such as a line of a file to import.

    Raises:
        InvalidInputError: when it is not an item as `POST /v1/items` takes them.
    """
    return _to_patch(validate_body(ItemBody, row, ()))


def parse_item_row(row: Mapping[str, str | None]) -> ItemPatch:
    r"""Return the item in one row of a CSV: cells by header.

    An empty cell counts as absent; `|` separates the values of a list; blanks around a
    cell are ignored. Only the cell of `attributes` is JSON: an object.

    Raises:
        InvalidInputError: when a cell is invalid for its field.
    """
    cells: dict[str, object] = {}
    for name in ("id", *_FIELDS):
        cell = (row.get(name) or "").strip()
        if cell:
            listed = name in LIST_FIELDS
            cells[name] = [part.strip() for part in cell.split("|")] if listed else cell
    if "attributes" in cells:
        cells["attributes"] = _decode_json_or_text(str(cells["attributes"]))
    if prices := _parse_row_prices(row):
        cells["prices"] = prices
    return parse_item(cells)


PRICE_COLUMNS = ("price", "list_price", "sale_price")
"""Columns that a table may have once more for a price list, as in `price:USD`."""


def _parse_row_prices(row: Mapping[str, str | None]) -> object:
    """Return the prices by list in a row: the JSON of its cell `prices`, and columns."""
    found = _decode_json_or_text(row.get("prices") or "{}")
    for column, cell in row.items():
        field, colon, name = column.partition(":")
        if colon and field in PRICE_COLUMNS and isinstance(found, dict) and cell:
            known = found.get(name)
            fields = dict(known) if isinstance(known, dict) else {"price": known}
            found[name] = fields | {field: cell.strip() or None}
    return found


def _decode_json_or_text(cell: str) -> object:
    try:
        return json.loads(cell)
    except ValueError:
        return cell  # its reader reports the error


def _check_item_list(body: object) -> Sequence[object]:
    """Return the list under `items`, after a check of its length."""
    if not isinstance(body, dict):
        message = 'Input should be an object: {"items": [...]}'
        raise InvalidInputError([ValidationProblem(("body",), message, "model_type", body)])
    if "items" not in body:
        raise InvalidInputError(
            [ValidationProblem(("body", "items"), "Field required", "missing", body)]
        )
    items = body["items"]
    if not isinstance(items, list):
        message = "Input should be a list of items"
        raise InvalidInputError(
            [ValidationProblem(("body", "items"), message, "list_type", items)]
        )
    if len(items) > MAX_ITEMS:
        message = f"{len(items)} items in one push; send at most {MAX_ITEMS} at a time"
        raise TooManyItemsError(message)
    return items


def _to_patch(item: ItemBody) -> ItemPatch:
    given_fields, values = item.model_fields_set, item.__dict__
    return ItemPatch(
        item.id, {name: values[name] for name in _FIELDS if name in given_fields}
    )
