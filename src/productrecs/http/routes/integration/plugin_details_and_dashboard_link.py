"""Plugin details and dashboard link: what a shop plugin records; a way in for merchants.

Routes: POST /integration/connect and POST /integration/dashboard-link.
"""

from typing import TYPE_CHECKING, Final

from fastapi import Request, Response

from productrecs.core.timestamps import iso
from productrecs.http.openapi_responses import (
    NULLABLE_TEXT,
    OK_REPLY,
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import (
    DASHBOARD_PATH,
    SECRET,
    SIGN_IN_PATH,
    Routes,
)
from productrecs.http.routes.integration.call_body_and_transaction import (
    change_in_transaction,
    read_optional_json_body,
)
from productrecs.schemas.integration import (
    ConnectBody,
    DashboardLinkBody,
    parse_connect_request,
    parse_dashboard_link_email,
)
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.shop_connection import ShopConnection, ShopPlatform
from productrecs.tenancy.accounts.shop_connections.repository import (
    ShopConnectionRepository,
)
from productrecs.tenancy.users.login_and_sessions import (
    create_sign_in_token,
    find_login_or_first_owner,
)
from productrecs.tenancy.users.repository import UserRepository
from productrecs.tenancy.users.second_factors.repository import SecondFactorRepository

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext


routes = Routes("integration")

_CONNECT_EXAMPLE: Final = {
    "platform": "woocommerce",
    "plugin_version": "1.4.0",
    "store_url": "https://shop.example.com",
}


@routes.post(
    "/integration/connect",
    SECRET,
    operation_id="connect",
    summary="Connect a store",
    responses=success_response(
        "Connected; the first platform that was set stays.",
        object_schema(
            ok=OK_REPLY,
            platform={
                "type": "string",
                "enum": [platform.value for platform in ShopPlatform],
            },
            plugin_version=NULLABLE_TEXT,
            store_url=NULLABLE_TEXT,
            first_connected_at={"type": "string", "format": "date-time"},
            domain={"type": "string"},
        ),
        {
            "ok": True,
            **_CONNECT_EXAMPLE,
            "first_connected_at": "2026-11-21T09:00:00.000Z",
            "domain": "shop.example.com",
        },
    )
    | error_responses(401, 402, 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        ConnectBody, {"a plugin": _CONNECT_EXAMPLE}, required=False
    ),
)
async def connect_plugin(request: Request) -> Response:
    """Record the platform and the time of the first call; repeating it is harmless.

    A platform that was set before is never overwritten: the reply shows the current
    one. A body without a platform, or no body, means `woocommerce` until one is set.
    `domain` is the domain of the store, which names its scripts.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store, clock = exchange.known_caller.store, exchange.context.clock
    introduction = parse_connect_request(
        await read_optional_json_body(request), store.publishable_key
    )
    store_id = store.store_id

    def record_plugin_details(work: WriteTransaction) -> ShopConnection:
        AccountRepository(work.connection).lock(store_id)
        repository = ShopConnectionRepository(work.connection, store_id)
        stored_connection = repository.find()
        connected = stored_connection.with_plugin_details(introduction, clock())
        if connected != stored_connection:
            repository.put(connected)
        return connected

    connected = await change_in_transaction(exchange, record_plugin_details)
    first = connected.first_connected_at
    content = {
        "ok": True,
        "platform": connected.platform,
        "plugin_version": connected.plugin_version,
        "store_url": connected.store_url,
        "first_connected_at": None if first is None else iso(first),
        "domain": store.domain,
    }
    return json_reply(content)


@routes.post(
    "/integration/dashboard-link",
    SECRET,
    needs_plan=False,
    operation_id="dashboard_link",
    summary="Let a merchant into the dashboard",
    responses=success_response(
        "Where to send the merchant's browser, within a minute.",
        object_schema(path={"type": "string"}, signs_in={"type": "boolean"}),
        {"path": f"{SIGN_IN_PATH}?token=st_2Yk.s8...", "signs_in": True},
    )
    | error_responses(401, 413, 415, 422, 503),
    openapi_extra=documented_request_body(
        DashboardLinkBody, {"a plugin": {"email": "anna@example.com"}}, required=False
    ),
)
async def create_dashboard_link(request: Request) -> Response:
    """Return a path that begins one session of the store's login with this e-mail.

    Without an e-mail it is the session of the store's first owner. Where the store has no
    such login, the path is the dashboard's, which asks for a password, and `signs_in` is
    false. A login with a second factor is asked for its code.
    """
    exchange: RequestContext = request.scope["productrecs"]
    email = parse_dashboard_link_email(await read_optional_json_body(request))
    store_id = exchange.known_caller.store.store_id
    services = exchange.context.services

    def create_token_if_login_exists(work: WriteTransaction) -> str | None:
        user = find_login_or_first_owner(UserRepository(work.connection, store_id), email)
        if user is None:
            return None
        factors = SecondFactorRepository(work.connection, store_id)
        return create_sign_in_token(factors, user, services.system_clock())

    token = await change_in_transaction(exchange, create_token_if_login_exists)
    path = DASHBOARD_PATH if token is None else f"{SIGN_IN_PATH}?token={token}"
    content = {"path": path, "signs_in": token is not None}
    return json_reply(content)
