"""GET /widget/v1/...: the scripts that shops put on their pages.

The scripts are built from `widgets/` and come with the package. Each ends in a call of
itself with what the service knows of the store; the rest is the same for all stores, and
is compressed once: in gzip here, in brotli when it was built.
"""

import hashlib
import re
import zlib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from fastapi import APIRouter, Path, Request, Response

from productrecs.entrypoints.http.authentication import ROUTES
from productrecs.entrypoints.http.documentation import Responses
from productrecs.entrypoints.http.public.pages import content, has_already
from productrecs.tenancy.accounts.addresses import DomainError, normal_domain

if TYPE_CHECKING:
    from productrecs.entrypoints.http.context import Context, Exchange
    from productrecs.tenancy.accounts.store import Store

router = APIRouter(tags=["public"])

# Five minutes unasked, and a day more while a newer one is fetched behind the page.
CACHED: Final = "public, max-age=300, stale-while-revalidate=86400"
_SCRIPT: Final = "text/javascript; charset=utf-8"
_GZIP: Final = 31  # zlib's window of 32 KiB, in gzip's clothes
_BEST: Final = 9
_CALL: Final = b"(null);"
_BROTLI: Final = re.compile(
    r"(?:^|,)\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?=,|$)"
)
# Calls that a script makes only where the service answers them, and its word for each.
_WORDS: Final = {
    "image": "/v1/search/image",
    "looks": "/v1/looks",
    "analyze": "/v1/shop-the-look/analyze",
}
_ANSWERS: Final = [word for word, path in _WORDS.items() if path in ROUTES]
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "vary": "Accept-Encoding",
}
_encode: Final = msgspec.json.Encoder().encode

Domain = Annotated[
    str,
    Path(description="The store's domain, as registered.", examples=["shop.example.com"]),
]


def _replies(what: str) -> Responses:
    unknown = content(_SCRIPT, "No such store: a script that says so.", "console.warn()")
    return {**content(_SCRIPT, what, "(()=>{...})()"), 404: unknown[200]}


@router.get(
    "/widget/v1/search-{store_domain}.js",
    operation_id="search_script",
    summary="Return a store's search widget",
    responses=_replies("The script."),
    response_class=Response,
)
async def search_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that gives the theme's search box suggestions as one types.

    It may be put on pages of any origin. An unknown store gets 404, and a script that says
    so in the browser's console.
    """
    return await _script(request, "search", store_domain)


@router.get(
    "/widget/v1/look-{store_domain}.js",
    operation_id="look_script",
    summary="Return a store's Shop-the-Look widget",
    responses=_replies("The script."),
    response_class=Response,
)
async def look_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that draws `<product-look>`.

    It may be put on pages of any origin. An unknown store gets 404, and a script that says
    so in the browser's console.
    """
    return await _script(request, "look", store_domain)


@router.get(
    "/widget/v1/{store_domain}.js",
    operation_id="recommendations_script",
    summary="Return a store's recommendations widget",
    responses=_replies("The script."),
    response_class=Response,
)
async def recommendations_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that draws `<product-recs>`, and brings `ProductRecs.track`.

    It may be put on pages of any origin. An unknown store gets 404, and a script that says
    so in the browser's console.
    """
    return await _script(request, "recs", store_domain)


class Script:
    """A script up to its last call, as it is and compressed."""

    def __init__(self, name: str) -> None:
        folder = resources.files(__package__) / "assets" / "widgets"
        built = (folder / f"{name}.js").read_bytes().rstrip()
        if not built.endswith(_CALL):
            message = f"{name}.js does not end in its call; build it again (widgets/)"
            raise RuntimeError(message)
        self._body = built.removesuffix(_CALL)
        self._in_brotli = (folder / f"{name}.js.br").read_bytes()
        self._digest = hashlib.sha256(self._body)
        self._compressor = zlib.compressobj(_BEST, wbits=_GZIP)
        self._compressed = self._compressor.compress(self._body)

    def plain(self, told: bytes) -> bytes:
        """Return the script, called with `told`."""
        return b"%b(%b);\n" % (self._body, told)

    def compressed(self, told: bytes) -> bytes:
        """Return the same in gzip; only its end is compressed anew."""
        rest = self._compressor.copy()
        return self._compressed + rest.compress(b"(%b);\n" % told) + rest.flush()

    def in_brotli(self, told: bytes) -> bytes:
        """Return the same in brotli: its end follows as it is (RFC 7932, section 9.2)."""
        end = b"(%b);\n" % told
        # A meta-block that is not compressed: not the last (1 bit), the length in 4 nibbles
        # (2 bits of 0), the length less 1 (16 bits), not compressed (1 bit), whole bytes.
        head = (len(end) - 1) << 3 | 1 << 19
        return self._in_brotli + head.to_bytes(3, "little") + end + b"\x03"  # empty, last

    def tag(self, told: bytes, coding: str) -> str:
        """Return what tells this script, in this coding, from any other."""
        digest = self._digest.copy()
        digest.update(told)
        return f'"{digest.hexdigest()[:20]}{coding}"'


@lru_cache
def _built(name: str) -> Script:
    return Script(name)


async def _script(request: Request, name: str, domain: str) -> Response:
    exchange: Exchange = request.scope["productrecs"]
    store = await find_store_of(exchange.context, domain)
    if store is None:
        return _unknown(domain)
    script, told = _built(name), facts_of(store)
    wanted = request.headers.get("accept-encoding", "").lower()
    coding = "br" if _BROTLI.search(wanted) else "gzip" if "gzip" in wanted else ""
    tag = script.tag(told, f"-{coding}" if coding else "")
    headers = {**_HEADERS, "etag": tag, "cache-control": CACHED}
    if has_already(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    if not coding:
        return Response(script.plain(told), media_type=_SCRIPT, headers=headers)
    headers["content-encoding"] = coding
    body = script.in_brotli(told) if coding == "br" else script.compressed(told)
    return Response(body, media_type=_SCRIPT, headers=headers)


def facts_of(store: "Store") -> bytes:
    """Return what a script is told of its store, as JavaScript: public by design."""
    return _encode({"key": store.publishable_key, "answers": _ANSWERS})


async def find_store_of(context: "Context", text: str) -> "Store | None":
    """Return the store of a domain that stands in an address; None where there is none."""
    try:
        domain = normal_domain(text)
    except DomainError:
        return None
    store = context.accounts.by_domain(domain)
    if store is None:  # perhaps it is a moment old
        await context.look_again()
        store = context.accounts.by_domain(domain)
    return store


def _unknown(domain: str) -> Response:
    said = (
        f"ProductRecs: there is no store {domain[:253]!r} here; the script's address must "
        "hold the domain as it was registered"
    )
    # In pure ASCII, so that it is one string in every engine.
    body = f"console.warn({msgspec.json.encode(said).decode()});\n"
    body = body.encode("ascii", "backslashreplace").decode("ascii")
    return Response(
        body, 404, media_type=_SCRIPT, headers={**_HEADERS, "cache-control": "no-store"}
    )
