"""Endpoint of the merchant's assistant: POST /dashboard/mcp with an access token.

A token is the session of an assistant: it opens one store with the role of a viewer or an
editor. Without tokens, every call is refused.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response

from productrecs.dashboard.page import MCP_PATH, Page, SubmittedFields, Visit
from productrecs.http.limits.client_address import (
    address_of_client,
    peer_of,
    public_network_of,
)
from productrecs.http.limits.rate_limits import RateLimit
from productrecs.http.pipeline.authentication import (
    MissingKeyError,
    UnknownKeyError,
    keys_of,
)
from productrecs.http.pipeline.cors import refuse_foreign_origin
from productrecs.http.pipeline.error_responses import ROUTER_CODES, error_response
from productrecs.http.pipeline.mcp_messages import Handle, answer_json_rpc_message
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.tenancy.users.access_tokens.access_token import authenticate_access_token
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.login_and_sessions import Session

if TYPE_CHECKING:
    from productrecs.core.ids import StoreId
    from productrecs.http.pipeline.route_context import RequestContext
    from productrecs.tenancy.users.access_tokens.repository import AccessToken

_LIMIT: Final = RateLimit(b"token", burst=120, per_second=2)
_UNKNOWN_LIMIT: Final = RateLimit(b"address", burst=60, per_second=1)


async def answer_merchant_assistant(request: Request) -> Response:
    """Answer one JSON-RPC message of a merchant's assistant.

    Raises:
        MissingKeyError: without a token.
        UnknownKeyError: when no store has this token.
        TooManyRequestsError: when the token, or an address with wrong ones, has to wait.
    """
    if request.method != "POST":
        refusal = error_response(request, ROUTER_CODES[405], "send a message by POST")
        refusal.headers["allow"] = "POST"
        return refusal
    base_url, exchange = base_url_for_reply(request), request.scope["productrecs"]
    refuse_foreign_origin(request.headers.get("origin"), base_url)
    store_id, token = await _authenticate_rate_limited(request, exchange)
    _LIMIT.check_and_count(f"{store_id} {token.token_id}")
    loop = asyncio.get_running_loop()

    def load_server() -> Handle:
        # Imported here, by the first call: 30 MB that most processes never need.
        from productrecs.dashboard.assistant_tools.tool_server import (  # noqa: PLC0415
            build_tool_server,
        )

        visit = _build_visit_of_token(request, store_id, token, loop)
        return build_tool_server(visit, token).handle

    return await answer_json_rpc_message(request, load_server)


async def _authenticate_rate_limited(
    request: Request, exchange: "RequestContext"
) -> "tuple[StoreId, AccessToken]":
    headers = dict(request.scope["headers"])
    sent = keys_of(b"", {}, headers).secret
    if sent is None:
        message = (
            "no token was sent; make one in the dashboard (Keys and plan, Your own "
            "assistant), and send it as the header Authorization: Bearer TOKEN"
        )
        raise MissingKeyError(message)
    address = address_of_client(peer_of(request.scope), headers)
    level = _UNKNOWN_LIMIT.check(public_network_of(address) or address)
    services = exchange.context.services
    found = await exchange.context.run_in_dashboard_pool(
        lambda: authenticate_access_token(services.database, sent, services.system_clock())
    )
    if found is None:
        _UNKNOWN_LIMIT.count(level)
        message = "no store has this token; it may have been revoked"
        raise UnknownKeyError(message)
    return found


def _build_visit_of_token(
    request: Request,
    store_id: "StoreId",
    token: "AccessToken",
    loop: asyncio.AbstractEventLoop,
) -> Visit:
    exchange: RequestContext = request.scope["productrecs"]
    context = exchange.context
    store = context.accounts.by_id(store_id)
    if store is None:  # the store may have just registered
        context.accounts.refresh()
        store = context.accounts.by_id(store_id)
    if store is None:
        message = "the store of this token was deleted"
        raise UnknownKeyError(message)
    # Its name stands where the audit log and the history of rules have an e-mail.
    user = DashboardUser(store_id, "", token.author, token.role, None)
    return Visit(
        context=context,
        request=request,
        page=Page(MCP_PATH, "Your own assistant"),
        base_url=base_url_for_reply(request),
        client_address=address_of_client(
            peer_of(request.scope), dict(request.scope["headers"])
        ),
        query=SubmittedFields([]),
        form=SubmittedFields([]),
        session=Session(user, ""),
        known_store=store,
        csrf_secret="",
        loop=loop,
        services=context.services,
    )
