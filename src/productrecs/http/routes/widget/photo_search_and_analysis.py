"""Photo search and analysis: POST /v1/search/image and POST /v1/shop-the-look/analyze.

Both compare a photo with the store's pictures; the photo is not stored.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from fastapi import Request, Response

from productrecs.features.looks.photo_spots import PhotoSpot, find_spots_in_picture
from productrecs.features.search.hits_and_variant_collapse import Hit
from productrecs.features.search.photo_search import find_products_by_photo
from productrecs.http.openapi_responses import (
    documented_request_body,
    error_responses,
    photo_analysis_response,
    photo_search_response,
)
from productrecs.http.pipeline.route_context import ProcessContext, RequestContext
from productrecs.http.pipeline.route_declaration import PUBLISHABLE, Routes
from productrecs.http.pipeline.search_count_recorder import searcher_of_scope
from productrecs.http.routes.widget.list_parameters import (
    PriceListQuery,
    apply_price_list,
)
from productrecs.http.transport.request_body import read_body
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.pictures.decode_picture import UnreadablePictureError
from productrecs.schemas.photos import (
    PHOTO_LIMIT,
    PhotoBody,
    PhotoSearchBody,
    parse_photo_data,
    parse_photo_search,
    unreadable_photo_error,
)
from productrecs.schemas.strict_json import parse_json
from productrecs.serving.cached_store import CachedStore
from productrecs.serving.card_replies import photo_search_body, photo_search_cards
from productrecs.training.visual.photo_worker_owner import PhotoWorkerOwner

routes = Routes("widget")

PHOTO: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAK0lEQVR42mP88OEdAymAiY"
    "FEQHsNLMicIxYuWBXZnNgzmP0wHDQwDoO0BAB6Rwi9VrPyuAAAAABJRU5ErkJggg=="
)
_SEARCH_EXAMPLES: Final = {
    "a photo": {"image": PHOTO, "num": 6, "in_stock": True},
    "several things in one photo": {"image": PHOTO, "regions": True},
}


@routes.post(
    "/v1/search/image",
    PUBLISHABLE,
    widget=True,
    empty=b'{"results":[]}',
    sends_timing=True,
    summary="Find products similar to a photo",
    responses=photo_search_response()
    | error_responses(401, 413, "image_too_large", 415, 422, 503),
    openapi_extra=documented_request_body(
        PhotoSearchBody, _SEARCH_EXAMPLES, accepts_text=True
    ),
)
async def search_by_photo(request: Request, price_list: PriceListQuery = "") -> Response:
    """Return the products whose pictures look like the photo, most similar first.

    A product whose barcode (EAN, UPC, ISBN) the photo shows comes before all others. Words
    that are printed on what the photo shows count as well, if the server can read them.

    The photo is turned upright and compared as a whole and by its foreground. It is
    neither stored nor logged. `score` is the similarity, 0 to 1. While a store has no
    indexed pictures, `results` is empty. With `regions: true` the reply also has up to
    eight regions of the photo, as POST /v1/shop-the-look/analyze returns them.
    """
    reply = await _read_photo_and_reply(request, price_list, _photo_search_body)
    exchange: RequestContext = request.scope["productrecs"]
    searcher = searcher_of_scope(request.scope, request.query_params)
    exchange.context.searches.count_photo_search_unless_bot(
        exchange.known_caller.store.store_id, searcher
    )
    return reply


async def _read_photo_and_reply(
    request: Request,
    price_list: str,
    make_body: Callable[[ProcessContext, CachedStore, bytes, PhotoWorkerOwner], bytes],
) -> Response:
    """Read the photo, and let a photo worker compare it with the store's pictures."""
    exchange: RequestContext = request.scope["productrecs"]
    context = exchange.context
    headers, claim = request.scope["headers"], exchange.claim
    store = exchange.known_caller.store
    context.photo_pool.check_capacity(store.store_id)
    data = await read_body(request.receive, headers, PHOTO_LIMIT, claim, weight=2)
    cached_store = await context.stores.open(store)
    cached_store = apply_price_list(exchange.known_caller, cached_store, price_list)
    content = await context.photo_pool.run(
        store.store_id,
        lambda photo_worker: make_body(context, cached_store, data, photo_worker),
    )
    return Response(content, media_type="application/json")


def _photo_search_body(
    context: ProcessContext,
    cached_store: CachedStore,
    body: bytes,
    photo_worker: PhotoWorkerOwner,
) -> bytes:
    photo = parse_photo_search(parse_json(body))
    catalog, in_force = cached_store.state.catalog, cached_store.state.rules_in_force
    visible = catalog.visible(context.clock(), hide_sold_out=photo.in_stock)
    if in_force is not None:
        visible = in_force.effects_on_list(ListKind.SEARCH).shown_mask(visible)
    photo_search = photo_worker.search_in(cached_store.pictures)
    regions: bytes | None = None
    try:
        index = cached_store.index
        hits = find_products_by_photo(
            photo.data, photo_search, index, catalog, visible, photo.num
        )
        if photo.by_region:
            spots = find_spots_in_picture(photo.data, photo_search, catalog, visible)
            regions = _encode([_photo_spot_fields(spot, cached_store) for spot in spots])
    except UnreadablePictureError as error:
        raise unreadable_photo_error(error) from error
    return photo_search_body(hits, catalog.cards, regions)


_encode: Final = msgspec.json.Encoder().encode
_ANALYSIS_EXAMPLES: Final = {"a photo": {"image": PHOTO}}


@routes.post(
    "/v1/shop-the-look/analyze",
    PUBLISHABLE,
    widget=True,
    empty=b'{"hotspots":[]}',
    sends_timing=True,
    operation_id="analyze_photo",
    summary="Find the store's products in a photo",
    responses=photo_analysis_response()
    | error_responses(401, 413, "image_too_large", 415, 422, 503),
    openapi_extra=documented_request_body(PhotoBody, _ANALYSIS_EXAMPLES, accepts_text=True),
)
async def analyse_photo(request: Request, price_list: PriceListQuery = "") -> Response:
    """Return up to eight regions of the photo, most certain first, with their products.

    A region has a label, a box (fractions of the upright photo, from its top left), its
    confidence, and up to six similar products. The list is empty if nothing was
    recognised. The photo is not stored.
    """
    return await _read_photo_and_reply(request, price_list, _photo_analysis_body)


def _photo_analysis_body(
    context: ProcessContext,
    cached_store: CachedStore,
    body: bytes,
    photo_worker: PhotoWorkerOwner,
) -> bytes:
    photo = parse_photo_data(parse_json(body))
    try:
        state = cached_store.state
        visible = state.eligible_items(context.clock(), ListKind.PRODUCT).visible
        spots = find_spots_in_picture(
            photo, photo_worker.search_in(cached_store.pictures), state.catalog, visible
        )
    except UnreadablePictureError as error:
        raise unreadable_photo_error(error) from error
    return _encode({"hotspots": [_photo_spot_fields(spot, cached_store) for spot in spots]})


def _photo_spot_fields(photo_spot: PhotoSpot, cached_store: CachedStore) -> dict[str, Any]:
    hits = [
        Hit(item, score)
        for item, score in zip(photo_spot.items, photo_spot.scores, strict=True)
    ]
    cards = photo_search_cards(hits, cached_store.state.catalog.cards)
    return {
        "label": photo_spot.label,
        "bbox": [round(edge, 4) for edge in photo_spot.box],
        "confidence": round(photo_spot.confidence, 4),
        "products": [msgspec.Raw(card) for card in cards],
    }
