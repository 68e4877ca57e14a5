"""Admission: decides whether a request is served, for the fast path and the dispatcher.

The checks run in a fixed order: rate limit of the client's address, key, page's origin,
rate limit of the key, active plan, load shedding, quota. The first failed check refuses the
request. `admit` has no side effects, so the fast path may still leave an admitted request
to the dispatcher.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from productrecs.core.errors import ProductRecsError
from productrecs.http.limits.client_address import address_of_client
from productrecs.http.limits.load_shedding import LoadShedder, OverloadedError
from productrecs.http.limits.rate_limits import BucketLevel, TooManyRequestsError
from productrecs.http.limits.usage_metering import billing_headers
from productrecs.http.pipeline.authentication import (
    Caller,
    UnknownKeyError,
    authenticate,
    check_metrics_token,
    keys_of,
    requires_active_plan,
)
from productrecs.http.pipeline.cors import (
    ANY_ORIGIN_HEADERS,
    REFUSED_ORIGIN_HEADERS,
    cors_headers,
)
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.http.pipeline.route_declaration import (
    EITHER,
    NONE,
    OPERATOR,
    SECRET,
    CredentialKind,
    Route,
)
from productrecs.http.transport.request_parser import Header
from productrecs.tenancy.accounts.key_misuse.repository import MisuseKind
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.call_meter import CallMeter


@dataclass(slots=True)
class Admission:
    """The decision about one request, and its effects on the reply."""

    cors_headers: Sequence[Header] = ANY_ORIGIN_HEADERS
    limit_headers: Sequence[Header] = ()  # headers about rate and quota
    levels: Sequence[BucketLevel] = ()  # of the rate limits that the request passed
    caller: Caller | None = None
    refusal: ProductRecsError | None = None
    misuse: MisuseKind | None = None
    is_cut_off: bool = False  # the reply has no content: the plan is used up or over
    meter: CallMeter | None = None  # counts the reply if it succeeds

    @property
    def is_key_unknown(self) -> bool:
        """Whether the key is unknown; its store may have registered just now."""
        return isinstance(self.refusal, UnknownKeyError)

    def add_rate_limit(self, level: BucketLevel | None) -> None:
        """Record a rate limit that the request passed; None means no limit."""
        if level is not None:
            self.levels = (*self.levels, level)
            self.limit_headers = (*self.limit_headers, *level.rate_limit_headers())

    def count_against_rate_limits(self) -> None:
        """Count the request against the rate limits that it passed."""
        for level in self.levels:
            level.limit.count(level)

    def apply_quota(self, meter: CallMeter, store: Store, now_ms: int) -> None:
        """Check the quota of the store's plan; a reply with content is metered."""
        notice = meter.check_quota(store.subscription, now_ms)
        if notice is not None:
            self.limit_headers = (*self.limit_headers, *billing_headers(notice))
            if notice.is_cut_off:
                self.is_cut_off = True
                return
        self.meter = meter


@dataclass(slots=True)
class AdmissionRequest:
    """The parts of a request that admission depends on."""

    route: Route
    method: str  # the route supports it
    query_string: bytes
    query: Mapping[str, str] | None  # None if it is unusual
    headers: Mapping[bytes, bytes]  # names are in lower case
    peer: str  # the address of the other end of the connection

    @property
    def is_metered(self) -> bool:
        """Whether a reply with content counts for the plan."""
        parameter = self.route.metered_parameter
        if not parameter or not self.route.empty:
            return bool(self.route.empty)
        if self.query is not None:
            return parameter in self.query
        pairs = parse_qsl(self.query_string.decode("latin-1"), keep_blank_values=True)
        return any(name == parameter for name, _ in pairs)


def admit(
    context: ProcessContext, load_shedder: LoadShedder, arrival: AdmissionRequest
) -> Admission:
    """Return the decision about a request; a refusal is returned, not raised.

    The meter of a metered request is None if the process has no meter of the store yet: the
    caller then calls `apply_quota`.
    """
    admission = Admission()
    try:
        _check_and_fill_admission(admission, context, load_shedder, arrival)
    except ProductRecsError as error:
        if isinstance(error, TooManyRequestsError):
            admission.limit_headers = (*admission.limit_headers, *error.rate_limit_headers)
        # Drop the traceback: it refers to this frame, which is a reference cycle.
        admission.refusal = error.with_traceback(None)
    return admission


def _check_and_fill_admission(
    admission: Admission,
    context: ProcessContext,
    load_shedder: LoadShedder,
    arrival: AdmissionRequest,
) -> None:
    route = arrival.route
    if context.rates is not None and route.is_rate_limited:
        peer = address_of_client(arrival.peer, arrival.headers)
        admission.add_rate_limit(context.rates.check_address(peer))
    credential = route.methods[arrival.method]
    if credential is OPERATOR:
        check_metrics_token(arrival.headers, context.services.settings.metrics_token)
    elif credential is not NONE:
        store = _authenticate_and_check_caller(admission, context, arrival, credential)
        if not arrival.is_metered:
            return
        if load_shedder.may_reject and load_shedder.count_and_decide_rejection(
            store.store_id
        ):
            raise OverloadedError
        meter = context.metering.meters.get(store.store_id)
        if meter is not None:
            admission.apply_quota(meter, store, context.clock())


def _authenticate_and_check_caller(
    admission: Admission,
    context: ProcessContext,
    arrival: AdmissionRequest,
    credential: CredentialKind,
) -> Store:
    """Check key, origin, rate and plan; return the caller's store."""
    keys = keys_of(arrival.query_string, arrival.query, arrival.headers)
    if keys.secret and arrival.route.empty and b"price_list=" in arrival.query_string:
        credential = EITHER  # the price lists of customer groups need the secret key
    caller = admission.caller = authenticate(keys, credential, context.accounts)
    store, origin = caller.store, arrival.headers.get(b"origin")
    admission.cors_headers = cors_headers(store, origin)
    if origin is not None:
        admission.misuse = _key_misuse_kind(caller, admission)
    if context.rates is not None and arrival.route.is_rate_limited:
        admission.add_rate_limit(context.rates.check_key(caller.rate_limit_key))
    if arrival.route.needs_plan and requires_active_plan(arrival.method, credential):
        store.subscription.check_active(context.clock())
    return store


def _key_misuse_kind(caller: Caller, admission: Admission) -> MisuseKind | None:
    """Return the misuse of a key: a secret key in a page, or a page of another origin."""
    if caller.credential is SECRET:
        return MisuseKind.LEAKED_SECRET
    if admission.cors_headers is REFUSED_ORIGIN_HEADERS:
        return MisuseKind.FOREIGN_ORIGIN
    return None
