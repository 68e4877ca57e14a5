"""HTML pages: the frame, the security headers and the caching of pages for people."""

from collections.abc import Mapping
from html import escape
from importlib import resources
from string import Template
from types import MappingProxyType
from typing import Final

from fastapi import Request, Response

from productrecs import __version__
from productrecs.entrypoints.http.openapi.responses import Responses
from productrecs.entrypoints.http.pipeline.conditional_response import (
    content_digest,
    matches_etag,
)
from productrecs.entrypoints.http.routes.public.gzip_encoding import accepts_gzip, gzip_body

HTML: Final = "text/html; charset=utf-8"
# Ask each time, and be told "unchanged": a page is never older than the program.
REVALIDATE: Final = "no-cache"
IMMUTABLE: Final = "public, max-age=31536000, immutable"
_WORTH_PACKING: Final = 1_000  # bytes
_SAFE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
    }
)
# Nothing from elsewhere, nothing inline. Swagger UI draws its icons from data: addresses.
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_ALTERNATE: Final = '<link rel="alternate" type="text/markdown" href="{}">\n'
SCRIPTED: Final = "script-src 'self'; " + _POLICY
INTERACTIVE: Final = "script-src 'self'; connect-src 'self'; " + _POLICY


def cacheable_response(
    request: Request,
    shown: str | bytes,
    kind: str,
    *,
    cache: str = REVALIDATE,
    vary: str | None = None,
) -> Response:
    """Return a cacheable reply; 304 without a body when the caller has it.

    From a kilobyte on it is compressed with gzip if the caller accepts it.
    """
    body = shown.encode() if isinstance(shown, str) else shown
    is_large = len(body) >= _WORTH_PACKING
    goes_packed = is_large and accepts_gzip(request)
    tag = f'"{content_digest(body)}{"-gzip" if goes_packed else ""}"'
    headers = {"etag": tag, "cache-control": cache, **_SAFE}
    varies = [vary] if vary else []
    if is_large:
        varies.append("Accept-Encoding")
    if varies:
        headers["vary"] = ", ".join(varies)
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    if goes_packed:
        headers["content-encoding"] = "gzip"
        body = gzip_body(body)
    return Response(body, media_type=kind, headers=headers)


def html_page(
    request: Request,
    title: str,
    shown: str,
    *,
    policy: str = _POLICY,
    vary: str | None = None,
    markdown: str | None = None,
) -> Response:
    """Return a page whose frame holds `shown`, which is HTML already.

    `markdown` is the address of the same as markdown, where there is one.
    """
    html = _frame().substitute(
        title=escape(title),
        alternate=_ALTERNATE.format(escape(markdown)) if markdown else "",
        content=shown,
        style=f"/docs/pages.css?v={_style_digest()}",
        version=escape(__version__),
    )
    reply = cacheable_response(request, html, HTML, vary=vary)
    reply.headers["content-security-policy"] = policy
    if markdown:
        reply.headers["link"] = f'<{markdown}>; rel="alternate"; type="text/markdown"'
    return reply


def text_response(kind: str, description: str, example: str) -> Responses:
    """Return the documented reply of a route whose body is text of this kind."""
    shown = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": description, "content": {kind: shown}}}


def read_asset(name: str) -> bytes:
    """Return one of the files beside this module."""
    return (resources.files(__package__) / "assets" / name).read_bytes()


def _frame() -> Template:
    return Template(read_asset("frame.html").decode())


def _style_digest() -> str:
    return content_digest(read_asset("pages.css"))
