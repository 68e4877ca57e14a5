"""Photo search: POST /v1/search/image returns products that look like a photo.

The photo is not stored.
"""

from typing import Final

from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.bodies import parse_json, read_body
from productrecs.entrypoints.http.cards import alike_body
from productrecs.entrypoints.http.context import Context, Exchange
from productrecs.entrypoints.http.documentation import body, errors, photo_search_reply
from productrecs.entrypoints.http.schemas.photos import (
    PHOTO_LIMIT,
    PhotoSearchBody,
    parse_photo,
    unseeable,
)
from productrecs.entrypoints.http.shops import OpenShop
from productrecs.features.search.by_photo import find_alike
from productrecs.records.merchandising.rule import Place
from productrecs.records.pictures.decoding import NotAPictureError
from productrecs.training.visual.lookout import Lookout

router = APIRouter(tags=["widget"])

PHOTO: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAK0lEQVR42mP88OEdAymAiY"
    "FEQHsNLMicIxYuWBXZnNgzmP0wHDQwDoO0BAB6Rwi9VrPyuAAAAABJRU5ErkJggg=="
)
_EXAMPLES: Final = {"a photo": {"image": PHOTO, "num": 6, "in_stock": True}}


@router.post(
    "/v1/search/image",
    operation_id="search_by_photo",
    summary="Find products that look like a photo",
    responses=photo_search_reply() | errors(401, 413, "image_too_large", 415, 422, 503),
    openapi_extra=body(PhotoSearchBody, _EXAMPLES, text=True),
    response_class=Response,
)
async def declared_photo_search(request: Request) -> Response:
    """Return the products whose pictures look like the photo, the most alike first.

    The photo is turned upright, looked at whole and at what stands in its front, and
    forgotten: it is neither stored nor logged. `score` is the likeness, 0 to 1. While a
    store has no pictures that are indexed, `results` is empty.
    """
    exchange: Exchange = request.scope["productrecs"]
    context = exchange.context
    headers, claim = request.scope["headers"], exchange.claim
    store = exchange.known_caller.store
    context.seeing.check_room(store.store_id)
    data = await read_body(request.receive, headers, PHOTO_LIMIT, claim, weight=2)
    opened = await context.shops.open(store)
    content = await context.seeing.run(
        store.store_id, lambda lookout: _found(context, opened, data, lookout)
    )
    return Response(content, media_type="application/json")


def _found(context: Context, opened: OpenShop, data: bytes, lookout: Lookout) -> bytes:
    photo = parse_photo(parse_json(data))
    shop, book = opened.shop, opened.shop.book
    try:
        hits = find_alike(
            photo.data,
            lookout.over(opened.pictures),
            shop.catalog,
            None if book is None else book.of(Place.SEARCH),
            context.clock(),
            num=photo.num,
            in_stock=photo.in_stock,
        )
    except NotAPictureError as error:
        raise unseeable(error) from error
    return alike_body(hits, shop.catalog.cards)
