"""Fast path: answers a cached or quick list in the step that parsed the request.

For every request uvicorn makes a scope, a cycle and a task, and the dispatcher an exchange.
For a cached list these cost more than everything else. Here a well-formed request for a
list or a search is answered at once. Anything unusual, or anything that has to wait, is
left to the dispatcher, which is the reference; both call the same functions.

Load is shed here too: rejecting takes a fraction of the time that a list takes. Otherwise
rejecting would leave no time for requests that are answered.
"""

import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from productrecs.entrypoints.http.caches.store_cache import CachedStore
from productrecs.entrypoints.http.dispatch.exchange import raw_error_response, raw_response
from productrecs.entrypoints.http.limits.load_shedding import LoadShedder, OverloadedError
from productrecs.entrypoints.http.limits.rate_limits import address_of_client
from productrecs.entrypoints.http.pipeline.authentication import (
    ROUTES,
    Caller,
    Credential,
    RequestKeys,
    authenticate,
    keys_of,
)
from productrecs.entrypoints.http.pipeline.context import Context
from productrecs.entrypoints.http.pipeline.cors import REFUSED_ORIGIN_HEADERS, cors_headers
from productrecs.entrypoints.http.pipeline.request_metrics import RequestMetrics
from productrecs.entrypoints.http.pipeline.urls import (
    base_url_by_headers,
    parse_plain_query,
)
from productrecs.entrypoints.http.routes.widget.recommendations import (
    answer_immediately,
    parse_list_request,
)
from productrecs.entrypoints.http.routes.widget.search import (
    SearchReply,
    cached_search,
    parse_search_request,
)
from productrecs.entrypoints.http.transport.error_body import (
    OVERLOADED,
    ErrorBody,
    FailedRequest,
    build_error_body,
    random_retry_after,
)
from productrecs.entrypoints.http.transport.header_cache import Header, RequestHead
from productrecs.entrypoints.http.writes.search_log import Searcher, searcher_of
from productrecs.features.recommendations.request import RecommendationRequest
from productrecs.tenancy.accounts.api_keys import PUBLISHABLE_PREFIX
from productrecs.tenancy.billing.call_meter import Meter

_RECOMMENDATIONS, _SEARCH = "/v1/recommendations", "/v1/search"
_PATHS: Final = {path.encode(): path for path in (_RECOMMENDATIONS, _SEARCH)}
_KEY: Final = re.compile(
    rb"[?&]key=(" + PUBLISHABLE_PREFIX.encode() + rb"\w+)|\r\nx-pub-key:\s*(\S+)",
    re.IGNORECASE,
)
_KEY_SEARCH_BYTES: Final = 4_096
"""Bytes of a request that are searched for a key; most keys are in the first hundred."""
_ID_PLACEHOLDER: Final = "of-the-request"
_CACHED_QUERIES: Final = 8_192
"""Parsed query strings to keep: shops repeat their requests."""


class FastPath:
    """The fast path of one process."""

    def __init__(
        self,
        pressure: LoadShedder,
        traffic: RequestMetrics,
        new_request_id: Callable[[], bytes],
    ) -> None:
        """Start closed: until `open` everything is left to the dispatcher."""
        self._pressure = pressure
        self._traffic = traffic
        self._new_request_id = new_request_id
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._find: _Find = _find_reply
        self._context: Context | None = None

    def open(self, context: Context) -> None:
        """Start to answer."""
        self._find = _find_reply if context.rates is None else _find_and_count
        self._context = context

    def answer(self, target: bytes, head: RequestHead, address: str) -> bytes | None:
        """Return the whole reply to a GET of `target`; None leaves it to the dispatcher.

        `address` is the client's.
        """
        began = time.monotonic()
        context = self._context
        raw_path, _, query_string = target.partition(b"?")
        path = _PATHS.get(raw_path)
        if context is None or path is None or b"#" in target:
            return None
        try:
            request = self._admit(context, query_string, head, address)
            if request is None:
                return None
            if self._pressure.may_reject and self._pressure.should_reject(request.store_id):
                return self._rejection(context, request, path, began)
            found = self._find(context, request, path, query_string)
        except Exception:
            return None  # the dispatcher handles the request again, and reports the error
        if found is None:
            return None
        request_id = head.request_id or self._new_request_id()
        headers = (*request.cors, *found.headers) if found.headers else request.cors
        request.meter.count()
        self._traffic.answered(ROUTES[path], "GET", 200, began)
        return raw_response(found.body, request_id, headers)

    def store_of(self, data: bytes) -> str:
        """Return the store whose key an unparsed request has; "" where none is found."""
        found = _KEY.search(data, 0, _KEY_SEARCH_BYTES)
        if found is None or self._context is None:
            return ""
        key = (found[1] or found[2]).decode("ascii", "replace")
        store = self._context.accounts.by_publishable_key(key)
        return "" if store is None else store.store_id

    def _rejection(
        self, context: Context, request: "AdmittedRequest", path: str, began: float
    ) -> bytes:
        pace = request.count_rate(context)
        request_id = request.head.request_id or self._new_request_id()
        base = base_url_by_headers(request.head.named, context.services.settings)
        accept = request.head.named.get(b"accept", b"")
        start, end, content_type = _error_body_parts(base, path, accept)
        form = ErrorBody(start + request_id + end, content_type)
        headers = (*request.cors, *pace, (b"retry-after", random_retry_after(self._rng)))
        self._traffic.answered(ROUTES[path], "GET", OVERLOADED.status, began)
        return raw_error_response(OVERLOADED, form, request_id, headers)

    @staticmethod
    def _admit(
        context: Context, query_string: bytes, head: RequestHead, address: str
    ) -> "AdmittedRequest | None":
        query = _parsed_query(query_string)
        if query is None or not head.is_all:
            return None
        headers = head.named
        named = query.get("key")
        keys = (
            RequestKeys(named, None, None)
            if named
            else keys_of(query_string, query, headers)
        )
        caller = authenticate(keys, Credential.PUBLISHABLE, context.accounts)
        store = caller.store
        meter = context.metering.get(store.store_id)
        opened = context.shops.get(store)
        if meter is None or opened is None:
            return None
        if meter.ask(store.subscription, context.clock()) is not None:
            return None  # a quota warning or a limit: the dispatcher adds the headers
        cors = cors_headers(store, headers.get(b"origin"))
        if cors is REFUSED_ORIGIN_HEADERS and b"origin" in headers:
            return None  # the dispatcher records foreign origins
        return AdmittedRequest(caller, query, head, address, cors, meter, opened)


