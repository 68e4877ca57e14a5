"""Dashboard application: session, role and CSRF checks, then a handler in a thread."""

import asyncio
import logging
import secrets
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import URL
from starlette.responses import PlainTextResponse

from productrecs.core.errors import ProductRecsError, QueueFullError
from productrecs.dashboard.assistant_tools.mcp_endpoint import answer_merchant_assistant
from productrecs.dashboard.audited_changes import run_audited_change
from productrecs.dashboard.cookies import (
    FLASH,
    SESSION,
    VISITOR,
    is_csrf_token,
    read_cookie,
    set_cookie_header,
)
from productrecs.dashboard.file_upload_forms import (
    declared_length,
    is_multipart_form,
    receive_form,
)
from productrecs.dashboard.page import (
    LOGIN_PATH,
    MCP_PATH,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    SubmittedFields,
    Visit,
)
from productrecs.dashboard.page_registry import BY_PATH, parent_page_path
from productrecs.dashboard.page_rendering import render_error, render_page
from productrecs.http.limits.client_address import address_of_client, peer_of
from productrecs.http.pipeline.error_responses import error_code_of
from productrecs.http.pipeline.route_declaration import DASHBOARD_PATH
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.page_response import (
    IMMUTABLE,
    accepts_gzip,
    cacheable_response,
    gzip_body,
)
from productrecs.http.transport.request_body import read_body
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.login_and_sessions import Session, resume_session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from productrecs.http.pipeline.route_context import ProcessContext, RequestContext


_log = logging.getLogger(__name__)

FORM_LIMIT: Final = 512 << 10
_MAX_FIELDS: Final = 50_000
_WORTH_PACKING: Final = 1_000
_STATIC: Final = f"{DASHBOARD_PATH}/static/"
_MEDIA_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Nothing inline, nothing from other hosts; product pages add the pictures' hosts.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; img-src 'self' data: blob:"
)
_FOREIGN: Final = "This form is too old or came from another site. Open the page again."
_FROM_SHOP: Final = (
    "Your shop signed you in, which is enough for an editor's work. For keys, the team and "
    "your login: log out, then log in with your password."
)
_TOO_MANY_LOGINS: Final = "Too many logins at once. Go back and try again in a minute."
_SAFE_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    # With `no-referrer`, browsers would send `Origin: null` with the dashboard's forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class CsrfError(ProductRecsError):
    """A form came from another site, or from a page that is too old."""


class RoleError(ProductRecsError):
    """The user's role does not allow this."""


_REFUSED: Final = {CsrfError: 403, RoleError: 403, PageOrRecordNotFoundError: 404}


def add_dashboard(application: FastAPI) -> None:
    """Add the dashboard's routes; the OpenAPI document does not list them."""
    application.add_route(
        MCP_PATH, answer_merchant_assistant, ["GET", "POST"], include_in_schema=False
    )
    for path in (DASHBOARD_PATH, f"{DASHBOARD_PATH}/{{rest:path}}"):
        application.add_route(
            path, _handle_request, ["GET", "POST"], include_in_schema=False
        )


async def _handle_request(request: Request) -> Response:
    path = request.url.path
    if path.startswith(_STATIC):
        return _static_file_response(request, path.removeprefix(_STATIC))
    exchange: RequestContext = request.scope["productrecs"]
    page = BY_PATH.get(path.rstrip("/") or DASHBOARD_PATH)
    form_fields: list[tuple[str, str]] = []
    if request.method == "POST" and page is not None:
        if page.file_limit and is_multipart_form(request):
            return await _handle_upload_request(request, page)
        headers = request.scope["headers"]
        body = await read_body(request.receive, headers, FORM_LIMIT, exchange.claim)
        form_fields = _parse_form_fields(body.decode("utf-8", "replace"))
    loop = asyncio.get_running_loop()

    def respond() -> Response:
        return _page_or_error_response(
            _load_session_and_build_visit(request, page, form_fields, loop), page
        )

    if request.method == "POST" and page is not None and page.is_public:
        try:
            return await exchange.context.signed_out_form_pool.run(respond)
        except QueueFullError:
            return PlainTextResponse(_TOO_MANY_LOGINS, 503, {"retry-after": "60"})
    return await exchange.context.run_in_dashboard_pool(respond)


