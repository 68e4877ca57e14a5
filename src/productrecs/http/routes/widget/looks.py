"""Looks: GET /v1/looks returns the look of a product, or lists all that are published.

Pages ask for the look of their product. A merchant's server, with the secret key, leaves
the product out and gets every published look as it is stored.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from fastapi import Query, Request, Response

from productrecs.core.timestamps import iso
from productrecs.features.looks.look import Hotspot, Look
from productrecs.features.looks.repository import LookRepository
from productrecs.http.openapi_responses import (
    error_responses,
    look_response,
    not_modified_response,
)
from productrecs.http.pipeline.etag_responses import conditional_reply
from productrecs.http.pipeline.route_declaration import (
    EITHER,
    LOOK_PICTURE_PATH,
    SECRET,
    Routes,
)
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.cursor_pages import (
    CURSOR_DESCRIPTION,
    DEFAULT_PAGE,
    KeyNumber,
    Limit,
    UpdatedAfter,
    page_reply,
    parse_cursor,
    parse_updated_after_ms,
)
from productrecs.http.routes.widget.list_parameters import (
    PriceListQuery,
    apply_price_list,
)
from productrecs.records.events.event import look_source
from productrecs.records.merchandising.rule import ListKind
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem
from productrecs.serving.cached_store import CachedStore
from productrecs.tenancy.accounts.store import Store

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("widget")

NO_LOOK: Final = b'{"look":null}'
_encode: Final = msgspec.json.Encoder().encode
AnchorId = Annotated[
    str | None,
    Query(
        min_length=1,
        description="The product of the page; required with the publishable key.",
        examples=["tent"],
    ),
]
LookCursor = Annotated[
    str | None, Query(description=CURSOR_DESCRIPTION, examples=["WzQxXQ"])
]


@routes.get(
    "/v1/looks",
    EITHER,
    widget=True,
    empty=NO_LOOK,
    metered_parameter="item_id",
    sends_timing=True,
    operation_id="look",
    summary="Return the look of a product page, or list all looks",
    responses=look_response() | not_modified_response() | error_responses(401, 422, 503),
)
async def find_look_or_list_looks(
    request: Request,
    item_id: AnchorId = None,
    price_list: PriceListQuery = "",
    cursor: LookCursor = None,
    limit: Limit = DEFAULT_PAGE,
    updated_after: UpdatedAfter = None,
) -> Response:
    """Return the look of a product that was published last; null where there is none.

    Boxes are fractions of the upright picture, from its top left. A product that cannot be
    shown now leaves its hotspot with `product` null.

    With the secret key and without `item_id`, the reply lists all published looks in pages,
    by their ids, without `product`; `cursor`, `limit` and `updated_after` are of this list.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context = exchange.context
    store = exchange.known_caller.store
    if item_id is None:
        if exchange.known_caller.credential is not SECRET:
            where = ("query", "item_id")
            raise InvalidInputError(
                [ValidationProblem(where, "Field required", "missing", None)]
            )
        (after,) = parse_cursor(cursor, tuple[KeyNumber], (-1,))
        since_ms = parse_updated_after_ms(updated_after, store.settings.zone)
        return await asyncio.to_thread(_list_looks, request, after, limit, since_ms)
    cached_store = await context.stores.open(store)
    cached_store = apply_price_list(exchange.known_caller, cached_store, price_list)
    look = cached_store.looks.newest.get(item_id)
    if look is None:
        return conditional_reply(request, NO_LOOK, 0)
    address = look_image_url(base_url_for_reply(request), store, look)
    reply = look_fields_with_products(look, address, cached_store, context.clock())
    # It holds current prices, so a browser must validate it each time.
    return conditional_reply(request, b'{"look":%b}' % _encode(reply), 0)


def _list_looks(request: Request, after: int, limit: int, since_ms: int) -> Response:
    exchange: RequestContext = request.scope["productrecs"]
    store = exchange.known_caller.store
    with exchange.context.services.database.reading() as connection:
        repository = LookRepository(connection, store.store_id)
        found = repository.published_page(after, limit + 1, since_ms)
    looks = {(look.look_id,): look for look in found}
    base_url = base_url_for_reply(request)

    def load_looks(keys: Sequence[tuple[int]]) -> Iterable[object]:
        for look in map(looks.__getitem__, keys):
            spots = [_stored_hotspot_fields(hotspot) for hotspot in look.content.hotspots]
            fields = _look_fields(look, look_image_url(base_url, store, look), spots)
            yield fields | {"updated_at": iso(look.updated_at)}

    return page_reply(list(looks), limit, load_looks)


def look_fields_with_products(
    look: Look, image_url: str, cached_store: CachedStore, now_ms: int
) -> dict[str, Any]:
    """Return a look as widgets get it, with the products that can be shown now."""
    spots = [
        _hotspot_fields_with_product(hotspot, look, cached_store, now_ms)
        for hotspot in look.content.hotspots
    ]
    return _look_fields(look, image_url, spots)


def _look_fields(look: Look, image_url: str, spots: list[dict[str, Any]]) -> dict[str, Any]:
    content = look.content
    return {
        "id": str(look.look_id),
        "title": content.title,
        "image_url": image_url,
        "item_id": content.item_id,
        "hotspots": spots,
        "published_at": iso(look.published_at or look.updated_at),
    }


def look_image_url(base_url: str, store: Store, look: Look) -> str:
    """Return the URL of a look's picture, external or on this service."""
    picture_id = look.content.picture_id
    if not picture_id:
        return look.content.image_url
    path = LOOK_PICTURE_PATH.format(store_domain=store.domain, picture_id=picture_id)
    return base_url + path


def _hotspot_fields_with_product(
    hotspot: Hotspot, look: Look, cached_store: CachedStore, now_ms: int
) -> dict[str, Any]:
    state = cached_store.state
    item_number = state.catalog.number(hotspot.item_id)
    card: bytes | None = None
    if item_number is not None and state.eligible_items(now_ms, ListKind.PRODUCT).may_show(
        item_number
    ):
        card = state.catalog.cards[item_number]
    return _stored_hotspot_fields(hotspot) | {
        "product": None
        if card is None
        else msgspec.Raw(b'%b,"source":"%b"}' % (card, look_source(look.look_id).encode())),
    }


def _stored_hotspot_fields(hotspot: Hotspot) -> dict[str, Any]:
    return {
        "label": hotspot.label,
        "bbox": list(hotspot.box),
        "item_id": hotspot.item_id,
    }
