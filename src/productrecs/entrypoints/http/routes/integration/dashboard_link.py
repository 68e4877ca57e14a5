"""Dashboard link: POST /integration/dashboard-link logs a merchant in from their shop."""

from typing import TYPE_CHECKING, Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.openapi.responses import (
    error_responses,
    object_schema,
    request_body,
    success_response,
)
from productrecs.entrypoints.http.pipeline.authentication import (
    DASHBOARD_PATH,
    SIGN_IN_PATH,
)
from productrecs.entrypoints.http.routes.integration.store_update import (
    body_if_any,
    change,
)
from productrecs.entrypoints.http.schemas.integration import (
    DashboardLinkBody,
    parse_dashboard_link,
)
from productrecs.storage.group_commit import WriteTransaction
from productrecs.tenancy.accounts.login.repository import FactorRepository, UserRepository
from productrecs.tenancy.accounts.login.sessions import find_login, new_link_token

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.route_context import RequestContext

router = APIRouter(tags=["integration"])

_encode: Final = msgspec.json.Encoder().encode


@router.post(
    "/integration/dashboard-link",
    operation_id="dashboard_link",
    summary="Let a merchant into the dashboard",
    responses=success_response(
        "Where to send the merchant's browser, within a minute.",
        object_schema(path={"type": "string"}, signs_in={"type": "boolean"}),
        {"path": f"{SIGN_IN_PATH}?token=st_2Yk.s8...", "signs_in": True},
    )
    | error_responses(401, 413, 415, 422, 503),
    openapi_extra=request_body(
        DashboardLinkBody, {"a plugin": {"email": "anna@example.com"}}, required=False
    ),
    response_class=Response,
)
async def dashboard_link(request: Request) -> Response:
    """Return a path that begins one session of the store's login with this e-mail.

    Without an e-mail it is the session of the store's first owner. Where the store has no
    such login, the path is the dashboard's, which asks for a password, and `signs_in` is
    false. A login with a second factor is asked for its code.
    """
    exchange: RequestContext = request.scope["productrecs"]
    email = parse_dashboard_link(await body_if_any(request))
    store_id = exchange.known_caller.store.store_id
    services = exchange.context.services

    def create_link(work: WriteTransaction) -> str | None:
        user = find_login(UserRepository(work.connection, store_id), email)
        if user is None:
            return None
        factors = FactorRepository(work.connection, store_id)
        return new_link_token(factors, user, services.system_clock())

    token = await change(exchange, create_link)
    path = DASHBOARD_PATH if token is None else f"{SIGN_IN_PATH}?token={token}"
    content = {"path": path, "signs_in": token is not None}
    return Response(_encode(content), media_type="application/json")