class AdmittedRequest(NamedTuple):
    """A request that passed key, plan and origin."""

    caller: Caller
    query: Mapping[str, str]
    head: RequestHead
    address: str
    cors: Sequence[Header]
    meter: Meter
    opened: CachedStore

    @property
    def store_id(self) -> str:
        """The store that the key belongs to."""
        return self.caller.store.store_id

    def count_rate(self, context: Context) -> Sequence[Header]:
        """Count the request where the installation limits the rate; return the headers.

        Raises:
            TooManyRequestsError: when the caller has to wait first; the dispatcher answers.
        """
        if context.rates is None:
            return ()
        client = address_of_client(self.address, self.head.named)
        return context.rates.take_both(client, self.caller.rate_limit_key)


@lru_cache(_CACHED_QUERIES)
def _error_body_parts(base: str, path: str, accept: bytes) -> tuple[bytes, bytes, bytes]:
    """Return an error body before and after its request id, and its content type."""
    body, content_type = build_error_body(
        OVERLOADED,
        str(OverloadedError()),
        FailedRequest(_ID_PLACEHOLDER, base, path, accept),
    )
    start, _, end = body.rpartition(_ID_PLACEHOLDER.encode())
    return start, end, content_type


@lru_cache(_CACHED_QUERIES)
def _parsed_query(query_string: bytes) -> Mapping[str, str] | None:
    return parse_plain_query(query_string)


@lru_cache(_CACHED_QUERIES)
def _parsed_request(query_string: bytes, default_num: int) -> RecommendationRequest | None:
    query = _parsed_query(query_string)
    return None if query is None else parse_list_request(query, default_num)


_Find = Callable[[Context, AdmittedRequest, str, bytes], SearchReply | None]


def _find_reply(
    context: Context, request: AdmittedRequest, path: str, query_string: bytes
) -> SearchReply | None:
    if path == _SEARCH:
        return _search_reply(
            context,
            request,
            searcher_of(request.address, request.head.lines, request.query),
        )
    return _recommendation_reply(context, request, query_string)


def _find_and_count(
    context: Context, request: AdmittedRequest, path: str, query_string: bytes
) -> SearchReply | None:
    """Return the reply, and count the request: the installation limits the rate."""
    found = _find_reply(context, request, path, query_string)
    if found is None:
        return None
    return SearchReply(found.body, (*request.count_rate(context), *found.headers))


def _recommendation_reply(
    context: Context, request: AdmittedRequest, query_string: bytes
) -> SearchReply | None:
    asked = _parsed_request(query_string, request.opened.shop.settings.rec_num)
    body = None if asked is None else answer_immediately(context, request.opened, asked)
    return None if body is None else SearchReply(body)


def _search_reply(
    context: Context, request: AdmittedRequest, who: Searcher
) -> SearchReply | None:
    asked = parse_search_request(request.query)
    return None if asked is None else cached_search(context, request.opened, asked, who)
