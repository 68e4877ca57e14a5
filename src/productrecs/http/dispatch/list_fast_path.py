"""Fast path: answers a cached or quick list right after the request is parsed.

uvicorn creates a scope, a cycle and a task for each request, and the dispatcher an
exchange. For a cached list these cost more than everything else. The fast path answers
well-formed requests for lists without them. It leaves unusual requests, and
requests that have to wait, to the dispatcher. Both use the same admission function.

Load shedding happens here too, because a rejection must cost a fraction of a list.
Otherwise rejections would use up the time for replies.
"""

import random
import re
import time
from collections.abc import Callable, Mapping
from typing import Final

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
)
from productrecs.http.dispatch.admission import Admission, AdmissionRequest, admit
from productrecs.http.dispatch.http_exchange import (
    parse_plain_query,
    raw_error_response,
    raw_ok_response,
)
from productrecs.http.limits.client_address import address_of_client, public_network_of
from productrecs.http.limits.load_shedding import LoadShedder, OverloadedError
from productrecs.http.pipeline.process_metrics import ProcessMetrics
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_by_headers
from productrecs.http.route_table import ROUTES
from productrecs.http.routes.widget.list_parameters import apply_price_list
from productrecs.http.routes.widget.list_replies import try_answer_immediately
from productrecs.http.routes.widget.recommendations import (
    parse_list_request,
)
from productrecs.http.routes.widget.shopper_history_access import determine_history_access
from productrecs.http.transport.error_body import (
    OVERLOADED,
    ErrorBody,
    FailedRequest,
    build_error_body,
    random_retry_after,
)
from productrecs.http.transport.request_parser import RequestHeaders
from productrecs.tenancy.accounts.api_keys import PUBLISHABLE_PREFIX

_LIST_ROUTE: Final = ROUTES["/v1/recommendations"]
_PATH: Final = _LIST_ROUTE.path.encode()
_KEY: Final = re.compile(
    rb"[?&]key=(" + PUBLISHABLE_PREFIX.encode() + rb"\w+)|\r\nx-pub-key:\s*(\S+)",
    re.IGNORECASE,
)
_KEY_SEARCH_BYTES: Final = 4_096
"""The first bytes of a request, searched for a key; most keys are in the first 100."""
_ID_PLACEHOLDER: Final = "of-the-request"


