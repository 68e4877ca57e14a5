"""Photo search: POST /v1/search/image returns products that look like a photo.

The photo is not stored.
"""

from typing import Final

from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.caches.store_cache import CachedStore
from productrecs.entrypoints.http.openapi.responses import (
    error_responses,
    photo_search_response,
    request_body,
)
from productrecs.entrypoints.http.pipeline.route_context import Context, RequestContext
from productrecs.entrypoints.http.schemas.photos import (
    PHOTO_LIMIT,
    PhotoSearchBody,
    parse_photo,
    unreadable_photo,
)
from productrecs.entrypoints.http.schemas.product_cards import similar_body
from productrecs.entrypoints.http.transport.request_body import parse_json, read_body
from productrecs.features.search.photo_search import find_by_photo
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.pictures.decode_picture import NotAPictureError
from productrecs.training.visual.photo_search_client import PhotoWorkerClient

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
    summary="Find products similar to a photo",
    responses=photo_search_response()
    | error_responses(401, 413, "image_too_large", 415, 422, 503),
    openapi_extra=request_body(PhotoSearchBody, _EXAMPLES, text=True),
    response_class=Response,
)
async def declared_photo_search(request: Request) -> Response:
    """Return the products whose pictures look like the photo, most similar first.

    The photo is turned upright and compared as a whole and by its foreground. It is
    neither stored nor logged. `score` is the similarity, 0 to 1. While a store has no
    indexed pictures, `results` is empty.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context = exchange.context
    headers, claim = request.scope["headers"], exchange.claim
    store = exchange.known_caller.store
    context.photo_pool.check_room(store.store_id)
    data = await read_body(request.receive, headers, PHOTO_LIMIT, claim, weight=2)
    opened = await context.shops.open(store)
    content = await context.photo_pool.run(
        store.store_id, lambda lookout: _found(context, opened, data, lookout)
    )
    return Response(content, media_type="application/json")


def _found(
    context: Context, opened: CachedStore, data: bytes, lookout: PhotoWorkerClient
) -> bytes:
    photo = parse_photo(parse_json(data))
    shop, book = opened.shop, opened.shop.book
    try:
        hits = find_by_photo(
            photo.data,
            lookout.over(opened.pictures),
            shop.catalog,
            None if book is None else book.of(ListKind.SEARCH),
            context.clock(),
            num=photo.num,
            in_stock=photo.in_stock,
        )
    except NotAPictureError as error:
        raise unreadable_photo(error) from error
    return similar_body(hits, shop.catalog.cards)
