"""Assistant MCP: the catalog for shopping assistants by the Model Context Protocol.

It is stateless: each call is complete, replies are JSON, and no stream stays open.
"""

from typing import Any, Final

import msgspec
from fastapi import Request, Response

from productrecs import __version__
from productrecs.features.assistants.catalog_calls import (
    InvalidCatalogCallError,
    TooManyLookupIdsError,
    agent_host,
)
from productrecs.features.assistants.related_products_extension import RELATED_INPUTS
from productrecs.features.assistants.ucp_profile import CatalogOperation
from productrecs.http.openapi_responses import (
    error_responses,
    json_content,
    success_response,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.mcp_messages import NO_MESSAGE, NOT_JSON, is_json_rpc_request
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.routes.public.assistant_catalog import (
    AssistantRequest,
    Version,
    request_body_description,
)
from productrecs.http.routes.public.widget_scripts import Domain

routes = Routes("public")

_encode: Final = msgspec.json.Encoder().encode
_NO_METHOD, _INVALID_PARAMS = -32601, -32602
_PROTOCOL_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_CONTEXT: Final = {
    "type": "object",
    "description": "What is known of the shopper.",
    "properties": {
        "intent": _TEXT | {"description": "What the shopper wants, in words."},
        "currency": _TEXT | {"description": "The preferred currency, such as EUR."},
    },
}
_FILTERS: Final = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("categories", "brand", "color", "size", "material"), _TEXTS),
        "price": {
            "type": "object",
            "description": "In minor units of context.currency, such as cents.",
            "properties": {
                "min": {"type": "integer", "minimum": 0},
                "max": {"type": "integer", "minimum": 0},
            },
        },
        "in_stock": {"type": "boolean"},
        "on_sale": {"type": "boolean"},
    },
}
_PAGINATION: Final = {
    "type": "object",
    "properties": {"cursor": _TEXT, "limit": {"type": "integer", "minimum": 1}},
}
_SELECTED: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "label"],
        "properties": {"name": _TEXT, "label": _TEXT},
    },
}