class ListFastPath:
    """The fast path of one process, for lists of recommendations."""

    def __init__(
        self,
        load_shedder: LoadShedder,
        process_metrics: ProcessMetrics,
        new_request_id: Callable[[], bytes],
    ) -> None:
        """Start closed: until `open`, all requests are left to the dispatcher."""
        self._load_shedder = load_shedder
        self._process_metrics = process_metrics
        self._new_request_id = new_request_id
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._context: ProcessContext | None = None

    def open(self, context: ProcessContext) -> None:
        """Start to answer."""
        self._context = context

    def try_reply_and_meter(
        self, target: bytes, head: RequestHeaders, address: str
    ) -> bytes | None:
        """Return the whole reply to a GET of `target`; None leaves it to the dispatcher.

        `address` is the client's.
        """
        began = time.monotonic()
        context = self._context
        raw_path, _, query_string = target.partition(b"?")
        if context is None or raw_path != _PATH or b"#" in target or not head.is_plain:
            return None
        query = _parse_query_cached(query_string)
        if query is None:
            return None
        arrival = AdmissionRequest(
            _LIST_ROUTE, "GET", query_string, query, head.by_name, address
        )
        try:
            admission = admit(context, self._load_shedder, arrival)
            if admission.refusal is not None:
                return self._reject_and_record_if_shed(
                    context, admission, arrival, head, began
                )
            body = _list_body_without_waiting(context, admission, arrival)
        except Exception:
            return None  # the dispatcher handles the request again, and reports the error
        if body is None or admission.meter is None:
            return None
        admission.meter.count_call()
        headers = admission.cors_headers
        if admission.limit_headers:
            admission.count_against_rate_limits()
            headers = (*headers, *admission.limit_headers)
        request_id = head.request_id or self._new_request_id()
        self._process_metrics.record(_LIST_ROUTE, "GET", 200, began)
        return raw_ok_response(body, request_id, headers)

    def store_id_of_unparsed_request(self, data: bytes) -> str:
        """Return the store of the key in an unparsed request; "" if no key is found."""
        found = _KEY.search(data, 0, _KEY_SEARCH_BYTES)
        if found is None or self._context is None:
            return ""
        key = (found[1] or found[2]).decode("ascii", "replace")
        store = self._context.accounts.by_publishable_key(key)
        return "" if store is None else store.store_id

    def _reject_and_record_if_shed(
        self,
        context: ProcessContext,
        admission: Admission,
        arrival: AdmissionRequest,
        head: RequestHeaders,
        began: float,
    ) -> bytes | None:
        """Return the rejection of a shed request; None for every other refusal."""
        if admission.misuse or not isinstance(admission.refusal, OverloadedError):
            return None
        admission.count_against_rate_limits()
        request_id = head.request_id or self._new_request_id()
        base = base_url_by_headers(head.by_name, context.services.settings)
        body_start, body_end, content_type = _overload_body_around_request_id(
            base, arrival.route.path, head.by_name.get(b"accept", b"")
        )
        error_body = ErrorBody(body_start + request_id + body_end, content_type)
        retry_header = (b"retry-after", random_retry_after(self._rng))
        headers = (*admission.cors_headers, *admission.limit_headers, retry_header)
        self._process_metrics.record(arrival.route, "GET", OVERLOADED.status, began)
        return raw_error_response(OVERLOADED, error_body, request_id, headers)


@memoized(RegisteredCache.QUERY_STRINGS)
def _overload_body_around_request_id(
    base: str, path: str, accept: bytes
) -> tuple[bytes, bytes, bytes]:
    """Return an error body before and after its request id, and its content type."""
    body, content_type = build_error_body(
        OVERLOADED,
        str(OverloadedError()),
        FailedRequest(_ID_PLACEHOLDER, base, path, accept),
    )
    start, _, end = body.rpartition(_ID_PLACEHOLDER.encode())
    return start, end, content_type


@memoized(RegisteredCache.QUERY_STRINGS)
def _parse_query_cached(query_string: bytes) -> Mapping[str, str] | None:
    return parse_plain_query(query_string)


@memoized(RegisteredCache.QUERY_STRINGS)
def _parse_list_request_cached(
    query_string: bytes, default_num: int
) -> RecommendationRequest | None:
    query = _parse_query_cached(query_string)
    return None if query is None else parse_list_request(query, default_num)


def _list_body_without_waiting(
    context: ProcessContext, admission: Admission, arrival: AdmissionRequest
) -> bytes | None:
    """Return the body of a list that is available without waiting; else None.

    Also None if the dispatcher has to refuse the request, open the meter or the store, or
    record misuse.
    """
    caller, query = admission.caller, arrival.query
    if admission.meter is None or admission.misuse or caller is None or query is None:
        return None
    cached_store = context.stores.get(caller.store)
    if cached_store is None:
        return None
    bots = context.bots
    if bots.has_flagged:
        network = public_network_of(address_of_client(arrival.peer, arrival.headers))
        if bots.is_flagged(caller.store.store_id, query, network):
            return None  # unless the identity is signed
    if "price_list" in query:
        cached_store = apply_price_list(caller, cached_store, query["price_list"])
    list_request = _parse_list_request_cached(
        arrival.query_string, cached_store.state.settings.rec_num
    )
    if list_request is None:
        return None
    access = determine_history_access(context, caller, query, arrival.peer, arrival.headers)
    return try_answer_immediately(context, cached_store, list_request, access)
