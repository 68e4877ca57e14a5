"""How is a page for people sent: its frame, its safety headers, and when is it not sent?"""

import hashlib
from collections.abc import Mapping
from html import escape
from importlib import resources
from string import Template
from types import MappingProxyType
from typing import Final

from fastapi import Request, Response

from productrecs import __version__
from productrecs.entrypoints.http.documentation import Responses

HTML: Final = "text/html; charset=utf-8"
# Ask each time, and be told "unchanged": a page is never older than the program.
REVALIDATE: Final = "no-cache"
FOR_EVER: Final = "public, max-age=31536000, immutable"
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
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
INTERACTIVE: Final = "script-src 'self'; connect-src 'self'; " + _POLICY


def document(
    request: Request,
    shown: str | bytes,
    kind: str,
    *,
    cache: str = REVALIDATE,
    vary: str | None = None,
) -> Response:
    """Return a reply that a cache may keep; 304 without a body when the caller has it."""
    body = shown.encode() if isinstance(shown, str) else shown
    tag = f'"{digest(body)}"'
    headers = {"etag": tag, "cache-control": cache, **_SAFE}
    if vary:
        headers["vary"] = vary
    if has_already(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)


def page(
    request: Request,
    title: str,
    shown: str,
    *,
    policy: str = _POLICY,
    vary: str | None = None,
) -> Response:
    """Return a page whose frame holds `shown`, which is HTML already."""
    html = _frame().substitute(
        title=escape(title),
        content=shown,
        style=f"/docs/pages.css?v={_style_digest()}",
        version=escape(__version__),
    )
    reply = document(request, html, HTML, vary=vary)
    reply.headers["content-security-policy"] = policy
    return reply


def digest(body: bytes) -> str:
    """Return what tells one content from another."""
    return hashlib.sha256(body).hexdigest()[:20]


def has_already(sent: str | None, tag: str) -> bool:
    """Return whether an If-None-Match names `tag`, weakly compared, or anything."""
    if sent is None:
        return False
    return sent.strip() == "*" or tag in [
        one.strip().removeprefix("W/") for one in sent.split(",")
    ]


def content(kind: str, description: str, example: str) -> Responses:
    """Return the documented reply of a route whose body is text of this kind."""
    shown = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": description, "content": {kind: shown}}}


def wants_html(request: Request) -> bool:
    """Return whether the caller prefers a page: browsers do, programs do not say."""
    for part in request.headers.get("accept", "").lower().split(","):
        kind = part.split(";")[0].strip()
        if kind in {"text/html", "application/xhtml+xml"}:
            return True
        if kind in {"application/json", "*/*"}:
            return False
    return False


def read_asset(name: str) -> bytes:
    """Return one of the files beside this module."""
    return (resources.files(__package__) / "assets" / name).read_bytes()


def _frame() -> Template:
    return Template(read_asset("frame.html").decode())


def _style_digest() -> str:
    return digest(read_asset("pages.css"))
