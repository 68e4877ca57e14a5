"""In-process client: calls the service's public routes as a shop's server does.

The service runs in the same process, so a call needs no socket. Routes, keys and replies
are those that every shop uses.
"""

import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message, Scope

_OURSELVES: Final = ("127.0.0.1", 0)


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """The service's reply; the value is None if it is not JSON."""

    status: int
    value: Any
    relaxed: str = ""  # how a search was relaxed to find enough; see the guide of search

    def list(self, name: str) -> list[dict[str, Any]]:
        """Return a list of products in a reply; empty after an error."""
        reply = self.value if isinstance(self.value, dict) else {}
        return reply.get(name) or []

    def text(self, name: str) -> str:
        """Return a text in a reply; empty after an error or without one."""
        return str(self.value.get(name) or "") if isinstance(self.value, dict) else ""


class InProcessClient:
    """The service, as a shop sees it: its routes and the shop's publishable key."""

    def __init__(self, application: ASGIApp, key: str) -> None:
        """Call `application` with `key`."""
        self._application = application
        self._key = key

    async def get(self, path: str, **query: str) -> ServiceReply:
        """Send a GET request to a route."""
        return await self._call_service("GET", path, query, b"")

    async def post(self, path: str, body: object) -> ServiceReply:
        """Send a POST request with a JSON body to a route."""
        return await self._call_service("POST", path, {}, json.dumps(body).encode())

    async def _call_service(
        self, method: str, path: str, query: dict[str, str], body: bytes
    ) -> ServiceReply:
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": urlencode(query).encode(),
            "root_path": "",
            "client": _OURSELVES,
            "server": _OURSELVES,
            "headers": [
                (b"host", b"localhost"),
                (b"x-pub-key", self._key.encode()),
                (b"content-type", b"text/plain"),
                (b"content-length", str(len(body)).encode()),
            ],
        }
        await self._application(scope, receive, send)
        status = next(
            (message["status"] for message in messages if "status" in message), 500
        )
        headers = dict(pair for message in messages for pair in message.get("headers", ()))
        relaxed = headers.get(b"x-search-relaxed", b"").decode()
        content = b"".join(message.get("body", b"") for message in messages)
        try:
            return ServiceReply(status, json.loads(content), relaxed)
        except ValueError:
            return ServiceReply(status, None)
