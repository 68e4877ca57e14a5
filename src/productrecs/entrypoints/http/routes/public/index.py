"""Index: GET / says what this service is, and links everything else."""

from typing import TYPE_CHECKING, Any, Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs import __version__
from productrecs.entrypoints.http.openapi.responses import error_responses
from productrecs.entrypoints.http.pipeline.urls import base_url_of
from productrecs.entrypoints.http.routes.public.content_negotiation import (
    HTML,
    JSON,
    MARKDOWN,
    preferred_media_type,
)
from productrecs.entrypoints.http.routes.public.health import not_ready
from productrecs.entrypoints.http.routes.public.html_pages import html_page
from productrecs.features.guides.guide_texts import llms_index as index_of_guides

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.context import RequestContext

router = APIRouter(tags=["public"])

_encode: Final = msgspec.json.Encoder().encode
_CONTENT: Final = """<main id="content">
<h1>ProductRecs</h1>
<p class="lead">Recommendations for online stores, on your own machine. A store sends its
catalog, its orders and what shoppers do; this service answers which products belong
on a page.</p>
<p class="state" role="status">Ready to answer</p>
<h2>Start here</h2>
<ul class="cards">
<li><a href="/guides/quickstart"><strong>Quick start</strong>
<span>From an empty shop to its first recommendation in five minutes.</span></a></li>
<li><a href="/guides"><strong>Guides</strong>
<span>Catalog, events, orders, recommendations, settings, errors.</span></a></li>
<li><a href="/docs"><strong>API reference</strong>
<span>Every call with its fields and refusals; try them from the page.</span></a></li>
</ul>
<h2>For programs</h2>
<ul class="cards">
<li><a href="/openapi.json"><strong>openapi.json</strong>
<span>The interface, machine-readable.</span></a></li>
<li><a href="/llms.txt"><strong>llms.txt</strong>
<span>The index of the guides as markdown, for language models; all of them at once are
in llms-full.txt.</span></a></li>
<li><a href="/guides/mcp"><strong>/mcp</strong>
<span>The guides for assistants, over the Model Context Protocol.</span></a></li>
<li><a href="/health/ready"><strong>/health/ready</strong>
<span>200 when requests may come, else 503 with the reasons.</span></a></li>
<li><a href="/health/live"><strong>/health/live</strong>
<span>200 as long as the process runs.</span></a></li>
</ul>
</main>"""
ADDRESSES: Final = {
    "openapi": "/openapi.json",
    "docs": "/docs",
    "guides": "/guides",
    "llms": "/llms.txt",
    "llms_full": "/llms-full.txt",
    "mcp": "/mcp",
    "health": {"live": "/health/live", "ready": "/health/ready"},
}

_SELF: Final = {"service": "ProductRecs", "version": __version__, **ADDRESSES}
_TEXT: Final = {
    HTML: {"schema": {"type": "string"}, "example": "<!doctype html>..."},
    MARKDOWN: {"schema": {"type": "string"}, "example": "# ProductRecs\n\n> ..."},
}
_JSON: Final = {JSON: {"schema": {"type": "object"}, "example": _SELF}}
_REPLY: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The service and its addresses, in the form that is accepted.",
        "content": _JSON | _TEXT,
    }
}


@router.get(
    "/",
    operation_id="index",
    summary="Say what this is, and where everything is",
    responses=_REPLY | error_responses("not_ready"),
    response_class=Response,
)
async def index(request: Request) -> Response:
    """Answer 200 when ready: a page, markdown or JSON, as the caller accepts.

    All lead to the guides, the reference, this description and the health. Markdown is the
    same as `/llms.txt`; who has no wish gets JSON.
    """
    exchange: RequestContext = request.scope["productrecs"]
    if (fitness := exchange.fitness()).reasons:
        return not_ready(request, fitness)
    form = preferred_media_type(request, (JSON, HTML, MARKDOWN))
    if form == HTML:
        shown = html_page(
            request, "Recommendations for online stores", _CONTENT, vary="Accept"
        )
        shown.headers["cache-control"] = "no-store"  # it says "ready", which may pass
        del shown.headers["etag"]
        return shown
    headers = {"vary": "Accept"}
    if form == MARKDOWN:
        text = index_of_guides(base_url_of(request))
        return Response(text, media_type=MARKDOWN, headers=headers)
    return Response(_encode(_SELF), media_type=JSON, headers=headers)