async def _handle_upload_request(request: Request, page: Page) -> Response:
    """Answer a form with a file; the sender is authenticated before the file is read."""
    exchange: RequestContext = request.scope["productrecs"]
    loop = asyncio.get_running_loop()
    run = exchange.context.run_in_dashboard_pool
    visit = await run(lambda: _load_session_and_build_visit(request, page, [], loop))
    if visit.session is None:
        return _build_response(visit, _redirect_to_login(visit))
    try:
        _check_origin_and_role(visit, page)
        folder = visit.services.upload_folder
        with folder.reserve_slot(visit.store.store_id, declared_length(request)):
            async with receive_form(request, folder, page.file_limit) as form:
                await form.receive_fields()
                _check_csrf_token(replace(visit, form=SubmittedFields(form.fields)))
                file = await form.receive_file()
                visit_with_file = replace(
                    visit, form=SubmittedFields(form.fields), file=file
                )
                return await run(lambda: _page_or_error_response(visit_with_file, page))
    except ProductRecsError as refusal:
        error = refusal
        return await run(lambda: _build_response(visit, _error_reply(visit, error)))


def _page_or_error_response(visit: Visit, page: Page | None) -> Response:
    """Check the session, run the page's handler, and build the HTTP response."""
    try:
        return _build_response(visit, _authorize_and_call_handler(visit, page))
    except (ProductRecsError, RequestValidationError) as error:
        reply = _error_reply(visit, error)
    except Exception:
        _log.exception("request failed", extra={"path": visit.request.url.path})
        message = "Something went wrong here. It was logged; try again in a moment."
        reply = render_error(visit, 500, message)
    return _build_response(visit, reply)


def _error_reply(visit: Visit, error: Exception) -> Reply:
    return render_error(visit, _status_of_error(error), str(error))


def _load_session_and_build_visit(
    request: Request,
    page: Page | None,
    form_fields: list[tuple[str, str]],
    loop: asyncio.AbstractEventLoop,
) -> Visit:
    exchange: RequestContext = request.scope["productrecs"]
    context, base_url = exchange.context, base_url_for_reply(request)
    session, store = _resume_session_and_find_store(context, request.cookies, base_url)
    token = session.token if session else ""
    secret = token or read_cookie(request.cookies, VISITOR, base_url)
    return Visit(
        context=context,
        request=request,
        page=page or Page(request.url.path, "Not found", is_public=True),
        base_url=base_url,
        client_address=address_of_client(
            peer_of(request.scope), dict(request.scope["headers"])
        ),
        query=SubmittedFields(
            _parse_form_fields(request.scope["query_string"].decode("latin-1"))
        ),
        form=SubmittedFields(form_fields),
        session=session,
        known_store=store,
        csrf_secret=secret or secrets.token_urlsafe(24),
        loop=loop,
        services=context.services,
    )


def _resume_session_and_find_store(
    context: "ProcessContext", cookies: "Mapping[str, str]", base_url: str
) -> tuple[Session | None, Store | None]:
    token = read_cookie(cookies, SESSION, base_url)
    session = resume_session(
        context.services.database, token, context.services.system_clock()
    )
    if session is None:
        return None, None
    store = context.accounts.by_id(session.user.store_id)
    if store is None:  # the store may have just registered
        context.accounts.refresh()
        store = context.accounts.by_id(session.user.store_id)
    return (session, store) if store is not None else (None, None)


def _authorize_and_call_handler(visit: Visit, page: Page | None) -> Reply:
    if page is None:
        raise PageOrRecordNotFoundError
    if visit.session is None and not page.is_public:
        return _redirect_to_login(visit)
    if page.is_of_login and visit.session is not None and visit.user.is_from_shop:
        raise RoleError(_FROM_SHOP)
    handler = page.change if visit.request.method == "POST" else page.show
    if handler is None and page.change is not None:  # its address only takes forms
        return _redirect_to_parent_page(visit)
    if handler is None:
        raise PageOrRecordNotFoundError
    if visit.request.method != "POST" or page.is_signed:
        return handler(visit)
    _check_origin_and_role(visit, page)
    _check_csrf_token(visit)
    if page.is_public or not page.is_audited:
        return handler(visit)
    return run_audited_change(visit, page, handler)


