"""Dispatcher: the outermost ASGI application, which handles every request first.

It handles request id, CORS and admission, and answers plain requests of frequent routes by
their `Route.fast_handler`. It forwards all others to the FastAPI route of the same
path, which is the reference: it gives the exact 422 and the documentation. Both read their
parameters by one declaration and call the same functions.
"""

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.memory_budget import ByteClaim
from productrecs.http.dispatch.admission import Admission, AdmissionRequest, admit
from productrecs.http.dispatch.http_exchange import (
    LOGGED_REFUSALS,
    HttpExchange,
    Message,
    Scope,
    Send,
    request_id_generator,
)
from productrecs.http.dispatch.list_fast_path import ListFastPath
from productrecs.http.limits.bot_detection import crawler_name
from productrecs.http.limits.client_address import address_of_client, peer_of
from productrecs.http.limits.load_shedding import ListRequestQueue, LoadShedder
from productrecs.http.pipeline.authentication import SecretKeyInUrlError, keys_of
from productrecs.http.pipeline.cors import PREFLIGHT_HEADERS
from productrecs.http.pipeline.error_responses import ROUTER_CODES, invalid_input_body
from productrecs.http.pipeline.live_view_recorder import EventRequestContext
from productrecs.http.pipeline.process_metrics import ProcessMetrics
from productrecs.http.pipeline.readiness_checks import Readiness
from productrecs.http.pipeline.route_context import (
    HEAD_ONLY,
    FastRouteCall,
    ProcessContext,
    RequestContext,
)
from productrecs.http.pipeline.route_declaration import SECRET
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_by_headers
from productrecs.http.route_table import route_of
from productrecs.http.routes.widget.shopper_history_access import determine_history_access
from productrecs.http.transport.error_body import (
    INTERNAL_ERROR,
    INTERNAL_ERROR_DETAIL,
    ErrorCode,
    random_retry_after,
)
from productrecs.http.transport.request_body import ClientDisconnectedError
from productrecs.schemas.validation_errors import InvalidInputError
from productrecs.tenancy.accounts.api_keys import KeyUse
from productrecs.tenancy.accounts.key_misuse.repository import KeyMisuse, MisuseKind
from productrecs.tenancy.accounts.refused_keys.repository import RefusedKeyCall

_log = logging.getLogger(__name__)

