"""Looks: GET /v1/looks returns the look that is published for a product."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from fastapi import Query, Request, Response

from productrecs.core.timestamps import iso
from productrecs.features.looks.look import Hotspot, Look
from productrecs.http.openapi_responses import (
    error_responses,
    look_response,
    not_modified_response,
)
from productrecs.http.pipeline.etag_responses import conditional_reply
from productrecs.http.pipeline.route_declaration import (
    LOOK_PICTURE_PATH,
    PUBLISHABLE,
    Routes,
)
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_of
from productrecs.http.routes.widget.list_parameters import (
    PriceListQuery,
    store_with_price_list,
)
from productrecs.records.events.event import look_source
from productrecs.records.merchandising.rule import ListKind
from productrecs.serving.cached_store import CachedStore
from productrecs.tenancy.accounts.store import Store

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("widget")

NO_LOOK: Final = b'{"look":null}'
_encode: Final = msgspec.json.Encoder().encode


@routes.get(
    "/v1/looks",
    PUBLISHABLE,
    widget=True,
    empty=b'{"look":null}',
    sends_timing=True,
    operation_id="look",
    summary="Return the look of a product page",
    responses=look_response() | not_modified_response() | error_responses(401, 422, 503),
    response_class=Response,
)
async def published_look(
    request: Request,
    item_id: Annotated[
        str, Query(min_length=1, description="The product of the page.", examples=["tent"])
    ],
    price_list: PriceListQuery = "",
) -> Response:
    """Return the look of a product that was published last; null where there is none.

    Boxes are fractions of the upright picture, from its top left. A product that cannot be
    shown now leaves its hotspot with `product` null.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context = exchange.context
    store = exchange.known_caller.store
    cached_store = await context.stores.open(store)
    cached_store = store_with_price_list(exchange.known_caller, cached_store, price_list)
    look = cached_store.looks.newest.get(item_id)
    if look is None:
        return conditional_reply(request, NO_LOOK, 0)
    address = _image_url(request, store, look)
    reply = look_reply(look, address, cached_store, context.clock())
    # It holds current prices, so a browser must validate it each time.
    return conditional_reply(request, b'{"look":%b}' % _encode(reply), 0)


def look_reply(
    look: Look, image_url: str, cached_store: CachedStore, now_ms: int
) -> dict[str, Any]:
    """Return a look as widgets get it, with the products that can be shown now."""
    content = look.content
    return {
        "id": str(look.look_id),
        "title": content.title,
        "image_url": image_url,
        "item_id": content.item_id,
        "hotspots": [
            _hotspot_fields(hotspot, look, cached_store, now_ms)
            for hotspot in content.hotspots
        ],
        "published_at": iso(look.published_at or look.updated_at),
    }


def _image_url(request: Request, store: Store, look: Look) -> str:
    """Return the URL of a look's picture, external or on this service."""
    picture_id = look.content.picture_id
    if not picture_id:
        return look.content.image_url
    path = LOOK_PICTURE_PATH.format(store_domain=store.domain, picture_id=picture_id)
    return base_url_of(request) + path


def _hotspot_fields(
    hotspot: Hotspot, look: Look, cached_store: CachedStore, now_ms: int
) -> dict[str, Any]:
    state = cached_store.state
    item_number = state.catalog.number(hotspot.item_id)
    card: bytes | None = None
    if item_number is not None and state.eligible(now_ms, ListKind.PRODUCT).may_show(
        item_number
    ):
        card = state.catalog.cards[item_number]
    return {
        "label": hotspot.label,
        "bbox": list(hotspot.box),
        "item_id": hotspot.item_id,
        "product": None
        if card is None
        else msgspec.Raw(b'%b,"source":"%b"}' % (card, look_source(look.look_id).encode())),
    }