def _check_origin_and_role(visit: Visit, page: Page) -> None:
    """Check that a change comes from a dashboard page and that the role allows it.

    Raises:
        CsrfError: when it comes from another site.
        RoleError: when the user has read access only.
    """
    headers = visit.request.headers
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    is_same_site = site in {None, "same-origin", "none"}
    if origin is not None:
        is_same_site = is_same_site and urlsplit(origin).netloc == headers.get("host", "")
    if not is_same_site:
        raise CsrfError(_FOREIGN)
    if not page.is_public and visit.user.role < page.may_change:
        raise RoleError(_role_error_text(page.may_change, visit.user))


def _check_csrf_token(visit: Visit) -> None:
    """Check that a form has the CSRF token of this session, or of this visitor.

    Raises:
        CsrfError: when it has none.
    """
    token = visit.form["csrf"] or visit.request.headers.get("x-csrf-token", "")
    cookie = VISITOR if visit.session is None else SESSION
    sent = read_cookie(visit.request.cookies, cookie, visit.base_url)
    if not is_csrf_token(sent, token):
        raise CsrfError(_FOREIGN)


def _role_error_text(role: Role, user: DashboardUser) -> str:
    if user.is_from_shop and role > Role.EDITOR:
        return _FROM_SHOP
    return f"Your role does not allow this. Ask the store's owner to make you {role.label}."


def _redirect_to_parent_page(visit: Visit) -> Reply:
    query = visit.request.url.query
    path = parent_page_path(visit.page.path)
    return visit.redirect(f"{path}?{query}" if query else path)


def _redirect_to_login(visit: Visit) -> Reply:
    there = _current_path_with_query(visit)
    there = f"{LOGIN_PATH}?next={quote(there, safe='/')}" if there else LOGIN_PATH
    if visit.is_partial:
        return Reply(status=204, headers={"hx-redirect": there})
    return visit.redirect(there)


def _current_path_with_query(visit: Visit) -> str:
    """Return the present page with its query; "" for Home."""
    url = visit.request.url
    if visit.is_partial:
        url = URL(visit.request.headers.get("hx-current-url", ""))
    elif visit.request.method == "POST" and visit.page.show is None:
        url = URL(visit.request.headers.get("referer", ""))
    path = f"{url.path}?{url.query}" if url.query else url.path
    return "" if path == DASHBOARD_PATH else path


def _status_of_error(error: Exception) -> int:
    if not isinstance(error, ProductRecsError):
        return 400
    status = _REFUSED.get(type(error)) or error_code_of(error).status
    return 400 if status == 500 else status  # noqa: PLR2004 - not in the API's table


def _build_response(visit: Visit, reply: Reply) -> Response:
    request = visit.request
    body, flash = reply.body, read_cookie(request.cookies, FLASH, visit.base_url)
    headers = {**_SAFE_HEADERS, **reply.headers}
    seconds = visit.services.settings.hsts_seconds
    if seconds and visit.base_url.startswith("https://"):
        headers["strict-transport-security"] = f"max-age={seconds}"
    cookies = dict(reply.cookies)
    if reply.template is not None:
        body = render_page(visit, reply, flash).encode()
        hosts = visit.pictures.origins if visit.page.shows_pictures else ()
        headers.setdefault("content-security-policy", " ".join([_POLICY, *hosts]))
        headers.setdefault("x-frame-options", "DENY")
        if flash and not visit.is_partial:
            cookies.setdefault(FLASH, None)
        if visit.session is None and SESSION not in cookies:
            cookies.setdefault(VISITOR, visit.csrf_secret)
    if len(body) >= _WORTH_PACKING and accepts_gzip(request):
        body = gzip_body(body)
        headers["content-encoding"] = "gzip"
    headers["vary"] = "Cookie, Accept-Encoding"
    response = Response(body, reply.status, headers, reply.media_type)
    for name, value in cookies.items():
        response.headers.append(
            "set-cookie", set_cookie_header(name, value, visit.base_url)
        )
    return response


def _parse_form_fields(text: str) -> list[tuple[str, str]]:
    """Return the fields of a form, up to the limit."""
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return []


def _static_file_response(request: Request, name: str) -> Response:
    kind = _MEDIA_TYPES.get(name.rpartition(".")[2])
    file = resources.files(__package__) / "static" / name
    if kind is None or "/" in name or not file.is_file():
        return Response(status_code=404)
    return cacheable_response(request, file.read_bytes(), kind, cache=IMMUTABLE)
