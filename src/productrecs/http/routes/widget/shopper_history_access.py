"""Shopper history access: how much of a shopper's history a call may use.

An id proves nothing: customers' numbers can be guessed. The secret key and a signed
identity prove whose list it is. Without them the store's setting `customer_lists` decides:
under `limited` ordinary lists believe an id, and lists that show a history itself need the
session's own events.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec
from fastapi import Query, Request

from productrecs.core.ids import StoreId, visitor_hash
from productrecs.features.reports.tracking_health.repository import RefusedIdentityCall
from productrecs.http.limits.client_address import (
    address_of_client,
    peer_of,
    public_network_of,
)
from productrecs.http.pipeline.authentication import Caller
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.http.pipeline.route_declaration import SECRET
from productrecs.records.events.shopper_history_cache import (
    ShopperHistory,
    ShopperHistoryCache,
)
from productrecs.serving.cached_store import CachedStore
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.shopper_identity import (
    IdentityVerdict,
    check_identity,
    identity_warnings,
)

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

_encode: Final = msgspec.json.Encoder().encode
IDENTITY: Final = "identity"
"""The parameter with the signed identity."""

IdentityQuery = Annotated[
    str,
    Query(
        description=(
            "The signed identity of `customer_id`, or of `user_id` without one: "
            "`<expires>.<signature>`. The list then uses the customer's whole history. A "
            "wrong or expired one counts as none."
        ),
        examples=["1893456000." + 64 * "0"],
    ),
]


class ShopperHistoryAccess(NamedTuple):
    """What one call proves, and what it may use without proof."""

    mode: str  # the setting `customer_lists`: what a call may use without proof
    customer: str = ""  # the id that the call names as a customer's
    session: str = ""  # the caller's session, if it is named beside the ids
    check: IdentityVerdict = IdentityVerdict.ABSENT  # of the call's identity
    signed_id: str = ""  # the id that the identity is to prove
    is_trusted: bool = False  # the call came with the secret key
    network: str | None = None  # the client's; None if it is not limited

    @property
    def is_signed(self) -> bool:
        """Whether `customer` is proven."""
        return self.check is IdentityVerdict.VALID


class UsableHistories(NamedTuple):
    """The histories of a call, as far as it may use them."""

    for_lists: Sequence[ShopperHistory] = ()
    for_display: Sequence[ShopperHistory] = ()  # for lists that show a history itself


NO_HISTORIES: Final = UsableHistories()


def determine_history_access(
    context: ProcessContext,
    caller: Caller,
    query: Mapping[str, str],
    peer: str,
    headers: Mapping[bytes, bytes],
) -> ShopperHistoryAccess:
    """Return the access of a call with these parameters."""
    is_trusted = caller.credential is SECRET
    mode = caller.store.settings.customer_lists
    identity = query.get(IDENTITY)
    customer = query.get("customer_id") or ""
    check, signed_id = IdentityVerdict.ABSENT, ""
    if identity and not is_trusted:
        signed_id = customer or query.get("user_id") or ""
        check = check_identity(caller.store.secrets, identity, signed_id, context.clock())
        if check is IdentityVerdict.VALID:
            customer = signed_id
    network = None if is_trusted else public_network_of(address_of_client(peer, headers))
    session = query.get("session_id") or ""
    return ShopperHistoryAccess(
        mode, customer, session, check, signed_id, is_trusted, network
    )


def record_refused_identities(
    context: ProcessContext, store_id: StoreId, checks: Iterable[IdentityVerdict]
) -> None:
    """Count the identities that were refused, for the store's health report."""
    for check in checks:
        if check.is_refused:
            refused = RefusedIdentityCall(store_id, check, context.clock())
            context.write_client.write_later(refused)


def record_and_warn_of_refused_identity(
    context: ProcessContext,
    cached_store: CachedStore,
    body: bytes,
    access: ShopperHistoryAccess,
) -> bytes:
    """Return the body of a reply, with a warning if the call's identity was refused."""
    if not access.check.is_refused:
        return body
    record_refused_identities(context, cached_store.state.catalog.store_id, [access.check])
    warnings = identity_warnings([(access.signed_id, access.check)])
    return body[:-1] + b',"warnings":' + _encode(warnings) + b"}"


SessionQuery = Annotated[
    str,
    Query(
        description=(
            "The session, if `user_id` is another id: lists may use what this session did, "
            "whoever the shopper is."
        ),
        examples=["s_4fQ9xZ"],
    ),
]


def determine_history_access_of_request(
    request: Request, query: Mapping[str, str]
) -> ShopperHistoryAccess:
    """Return the access of a declared route's call."""
    exchange: RequestContext = request.scope["productrecs"]
    headers, peer = dict(request.scope["headers"]), peer_of(request.scope)
    return determine_history_access(
        exchange.context, exchange.known_caller, query, peer, headers
    )


def count_customer_and_read_histories(
    context: ProcessContext,
    cached_store: CachedStore,
    reader: RawReader,
    ids: Sequence[str],
    access: ShopperHistoryAccess,
) -> UsableHistories:
    """Return the histories of a call's ids, as far as it may use them.

    Raises:
        StorageError: when the database could not answer.
    """
    cached = cached_store.histories
    proven_history = _read_proven_history(cached, reader, ids, access)
    sessions = frozenset(map(visitor_hash, (*ids, *filter(None, [access.session]))))
    for_lists: list[ShopperHistory] = []
    for_display: list[ShopperHistory] = []
    for shopper_id in ids:
        history = cached.history_of(shopper_id, reader)
        if proven_history is not None and (
            shopper_id == proven_history.person or history is proven_history
        ):
            history = proven_history
        elif access.mode != "open":
            of_session = history.limited_to_sessions(sessions)
            is_customers = of_session is not history or shopper_id == access.customer
            customer = history.person if is_customers else None
            is_hidden = _count_customer_and_check_anonymous(
                context, cached_store, access, customer
            )
            is_hidden |= access.mode == "signed" or cached.is_former(shopper_id)
            for_display.append(of_session)
            for_lists.append(of_session if is_hidden else history)
            continue
        for_lists.append(history)
        for_display.append(history)
    return UsableHistories(for_lists, for_display)


def _read_proven_history(
    cached: ShopperHistoryCache,
    reader: RawReader,
    ids: Sequence[str],
    access: ShopperHistoryAccess,
) -> ShopperHistory | None:
    """Return the history of the customer that a call proves; None without proof."""
    if access.is_signed:
        return cached.history_of(access.customer, reader, is_proven=True)
    if not access.is_trusted:
        return None
    own = cached.history_of(ids[0], reader, is_proven=True)
    # The shop's server may name only a session; its events belong to the customer since
    # the sign-in.
    return own if access.customer or own.newest_ms else None


def _count_customer_and_check_anonymous(
    context: ProcessContext,
    cached_store: CachedStore,
    access: ShopperHistoryAccess,
    customer: str | None,
) -> bool:
    """Count the `customer` of the call; return whether its network named too many."""
    named, store_id = context.named_customers, cached_store.state.catalog.store_id
    if customer:
        named.count_customer_and_flag_network(store_id, access.network, customer)
    return named.is_served_as_anonymous(store_id, access.network)
