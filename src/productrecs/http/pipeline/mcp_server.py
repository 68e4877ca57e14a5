"""MCP server: tools behind the SDK of the Model Context Protocol.

This module loads the SDK (30 MB): import it by the first call only.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from mcp.server import ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.types import Receive, Scope, Send

from productrecs import __version__
from productrecs.core.errors import ProductRecsError

_encode: Final = msgspec.json.Encoder().encode
# Errors of callers are returned to them, and not logged.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


class UnknownToolError(LookupError):
    """There is no tool of this name."""


RunTool = Callable[[str, Mapping[str, object]], Awaitable[dict[str, object]]]
"""Runs the named tool with these arguments, and returns its structured result."""


@dataclass(frozen=True, slots=True)
class McpToolServer:
    """One server: its name, its tools, and how long clients may cache their list."""

    name: str
    title: str
    instructions: str
    website_url: str
    tools: Sequence[Tool]
    run: RunTool
    list_ttl_ms: int
    list_scope: Literal["public", "private"]

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message."""
        # Created per call: it has no state to share or to close.
        manager = StreamableHTTPSessionManager(
            self._build_sdk_server(), json_response=True, stateless=True
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def call_tool(self, name: str, arguments: Mapping[str, object]) -> CallToolResult:
        """Return the result of a tool; a refused call gives a result that explains it.

        Raises:
            MCPError: when there is no such tool.
        """
        try:
            result = await self.run(name, arguments)
        except UnknownToolError as error:
            names = ", ".join(tool.name for tool in self.tools)
            message = f"there is no such tool; there are {names}"
            raise MCPError(INVALID_PARAMS, message) from error
        except (msgspec.ValidationError, ProductRecsError) as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        text = _encode(result).decode()
        return CallToolResult(content=[TextContent(text=text)], structured_content=result)

    def _build_sdk_server(self) -> Server[Any]:
        async def list_tools(
            _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
        ) -> ListToolsResult:
            return ListToolsResult(tools=list(self.tools))

        async def call_tool(
            _context: ServerRequestContext[Any], called: CallToolRequestParams
        ) -> CallToolResult:
            return await self.call_tool(called.name, called.arguments or {})

        return Server(
            self.name,
            version=__version__,
            title=self.title,
            instructions=self.instructions,
            website_url=self.website_url,
            cache_hints={"tools/list": CacheHint(self.list_ttl_ms, self.list_scope)},
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
