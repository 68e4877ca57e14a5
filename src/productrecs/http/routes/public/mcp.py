"""MCP server: POST /mcp serves the guides to language models (Model Context Protocol).

It is stateless: each call is complete, replies are JSON, and no stream stays open. The SDK
is imported by the first call, to save memory in processes that are never asked.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec
from fastapi import Request, Response

from productrecs.http.limits.client_address import (
    address_of_client,
    peer_of,
    public_network_of,
)
from productrecs.http.limits.rate_limits import RateLimit
from productrecs.http.openapi_responses import error_responses
from productrecs.http.pipeline.cors import check_origin
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_of
from productrecs.http.transport.request_body import KIB, read_body
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import BodyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Message, Receive, Scope, Send

    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("documentation")

BODY_LIMIT: Final = 64 * KIB
_LIMIT: Final = RateLimit(b"address", burst=600, per_second=10)
_NOT_JSON: Final = -32700
_NO_MESSAGE: Final = -32600
_encode: Final = msgspec.json.Encoder().encode
_REPLY: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["jsonrpc"],
    "properties": {"jsonrpc": {"const": "2.0"}, "id": {}, "result": {}, "error": {}},
}
_REQUEST: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    },
}
_CALL: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_TOOLS: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {"tools": [{"name": "list_docs"}, {"name": "read_doc"}]},
}


def _rpc(example: object) -> dict[str, Any]:
    return {"application/json": {"schema": _REPLY, "example": example}}


def _error_object(code: int, message: str) -> dict[str, Any]:
    error = {"code": code, "message": message}
    return _rpc({"jsonrpc": "2.0", "id": None, "error": error})


_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "A JSON-RPC result, or an error.", "content": _rpc(_TOOLS)},
    202: {"description": "A notification was accepted; it has no answer."},
    400: {
        "description": "It is not JSON-RPC, or of an unknown version.",
        "content": _error_object(_NOT_JSON, "not JSON: it is empty"),
    },
    404: {
        "description": "Unknown method.",
        "content": _error_object(-32601, "there is no such method"),
    },
    **error_responses("origin_refused", 413, 415, "too_many_requests"),
}


@routes.post(
    "/mcp",
    NONE,
    operation_id="mcp",
    summary="Query the guides with the Model Context Protocol",
    responses=_RESPONSES,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _REQUEST, "example": _CALL}},
        }
    },
    response_class=Response,
)
async def answer_mcp_message(request: Request) -> Response:
    """Answer one JSON-RPC message: tools `list_docs`, `read_doc` and `search_docs`.

    Stateless: nothing need be opened first, whichever revision of the protocol is spoken.
    """
    base = base_url_of(request)
    check_origin(request.headers.get("origin"), base)
    headers = dict(request.scope["headers"])
    address = address_of_client(peer_of(request.scope), headers)
    _LIMIT.check_and_count(public_network_of(address) or address)
    exchange: RequestContext = request.scope["productrecs"]
    headers = request.scope["headers"]
    body = await read_body(request.receive, headers, BODY_LIMIT, exchange.claim)
    try:
        message = parse_json(body)
    except BodyError as error:
        return _error_reply(_NOT_JSON, f"not JSON: {error.problems[0].msg}")
    if not _is_message(message):
        return _error_reply(
            _NO_MESSAGE, ("the body must be one JSON-RPC request or notification")
        )
    return _McpResponse(body, base)


def _is_message(body: object) -> bool:
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


def _error_reply(code: int, message: str) -> Response:
    error = {"code": code, "message": message}
    content = _encode({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(content, 400, media_type="application/json")


class _McpResponse(Response):
    """What the SDK answers to a body that was read already."""

    def __init__(self, body: bytes, base: str) -> None:
        super().__init__()
        self._body, self._base = body, base

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        # In a thread, since the first call loads the SDK: other calls must not wait for it.
        handle = await asyncio.to_thread(_load_tools)
        messages = iter([{"type": "http.request", "body": self._body, "more_body": False}])

        async def receive_again() -> "Message":
            return next(messages, None) or await receive()

        await handle(self._base, _without_encoding(scope), receive_again, send)


def _load_tools() -> "Callable[[str, Scope, Receive, Send], Awaitable[None]]":
    # Imported here, by the first call: 30 MB that most processes never need.
    from productrecs.http.routes.public.mcp_tools import handle  # noqa: PLC0415

    return handle


def _without_encoding(scope: "Scope") -> "Scope":
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
