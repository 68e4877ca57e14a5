"""Tool server: the tools that a token may use. It loads the SDK: import it by a call."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from mcp_types import Tool, ToolAnnotations

from productrecs.core.errors import ProductRecsError
from productrecs.dashboard.assistant_tools.reading_tools import READING_TOOLS
from productrecs.dashboard.assistant_tools.tool import ReadingTool, Result
from productrecs.dashboard.page import Visit
from productrecs.http.pipeline.mcp_server import ToolServer, UnknownToolError

_log: Final = logging.getLogger(__name__)

RunInThread = Callable[[Callable[[], Result]], Awaitable[Result]]
_READS: Final = ToolAnnotations(
    read_only_hint=True, idempotent_hint=True, open_world_hint=False
)
_READING: Final = {tool.name: tool for tool in READING_TOOLS}


class UnexpectedToolError(ProductRecsError):
    """A tool failed for a reason that the log has."""


def server_for(visit: Visit, run_in_thread: RunInThread) -> ToolServer:
    """Return the server of a visit with a token."""

    async def run(name: str, arguments: Mapping[str, object]) -> Result:
        return await run_in_thread(lambda: _run_tool(visit, name, arguments))

    return ToolServer(
        "productrecs-store",
        title=f"ProductRecs of {visit.store.domain}",
        instructions=(
            "Reports and settings of one online store. Numbers are those of its dashboard."
        ),
        website_url=f"{visit.base_url}/dashboard",
        tools=[_described(tool, _READS) for tool in READING_TOOLS],
        run=run,
        list_ttl_ms=0,
        list_scope="private",
    )


def _run_tool(visit: Visit, name: str, arguments: Mapping[str, object]) -> Result:
    tool = _READING.get(name)
    if tool is None:
        raise UnknownToolError(name)
    try:
        return tool.run(visit, msgspec.convert(arguments, tool.arguments))
    except (ProductRecsError, msgspec.ValidationError):
        raise
    except Exception as error:
        _log.exception("request failed", extra={"path": f"{visit.page.path} {name}"})
        message = "something went wrong here; it was logged, try again in a moment"
        raise UnexpectedToolError(message) from error


def _described(tool: ReadingTool, annotations: ToolAnnotations) -> Tool:
    schema: dict[str, Any] = tool.input_schema()
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema,
        annotations=annotations,
    )
