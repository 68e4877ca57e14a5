"""Guides over MCP: POST /mcp serves the guides to language models (Model Context Protocol).

It is stateless: each call is complete, replies are JSON, and no stream stays open. The SDK
is imported by the first call, to save memory in processes that are never asked.
"""

from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response

from productrecs.http.limits.client_address import (
    address_of_client,
    peer_of,
    public_network_of,
)
from productrecs.http.limits.rate_limits import RateLimit
from productrecs.http.openapi_responses import (
    error_responses,
    json_content,
    success_response,
)
from productrecs.http.pipeline.cors import refuse_foreign_origin
from productrecs.http.pipeline.mcp_messages import NOT_JSON, answer_json_rpc_message
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply

if TYPE_CHECKING:
    from productrecs.http.pipeline.mcp_messages import Handle

routes = Routes("documentation")

_LIMIT: Final = RateLimit(b"address", burst=600, per_second=10)
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


def _error_content(code: int, message: str) -> dict[str, Any]:
    error = {"code": code, "message": message}
    return json_content(_REPLY, {"jsonrpc": "2.0", "id": None, "error": error})


_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    **success_response("A JSON-RPC result, or an error.", _REPLY, _TOOLS),
    202: {"description": "A notification was accepted; it has no answer."},
    400: {
        "description": "It is not JSON-RPC, or of an unknown version.",
        "content": _error_content(NOT_JSON, "not JSON: it is empty"),
    },
    404: {
        "description": "Unknown method.",
        "content": _error_content(-32601, "there is no such method"),
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
            "content": json_content(_REQUEST, _CALL),
        }
    },
)
async def answer_guides_mcp_message(request: Request) -> Response:
    """Answer one JSON-RPC message: tools `list_docs`, `read_doc` and `search_docs`.

    Stateless: nothing need be opened first, whichever revision of the protocol is spoken.
    """
    base = base_url_for_reply(request)
    refuse_foreign_origin(request.headers.get("origin"), base)
    headers = dict(request.scope["headers"])
    address = address_of_client(peer_of(request.scope), headers)
    _LIMIT.check_and_count(public_network_of(address) or address)
    return await answer_json_rpc_message(request, lambda: _load_guides_handler(base))


def _load_guides_handler(base: str) -> "Handle":
    # Imported here, by the first call: 30 MB that most processes never need.
    from productrecs.http.routes.public.guides_mcp_tools import build_guides_server  # noqa: PLC0415

    return build_guides_server(base).handle
