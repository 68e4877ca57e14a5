"""Page request and reply: the browser's request and our response as values, around ASGI."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HOME: Final = "/demo"
_LONGEST_FORM: Final = 20_000
_HALF_YEAR: Final = 15_552_000  # seconds, as interface section 5 suggests for pr_sid
# CSP: nothing from other hosts and nothing inline.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SAFE: Final[tuple[tuple[str, str], ...]] = (
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
)


class FormTooLongError(Exception):
    """A form is longer than any form of this shop."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of a browser: the path below /demo, query, form and cookies."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    form: Mapping[str, str]

    @property
    def is_same_origin(self) -> bool:
        """Whether the request's headers say that a page of this shop sent the form."""
        origin, host = self.headers.get("origin"), self.headers.get("host", "")
        return origin is None or origin.partition("://")[2] == host

    @property
    def wants_json(self) -> bool:
        """Whether the shop's own script sent the request."""
        return "application/json" in self.headers.get("accept", "")

    @property
    def back(self) -> str:
        """The page of this shop that sent the form, or the home page."""
        page = self.form.get("back", "")
        is_shop_page = page == HOME or page.startswith((f"{HOME}/", f"{HOME}?"))
        return page if is_shop_page and not set(page) & set('\r\n\\"') else HOME


@dataclass(slots=True)
class ShopReply:
    """A response: a status, headers, a body."""

    status: int = 200
    body: bytes = b""
    headers: list[tuple[str, str]] = field(default_factory=list)

    def with_cookie(
        self, name: str, value: str, *, seconds: int = _HALF_YEAR
    ) -> "ShopReply":
        """Return the reply with a cookie of this shop; 0 seconds delete it."""
        cookie = f"{name}={value}; Path={HOME}; Max-Age={seconds}; SameSite=Lax; HttpOnly"
        self.headers.append(("set-cookie", cookie))
        return self


def html_reply(html: str, status: int = 200) -> ShopReply:
    """Return a page."""
    kind = ("content-type", "text/html; charset=utf-8")
    no_store = ("cache-control", "no-store")
    return ShopReply(status, html.encode(), [kind, no_store, *_SAFE])


def json_reply(value: object, status: int = 200) -> ShopReply:
    """Return JSON for the shop's script."""
    kind = ("content-type", "application/json")
    return ShopReply(
        status, json.dumps(value).encode(), [kind, ("cache-control", "no-store")]
    )


def redirect(address: str) -> ShopReply:
    """Return a redirect after a form, so that a reload does not repeat it."""
    return ShopReply(303, b"", [("location", address), ("cache-control", "no-store")])


async def read_request(scope: Scope, receive: Receive) -> PageRequest:
    """Return the request of a scope below /demo, its form read.

    Raises:
        FormTooLongError: when the form is longer than any form of this shop.
    """
    headers = {
        name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
    }
    sent = await _body(receive) if scope["method"] == "POST" else b""
    segments = scope["path"].removeprefix(HOME).strip("/").split("/")
    return PageRequest(
        scope["method"],
        tuple(segment for segment in segments if segment),
        dict(parse_qsl(scope["query_string"].decode("latin-1"))),
        headers,
        _cookies(headers.get("cookie", "")),
        dict(parse_qsl(sent.decode("utf-8", "replace"))),
    )


async def send_reply(send: Send, reply: ShopReply, *, with_body: bool = True) -> None:
    """Send a reply."""
    length = ("content-length", str(len(reply.body)))
    headers = [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in (*reply.headers, length)
    ]
    start = {"type": "http.response.start", "status": reply.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": reply.body if with_body else b""})


async def _body(receive: Receive) -> bytes:
    segments: list[bytes] = []
    is_whole = False
    while not is_whole:
        message = await receive()
        segments.append(message.get("body", b""))
        if sum(map(len, segments)) > _LONGEST_FORM:
            raise FormTooLongError
        is_whole = not message.get("more_body")
    return b"".join(segments)


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: unquote(one.value) for name, one in SimpleCookie(header).items()}
    except CookieError:
        return {}
