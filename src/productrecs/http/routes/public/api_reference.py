"""API reference: GET /docs and GET /openapi.json, with no request to another host."""

from collections.abc import Callable, Mapping
from importlib import resources
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

import msgspec
from fastapi import Path, Request, Response
from starlette.exceptions import HTTPException

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.features.guides.developer_guide_rendering import (
    PICTURES,
    read_guide_picture,
)
from productrecs.http.openapi_document import openapi_document
from productrecs.http.openapi_responses import error_responses, success_response
from productrecs.http.pipeline.etag_responses import content_digest
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.page_response import (
    IMMUTABLE,
    INTERACTIVE,
    REVALIDATE,
    cacheable_response,
    html_page,
    read_asset,
    text_response,
)

routes = Routes("documentation")


_OPENAPI_EXAMPLE: Final = {
    "openapi": "3.1.0",
    "info": {"title": "ProductRecs", "version": "3.0.0"},
    "paths": {},
}
_encode: Final = msgspec.json.Encoder().encode


class _Asset(NamedTuple):
    kind: str
    read: Callable[[str], bytes] = read_asset


def _read_swagger(name: str) -> bytes:
    return (resources.files("fastapi_offline") / "static" / name).read_bytes()


_SCRIPT: Final = "text/javascript; charset=utf-8"
_STYLE: Final = "text/css; charset=utf-8"
ASSETS: Final[Mapping[str, _Asset]] = MappingProxyType(
    {
        "icon.svg": _Asset("image/svg+xml"),
        "guides.js": _Asset(_SCRIPT),
        "pages.css": _Asset(_STYLE),
        "reference.css": _Asset(_STYLE),
        "reference.js": _Asset(_SCRIPT),
        "swagger-ui.css": _Asset(_STYLE, _read_swagger),
        "swagger-ui-bundle.js": _Asset(_SCRIPT, _read_swagger),
        **{name: _Asset("image/webp", read_guide_picture) for name in PICTURES},
    }
)
_PAGE: Final = """<link rel="stylesheet" href="{style}">
<link rel="stylesheet" href="{ours}">
<main id="content" class="wide"><div id="swagger"><noscript><h1>API reference</h1>
<p>This page needs JavaScript. The same is in <a href="/openapi.json">openapi.json</a>,
and in words in <a href="/guides">the guides</a>.</p></noscript></div></main>
<script src="{bundle}"></script>
<script src="{start}"></script>
"""


@routes.get(
    "/docs",
    NONE,
    summary="Show the API reference",
    responses=text_response("text/html", "A page.", "<!doctype html>..."),
)
async def reference(request: Request) -> Response:
    """Return the interactive API reference; it fetches nothing from any other host."""
    html = _PAGE.format(
        style=asset_address("swagger-ui.css"),
        ours=asset_address("reference.css"),
        bundle=asset_address("swagger-ui-bundle.js"),
        start=asset_address("reference.js"),
    )
    return html_page(request, "API reference", html, content_security_policy=INTERACTIVE)


@routes.get(
    "/openapi.json",
    NONE,
    summary="Return the OpenAPI description",
    responses=success_response(
        "An OpenAPI 3.1 document.", {"type": "object"}, _OPENAPI_EXAMPLE
    ),
)
async def openapi(request: Request) -> Response:
    """Return this description; its server is the address of the request."""
    document = openapi_document(request.app, base_url_for_reply(request))
    return cacheable_response(request, _encode(document), "application/json")


@routes.get(
    "/docs/{asset}",
    NONE,
    summary="Return a file of the pages",
    responses=text_response("*/*", "A stylesheet, a script or an icon.", "body {}")
    | error_responses("not_found"),
)
async def reference_asset(
    request: Request,
    asset: Annotated[
        str, Path(description=("The name of the file."), examples=["pages.css"])
    ],
) -> Response:
    """Return a file of the pages; at an address with a digest it never changes."""
    if asset not in ASSETS:
        message = f"there is no such file; there are {', '.join(ASSETS)}"
        raise HTTPException(404, message)
    body = _read_cached(asset)
    is_versioned = request.query_params.get("v") == content_digest(body)
    cache = IMMUTABLE if is_versioned else REVALIDATE
    return cacheable_response(request, body, ASSETS[asset].kind, cache=cache)


def asset_address(asset: str) -> str:
    """Return the address of a file with its digest: caches may store it forever."""
    return f"/docs/{asset}?v={content_digest(_read_cached(asset))}"


@memoized(RegisteredCache.PACKAGE_FILES)
def _read_cached(asset: str) -> bytes:
    return ASSETS[asset].read(asset)
