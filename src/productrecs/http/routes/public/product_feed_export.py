"""Product feeds: GET /product-feeds/... is what Google, Meta and OpenAI fetch."""

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from productrecs.core.clock import HOUR_MS
from productrecs.core.errors import StorageError
from productrecs.features.forecast.demand_reports import stock_labels_by_item_id
from productrecs.features.product_feed_export.feed_entries import (
    FeedFormat,
    FeedProductCounts,
    UnknownExportedFeedError,
    is_feed_signature_valid,
)
from productrecs.features.product_feed_export.feed_fetches.repository import (
    ExportedFeedFetchRepository,
)
from productrecs.features.product_feed_export.feed_formats import media_type
from productrecs.features.product_feed_export.feed_renderer import ProductFeedRenderer
from productrecs.http.openapi_responses import Responses, error_responses
from productrecs.http.pipeline.etag_responses import etag_of, matches_etag
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.routes.public.page_response import GZIP_WINDOW_BITS, accepts_gzip
from productrecs.http.routes.public.widget_scripts import Domain, find_store_with_setting
from productrecs.serving.writes.write_messages import WriteKind
from productrecs.storage.sql.group_commit import WriteTransaction

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import ProcessContext, RequestContext
    from productrecs.serving.cached_store import CachedStore
    from productrecs.tenancy.accounts.store import Store

routes = Routes("public")
_log = logging.getLogger(__name__)

_CHUNK_CHARACTERS: Final = 64 << 10
_GZIP_LEVEL: Final = 6
_REPLY: Final[Responses] = {
    200: {
        "description": "The feed.",
        "content": {
            "application/xml": {
                "schema": {"type": "string"},
                "example": "<rss><channel><item><g:id>tent</g:id></item></channel></rss>",
            }
        },
    },
    304: {"description": "The feed is the one that If-None-Match names."},
}


@routes.get(
    "/product-feeds/{store_domain}/{file_name}",
    NONE,
    summary="Return the catalog as a product feed",
    responses=_REPLY | error_responses("feed_unknown", 503),
)
async def product_feed(
    request: Request,
    store_domain: Domain,
    file_name: Annotated[
        str,
        Path(
            description="`google.xml`, `meta.csv` or `openai.jsonl`.",
            examples=["google.xml"],
        ),
    ],
    signature: Annotated[
        str,
        Query(description="Part of the address in the dashboard.", examples=["5f2c"]),
    ] = "",
) -> Response:
    """Return the products that pages show, in the format of Google, Meta or OpenAI.

    The merchant switches feeds on in the dashboard, where their signed addresses stand.
    """
    exchange: RequestContext = request.scope["productrecs"]
    context = exchange.context
    store, feed = await _find_store_and_feed_format(
        context, store_domain, file_name, signature
    )
    now_ms = context.clock()
    cached_store = await context.stores.open(store)
    tag = _feed_etag(cached_store, feed, now_ms)
    headers = {"etag": tag, "cache-control": "private, no-cache", "vary": "accept-encoding"}
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    database, count = context.services.database, FeedProductCounts()
    state = cached_store.state

    def render_feed_lines() -> Iterator[str]:
        labels = stock_labels_by_item_id(database, store, now_ms)
        trending = state.models.trending
        renderer = ProductFeedRenderer(
            database, store, state.catalog, trending, labels, now_ms
        )
        return renderer.render_lines_and_count(feed, count)

    def count_fetch(work: WriteTransaction) -> None:
        repository = ExportedFeedFetchRepository(work.connection, store.store_id)
        repository.count_fetch_and_delete_old(feed, count, now_ms)

    chunks = _join_into_chunks(await asyncio.to_thread(render_feed_lines))
    if accepts_gzip(request):
        headers["content-encoding"] = "gzip"
        chunks = _gzip_chunks(chunks)

    async def stream_and_store_fetch_count() -> AsyncIterator[bytes]:
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk
        if request.headers.get("sec-fetch-mode") != "navigate":
            await _store_fetch_count(exchange, store, count_fetch)

    return StreamingResponse(
        stream_and_store_fetch_count(), media_type=media_type(feed), headers=headers
    )


async def _store_fetch_count(
    exchange: "RequestContext",
    store: "Store",
    count_fetch: Callable[[WriteTransaction], None],
) -> None:
    """Store that a platform fetched a feed, which is sent already."""
    try:
        await exchange.context.write_client.submit_write(
            WriteKind.CHANGE, store.store_id, count_fetch, exchange.claim
        )
    except StorageError:
        _log.warning("feed fetch not counted", extra={"store": store.store_id})


async def _find_store_and_feed_format(
    context: "ProcessContext", domain: str, file_name: str, signature: str
) -> tuple["Store", FeedFormat]:
    """Return the store and format of a signed address.

    Raises:
        UnknownExportedFeedError: when there is no such store or file, the store's feeds
            are off, or the signature is wrong.
    """
    store = await find_store_with_setting(context, domain, lambda on: on.product_feeds)
    feed = next((known for known in FeedFormat if known == file_name), None)
    if store is not None and feed is not None:
        system_ms = context.services.system_clock()
        if is_feed_signature_valid(store.secrets, feed, signature, system_ms):
            return store, feed
    message = (
        "there is no such feed here; the dashboard's page Product feeds switches feeds "
        "on and has their addresses"
    )
    raise UnknownExportedFeedError(message)


def _feed_etag(cached_store: "CachedStore", feed: FeedFormat, now_ms: int) -> str:
    """Return the ETag of a feed: it changes with the catalog, the model and each hour."""
    state = cached_store.state
    parts = (feed, state.catalog.seq, state.models.model_id, state.settings)
    return etag_of(repr((*parts, now_ms // HOUR_MS)).encode())


def _join_into_chunks(lines: Iterator[str]) -> Iterator[bytes]:
    """Yield the text in pieces of about 64 kB."""
    waiting, size = list[str](), 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= _CHUNK_CHARACTERS:
            yield "".join(waiting).encode("utf-8", "replace")
            waiting, size = [], 0
    yield "".join(waiting).encode("utf-8", "replace")


def _gzip_chunks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=GZIP_WINDOW_BITS)
    for chunk in chunks:
        yield packer.compress(chunk)
    yield packer.flush()
