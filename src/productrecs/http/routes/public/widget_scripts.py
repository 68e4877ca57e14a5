"""Widget scripts: GET /widget/v1/... serves the scripts that shops put on their pages.

They contain their store's settings and are cached for a short time.

GET /widget/v1/_/... serves pinned scripts at immutable addresses.

A page that sets `integrity` on a script cannot use an address whose content changes. These
scripts contain no store: the tag names the key. The address holds a digest of the content,
and each build that this installation ever offered stays in its data folder, so that pages
which pin it work after an upgrade.
"""

import asyncio
import base64
import hashlib
import logging
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from fastapi import Path as InPath
from fastapi import Request, Response

from productrecs import __version__
from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.errors import StorageError, UnknownWidgetBuildError
from productrecs.http.openapi_responses import Responses, error_responses
from productrecs.http.pipeline.etag_responses import matches_etag
from productrecs.http.pipeline.route_declaration import (
    BUILD_PATH,
    LOOK_SCRIPT_PATH,
    NONE,
    SCRIPT_PATH,
    SEARCH_SCRIPT_PATH,
    Routes,
)
from productrecs.http.routes.public.page_response import (
    GZIP_LEVEL,
    GZIP_WINDOW_BITS,
    IMMUTABLE,
    accepts_gzip,
    gzip_body,
    text_response,
)
from productrecs.services import Services
from productrecs.storage.files.object_store import ObjectStore, ObjectStoreUnavailableError
from productrecs.storage.sql.store_counters_and_versions import view_versions_by_store
from productrecs.tenancy.accounts.domains_and_origins import DomainError, normalise_domain

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import ProcessContext, RequestContext
    from productrecs.tenancy.accounts.store import Store
    from productrecs.tenancy.accounts.store_settings import StoreSettings


SCRIPT: Final = "text/javascript; charset=utf-8"
LOAD_WEBMCP: Final = (
    b'document.modelContext&&import(ProductRecs.core.facts.base+"/widget/v1/_/webmcp.js")'
    b".catch(()=>0)"
)
"""Ends the scripts of a store that allows assistants in browsers; others load nothing."""

HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "vary": "Accept-Encoding",
}
_CALL: Final = b"(null);"
_BROTLI: Final = re.compile(
    r"(?:^|,)\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?=,|$)"
)


class ScriptWithoutCall:
    """A script without its last call, uncompressed and compressed."""

    def __init__(self, name: str) -> None:
        folder = resources.files("productrecs") / "assets" / "widgets"
        built = (folder / f"{name}.js").read_bytes().rstrip()
        if not built.endswith(_CALL):
            message = f"{name}.js does not end with its call; build it again (widgets/)"
            raise RuntimeError(message)
        self._body = built.removesuffix(_CALL)
        self._in_brotli = (folder / f"{name}.js.br").read_bytes()
        self._digest = hashlib.sha256(self._body)
        self._compressor = zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WINDOW_BITS)
        self._compressed = self._compressor.compress(self._body)

    def plain(self, call: bytes) -> bytes:
        """Return the script that ends with `call`."""
        return self._body + call

    def in_gzip(self, call: bytes) -> bytes:
        """Return the script in gzip; only its end is compressed again."""
        compressor = self._compressor.copy()
        return self._compressed + compressor.compress(call) + compressor.flush()

    def in_brotli(self, call: bytes) -> bytes:
        """Return it in brotli, with the end uncompressed (RFC 7932, section 9.2)."""
        # A meta-block that is not compressed: not the last (1 bit), the length in 4 nibbles
        # (2 bits of 0), the length less 1 (16 bits), not compressed (1 bit), whole bytes.
        head = (len(call) - 1) << 3 | 1 << 19
        return self._in_brotli + head.to_bytes(3, "little") + call + b"\x03"  # empty, last

    def etag(self, call: bytes, coding: str) -> str:
        """Return the ETag of this script in this encoding."""
        digest = self._digest.copy()
        digest.update(call)
        return f'"{digest.hexdigest()[:20]}{coding}"'


