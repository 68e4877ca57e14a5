"""Tool server: the tools that a token may use. It loads the SDK: import it by a call."""

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from mcp_types import Tool, ToolAnnotations

from productrecs.core.errors import ProductRecsError
from productrecs.dashboard.assistant_tools.changing_tools import CHANGING_TOOLS
from productrecs.dashboard.assistant_tools.dry_run_and_apply import dry_run_or_apply
from productrecs.dashboard.assistant_tools.reading_tools import READING_TOOLS
from productrecs.dashboard.assistant_tools.tool import (
    CONFIRMATION,
    ChangingTool,
    ReadingTool,
    Result,
)
from productrecs.dashboard.page import Visit
from productrecs.http.pipeline.mcp_server import McpToolServer, UnknownToolError
from productrecs.tenancy.users.access_tokens.repository import AccessToken
from productrecs.tenancy.users.dashboard_user import Role

_log: Final = logging.getLogger(__name__)

_READS: Final = ToolAnnotations(
    read_only_hint=True, idempotent_hint=True, open_world_hint=False
)
_CHANGES: Final = ToolAnnotations(
    read_only_hint=False,
    destructive_hint=True,
    idempotent_hint=False,
    open_world_hint=False,
)
_READING: Final = {tool.name: tool for tool in READING_TOOLS}
_CHANGING: Final = {tool.name: tool for tool in CHANGING_TOOLS}


class UnexpectedToolError(ProductRecsError):
    """A tool failed for a reason that the log has."""


def build_tool_server(visit: Visit, token: AccessToken) -> McpToolServer:
    """Return the server of a visit with a token; it lists what the token may do."""

    async def run(name: str, arguments: Mapping[str, object]) -> Result:
        return await visit.context.run_in_dashboard_pool(
            lambda: _run_tool(visit, token, name, arguments)
        )

    tools = [_tool_description(tool, _READS) for tool in READING_TOOLS]
    if visit.user.role >= Role.EDITOR:
        tools += [_tool_description(tool, _CHANGES) for tool in CHANGING_TOOLS]
    return McpToolServer(
        "productrecs-store",
        title=f"ProductRecs of {visit.store.domain}",
        instructions=(
            "Reports and settings of one online store. Numbers are those of its dashboard. "
            "A tool that changes something first answers what would change; it acts when "
            "it is called again with the confirmation. Ask the merchant in between."
        ),
        website_url=f"{visit.base_url}/dashboard",
        tools=tools,
        run=run,
        list_ttl_ms=0,
        list_scope="private",
    )


def _run_tool(
    visit: Visit, token: AccessToken, name: str, arguments: Mapping[str, object]
) -> Result:
    reading, changing = _READING.get(name), _CHANGING.get(name)
    try:
        if reading is not None:
            return reading.run(visit, msgspec.convert(arguments, reading.arguments))
        if changing is not None:
            own = {key: value for key, value in arguments.items() if key != CONFIRMATION}
            confirmation = msgspec.convert(arguments.get(CONFIRMATION), str | None)
            converted = msgspec.convert(own, changing.arguments)
            return dry_run_or_apply(visit, token, changing, converted, confirmation)
    except (ProductRecsError, msgspec.ValidationError):
        raise
    except Exception as error:
        _log.exception("request failed", extra={"path": f"{visit.page.path} {name}"})
        message = "something went wrong here; it was logged, try again in a moment"
        raise UnexpectedToolError(message) from error
    raise UnknownToolError(name)


def _tool_description(
    tool: ReadingTool | ChangingTool, annotations: ToolAnnotations
) -> Tool:
    schema: dict[str, Any] = tool.input_schema()
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema,
        annotations=annotations,
    )
