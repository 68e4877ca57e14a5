"""Look pictures: GET /look-pictures/... serves the pictures of a merchant's looks."""

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Path, Request, Response

from productrecs.features.looks.look import UnknownLookPictureError
from productrecs.features.looks.repository import read_look_picture
from productrecs.http.openapi_responses import Responses, error_responses
from productrecs.http.pipeline.etag_responses import matches_etag
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.routes.public.page_response import IMMUTABLE
from productrecs.http.routes.public.widget_scripts import Domain, find_store_by_domain

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("public")

_KIND: Final = "image/jpeg"
_HEADERS: Final = {
    "cache-control": IMMUTABLE,  # another picture has another address
    "content-security-policy": "default-src 'none'",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}
_REPLY: Final[Responses] = {
    200: {
        "description": "The picture.",
        "content": {
            _KIND: {"schema": {"type": "string", "format": "binary"}, "example": "ÿØÿà"}
        },
    }
}

PictureId = Annotated[
    str,
    Path(
        description="The digest of the picture.",
        examples=["0f343b0931126a20f133d67c2b018a3b"],
    ),
]


@routes.get(
    "/look-pictures/{store_domain}/{picture_id}.jpg",
    NONE,
    summary="Return the picture of a look",
    responses=_REPLY | error_responses("picture_unknown"),
)
async def look_picture(
    request: Request, store_domain: Domain, picture_id: PictureId
) -> Response:
    """Return a picture that a merchant uploaded for a look, as a JPEG.

    It is the `image_url` in `GET /v1/looks`. It never changes, so browsers may cache
    it; it is deleted with the last look that uses it.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context = exchange.context
    store = await find_store_by_domain(context, store_domain)
    tag = f'"{picture_id}"'
    if store is not None:
        store_id = store.store_id
        content = await context.read(
            lambda reader: read_look_picture(reader, store_id, picture_id)
        )
        headers = _HEADERS | {"etag": tag}
        if content is not None and matches_etag(request.headers.get("if-none-match"), tag):
            return Response(status_code=304, headers=headers)
        if content is not None:
            return Response(content, media_type=_KIND, headers=headers)
    message = "no look has this picture any more; GET /v1/looks lists the current ones"
    raise UnknownLookPictureError(message)