def script_call(variables: bytes, then: bytes = b"") -> bytes:
    """Return a script's end: its call with `variables`, and what runs after it."""
    return b"(%b);%b\n" % (variables, then)


@memoized(RegisteredCache.PACKAGE_FILES)
def load_script(name: str) -> ScriptWithoutCall:
    """Return one of the scripts in the package."""
    return ScriptWithoutCall(name)


def script_response(
    request: Request, script: ScriptWithoutCall, call: bytes, cache: str
) -> Response:
    """Return a script that ends with `call`, in the best accepted encoding."""
    accepted_encodings = request.headers.get("accept-encoding", "").lower()
    coding = (
        "br"
        if _BROTLI.search(accepted_encodings)
        else "gzip"
        if accepts_gzip(request)
        else ""
    )
    tag = script.etag(call, f"-{coding}" if coding else "")
    headers = {**HEADERS, "etag": tag, "cache-control": cache}
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    if not coding:
        return Response(script.plain(call), media_type=SCRIPT, headers=headers)
    headers["content-encoding"] = coding
    body = script.in_brotli(call) if coding == "br" else script.in_gzip(call)
    return Response(body, media_type=SCRIPT, headers=headers)


routes = Routes("public")

# Cached for five minutes, then stale-while-revalidate for a day.
CACHED: Final = "public, max-age=300, stale-while-revalidate=86400"
# Optional calls of a script: the feature name and the route that it needs.
ROUTE_NAMES: Final = ("image", "looks", "analyze")
ROUTES_WITHOUT_PICTURES: Final = ("looks",)
"""What a store offers whose products have no indexed pictures: no search by photo."""
_encode: Final = msgspec.json.Encoder().encode
Domain = Annotated[
    str,
    InPath(description="The store's domain, as registered.", examples=["shop.example.com"]),
]


_SCRIPT_RESPONSES: Final[Responses] = {
    **text_response(SCRIPT, "The script.", "(()=>{...})()"),
    404: text_response(
        SCRIPT, "Unknown store: a script that logs an error.", "console.warn()"
    )[200],
}


@routes.get(
    SEARCH_SCRIPT_PATH,
    NONE,
    summary="Return a store's search widget",
    responses=_SCRIPT_RESPONSES,
)
async def search_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that adds suggestions to the theme's search box.

    Pages of any origin may use it. For an unknown store it is a script that logs an
    error in the browser's console: with 404, and with 200 to a page's own tag, because
    browsers do not run scripts with 404.
    """
    return await _script_response_for_store(request, "search", store_domain)


@routes.get(
    LOOK_SCRIPT_PATH,
    NONE,
    summary="Return a store's Shop-the-Look widget",
    responses=_SCRIPT_RESPONSES,
)
async def look_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that draws `<product-look>`.

    Pages of any origin may use it. For an unknown store it is a script that logs an
    error in the browser's console: with 404, and with 200 to a page's own tag, because
    browsers do not run scripts with 404.
    """
    return await _script_response_for_store(request, "look", store_domain)


@routes.get(
    SCRIPT_PATH,
    NONE,
    summary="Return a store's recommendations widget",
    responses=_SCRIPT_RESPONSES,
)
async def recommendations_script(request: Request, store_domain: Domain) -> Response:
    """Return the script that draws `<product-recs>` and defines `ProductRecs.track`.

    Pages of any origin may use it. For an unknown store it is a script that logs an
    error in the browser's console: with 404, and with 200 to a page's own tag, because
    browsers do not run scripts with 404.
    """
    return await _script_response_for_store(request, "recs", store_domain)


async def _script_response_for_store(
    request: Request, script_name: str, domain: str
) -> Response:
    exchange: RequestContext = request.scope["productrecs"]
    store = await find_store_by_domain(exchange.context, domain)
    if store is None:
        is_run = request.headers.get("sec-fetch-dest") == "script"
        return _unknown_store_script(domain, 200 if is_run else 404)
    has_pictures = await _may_have_picture_index(exchange.context, store)
    call = script_call_of_store(store, has_pictures=has_pictures)
    return script_response(request, load_script(script_name), call, CACHED)


