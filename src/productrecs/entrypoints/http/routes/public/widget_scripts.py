"""Widget scripts: GET /widget/v1/... serves the scripts that shops put on their pages.

They contain their store's settings and are cached for a short time.
"""

import hashlib
import re
import zlib
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from fastapi import APIRouter, Path, Request, Response

from productrecs.core.cache_registry import Cache, memoized
from productrecs.entrypoints.http.openapi.responses import Responses
from productrecs.entrypoints.http.pipeline.authentication import (
    LOOK_SCRIPT_PATH,
    ROUTES,
    SCRIPT_PATH,
    SEARCH_SCRIPT_PATH,
)
from productrecs.entrypoints.http.pipeline.conditional_response import matches_etag
from productrecs.entrypoints.http.routes.public.page_response import (
    GZIP_LEVEL,
    GZIP_WINDOW_BITS,
    accepts_gzip,
    text_response,
)
from productrecs.tenancy.accounts.domains_and_origins import DomainError, normalise_domain

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.route_context import Context, RequestContext
    from productrecs.tenancy.accounts.store import Store


SCRIPT: Final = "text/javascript; charset=utf-8"
HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "vary": "Accept-Encoding",
}
_CALL: Final = b"(null);"
_BROTLI: Final = re.compile(
    r"(?:^|,)\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?=,|$)"
)


class CompressedScript:
    """A script without its last call, uncompressed and compressed."""

    def __init__(self, name: str) -> None:
        folder = resources.files(__package__) / "assets" / "widgets"
        built = (folder / f"{name}.js").read_bytes().rstrip()
        if not built.endswith(_CALL):
            message = f"{name}.js does not end with its call; build it again (widgets/)"
            raise RuntimeError(message)
        self._body = built.removesuffix(_CALL)
        self._in_brotli = (folder / f"{name}.js.br").read_bytes()
        self._digest = hashlib.sha256(self._body)
        self._compressor = zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WINDOW_BITS)
        self._compressed = self._compressor.compress(self._body)

    def plain(self, variables: bytes) -> bytes:
        """Return the script, called with `variables`."""
        return b"%b(%b);\n" % (self._body, variables)

    def compressed(self, variables: bytes) -> bytes:
        """Return the script in gzip; only its end is compressed again."""
        compressor = self._compressor.copy()
        return (
            self._compressed
            + compressor.compress(b"(%b);\n" % variables)
            + compressor.flush()
        )

    def in_brotli(self, variables: bytes) -> bytes:
        """Return it in brotli, with the end uncompressed (RFC 7932, section 9.2)."""
        end = b"(%b);\n" % variables
        # A meta-block that is not compressed: not the last (1 bit), the length in 4 nibbles
        # (2 bits of 0), the length less 1 (16 bits), not compressed (1 bit), whole bytes.
        head = (len(end) - 1) << 3 | 1 << 19
        return self._in_brotli + head.to_bytes(3, "little") + end + b"\x03"  # empty, last

    def tag(self, variables: bytes, coding: str) -> str:
        """Return the ETag of this script in this encoding."""
        digest = self._digest.copy()
        digest.update(variables)
        return f'"{digest.hexdigest()[:20]}{coding}"'


@memoized(Cache.PACKAGE_FILES)
def load_script(name: str) -> CompressedScript:
    """Return one of the scripts in the package."""
    return CompressedScript(name)


def send_script(
    request: Request, script: CompressedScript, variables: bytes, cache: str
) -> Response:
    """Return a script, called with `variables`, in the best accepted encoding."""
    accepted_encodings = request.headers.get("accept-encoding", "").lower()
    coding = (
        "br"
        if _BROTLI.search(accepted_encodings)
        else "gzip"
        if accepts_gzip(request)
        else ""
    )
    tag = script.tag(variables, f"-{coding}" if coding else "")
    headers = {**HEADERS, "etag": tag, "cache-control": cache}
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    if not coding:
        return Response(script.plain(variables), media_type=SCRIPT, headers=headers)
    headers["content-encoding"] = coding
    body = script.in_brotli(variables) if coding == "br" else script.compressed(variables)
    return Response(body, media_type=SCRIPT, headers=headers)


router = APIRouter(tags=["public"])

