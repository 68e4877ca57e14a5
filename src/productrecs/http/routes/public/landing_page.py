"""Landing page: GET / says what this service is, and links everything else."""

from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response

from productrecs import __version__
from productrecs.core.program_version import REVISION
from productrecs.features.guides.developer_guide_rendering import (
    PICTURES,
    render_llms_txt,
)
from productrecs.http.openapi_responses import error_responses
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.api_reference import asset_address
from productrecs.http.routes.public.health import not_ready_response
from productrecs.http.routes.public.page_response import (
    HTML,
    JSON,
    MARKDOWN,
    html_page,
    preferred_media_type,
)

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("public")

IS_DEMO: Final = "productrecs.demo"
"""The key in a request's ASGI scope that the running demo shop sets."""
_PICTURE: Final = "widgets.webp"
_DEMO: Final = '<a class="button" href="/demo">Open the demo shop</a>\n'
_CONTENT: Final = """<main id="content">
<div class="hero">
<div>
<h1>Recommendations and search for your online store</h1>
<p class="lead">ProductRecs runs on your own server. Your store sends its products, its
orders and what shoppers do. The service learns from them within a minute and answers which
products to show on each page.</p>
<p class="actions">
{demo}<a class="button{second}" href="/dashboard">Open the dashboard</a>
<a class="button second" href="/guides/quickstart">Quick start</a>
<a class="button second" href="/guides">Guides</a></p>
<p class="state" role="status">Ready to answer</p>
</div>
<img src="{picture}" width="{width}" height="{height}"
alt="Below a tent: pegs, a footprint and a lantern that are often bought with it.">
</div>
<ul class="facts">
<li><a href="/guides/recommendations">Recommendations</a>
Bought together, similar, trending and personal lists.</li>
<li><a href="/guides/search">Search</a>
Forgives typos, learns from clicks, also takes a photo.</li>
<li><a href="/guides/looks">Shop the look</a>
Photos with hotspots that lead to your products.</li>
<li><a href="/guides/demand">Demand forecast</a>
What sells in the next 28 days, and what to order.</li>
<li><a href="/guides/reports">Reports</a>
Sales after recommendations, searches without results.</li>
<li><a href="/guides/widgets">Widgets</a>
One script tag shows lists and search on any page.</li>
</ul>
<p class="more">Install it for <a href="/guides/woocommerce">WooCommerce</a>,
<a href="/guides/shopify">Shopify</a>, <a href="/guides/magento">Magento</a>,
<a href="/guides/prestashop">PrestaShop</a>, <a href="/guides/opencart">OpenCart</a>,
<a href="/guides/frameworks">React, Vue and headless shops</a> or
<a href="/guides/custom">a shop of your own</a>.</p>
<p class="more">For programs: <a href="/docs">API reference</a>,
<a href="/openapi.json">openapi.json</a>, <a href="/llms.txt">llms.txt</a>,
<a href="/guides/mcp">/mcp</a>, <a href="/health/ready">/health/ready</a>,
<a href="/health/live">/health/live</a></p>
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

_SELF: Final = {
    "service": "ProductRecs",
    "version": __version__,
    "revision": REVISION,
    **ADDRESSES,
}
_TEXT: Final = {
    HTML: {"schema": {"type": "string"}, "example": "<!doctype html>..."},
    MARKDOWN: {"schema": {"type": "string"}, "example": "# ProductRecs\n\n> ..."},
}
_JSON: Final = {
    JSON: {"schema": {"type": "object"}, "example": _SELF | {"revision": "020de666d1f2"}}
}
_REPLY: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The service and its addresses, in the format of the Accept header.",
        "content": _JSON | _TEXT,
    }
}


@routes.get(
    "/",
    NONE,
    operation_id="index",
    summary="Show the index page",
    responses=_REPLY | error_responses("not_ready"),
)
async def landing_page(request: Request) -> Response:
    """Answer 200 when ready: a page, markdown or JSON, as the caller accepts.

    All link to the guides, the reference, this description and the health checks.
    Markdown is the same as `/llms.txt`; JSON is the default.
    """
    exchange: RequestContext = request.scope["productrecs"]
    if (readiness := exchange.readiness()).reasons:
        return not_ready_response(request, readiness)
    media_type = preferred_media_type(request, (JSON, HTML, MARKDOWN))
    if media_type == HTML:
        html = _page_html(has_demo=IS_DEMO in request.scope)
        page = html_page(request, "Recommendations for online stores", html, vary="Accept")
        page.headers["cache-control"] = "no-store"  # the page shows the present readiness
        del page.headers["etag"]
        return page
    headers = {"vary": "Accept"}
    if media_type == MARKDOWN:
        text = render_llms_txt(base_url_for_reply(request))
        return Response(text, media_type=MARKDOWN, headers=headers)
    return json_reply(_SELF, headers=headers)


def _page_html(*, has_demo: bool) -> str:
    width, height = PICTURES[_PICTURE]
    return _CONTENT.format(
        demo=_DEMO if has_demo else "",
        second=" second" if has_demo else "",
        picture=asset_address(_PICTURE),
        width=width,
        height=height,
    )