async def _may_have_picture_index(context: "ProcessContext", store: "Store") -> bool:
    """Return whether a photo can find products; True if the database cannot say."""
    try:
        found = await context.read(
            lambda reader: view_versions_by_store(reader, [store.store_id])
        )
    except StorageError:
        return True
    versions = found.get(store.store_id)
    return versions is not None and versions.visual_id is not None


def script_call_of_store(store: "Store", *, has_pictures: bool) -> bytes:
    """Return the call of a script for its store: what it has is public by design."""
    answers = ROUTE_NAMES if has_pictures else ROUTES_WITHOUT_PICTURES
    variables = _encode({"key": store.publishable_key, "answers": answers})
    return script_call(variables, LOAD_WEBMCP if store.settings.browser_assistants else b"")


async def find_store_by_domain(context: "ProcessContext", domain: str) -> "Store | None":
    """Return the store of the domain in an address; None for an unknown one."""
    try:
        domain = normalise_domain(domain)
    except DomainError:
        return None
    store = context.accounts.by_domain(domain)
    if store is None:  # it may have just been created
        await context.refresh_accounts()
        store = context.accounts.by_domain(domain)
    return store


async def find_store_with_setting(
    context: "ProcessContext", domain: str, is_on: "Callable[[StoreSettings], bool]"
) -> "Store | None":
    """Return the store of a domain if a setting of it is on; None otherwise."""
    store = await find_store_by_domain(context, domain)
    if store is not None and not is_on(store.settings):  # or just switched on
        await context.refresh_accounts()
        store = await find_store_by_domain(context, domain)
    return store if store is not None and is_on(store.settings) else None


def _unknown_store_script(domain: str, status: int) -> Response:
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


KINDS: Final = ("recs", "search", "look", "all")
"""What can be pinned; `all` is the three in one."""

EXTRAS: Final = ("tools", "webmcp", "crop")
"""What other scripts load: `tools` for pages with `?pr_debug=1` or `?pr_preview=1` and
the links of assistants and mails, `webmcp` for assistants in the browser, `crop` when a
shopper chose a photo. They are not pinned."""

_log: Final = logging.getLogger(__name__)
_DIGITS: Final = 20
_EXTRA_CALL: Final = script_call(msgspec.json.encode({"version": __version__}))
_PINNED_CALL: Final = script_call(msgspec.json.encode({"key": "", "answers": ROUTE_NAMES}))


@dataclass(frozen=True)
class PinnableScript:
    """A script as pages may pin it."""

    kind: str
    body: bytes

    @cached_property
    def name(self) -> str:
        """What its address ends in, without `.js`."""
        return f"{self.kind}.{hashlib.sha256(self.body).hexdigest()[:_DIGITS]}"

    @property
    def integrity(self) -> str:
        """The Subresource Integrity hash of a script tag."""
        digest = hashlib.sha384(self.body).digest()
        return f"sha384-{base64.b64encode(digest).decode()}"

    def script_tag(self, base_url: str, key: str) -> str:
        """Return the tag that a page embeds."""
        source = base_url + BUILD_PATH.format(build=self.name)
        return (
            f'<script async src="{source}"\n  integrity="{self.integrity}"\n'
            f'  crossorigin="anonymous" data-key="{key}"></script>'
        )


@memoized(RegisteredCache.CONSTANTS)
def current_builds() -> dict[str, PinnableScript]:
    """Return the builds of this release by their kind."""
    return {
        kind: PinnableScript(kind, load_script(kind).plain(_PINNED_CALL)) for kind in KINDS
    }


def pinned_script_tags(base_url: str, key: str) -> Iterator[str]:
    """Return what pages embed of this release, one tag a kind."""
    for build in current_builds().values():
        yield build.script_tag(base_url, key)