# Cached for five minutes, then stale-while-revalidate for a day.
CACHED: Final = "public, max-age=300, stale-while-revalidate=86400"
# Optional calls of a script: the feature name and the route that it needs.
_WORDS: Final = {
    "image": "/v1/search/image",
    "looks": "/v1/looks",
    "analyze": "/v1/shop-the-look/analyze",
}
ROUTE_NAMES: Final = [word for word, path in _WORDS.items() if path in ROUTES]
_encode: Final = msgspec.json.Encoder().encode

Domain = Annotated[
    str,
    Path(description="The store's domain, as registered.", examples=["shop.example.com"]),
]


def _replies(description: str) -> Responses:
    unknown = text_response(
        SCRIPT, "Unknown store: a script that logs an error.", "console.warn()"
    )
    return {**text_response(SCRIPT, description, "(()=>{...})()"), 404: unknown[200]}


@router.get(
    SEARCH_SCRIPT_PATH,
    operation_id="search_script",
    summary="Return a store's search widget",
    responses=_replies("The script."),
    response_class=Response,
)
async def search_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that adds suggestions to the theme's search box.

    Pages of any origin may use it. For an unknown store it is a script that logs an
    error in the browser's console: with 404, and with 200 to a page's own tag, because
    browsers do not run scripts with 404.
    """
    return await _script(request, "search", store_domain)


@router.get(
    LOOK_SCRIPT_PATH,
    operation_id="look_script",
    summary="Return a store's Shop-the-Look widget",
    responses=_replies("The script."),
    response_class=Response,
)
async def look_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that draws `<product-look>`.

    Pages of any origin may use it. For an unknown store it is a script that logs an
    error in the browser's console: with 404, and with 200 to a page's own tag, because
    browsers do not run scripts with 404.
    """
    return await _script(request, "look", store_domain)


@router.get(
    SCRIPT_PATH,
    operation_id="recommendations_script",
    summary="Return a store's recommendations widget",
    responses=_replies("The script."),
    response_class=Response,
)
async def recommendations_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that draws `<product-recs>` and defines `ProductRecs.track`.

    Pages of any origin may use it. For an unknown store it is a script that logs an
    error in the browser's console: with 404, and with 200 to a page's own tag, because
    browsers do not run scripts with 404.
    """
    return await _script(request, "recs", store_domain)


async def _script(request: Request, name: str, domain: str) -> Response:
    exchange: RequestContext = request.scope["productrecs"]
    store = await find_store_of(exchange.context, domain)
    if store is None:
        is_run = request.headers.get("sec-fetch-dest") == "script"
        return _unknown(domain, 200 if is_run else 404)
    return send_script(request, load_script(name), script_config(store), CACHED)


def script_config(store: "Store") -> bytes:
    """Return a script's configuration for its store, as JavaScript: public by design."""
    return _encode({"key": store.publishable_key, "answers": ROUTE_NAMES})


def live_tags(base_url: str, domain: str) -> Iterator[str]:
    """Return what pages of a shop embed, one tag a script."""
    for path in (SCRIPT_PATH, SEARCH_SCRIPT_PATH, LOOK_SCRIPT_PATH):
        yield f'<script async src="{base_url}{path.format(store_domain=domain)}"></script>'


async def find_store_of(context: "Context", text: str) -> "Store | None":
    """Return the store of the domain in an address; None for an unknown one."""
    try:
        domain = normalise_domain(text)
    except DomainError:
        return None
    store = context.accounts.by_domain(domain)
    if store is None:  # perhaps it is a moment old
        await context.refresh_accounts()
        store = context.accounts.by_domain(domain)
    return store


def _unknown(domain: str, status: int) -> Response:
    message = (
        f"ProductRecs: there is no store {domain[:253]!r} here; use the domain as it was "
        "registered"
    )
    # In pure ASCII, so that it is one string in every engine.
    body = f"console.warn({msgspec.json.encode(message).decode()});\n"
    body = body.encode("ascii", "backslashreplace").decode("ascii")
    return Response(
        body,
        status,
        media_type=SCRIPT,
        headers={**HEADERS, "cache-control": "no-store", "vary": "Sec-Fetch-Dest"},
    )
