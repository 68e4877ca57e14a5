"""MCP messages: a request with one JSON-RPC message, and the reply of an MCP server.

Servers are stateless: each call is complete, replies are JSON, and no stream stays open.
The SDK is imported by the first call, to save memory in processes that are never asked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import msgspec
from fastapi import Request, Response

from productrecs.http.transport.request_body import KIB, read_body
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from productrecs.http.pipeline.route_context import RequestContext

BODY_LIMIT: Final = 64 * KIB
NOT_JSON: Final = -32700
NO_MESSAGE: Final = -32600
_encode: Final = msgspec.json.Encoder().encode

Handle: TypeAlias = "Callable[[Scope, Receive, Send], Awaitable[None]]"
"""An ASGI application that answers one message."""


def is_json_rpc_request(body: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a body is one request or notification (JSON-RPC 2.0, section 4)."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        return False
    number = body.get("id", "none")
    return (
        isinstance(body.get("method"), str)
        and isinstance(number, str | int)
        and not isinstance(number, bool)
        and isinstance(body.get("params", {}), dict)
    )


async def answer_json_rpc_message(
    request: Request, load_server: Callable[[], Handle]
) -> Response:
    """Return the reply of a server to the request's message.

    `load_server` runs in a thread, since its first call loads the SDK.
    """
    exchange: RequestContext = request.scope["productrecs"]
    headers = request.scope["headers"]
    body = await read_body(request.receive, headers, BODY_LIMIT, exchange.claim)
    try:
        message = parse_json(body)
    except InvalidInputError as error:
        return _error_reply(NOT_JSON, f"not JSON: {error.problems[0].msg}")
    if not is_json_rpc_request(message):
        return _error_reply(
            NO_MESSAGE, "the body must be one JSON-RPC request or notification"
        )
    return _McpResponse(body, load_server)


def _error_reply(code: int, message: str) -> Response:
    error = {"code": code, "message": message}
    content = _encode({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(content, 400, media_type="application/json")


class _McpResponse(Response):
    """What the SDK answers to a body that was read already."""

    def __init__(self, body: bytes, load_server: Callable[[], Handle]) -> None:
        super().__init__()
        self._body, self._load_server = body, load_server

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        handle = await asyncio.to_thread(self._load_server)
        messages: Any = iter(
            [{"type": "http.request", "body": self._body, "more_body": False}]
        )

        async def receive_again() -> "Message":
            return next(messages, None) or await receive()

        await handle(_with_json_headers(scope), receive_again, send)


def _with_json_headers(scope: "Scope") -> "Scope":
    """Return the scope with JSON as the type of the body and of the accepted reply."""
    texts = [
        (name, value)
        for name, value in scope["headers"]
        if name not in {b"content-type", b"accept"}
    ]
    headers = [
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
    ]
    return {**scope, "headers": [*texts, *headers]}
