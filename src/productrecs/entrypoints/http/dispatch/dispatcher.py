"""Dispatcher: the outermost ASGI application, which every request meets first.

It handles request id, CORS, key, rate limit, load shedding and plan. Frequent well-formed
requests are answered here; anything unusual goes on to the same path declared in FastAPI,
which is the reference: it gives the exact 422 and the documentation. Both call the same
functions.
"""

import itertools
import logging
import random
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.http.dispatch.exchange import (
    HttpExchange,
    Message,
    Scope,
    Send,
)
from productrecs.entrypoints.http.dispatch.fast_path import FastPath
from productrecs.entrypoints.http.limits.load_shedding import LoadShedder, OverloadedError
from productrecs.entrypoints.http.limits.rate_limits import (
    TooManyRequestsError,
    client_address_of,
)
from productrecs.entrypoints.http.limits.request_queue import RequestQueue
from productrecs.entrypoints.http.limits.usage_metering import billing_headers
from productrecs.entrypoints.http.pipeline.authentication import (
    FORECAST_PATH,
    ITEM_PATH,
    PAGE_FOLDERS,
    ROUTES,
    UPLOAD_PATH,
    Caller,
    Credential,
    Route,
    SecretKeyInUrlError,
    authenticate,
    check_operator,
    keys_of,
    requires_active_plan,
)
from productrecs.entrypoints.http.pipeline.context import Context, RequestContext
from productrecs.entrypoints.http.pipeline.cors import (
    PREFLIGHT_HEADERS,
    REFUSED_ORIGIN_HEADERS,
    cors_headers,
)
from productrecs.entrypoints.http.pipeline.error_responses import (
    ROUTER_CODES,
    error_code_of,
    retry_after_of,
)
from productrecs.entrypoints.http.pipeline.readiness import Readiness
from productrecs.entrypoints.http.pipeline.request_metrics import RequestMetrics
from productrecs.entrypoints.http.pipeline.urls import base_url_by_headers
from productrecs.entrypoints.http.routes.widget.config import CACHE_SECONDS, answer_config
from productrecs.entrypoints.http.routes.widget.events import (
    receive_event_body as receive_events,
)
from productrecs.entrypoints.http.routes.widget.recommendations import (
    answer_list,
    answer_trending,
    parse_list_request,
    parse_trending_request,
)
from productrecs.entrypoints.http.routes.widget.search import (
    SearchReply,
    answer_search,
    parse_search_request,
)
from productrecs.entrypoints.http.schemas.validation_errors import (
    BodyError,
    validation_reply,
)
from productrecs.entrypoints.http.transport.error_body import (
    INTERNAL_ERROR,
    INTERNAL_ERROR_DETAIL,
    ErrorCode,
    random_retry_after,
)
from productrecs.entrypoints.http.transport.request_body import (
    ClientGoneError,
    read_event_body,
)
from productrecs.entrypoints.http.writes.search_log import searcher_of_scope
from productrecs.storage.byte_budget import Claim
from productrecs.tenancy.accounts.key_misuse.misuse import MisuseKind
from productrecs.tenancy.accounts.store import Store

if TYPE_CHECKING:
    from productrecs.entrypoints.http.transport.header_cache import Header

_log = logging.getLogger(__name__)