def _tool_description(
    operation: CatalogOperation, description: str, own: dict[str, Any], required: list[str]
) -> dict[str, Any]:
    properties = own | {"context": _CONTEXT, "filters": _FILTERS}
    catalog = {"type": "object", "properties": properties, "required": required}
    return {
        "name": operation.value,
        "description": description,
        "inputSchema": {
            "type": "object",
            "required": ["catalog"],
            "properties": {
                "meta": {
                    "type": "object",
                    "description": 'Who calls: {"ucp-agent": {"profile": address}}.',
                },
                "catalog": catalog,
            },
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


_TOOLS: Final = [
    _tool_description(
        CatalogOperation.SEARCH,
        "Search the shop's products by words, filters or both; or, in place of words, for "
        "products like one or like a photo, bought together with some, or of a look.",
        {"query": _TEXT, "pagination": _PAGINATION} | RELATED_INPUTS,
        [],
    ),
    _tool_description(
        CatalogOperation.LOOKUP,
        "Look up products of the shop by the ids of products or variants.",
        {"ids": _TEXTS | {"minItems": 1, "maxItems": 50}},
        ["ids"],
    ),
    _tool_description(
        CatalogOperation.PRODUCT,
        "Get one product of the shop with its options, and which of them are available.",
        {"id": _TEXT, "selected": _SELECTED, "preferences": _TEXTS},
        ["id"],
    ),
]
_EXAMPLE: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_REPLY: Final = {
    "type": "object",
    "required": ["jsonrpc"],
    "properties": {"jsonrpc": {"const": "2.0"}, "id": {}, "result": {}, "error": {}},
}


class _RpcError(Exception):
    """A refused message; `code` is that of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@routes.post(
    "/ucp/{store_domain}/{version}/mcp",
    NONE,
    summary="Search and look up products with the Model Context Protocol",
    responses=success_response(
        "A JSON-RPC result, or an error.", _REPLY, {"jsonrpc": "2.0", "id": 1, "result": {}}
    )
    | {
        202: {"description": "A notification was accepted; it has no answer."},
        400: {
            "description": "It is not JSON-RPC.",
            "content": json_content(
                _REPLY,
                {
                    "jsonrpc": "2.0",
                    "id": None,
                    "error": {"code": NOT_JSON, "message": "not JSON: it is empty"},
                },
            ),
        },
    }
    | error_responses("assistant_catalog_unknown", 413, 415, 503, "search_rebuilding"),
    openapi_extra=request_body_description(_EXAMPLE, "method"),
)
async def assistant_mcp(
    request: Request, store_domain: Domain, version: Version
) -> Response:
    """Answer one JSON-RPC message: tools `search_catalog`, `lookup_catalog`, `get_product`.

    Stateless: nothing need be opened first, whichever revision of MCP is spoken.
    """
    admitted = await AssistantRequest.admit(request, store_domain, version)
    message_id: object = None
    try:
        message = await _read_message(admitted, request)
        if "id" not in message:
            return Response(status_code=202)
        message_id = message["id"]
        result = await _call_method(
            admitted, message["method"], message.get("params") or {}
        )
        reply, status = {"result": result}, 200
    except _RpcError as error:
        reply = {"error": {"code": error.code, "message": str(error)}}
        status = 400 if error.code in {NOT_JSON, NO_MESSAGE} else 200
    headers = admitted.reply_headers
    return json_reply({"jsonrpc": "2.0", "id": message_id} | reply, status, headers=headers)


async def _read_message(admitted: AssistantRequest, request: Request) -> dict[str, Any]:
    """Return one request or notification (JSON-RPC 2.0, section 4)."""
    try:
        message = await admitted.read_body(request)
    except InvalidCatalogCallError as error:
        raise _RpcError(NOT_JSON, str(error)) from error
    if not is_json_rpc_request(message):
        text = "the body must be one JSON-RPC request or notification"
        raise _RpcError(NO_MESSAGE, text)
    return message


async def _call_method(
    admitted: AssistantRequest, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    if method == "tools/call":
        return await _call_tool(admitted, params)
    if method == "tools/list":
        return {"tools": _TOOLS}
    if method == "ping":
        return {}
    server = {"name": f"productrecs {admitted.store.domain}", "version": __version__}
    if method == "initialize":
        wanted = params.get("protocolVersion")
        spoken = wanted if wanted in _PROTOCOL_VERSIONS else _PROTOCOL_VERSIONS[0]
        return {
            "protocolVersion": spoken,
            "capabilities": {"tools": {}},
            "serverInfo": server,
        }
    message = f"there is no method {method[:100]!r}"
    raise _RpcError(_NO_METHOD, message)


async def _call_tool(admitted: AssistantRequest, params: dict[str, Any]) -> dict[str, Any]:
    names = [operation.value for operation in CatalogOperation]
    if params.get("name") not in names:
        message = f"there is no such tool; there are {', '.join(names)}"
        raise _RpcError(_INVALID_PARAMS, message)
    arguments = params.get("arguments")
    if not isinstance(arguments, dict):
        message = "params.arguments must be an object with the member catalog"
        raise _RpcError(_INVALID_PARAMS, message)
    meta = arguments.get("meta")
    named = meta.get("ucp-agent") if isinstance(meta, dict) else None
    admitted.agent = agent_host(named.get("profile") if isinstance(named, dict) else None)
    operation = CatalogOperation(params["name"])
    try:
        reply = await admitted.answer_and_meter(operation, arguments.get("catalog"))
    except (InvalidCatalogCallError, TooManyLookupIdsError) as error:
        raise _RpcError(_INVALID_PARAMS, str(error)) from error
    text = _encode(reply).decode()
    return {"structuredContent": reply, "content": [{"type": "text", "text": text}]}
