"""Page response: HTML pages for people, by the Accept header, compressed and cacheable."""

import re
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from types import MappingProxyType
from typing import Final, NamedTuple

from fastapi import Request, Response

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.program_version import PROGRAM_VERSION
from productrecs.http.openapi_responses import Responses
from productrecs.http.pipeline.etag_responses import (
    content_digest,
    matches_etag,
)
from productrecs.http.pipeline.url_decoding_and_base_url import depends_on_host_header

GZIP_LEVEL: Final = 9
GZIP_WINDOW_BITS: Final = 31  # of zlib: 15 for a window of 32 KiB, 16 for the gzip format


def accepts_gzip(request: Request) -> bool:
    """Return whether a caller accepts replies in gzip."""
    return "gzip" in request.headers.get("accept-encoding", "").lower()


@memoized(RegisteredCache.GZIP_BODIES)
def gzip_body(body: bytes) -> bytes:
    """Return a body in gzip; recent ones are cached."""
    return zlib.compress(body, GZIP_LEVEL, wbits=GZIP_WINDOW_BITS)


_HTML_UTF8: Final = "text/html; charset=utf-8"
# Revalidate each time (304 if unchanged): a page is never older than the program.
REVALIDATE: Final = "no-cache"
IMMUTABLE: Final = "public, max-age=31536000, immutable"
_MIN_GZIP_BYTES: Final = 1_000  # bytes
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
    content: str | bytes,
    media_type: str,
    *,
    cache: str = REVALIDATE,
    vary: str | None = None,
) -> Response:
    """Return a cacheable reply; 304 without a body when the caller has it.

    Only the caller's own browser may store a reply that names the Host of the request.
    From a kilobyte on it is compressed with gzip if the caller accepts it.
    """
    body = content.encode() if isinstance(content, str) else content
    is_large = len(body) >= _MIN_GZIP_BYTES
    is_compressed = is_large and accepts_gzip(request)
    tag = f'"{content_digest(body)}{"-gzip" if is_compressed else ""}"'
    if depends_on_host_header(request):
        cache = f"private, {cache}"
    headers = {"etag": tag, "cache-control": cache, **_SAFE}
    varies = [vary] if vary else []
    if is_large:
        varies.append("Accept-Encoding")
    if varies:
        headers["vary"] = ", ".join(varies)
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    if is_compressed:
        headers["content-encoding"] = "gzip"
        body = gzip_body(body)
    return Response(body, media_type=media_type, headers=headers)


def html_page(
    request: Request,
    title: str,
    content_html: str,
    *,
    content_security_policy: str = _POLICY,
    vary: str | None = None,
    markdown_url: str | None = None,
) -> Response:
    """Return a page whose frame holds `content_html`, which is HTML already.

    `markdown_url` is the address of the same page as markdown, where there is one.
    """
    html = Template(read_asset("frame.html").decode()).substitute(
        title=escape(title),
        alternate=_ALTERNATE.format(escape(markdown_url)) if markdown_url else "",
        content=content_html,
        style=f"/docs/pages.css?v={content_digest(read_asset('pages.css'))}",
        version=escape(PROGRAM_VERSION),
    )
    reply = cacheable_response(request, html, _HTML_UTF8, vary=vary)
    reply.headers["content-security-policy"] = content_security_policy
    if markdown_url:
        reply.headers["link"] = f'<{markdown_url}>; rel="alternate"; type="text/markdown"'
    return reply


def text_response(kind: str, description: str, example: str) -> Responses:
    """Return the documented reply of a route whose body is text of this kind."""
    shown = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": description, "content": {kind: shown}}}


def read_asset(name: str) -> bytes:
    """Return a file of the package's assets."""
    return (resources.files("productrecs") / "assets" / name).read_bytes()


HTML: Final = "text/html"
JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"
_SHARE: Final = re.compile(r"\bq\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)")


class _MediaTypePreference(NamedTuple):
    """How much a kind is wished for: its share, then how early it was named."""

    share: float  # 0 (not at all) to 1
    earliness: int


def preferred_media_type(request: Request, offered: Sequence[str]) -> str:
    """Return which of the media types `offered` the caller prefers, by its Accept.

    The first offered without a preference, or if none can be met. Ties: the first named
    in Accept, then the first offered.
    """
    ranges = _accepted_ranges(request.headers.get("accept", "").lower())
    preferences = {kind: _preference_for(kind, ranges) for kind in offered}
    chosen = max(offered, key=preferences.__getitem__)
    return chosen if preferences[chosen].share else offered[0]


def _accepted_ranges(accept: str) -> dict[str, _MediaTypePreference]:
    found = {}
    for place, part in enumerate(accept.split(",")):
        kind, _, parameters = part.partition(";")
        share = _SHARE.search(parameters)
        found[kind.strip()] = _MediaTypePreference(
            float(share[1]) if share else 1.0, -place
        )
    return found


def _preference_for(
    kind: str, ranges: dict[str, _MediaTypePreference]
) -> _MediaTypePreference:
    """Return the wish for a kind; what names it most closely counts."""
    group = f"{kind.partition('/')[0]}/*"
    close = (
        ranges[media_range] for media_range in (kind, group, "*/*") if media_range in ranges
    )
    return next(close, _MediaTypePreference(0.0, 0))