Receive = Callable[[], Awaitable[Message]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_SERVER_ERROR: Final = 500


class Dispatcher:
    """The ASGI application that every request meets first."""

    def __init__(
        self,
        declared: Application,
        fitness: Callable[[], Readiness],
        draining: object,
        traffic: RequestMetrics,
    ) -> None:
        """Stand before the `declared` routes; `draining` is true while shutting down."""
        self._declared = declared
        self._traffic = traffic
        self._fitness = fitness
        self._draining = draining
        self._context: Context | None = None
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._prefix = secrets.token_hex(6).encode()
        self._count = itertools.count()
        self.pressure = LoadShedder()
        self.express = FastPath(self.pressure, traffic, self.new_request_id)
        self.line = RequestQueue(self.pressure, self.express.store_of)

    def open(self, context: Context) -> None:
        """Begin to let requests in."""
        self._context = context
        self.express.open(context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass the process's start and end on."""
        if scope["type"] != "http":
            await self._declared(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # answered as GET; the server leaves the body out
            scope = {**scope, "method": "GET"}
        headers: dict[bytes, bytes] = dict(scope["headers"])
        visit = HttpExchange(self, scope, headers, send)
        try:
            await self._let_in(visit, receive)
        except BodyError as error:
            await visit.reply(422, validation_reply(error.problems))
        except ClientGoneError:
            return
        except ProductRecsError as error:
            await visit.refuse(error_code_of(error), str(error), retry_after_of(error))
        except Exception:
            _log.exception("a request failed", extra=visit.facts(_SERVER_ERROR))
            await visit.refuse(INTERNAL_ERROR, INTERNAL_ERROR_DETAIL)
        finally:
            if visit.status:
                self._traffic.answered(
                    visit.route, scope["method"], visit.status, visit.started_at
                )

    async def _let_in(self, visit: HttpExchange, receive: Receive) -> None:
        scope, context = visit.scope, self._context
        path, method = scope["path"], scope["method"]
        route = visit.route = _route(path)
        if context is None:
            await visit.refuse(ErrorCode(503, "not_ready"), "still starting")
            return
        if method == "OPTIONS" and route is not None and route.widget:
            visit.cors = PREFLIGHT_HEADERS
            await visit.reply(200, b"")
            return
        if route is None:
            await visit.refuse(ROUTER_CODES[404], "there is nothing at this address")
            return
        wanted = route.methods.get(method)
        if wanted is None:
            visit.allow = ", ".join(route.methods)
            await visit.refuse(ROUTER_CODES[405], f"{path} answers {visit.allow}")
            return
        _keep_pace(visit, route, context)
        if wanted is Credential.OPERATOR:
            check_operator(visit.headers, context.services.settings.metrics_token)
        elif wanted is not Credential.NONE and not await self._admit(
            visit, route, wanted, context
        ):
            await visit.reply(200, route.empty)
            return
        # A share for each key: what pages send takes no room from a merchant's server.
        claimant = visit.caller.rate_limit_key if visit.caller else ""
        with context.budget.claim(claimant) as claim:
            if not await self._fast_lane(visit, receive, context, claim):
                scope["productrecs"] = RequestContext(
                    context, visit.caller, visit.request_id, self._fitness, claim
                )
                await self._declared(scope, receive, visit.forward)

    async def _admit(
        self, visit: HttpExchange, route: Route, wanted: Credential, context: Context
    ) -> bool:
        """Let a caller in by key and plan; return whether the plan has content for it."""
        caller = visit.caller = await self._authenticate(visit, wanted, context)
        origin = visit.headers.get(b"origin")
        visit.cors = cors_headers(caller.store, origin)
        if origin is not None:
            _look_at(origin, visit, caller, context)
        _keep_pace(visit, route, context)
        if requires_active_plan(visit.scope["method"], wanted):
            caller.store.subscription.check_active(context.clock())
        if not route.empty:
            return True
        if self.pressure.is_overloaded and self.pressure.should_reject(
            caller.store.store_id
        ):
            raise OverloadedError
        return await self._is_within_plan(visit, caller.store, context)

    async def _authenticate(
        self, visit: HttpExchange, wanted: Credential, context: Context
    ) -> Caller:
        keys = keys_of(visit.scope["query_string"], visit.query, visit.headers)
        known = context.accounts.version
        try:
            return authenticate(keys, wanted, context.accounts)
        except SecretKeyInUrlError:
            _tell_of_leak(keys.query, visit, context)
            raise
        except ProductRecsError:
            # Perhaps the store is a moment old: look once more before refusing. Another
            # thread may have looked just now.
            await context.refresh_accounts()
            if context.accounts.version == known:
                raise
            return authenticate(keys, wanted, context.accounts)

    async def _is_within_plan(
        self, visit: HttpExchange, store: Store, context: Context
    ) -> bool:
        """Return whether a metered call is answered with content; then it counts."""
        meter = context.metering.get(store.store_id)
        if meter is None:
            meter = await context.metering.open(store, context.read)
        told = meter.ask(store.subscription, context.clock())
        if told is not None:
            visit.limits = (*visit.limits, *billing_headers(told))
            if told.is_cut_off:
                return False
        visit.meter = meter
        return True

    async def _fast_lane(
        self, visit: HttpExchange, receive: Receive, context: Context, claim: Claim
    ) -> bool:
        """Answer a frequent, well-formed call; return whether that was done."""
        caller, scope = visit.caller, visit.scope
        body: bytes | None = None
        extra: Iterable[Header] = ()
        if caller is not None and (scope["method"], scope["path"]) == (
            "POST",
            "/v1/events",
        ):
            data = await read_event_body(receive, scope["headers"], claim)
            body = await receive_events(context, caller.store, data, claim)
        elif caller is not None and scope["path"] == "/v1/search":
            found = await _search_fast(context, caller.store, visit)
            body, extra = found or (None, ())
        elif caller is not None and scope["method"] == "GET":
            body = await _read_fast(context, caller.store, scope["path"], visit.query)
        if body is None:
            return False
        if scope["path"] == "/v1/widget-config":
            await visit.reply_conditional(body, CACHE_SECONDS)
        else:
            await visit.reply(200, body, extra)
        return True

    @property
    def is_draining(self) -> bool:
        """Whether the process is shutting down: connections should not be kept."""
        return bool(self._draining)

    def base_of(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the address that a request came to; nothing while still starting."""
        context = self._context
        return base_url_by_headers(headers, context.services.settings) if context else ""

    def new_request_id(self) -> bytes:
        """Return an id that no other request of any process has."""
        return b"%b%08x" % (self._prefix, next(self._count))

    def retry_after(self) -> bytes:
        """Return after how many seconds a refused request may come again."""
        return random_retry_after(self._rng)


def _keep_pace(visit: HttpExchange, route: Route, context: Context) -> None:
    """Count a call against the limits of its key, once that is known, else its address."""
    if context.rates is None or not route.paced:
        return
    try:
        if visit.caller is None:
            pace = context.rates.take_address(client_address_of(visit.scope, visit.headers))
        else:
            pace = context.rates.take_key(visit.caller.rate_limit_key)
    except TooManyRequestsError as error:
        visit.limits = (*visit.limits, *error.told)
        raise
    visit.limits = (*visit.limits, *pace)


def _look_at(origin: bytes, visit: HttpExchange, caller: Caller, context: Context) -> None:
    """Note what a page's call tells its store's owner: a secret, or a page off the list."""
    if caller.credential is Credential.SECRET:
        context.key_misuse_log.note(caller.store.store_id, MisuseKind.LEAKED_SECRET, origin)
    elif visit.cors is REFUSED_ORIGIN_HEADERS:
        context.key_misuse_log.note(
            caller.store.store_id, MisuseKind.FOREIGN_ORIGIN, origin
        )


def _tell_of_leak(secret: str | None, visit: HttpExchange, context: Context) -> None:
    """Note that a store's secret key stood in an address, if it is one's."""
    store = context.accounts.by_secret_key(secret or "")
    if store is not None:
        origin = visit.headers.get(b"origin")
        context.key_misuse_log.note(store.store_id, MisuseKind.LEAKED_SECRET, origin)
        _log.warning("a secret key stood in an address", extra={"store": store.store_id})


def _route(path: str) -> Route | None:
    if path.startswith("/v1/items/") and len(path) > len("/v1/items/"):
        return ROUTES[ITEM_PATH]
    if path.startswith("/v1/forecast/items/") and len(path) > len("/v1/forecast/items/"):
        return ROUTES[FORECAST_PATH]
    if path.startswith("/orders/upload/"):
        upload_id = path.removeprefix("/orders/upload/")
        return ROUTES[UPLOAD_PATH] if upload_id and "/" not in upload_id else None
    if path in {ITEM_PATH, FORECAST_PATH}:
        return None
    return ROUTES.get(path) or _page(path.rpartition("/")[0])


def _page(folder: str) -> Route | None:
    return PAGE_FOLDERS.get(folder) or PAGE_FOLDERS.get(folder.rpartition("/")[0] + "/")


async def _search_fast(
    context: Context, store: Store, visit: HttpExchange
) -> SearchReply | None:
    """Return the reply to a well-formed search; None leaves it to the declared route."""
    opened, query = context.shops.get(store), visit.query
    asked = None if query is None or opened is None else parse_search_request(query)
    if opened is None or asked is None:
        return None
    return await answer_search(
        context, opened, asked, searcher_of_scope(visit.scope, query)
    )


async def _read_fast(
    context: Context, store: Store, path: str, query: Mapping[str, str] | None
) -> bytes | None:
    """Return the body of a well-formed read; None leaves it to the declared route."""
    opened = context.shops.get(store)
    if query is None or opened is None:
        return None
    default = opened.shop.settings.rec_num
    if path == "/v1/recommendations":
        asked = parse_list_request(query, default)
        return None if asked is None else await answer_list(context, opened, asked)
    if path == "/v1/trending":
        trending = parse_trending_request(query, default)
        if trending is None:
            return None
        return await answer_trending(context, opened, trending)
    if path == "/v1/widget-config":
        widget_type, lang = query.get("type", ""), query.get("lang", "")
        return await answer_config(context, store, opened, widget_type, lang)
    return None
