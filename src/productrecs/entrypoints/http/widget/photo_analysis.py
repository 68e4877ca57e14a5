"""Photo analysis: POST /v1/shop-the-look/analyze finds the store's products in a photo."""

from typing import Any, Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.bodies import parse_json, read_body
from productrecs.entrypoints.http.cards import alike_cards
from productrecs.entrypoints.http.context import Context, Exchange
from productrecs.entrypoints.http.documentation import analysis_reply, body, errors
from productrecs.entrypoints.http.schemas.photos import (
    PHOTO_LIMIT,
    PhotoBody,
    parse_bare_photo,
    unseeable,
)
from productrecs.entrypoints.http.shops import OpenShop
from productrecs.entrypoints.http.widget.photos import PHOTO
from productrecs.features.looks.analyze import Spot
from productrecs.features.looks.spots import spots_in
from productrecs.features.search.request import Hit
from productrecs.records.merchandising.rule import Place
from productrecs.records.pictures.decoding import NotAPictureError
from productrecs.training.visual.lookout import Lookout

router = APIRouter(tags=["widget"])

_encode: Final = msgspec.json.Encoder().encode
_EXAMPLES: Final = {"a photo": {"image": PHOTO}}


@router.post(
    "/v1/shop-the-look/analyze",
    operation_id="analyze_photo",
    summary="Find the store's products in a photo",
    responses=analysis_reply() | errors(401, 413, "image_too_large", 415, 422, 503),
    openapi_extra=body(PhotoBody, _EXAMPLES, text=True),
    response_class=Response,
)
async def declared_analysis(request: Request) -> Response:
    """Return up to eight places in the photo, the surest first, each with its products.

    A place has a label, a box (fractions of the upright photo, from its top left), how
    sure it is, and up to six products that look like what is there. The list is empty where
    nothing can be said. Nothing of the photo is kept.
    """
    exchange: Exchange = request.scope["productrecs"]
    context = exchange.context
    headers, claim = request.scope["headers"], exchange.claim
    store = exchange.known_caller.store
    context.seeing.check_room(store.store_id)
    data = await read_body(request.receive, headers, PHOTO_LIMIT, claim, weight=2)
    opened = await context.shops.open(store)
    content = await context.seeing.run(
        store.store_id, lambda lookout: _told(context, opened, data, lookout)
    )
    return Response(content, media_type="application/json")


def _told(context: Context, opened: OpenShop, data: bytes, lookout: Lookout) -> bytes:
    photo = parse_bare_photo(parse_json(data))
    try:
        shop = opened.shop
        visible = shop.shelf(context.clock(), Place.PRODUCT).visible
        spots = spots_in(photo, lookout.over(opened.pictures), shop.catalog, visible)
    except NotAPictureError as error:
        raise unseeable(error) from error
    return _encode({"hotspots": [_spot(one, opened) for one in spots]})


def _spot(spot: Spot, opened: OpenShop) -> dict[str, Any]:
    hits = [Hit(*one) for one in zip(spot.items, spot.scores, strict=True)]
    cards = alike_cards(hits, opened.shop.catalog.cards)
    return {
        "label": spot.label,
        "bbox": [round(one, 4) for one in spot.box],
        "confidence": round(spot.confidence, 4),
        "products": [msgspec.Raw(card) for card in cards],
    }
