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
# Nothing from elsewhere and nothing inline: a shop's page can be as strict as this.
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
    """A form is longer than any that this shop has."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of a browser: the path below /demo, and everything that came with it."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    form: Mapping[str, str]

    @property
    def is_ours(self) -> bool:
        """Whether a form was sent by a page of this shop, as far as the browser says."""
        origin, host = self.headers.get("origin"), self.headers.get("host", "")
        return origin is None or origin.partition("://")[2] == host

    @property
    def wants_json(self) -> bool:
        """Whether the shop's own script asks, not a form."""
        return "application/json" in self.headers.get("accept", "")

    @property
    def back(self) -> str:
        """The page of this shop that a form came from, or its home."""
        page = self.form.get("back", "")
        ours = page == HOME or page.startswith((f"{HOME}/", f"{HOME}?"))
        return page if ours and not set(page) & set('\r\n\\"') else HOME


@dataclass(slots=True)
class ShopReply:
    """What a browser is told: a status, headers, a body."""

    status: int = 200
    body: bytes = b""
    headers: list[tuple[str, str]] = field(default_factory=list)

    def with_cookie(
        self, name: str, value: str, *, seconds: int = _HALF_YEAR
    ) -> "ShopReply":
        """Return the reply with a cookie of this shop; 0 seconds take it away."""
        cookie = f"{name}={value}; Path={HOME}; Max-Age={seconds}; SameSite=Lax; HttpOnly"
        self.headers.append(("set-cookie", cookie))
        return self


def html_reply(html: str, status: int = 200) -> ShopReply:
    """Return a page."""
    kind = ("content-type", "text/html; charset=utf-8")
    fresh = ("cache-control", "no-store")
    return ShopReply(status, html.encode(), [kind, fresh, *_SAFE])


def json_reply(value: object, status: int = 200) -> ShopReply:
    """Return JSON for the shop's script."""
    kind = ("content-type", "application/json")
    return ShopReply(
        status, json.dumps(value).encode(), [kind, ("cache-control", "no-store")]
    )


def redirect(address: str) -> ShopReply:
    """Send the browser on after a form, so that reloading repeats nothing."""
    return ShopReply(303, b"", [("location", address), ("cache-control", "no-store")])


async def read_request(scope: Scope, receive: Receive) -> PageRequest:
    """Return the request of a scope below /demo, its form read.

    Raises:
        FormTooLongError: when the form is longer than ours are.
    """
    headers = {
        name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
    }
    sent = await _body(receive) if scope["method"] == "POST" else b""
    parts = scope["path"].removeprefix(HOME).strip("/").split("/")
    return PageRequest(
        scope["method"],
        tuple(part for part in parts if part),
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
    parts: list[bytes] = []
    is_whole = False
    while not is_whole:
        message = await receive()
        parts.append(message.get("body", b""))
        if sum(map(len, parts)) > _LONGEST_FORM:
            raise FormTooLongError
        is_whole = not message.get("more_body")
    return b"".join(parts)


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: unquote(one.value) for name, one in SimpleCookie(header).items()}
    except CookieError:
        return {}
