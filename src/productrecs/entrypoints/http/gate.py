"""The front door: request id, CORS and key first, then the fast lane or the declared route.

Outermost of all, plain ASGI. What is well-formed and frequent is answered here; anything
out of the ordinary goes on to the same path declared in FastAPI, which gives the reference
behaviour, the exact 422 and the documentation. Both call the same functions.
"""

import itertools
import logging
import random
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Final

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.http.authentication import (
    ITEM_PATH,
    PAGES,
    ROUTES,
    UPLOAD_PATH,
    Caller,
    Credential,
    Route,
    authenticate,
    check_operator,
    keys_of,
)
from productrecs.entrypoints.http.bodies import ClientGoneError, read_event_body
from productrecs.entrypoints.http.connections import answer_whole
from productrecs.entrypoints.http.context import Context, Exchange
from productrecs.entrypoints.http.errors import (
    INTERNAL,
    INTERNAL_WORDS,
    ROUTER_CODES,
    Answer,
    answer_to,
    error_body,
    retry_after,
)
from productrecs.entrypoints.http.origins import OPEN, PREFLIGHT, cors_headers
from productrecs.entrypoints.http.paths import plain_query
from productrecs.entrypoints.http.schemas.problems import BodyError, validation_reply
from productrecs.entrypoints.http.traffic import Traffic
from productrecs.entrypoints.http.widget.config import answer_config
from productrecs.entrypoints.http.widget.events import receive as receive_events
from productrecs.entrypoints.http.widget.recommendations import (
    answer,
    answer_trending,
    plain_num,
    plain_request,
)
from productrecs.entrypoints.http.widget.search import (
    SearchReply,
    answer_search,
    plain_search,
)
from productrecs.tenancy.accounts.store import Store

_log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

_JSON: Final[Header] = (b"content-type", b"application/json")
_NO_STORE: Final[Header] = (b"cache-control", b"no-store")
_CLOSE: Final[Header] = (b"connection", b"close")
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_OK: Final = 200
_SERVER_ERROR: Final = 500
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
    b"x-request-id: %b\r\ncache-control: no-store\r\n%b\r\n"
)


class _Visit:
    """One request on its way through the gate, and how it is answered."""

    __slots__ = (
        "_gate",
        "_request_id",
        "_send",
        "allow",
        "caller",
        "cors",
        "headers",
        "query",
        "route",
        "scope",
        "started",
        "started_at",
        "status",
    )

    def __init__(
        self, gate: "Gate", scope: Scope, headers: dict[bytes, bytes], send: Send
    ) -> None:
        self._gate = gate
        self._send = send
        self.scope = scope
        self.headers = headers
        self.query = plain_query(scope["query_string"])
        given = headers.get(b"x-request-id")
        valid = given is not None and _REQUEST_ID.fullmatch(given)
        self._request_id: bytes = given if given and valid else gate.new_request_id()
        self.caller: Caller | None = None
        self.cors: Sequence[Header] = OPEN
        self.allow = ""
        self.route: Route | None = None
        self.started = False
        self.status = 0  # of the answer, once it has begun
        self.started_at = time.monotonic()

    @property
    def request_id(self) -> str:
        """The id that the reply, the log and an error's body carry."""
        return self._request_id.decode()

    def facts(self, status: int) -> dict[str, object]:
        """Return what the log says of this request: nothing of keys or shoppers."""
        return {
            "request_id": self.request_id,
            "method": self.scope["method"],
            "path": self.scope["path"] if _route(self.scope["path"]) else "(unknown)",
            "status": status,
            "store": self.caller.store.store_id if self.caller else None,
            "ms": round((time.monotonic() - self.started_at) * 1000, 1),
        }

    async def reply(self, status: int, body: bytes, extra: Iterable[Header] = ()) -> None:
        """Answer with a JSON body (or none), unless an answer has begun."""
        if self.started:
            return
        self.started = True
        self.status = status
        if status == _OK and not extra and self._answered_whole(body):
            return
        headers = [
            _JSON,
            (b"content-length", b"%d" % len(body)),
            (b"x-request-id", self._request_id),
            _NO_STORE,
            *self.cors,
            *extra,
        ]
        if self._gate.is_draining:
            headers.append(_CLOSE)
        await self._send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        await self._send({"type": "http.response.body", "body": body})
        if status >= _SERVER_ERROR:
            _log.warning("a request was refused", extra=self.facts(status))

    def _answered_whole(self, body: bytes) -> bool:
        if self._gate.is_draining:
            return False
        cors = b"".join([b"%b: %b\r\n" % header for header in self.cors])
        head = _HEAD % (len(body), self._request_id, cors)
        return answer_whole(self.scope, head, body)

    async def refuse(self, why: Answer, detail: str) -> None:
        """Answer with an error's body."""
        extra: list[Header] = []
        if why.is_passing:
            extra.append((b"retry-after", self._gate.retry_after()))
        if why.status == 401:  # noqa: PLR2004 - HTTP
            extra.append((b"www-authenticate", b'Bearer realm="productrecs"'))
        if self.allow:
            extra.append((b"allow", self.allow.encode()))
        await self.reply(why.status, error_body(detail, why.code, self.request_id), extra)

    async def pass_on(self, message: Message) -> None:
        """Send what a declared route answers, with the headers that every reply has."""
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            added: list[Header] = [(b"x-request-id", self._request_id), *self.cors]
            if not any(name == b"cache-control" for name, _ in message["headers"]):
                added.append(_NO_STORE)  # only pages say otherwise
            if self._gate.is_draining:
                added.append(_CLOSE)
            message = {**message, "headers": [*message["headers"], *added]}
            if message["status"] >= _SERVER_ERROR:
                _log.warning("a request was refused", extra=self.facts(message["status"]))
        await self._send(message)


