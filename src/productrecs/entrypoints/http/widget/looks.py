"""GET /v1/looks: the look that stands on a product's page."""

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Query, Request, Response

from productrecs.core.clock import iso
from productrecs.entrypoints.http.context import Context, Exchange
from productrecs.entrypoints.http.documentation import errors, look_reply
from productrecs.entrypoints.http.shops import OpenShop
from productrecs.features.looks.look import Hotspot, Look
from productrecs.records.merchandising.rule import Place

router = APIRouter(tags=["widget"])

NOTHING: Final = b'{"look":null}'
_encode: Final = msgspec.json.Encoder().encode


@router.get(
    "/v1/looks",
    operation_id="look",
    summary="Show the look that stands on a product's page",
    responses=look_reply() | errors(401, 422, 503),
    response_class=Response,
)
async def declared_look(
    request: Request,
    item_id: Annotated[
        str, Query(min_length=1, description="The page's product.", examples=["tent"])
    ],
) -> Response:
    """Return the look of a product that was published last; null where there is none.

    Boxes are fractions of the upright picture, from its top left. A product that cannot be
    shown now leaves its hotspot with `product` null.
    """
    exchange: Exchange = request.scope["productrecs"]
    context = exchange.context
    opened = await context.shops.open(exchange.known_caller.store)
    return Response(answer_look(context, opened, item_id), media_type="application/json")


def answer_look(context: Context, opened: OpenShop, item_id: str) -> bytes:
    """Return the body of a reply; from memory alone."""
    look = opened.looks.newest.get(item_id)
    if look is None:
        return NOTHING
    return b'{"look":%b}' % _encode(_told(look, opened, context.clock()))


def _told(look: Look, opened: OpenShop, now_ms: int) -> dict[str, Any]:
    content = look.content
    return {
        "id": str(look.look_id),
        "title": content.title,
        "image_url": content.image_url,
        "item_id": content.item_id,
        "hotspots": [_spot(one, opened, now_ms) for one in content.hotspots],
        "published_at": iso(look.published_at or look.updated_at),
    }


def _spot(spot: Hotspot, opened: OpenShop, now_ms: int) -> dict[str, Any]:
    shop = opened.shop
    number = shop.catalog.number(spot.item_id)
    card: bytes | None = None
    if number is not None and shop.shelf(now_ms, Place.PRODUCT).shows(number):
        card = shop.catalog.cards[number]
    return {
        "label": spot.label,
        "bbox": list(spot.box),
        "item_id": spot.item_id,
        "product": None if card is None else msgspec.Raw(card + b"}"),
    }