def archive_and_exchange_builds(folder: Path, objects: ObjectStore | None = None) -> None:
    """Store the builds of this release, for pages that use them after the next upgrade.

    With `objects`, those of other machines and earlier releases are fetched too.

    A disk that takes no writes is not an error: the builds are then served as long as
    this release runs.
    """
    try:
        folder.mkdir(exist_ok=True)
        for build in current_builds().values():
            file = folder / f"{build.name}.js"
            if not file.exists():
                draft_file = folder / f"{build.name}.{os.getpid()}"
                draft_file.write_bytes(build.body)
                draft_file.replace(file)
        if objects is not None:
            _exchange_builds(folder, objects)
    except (OSError, ObjectStoreUnavailableError):
        _log.exception("widget build write failed")


def _exchange_builds(folder: Path, objects: ObjectStore) -> None:
    """Exchange builds with other machines; their names hold their digests."""
    remote = {found.key.rsplit("/", 1)[-1] for found in objects.list(_BUILDS)}
    local = {file.name for file in folder.glob("*.js")}
    for name in local - remote:
        objects.put(f"{_BUILDS}/{name}", folder / name)
    for name in remote - local:
        objects.download_and_hash(f"{_BUILDS}/{name}", folder / name)


def read_archived_build(folder: Path, name: str) -> bytes | None:
    """Return a stored build; None if it is missing or was changed."""
    kind, _, digest = name.partition(".")
    if kind not in KINDS or len(digest) != _DIGITS or not digest.isalnum():
        return None
    try:
        body = (folder / f"{name}.js").read_bytes()
    except OSError:
        return None
    return body if PinnableScript(kind, body).name == name else None


_BUILDS: Final = "builds"
_RENEWED_AFTER_SECONDS: Final = 10.0
_renewal = {"at": -_RENEWED_AFTER_SECONDS}


async def _find_build_asking_other_machines(services: Services, build: str) -> bytes | None:
    """Return a stored build; ask other machines for an unknown one every 10 seconds."""
    body = read_archived_build(services.widget_build_folder, build)
    if body is None and services.objects is not None:
        now = time.monotonic()
        if now - _renewal["at"] > _RENEWED_AFTER_SECONDS:
            _renewal["at"] = now
            await asyncio.to_thread(
                archive_and_exchange_builds, services.widget_build_folder, services.objects
            )
            body = read_archived_build(services.widget_build_folder, build)
    return body


@routes.get(
    BUILD_PATH,
    NONE,
    summary="Return a build of the widgets",
    responses=text_response(SCRIPT, "The script.", "(()=>{...})()")
    | error_responses("build_unknown"),
)
async def pinned_script(
    request: Request,
    build: Annotated[
        str,
        InPath(
            description="The script and its digest; the guide lists them.",
            examples=[EXTRAS[0]],
        ),
    ],
) -> Response:
    """Return a script at an address that never changes, for tags with `integrity`.

    Pages of any origin may use it, and caches may store it forever. Builds of earlier
    releases stay. `tools` is for pages with `?pr_debug=1` or `?pr_preview=1`, `webmcp`
    for assistants in the browser.
    """
    if build in EXTRAS:
        return script_response(request, load_script(build), _EXTRA_CALL, CACHED)
    script_name = build.partition(".")[0]
    if script_name in KINDS and current_builds()[script_name].name == build:
        return script_response(request, load_script(script_name), _PINNED_CALL, IMMUTABLE)
    exchange: RequestContext = request.scope["productrecs"]
    body = await _find_build_asking_other_machines(exchange.context.services, build)
    if body is None:
        message = "no such build; the guide for widgets lists the tags of this release"
        raise UnknownWidgetBuildError(message)
    headers = {**HEADERS, "cache-control": IMMUTABLE}
    if accepts_gzip(request):
        headers["content-encoding"] = "gzip"
        body = gzip_body(body)
    return Response(body, media_type=SCRIPT, headers=headers)