class Gate:
    """The ASGI application that every request meets first."""

    def __init__(
        self,
        declared: Application,
        readiness: Callable[[], list[str]],
        draining: object,
        traffic: Traffic,
    ) -> None:
        """Stand before the `declared` routes; `draining` is true while shutting down."""
        self._declared = declared
        self._traffic = traffic
        self._readiness = readiness
        self._draining = draining
        self._context: Context | None = None
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._prefix = secrets.token_hex(6)
        self._count = itertools.count()

    def open(self, context: Context) -> None:
        """Begin to let requests in."""
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass the process's start and end on."""
        if scope["type"] != "http":
            await self._declared(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # answered as GET; the server leaves the body out
            scope = {**scope, "method": "GET"}
        headers: dict[bytes, bytes] = dict(scope["headers"])
        visit = _Visit(self, scope, headers, send)
        try:
            await self._let_in(visit, receive)
        except BodyError as error:
            await visit.reply(422, validation_reply(error.problems))
        except ClientGoneError:
            return
        except ProductRecsError as error:
            await visit.refuse(answer_to(error), str(error))
        except Exception:
            _log.exception("a request failed", extra=visit.facts(_SERVER_ERROR))
            await visit.refuse(INTERNAL, INTERNAL_WORDS)
        finally:
            if visit.status:
                self._traffic.answered(
                    visit.route, scope["method"], visit.status, visit.started_at
                )

    async def _let_in(self, visit: _Visit, receive: Receive) -> None:
        scope, context = visit.scope, self._context
        path, method = scope["path"], scope["method"]
        route = visit.route = _route(path)
        if context is None:
            await visit.refuse(Answer(503, "not_ready"), "still starting")
            return
        if method == "OPTIONS" and route is not None and route.widget:
            visit.cors = PREFLIGHT
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
        if wanted is Credential.OPERATOR:
            check_operator(visit.headers, context.services.settings.metrics_token)
        elif wanted is not Credential.NONE:
            await self._authenticate(visit, wanted, context)
        if not await self._fast_lane(visit, receive, context):
            exchange = Exchange(context, visit.caller, visit.request_id, self._readiness)
            scope["productrecs"] = exchange
            await self._declared(scope, receive, visit.pass_on)

    async def _authenticate(
        self, visit: _Visit, wanted: Credential, context: Context
    ) -> None:
        keys = keys_of(visit.scope["query_string"], visit.query, visit.headers)
        known = context.accounts.version
        try:
            visit.caller = authenticate(keys, wanted, context.accounts)
        except ProductRecsError:
            # Perhaps the store is a moment old: look once more before refusing. Another
            # thread may have looked just now.
            await context.look_again()
            if context.accounts.version == known:
                raise
            visit.caller = authenticate(keys, wanted, context.accounts)
        visit.cors = cors_headers(visit.caller.store, visit.headers.get(b"origin"))

    async def _fast_lane(self, visit: _Visit, receive: Receive, context: Context) -> bool:
        """Answer a frequent, well-formed call; return whether that was done."""
        caller, scope = visit.caller, visit.scope
        body: bytes | None = None
        extra: Iterable[Header] = ()
        if caller is not None and (scope["method"], scope["path"]) == (
            "POST",
            "/v1/events",
        ):
            data = await read_event_body(receive, scope["headers"])
            body = await receive_events(context, caller.store, data)
        elif caller is not None and scope["path"] == "/v1/search":
            found = await _search_fast(context, caller.store, visit.query)
            body, extra = found or (None, ())
        elif caller is not None and scope["method"] == "GET":
            body = await _read_fast(context, caller.store, scope["path"], visit.query)
        if body is None:
            return False
        await visit.reply(200, body, extra)
        return True

    @property
    def is_draining(self) -> bool:
        """Whether the process is shutting down: connections should not be kept."""
        return bool(self._draining)

    def new_request_id(self) -> bytes:
        """Return an id that no other request of any process has."""
        return f"{self._prefix}{next(self._count):08x}".encode()

    def retry_after(self) -> bytes:
        """Return after how many seconds a refused request may come again."""
        return retry_after(self._rng)


def _route(path: str) -> Route | None:
    if path.startswith("/v1/items/") and len(path) > len("/v1/items/"):
        return ROUTES[ITEM_PATH]
    if path.startswith("/orders/upload/"):
        upload_id = path.removeprefix("/orders/upload/")
        return ROUTES[UPLOAD_PATH] if upload_id and "/" not in upload_id else None
    if path == ITEM_PATH:
        return None
    return ROUTES.get(path) or PAGES.get(path.rpartition("/")[0])


async def _search_fast(
    context: Context, store: Store, query: Mapping[str, str] | None
) -> SearchReply | None:
    """Return the reply to a well-formed search; None leaves it to the declared route."""
    opened = context.shops.get(store)
    asked = None if query is None or opened is None else plain_search(query)
    if opened is None or asked is None:
        return None
    return await answer_search(context, opened, asked)


async def _read_fast(
    context: Context, store: Store, path: str, query: Mapping[str, str] | None
) -> bytes | None:
    """Return the body of a well-formed read; None leaves it to the declared route."""
    opened = context.shops.get(store)
    if query is None or opened is None:
        return None
    default = opened.shop.settings.rec_num
    if path == "/v1/recommendations":
        asked = plain_request(query, default)
        return None if asked is None else await answer(context, opened, asked)
    if path == "/v1/trending":
        num = plain_num(query, default)
        if num is None:
            return None
        return await answer_trending(context, opened, num, query.get("user_id"))
    if path == "/v1/widget-config":
        return await answer_config(context, store, opened, query.get("type", ""))
    return None