Receive = Callable[[], Awaitable[Message]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_SERVER_ERROR: Final = 500


class Dispatcher:
    """The outermost ASGI application."""

    def __init__(
        self,
        declared_application: Application,
        readiness: Callable[[], Readiness],
        draining: object,
        process_metrics: ProcessMetrics,
    ) -> None:
        """Wrap the declared routes; `draining` is true while shutting down."""
        self._declared_application = declared_application
        self._process_metrics = process_metrics
        self._readiness = readiness
        self._draining = draining
        self._context: ProcessContext | None = None
        self.logs_requests = False
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self.new_request_id = request_id_generator()
        self.load_shedder = LoadShedder()
        self.fast_path = ListFastPath(
            self.load_shedder, process_metrics, self.new_request_id
        )
        self.request_queue = ListRequestQueue(
            self.load_shedder, self.fast_path.store_id_of_unparsed_request
        )

    def open(self, context: ProcessContext) -> None:
        """Start to admit requests."""
        self._context = context
        self.fast_path.open(context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or forward the lifespan events."""
        if scope["type"] != "http":
            await self._declared_application(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # answered as GET; the server omits the body
            scope = {**scope, "method": "GET", HEAD_ONLY: True}
        headers: dict[bytes, bytes] = dict(scope["headers"])
        exchange = HttpExchange(self, scope, headers, send)
        try:
            await self._admit_and_answer(exchange, receive)
        except InvalidInputError as error:
            await exchange.reply(422, invalid_input_body(scope, error.problems))
        except ClientDisconnectedError:
            return
        except ProductRecsError as error:
            await exchange.refuse_expected_error(error)
        except Exception:
            _log.exception("request failed", extra=exchange.log_fields(_SERVER_ERROR))
            await exchange.refuse(INTERNAL_ERROR, INTERNAL_ERROR_DETAIL)
        finally:
            if exchange.status:
                self._log_and_record_metrics(exchange)

    def _log_and_record_metrics(self, exchange: HttpExchange) -> None:
        status = exchange.status
        exchange.log_server_error_or_recovery()
        if self.logs_requests:
            _log.info("request answered", extra=exchange.log_fields(status))
        elif status in LOGGED_REFUSALS:
            exchange.log_refusal()
        method, began = exchange.scope["method"], exchange.started_at
        self._process_metrics.record(exchange.route, method, status, began)

    async def _admit_and_answer(self, exchange: HttpExchange, receive: Receive) -> None:
        scope, context = exchange.scope, self._context
        path, method = scope["path"], scope["method"]
        route = exchange.route = route_of(path)
        if context is None:
            await exchange.refuse(ErrorCode(503, "not_ready"), "still starting")
            return
        if method == "OPTIONS" and route is not None and route.widget:
            exchange.admission = Admission(cors_headers=PREFLIGHT_HEADERS)
            await exchange.reply(200, b"")
            return
        if route is None:
            await exchange.refuse(ROUTER_CODES[404], "there is nothing at this address")
            return
        if method not in route.methods:
            exchange.allow = ", ".join(route.methods)
            message = f"{path} supports {exchange.allow} only"
            await exchange.refuse(ROUTER_CODES[405], message)
            return
        arrival = AdmissionRequest(
            *(route, method, scope["query_string"], exchange.query, exchange.headers),
            peer_of(scope),
        )
        admission = await self._admit_and_record_use(exchange, arrival, context)
        if admission.refusal is not None:
            await exchange.refuse_expected_error(admission.refusal)
            return
        await _open_meter_and_check_for_bot(exchange, arrival, context)
        if admission.is_cut_off:
            await exchange.reply(200, route.empty)
            return
        # Memory is shared per key: pages cannot use up the share of a merchant's server.
        claimant = admission.caller.rate_limit_key if admission.caller else ""
        with context.budget.claim(claimant) as claim:
            if not await self._try_fast_handler(exchange, receive, context, claim):
                scope["productrecs"] = RequestContext(
                    context, admission.caller, exchange.request_id, self._readiness, claim
                )
                await self._declared_application(
                    scope, receive, exchange.forward_with_common_headers
                )

    async def _admit_and_record_use(
        self, exchange: HttpExchange, arrival: AdmissionRequest, context: ProcessContext
    ) -> Admission:
        """Return the decision about a request; its rates, misuse and key are recorded."""
        version = context.accounts.version
        admission = self._admit_and_count_rates(exchange, arrival, context)
        if admission.is_key_unknown:
            # The store may be new: refresh the accounts once before refusing. Another
            # thread may have refreshed them just now.
            await context.refresh_accounts()
            if context.accounts.version != version:
                admission = self._admit_and_count_rates(exchange, arrival, context)
        _record_misuse_and_refusals(exchange, context)
        caller = admission.caller
        if caller is not None and caller.key_id:
            used_at_ms = context.services.system_clock()
            address = address_of_client(peer_of(exchange.scope), exchange.headers)
            use = KeyUse(caller.store.store_id, caller.key_id, used_at_ms, address)
            context.write_client.write_later(use)
        return admission

    def _admit_and_count_rates(
        self, exchange: HttpExchange, arrival: AdmissionRequest, context: ProcessContext
    ) -> Admission:
        admission = exchange.admission = admit(context, self.load_shedder, arrival)
        admission.count_against_rate_limits()
        return admission

    async def _try_fast_handler(
        self,
        exchange: HttpExchange,
        receive: Receive,
        context: ProcessContext,
        claim: ByteClaim,
    ) -> bool:
        """Answer by the route's fast handler; return whether it could."""
        admission, route, scope = exchange.admission, exchange.route, exchange.scope
        if admission.caller is None or route is None or route.fast_handler is None:
            return False
        call = FastRouteCall(
            context,
            admission.caller,
            exchange.query,
            scope,
            exchange.headers,
            receive,
            claim,
            is_misuse=admission.misuse is not None,
        )
        reply = await route.fast_handler(call)
        if reply is None:
            return False
        if reply.cache_seconds:
            await exchange.reply_conditional(reply.body, reply.cache_seconds)
        else:
            await exchange.reply(200, reply.body, reply.headers)
        return True

    @property
    def is_draining(self) -> bool:
        """Whether the process is shutting down: connections should close."""
        return bool(self._draining)

    def base_url_of(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the base URL of a request; "" while still starting."""
        context = self._context
        return base_url_by_headers(headers, context.services.settings) if context else ""

    def random_retry_after(self) -> bytes:
        """Return the Retry-After of a refused request, in seconds."""
        return random_retry_after(self._rng)


async def _open_meter_and_check_for_bot(
    exchange: HttpExchange, arrival: AdmissionRequest, context: ProcessContext
) -> None:
    """Apply the quota of a metered call, and remove the shopper of a bot's."""
    admission = exchange.admission
    caller = admission.caller
    if caller is None or not arrival.is_metered:
        return
    if admission.meter is None and not admission.is_cut_off:
        meter = await context.metering.open_meter(caller.store, context.read)
        admission.apply_quota(meter, caller.store, context.clock())
    if _is_page_call_of_bot(exchange, context):
        exchange.remove_shopper_and_mark_as_bot()


def _record_misuse_and_refusals(exchange: HttpExchange, context: ProcessContext) -> None:
    """Record a secret key in a URL or a page, or an unknown page."""
    admission, origin = exchange.admission, exchange.headers.get(b"origin")
    if context.live_view_recorder.watched_stores:
        _record_refused_event_for_live_view(context, exchange)
    if isinstance(admission.refusal, SecretKeyInUrlError):
        _record_secret_key_in_url(exchange, context)
    elif admission.is_key_unknown:
        keys = keys_of(exchange.scope["query_string"], exchange.query, exchange.headers)
        key = keys.secret or keys.query or keys.header or ""
        address = address_of_client(peer_of(exchange.scope), exchange.headers)
        refused_key = RefusedKeyCall.of(
            key, origin, address, context.services.system_clock()
        )
        context.write_client.write_later(refused_key)
    elif admission.caller is None:
        return
    elif admission.misuse is not None:
        store_id = admission.caller.store.store_id
        misuse = KeyMisuse.of(store_id, admission.misuse, origin, context.clock())
        context.write_client.write_later(misuse)


def _is_page_call_of_bot(exchange: HttpExchange, context: ProcessContext) -> bool:
    """Return whether a page's call comes from a bot, so that it counts nowhere."""
    caller, query = exchange.admission.caller, exchange.query or {}
    if caller is None or caller.credential is SECRET:
        return False
    if crawler_name(exchange.headers.get(b"user-agent", b"")) is not None:
        return True
    bots, store_id = context.bots, caller.store.store_id
    if not bots.has_flagged:
        return False
    peer = peer_of(exchange.scope)
    access = determine_history_access(context, caller, query, peer, exchange.headers)
    return not access.is_signed and bots.is_flagged(store_id, query, access.network)


def _record_refused_event_for_live_view(
    context: ProcessContext, exchange: HttpExchange
) -> None:
    """Record refused events for the store of the key, else of the page's origin."""
    admission = exchange.admission
    path = exchange.scope["path"]
    if admission.refusal is None or path not in {"/v1/events", "/v1/orders"}:
        return
    caller, origin = admission.caller, exchange.headers.get(b"origin", b"")
    host = origin.decode("latin-1").partition("://")[2].partition(":")[0]
    store = caller.store if caller is not None else context.accounts.by_domain(host)
    if store is not None and store.store_id in context.live_view_recorder.watched_stores:
        peer, now_ms = peer_of(exchange.scope), context.clock()
        sender = EventRequestContext(
            *(store.store_id, now_ms, peer, exchange.headers),
            has_key=caller is not None,
            is_order=path == "/v1/orders",
        )
        context.live_view_recorder.record_request(sender, b"", admission.refusal)


def _record_secret_key_in_url(exchange: HttpExchange, context: ProcessContext) -> None:
    """Record that a store's secret key was in a URL."""
    secret = keys_of(exchange.scope["query_string"], exchange.query, exchange.headers).query
    store = context.accounts.by_secret_key(secret or "")
    if store is not None:
        origin = exchange.headers.get(b"origin")
        kind, now_ms = MisuseKind.LEAKED_SECRET, context.clock()
        misuse = KeyMisuse.of(store.store_id, kind, origin, now_ms)
        context.write_client.write_later(misuse)
        _log.warning("secret key leaked", extra={"store": store.store_id})
