"""Reading back: GET of items and orders, one or in pages, with the secret key."""

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import Path, Query, Request, Response

from productrecs.core.errors import UnknownItemError, UnknownOrderError
from productrecs.core.timestamps import iso
from productrecs.http.openapi_responses import (
    NULLABLE_TEXT,
    error_responses,
    object_schema,
    success_response,
    titled,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import (
    ORDER_PREFIX,
    decode_id_in_path,
)
from productrecs.http.routes.cursor_pages import (
    CURSOR_DESCRIPTION,
    DEFAULT_PAGE,
    KeyNumber,
    Limit,
    UpdatedAfter,
    page_reply,
    page_schema,
    parse_cursor,
    parse_updated_after_ms,
)
from productrecs.records.catalog.item import pushed_fields
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.records.purchases.repository import (
    OrderPageQuery,
    PurchaseLine,
    PurchaseRepository,
)

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("server")

_TIME_EXAMPLE: Final = "2026-11-21T09:00:00.000Z"
_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": ["number", "null"]}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_PRICES: Final = titled("ListPrices", object_schema(price=_NUMBER, list_price=_NUMBER))
_ITEM: Final = titled(
    "StoredItem",
    object_schema(
        id=_TEXT,
        **dict.fromkeys(("sku", "gtin", "brand", "description"), NULLABLE_TEXT),
        title=_TEXT,
        **dict.fromkeys(("product_url", "image_url"), NULLABLE_TEXT),
        **dict.fromkeys(("price", "list_price", "cost"), _NUMBER),
        prices={"type": "object", "additionalProperties": _PRICES},
        availability=NULLABLE_TEXT,
        stock_qty={"type": ["integer", "null"]},
        **dict.fromkeys(("categories", "category_ids"), _TEXTS),
        **dict.fromkeys(("color", "size", "material"), _TEXTS),
        attributes={"type": "object", "additionalProperties": _TEXTS},
        **dict.fromkeys(("available_from", "available_until"), NULLABLE_TEXT),
        planned_price=_NUMBER,
        **dict.fromkeys(("planned_price_from", "planned_price_until"), NULLABLE_TEXT),
        created_at=_TEXT,
        updated_at=_TEXT,
    ),
)
_ITEM_EXAMPLE: Final = {
    "id": "tent",
    "sku": "T-2",
    "title": "Tent for two",
    "product_url": "https://shop.example.com/p/tent",
    "image_url": "https://shop.example.com/i/tent.jpg",
    "price": 149.0,
    "availability": "in_stock",
    "stock_qty": 31,
    "cost": 80.0,
    "categories": ["Camping > Tents"],
    "category_ids": ["12"],
    "description": "Stands in four minutes.",
    "available_from": "2026-11-01",
    "available_until": "2027-03-31",
    "brand": "Lakeside",
    "gtin": "4006381333931",
    "color": ["green"],
    "size": [],
    "material": ["nylon"],
    "attributes": {"season": ["summer"]},
    "list_price": 179.0,
    "prices": {"USD": {"price": 159.0, "list_price": 189.0}},
    "planned_price": 129.0,
    "planned_price_from": "2026-12-01",
    "planned_price_until": "2026-12-07",
    "created_at": _TIME_EXAMPLE,
    "updated_at": _TIME_EXAMPLE,
}
_LINE: Final = titled(
    "StoredOrderLine",
    object_schema(item_id=_TEXT, quantity=_NUMBER, price=_NUMBER, total=_NUMBER),
)
_ORDER: Final = titled(
    "StoredOrder",
    object_schema(
        order_id=_TEXT,
        ordered_at=_TEXT,
        updated_at=_TEXT,
        user_id=NULLABLE_TEXT,
        session_id=NULLABLE_TEXT,
        currency=NULLABLE_TEXT,
        confirmed={"type": "boolean"},
        items={"type": "array", "items": _LINE},
    ),
)
_ORDER_EXAMPLE: Final = {
    "order_id": "A-1001",
    "ordered_at": _TIME_EXAMPLE,
    "updated_at": _TIME_EXAMPLE,
    "user_id": "c-7",
    "session_id": "s_4fQ9xZ",
    "currency": "EUR",
    "confirmed": True,
    "items": [{"item_id": "tent", "quantity": 1, "price": 149.0, "total": 149.0}],
}

_ITEM_CURSOR: Final = "WzQxXQ"
_ORDER_CURSOR: Final = "WyJBLTEwMDEiLDBd"
ItemCursor = Annotated[
    str | None, Query(description=CURSOR_DESCRIPTION, examples=[_ITEM_CURSOR])
]
OrderCursor = Annotated[
    str | None, Query(description=CURSOR_DESCRIPTION, examples=[_ORDER_CURSOR])
]
Fields = Annotated[
    Literal["id"] | None,
    Query(description="`id` returns the ids alone, as texts.", examples=["id"]),
]
Confirmed = Annotated[
    bool | None,
    Query(
        description="`true`: only orders sent with the secret key or in a file; `false`: "
        "only the others.",
        examples=[True],
    ),
]


def _page_or_ids_schema(row: dict[str, Any]) -> dict[str, Any]:
    return page_schema({"anyOf": [row, _TEXT]})


@routes.get(
    "/v1/items",
    SECRET,
    summary="List the items of the catalog",
    responses=success_response(
        "A page of items, and the cursor of the next; null at the end.",
        _page_or_ids_schema(_ITEM),
        {"items": [_ITEM_EXAMPLE], "next": _ITEM_CURSOR},
    )
    | error_responses(401, 422, 503),
)
async def list_items(
    request: Request,
    cursor: ItemCursor = None,
    limit: Limit = DEFAULT_PAGE,
    updated_after: UpdatedAfter = None,
    fields: Fields = None,
) -> Response:
    """Return items with all their fields, in the form in which they are pushed.

    Pages hold up to `limit` items, fewer where they are large. Deleted items are in none.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = exchange.known_caller.store
    (after,) = parse_cursor(cursor, tuple[KeyNumber], (-1,))
    since_ms = parse_updated_after_ms(updated_after, store.settings.zone)

    def read_page_reply() -> Response:
        with exchange.context.services.database.reading() as connection:
            catalog = CatalogRepository(connection, store.store_id)
            ids = dict(catalog.page_of_changed_ids(after, limit + 1, since_ms))

            def load_items_or_ids(numbers: Sequence[tuple[int]]) -> Iterable[object]:
                item_ids = [ids[number] for (number,) in numbers]
                if fields is not None:
                    return item_ids
                stored_items = catalog.find(item_ids)
                return [
                    _item_fields(stored_items[item_id])
                    for item_id in item_ids
                    if item_id in stored_items
                ]

            return page_reply([(number,) for number in ids], limit, load_items_or_ids)

    return await asyncio.to_thread(read_page_reply)


@routes.get(
    "/v1/items/{item_id:text}",
    SECRET,
    summary="Return an item",
    responses=success_response("The item.", _ITEM, _ITEM_EXAMPLE)
    | error_responses("bad_path", 401, "item_unknown", 503),
)
async def get_item(
    request: Request,
    item_id: Annotated[
        str,
        Path(
            description="The item's id, percent-encoded; it may contain `/`.",
            examples=["tent"],
        ),
    ],
) -> Response:
    """Return an item of the catalog with all its fields, in the form of a push."""
    exchange: RequestContext = request.scope["productrecs"]
    sent_id = decode_id_in_path(request.scope["raw_path"]) or item_id
    store_id = exchange.known_caller.store.store_id

    def find() -> StoredItem | None:
        with exchange.context.services.database.reading() as connection:
            return CatalogRepository(connection, store_id).find([sent_id]).get(sent_id)

    stored = None if "\0" in sent_id else await asyncio.to_thread(find)
    if stored is None or not stored.present:
        message = f"the catalog has no item {sent_id!r}; push it with POST /v1/items"
        raise UnknownItemError(message)
    return json_reply(_item_fields(stored))


@routes.get(
    "/v1/orders",
    SECRET,
    widget=True,
    is_rate_limited=False,
    summary="List orders",
    responses=success_response(
        "A page of orders, and the cursor of the next; null at the end.",
        _page_or_ids_schema(_ORDER),
        {"items": [_ORDER_EXAMPLE], "next": _ORDER_CURSOR},
    )
    | error_responses(401, 422, 503),
)
async def list_orders(
    request: Request,
    cursor: OrderCursor = None,
    limit: Limit = DEFAULT_PAGE,
    updated_after: UpdatedAfter = None,
    fields: Fields = None,
    *,
    confirmed: Confirmed = None,
) -> Response:
    """Return orders by their ids, however they came: calls, files and `buy` events.

    An order id that was accepted again after seven days is there for each time.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store = exchange.known_caller.store
    after = parse_cursor(cursor, tuple[str, KeyNumber], ("", -1))
    since_ms = parse_updated_after_ms(updated_after, store.settings.zone)

    def read_page_reply() -> Response:
        with exchange.context.services.database.reading() as connection:
            purchases = PurchaseRepository(connection, store.store_id)
            catalog = CatalogRepository(connection, store.store_id)
            page = OrderPageQuery(after, limit + 1, since_ms, confirmed)
            keys = purchases.next_order_ids_and_receipts(page)

            def load_ids_or_orders(chosen: Sequence[tuple[str, int]]) -> Iterable[object]:
                ids = [order_id for order_id, _ in chosen]
                if fields is not None:
                    return ids
                orders = _order_fields_by_key(purchases, catalog, ids)
                return [orders[key] for key in chosen if key in orders]

            return page_reply(keys, limit, load_ids_or_orders)

    return await asyncio.to_thread(read_page_reply)


@routes.get(
    "/v1/orders/{order_id:text}",
    SECRET,
    summary="Return an order",
    responses=success_response("The order.", _ORDER, _ORDER_EXAMPLE)
    | error_responses("bad_path", 401, "order_unknown", 503),
)
async def get_order(
    request: Request,
    order_id: Annotated[
        str,
        Path(
            description="The order's id, percent-encoded; it may contain `/`.",
            examples=["A-1001"],
        ),
    ],
) -> Response:
    """Return an order; of an id that was accepted again after seven days, the latest."""
    exchange: RequestContext = request.scope["productrecs"]
    sent_id = decode_id_in_path(request.scope["raw_path"], ORDER_PREFIX) or order_id
    store_id = exchange.known_caller.store.store_id

    def find_orders() -> dict[tuple[str, int], dict[str, Any]]:
        with exchange.context.services.database.reading() as connection:
            purchases = PurchaseRepository(connection, store_id)
            return _order_fields_by_key(
                purchases, CatalogRepository(connection, store_id), [sent_id]
            )

    orders = {} if "\0" in sent_id else await asyncio.to_thread(find_orders)
    if not orders:
        message = f"this store has no order {sent_id!r}; send it with POST /v1/orders"
        raise UnknownOrderError(message)
    return json_reply(orders[max(orders)])


def _item_fields(stored: StoredItem) -> dict[str, Any]:
    return pushed_fields(stored.item) | {
        "created_at": iso(stored.created_at),
        "updated_at": iso(stored.updated_at or stored.created_at),
    }


def _order_fields_by_key(
    purchases: PurchaseRepository, catalog: CatalogRepository, order_ids: Iterable[str]
) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the orders with these ids, by id and receipt."""
    lines = purchases.lines_of_orders(order_ids)
    names = catalog.ids_of(line.item for line in lines)
    known = [line for line in lines if line.unconfirmed or not line.void]
    known.sort(key=lambda line: (*_order_key(line), line.line_seq))
    return {
        key: _order_fields(list(group), names)
        for key, group in itertools.groupby(known, key=_order_key)
    }


def _order_key(line: PurchaseLine) -> tuple[str, int]:
    return line.order_id or "", line.receipt


def _order_fields(
    lines: Sequence[PurchaseLine], item_ids_by_number: Mapping[int, str]
) -> dict[str, Any]:
    first = lines[0]
    return {
        "order_id": first.order_id,
        "ordered_at": iso(first.ts),
        "updated_at": iso(max(line.updated_at or line.ts for line in lines)),
        "user_id": first.shopper if first.shopper != first.session else None,
        "session_id": first.session,
        "currency": first.currency,
        "confirmed": all(line.is_confirmed for line in lines),
        "items": [
            {
                "item_id": item_ids_by_number[line.item],
                "quantity": line.quantity,
                "price": line.price,
                "total": line.total,
            }
            for line in lines
        ],
    }
