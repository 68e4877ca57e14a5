"""MCP tools of the guides: list, read and search the guides. Imported by the first call."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from mcp_types import Tool, ToolAnnotations

from productrecs.features.guides.developer_guide_index import GUIDES
from productrecs.features.guides.developer_guide_rendering import BASE
from productrecs.features.guides.developer_guide_search import best_matching_line
from productrecs.features.guides.markdown_html import anchor_of
from productrecs.http.pipeline.mcp_server import McpToolServer, UnknownToolError
from productrecs.http.routes.public.developer_guides import LIBRARY, guide_search

PAGE: Final = 12_000
_MAX_RESULTS: Final = 20
_LONGEST: Final = 256  # characters of a query that are looked at
_HOUR_MS: Final = 3_600_000
_READ_ONLY: Final = ToolAnnotations(
    read_only_hint=True, idempotent_hint=True, open_world_hint=False
)


class _NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """No arguments."""


class _GuideArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Which guide, and from which character on."""

    slug: str
    offset: int = 0


class _SearchArguments(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of a search: the query."""

    query: str
    limit: int = 8


def list_docs(base: str, _: _NoArguments) -> dict[str, object]:
    """Return all guides in their order."""
    return {
        "docs": [
            {
                "slug": guide.slug,
                "title": guide.title,
                "summary": guide.summary,
                "group": guide.group,
                "url": f"{base}/docs-md/{guide.slug}.md",
            }
            for guide in GUIDES
        ]
    }


def read_doc(base: str, arguments: _GuideArguments) -> dict[str, object]:
    """Return a guide, or the part of a long one from `offset` on.

    Raises:
        UnknownGuideError: when there is no guide with this name.
    """
    text = LIBRARY.markdown_with_facts(arguments.slug).replace(BASE, base)
    start = min(max(arguments.offset, 0), len(text))
    end = start + PAGE
    return {
        "slug": arguments.slug,
        "title": LIBRARY.find_guide(arguments.slug).title,
        "url": f"{base}/docs-md/{arguments.slug}.md",
        "markdown": text[start:end],
        "total_chars": len(text),
        "next_offset": end if end < len(text) else None,
    }


def search_docs(base: str, arguments: _SearchArguments) -> dict[str, object]:
    """Return the sections that answer best."""
    limit, query = min(max(arguments.limit, 1), _MAX_RESULTS), arguments.query[:_LONGEST]
    return {
        "results": [
            {
                "slug": section.guide.slug,
                "title": section.guide.title,
                "heading": section.heading,
                "anchor": anchor_of(section.heading),
                "snippet": best_matching_line(section, query).replace(BASE, base),
                "url": (
                    f"{base}/docs-md/{section.guide.slug}.md#{anchor_of(section.heading)}"
                ),
            }
            for section in guide_search().find(query, limit)
        ]
    }


def _object_schema(required: tuple[str, ...], **properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _string_properties(*names: str) -> dict[str, object]:
    return {name: {"type": "string"} for name in names}


def _object_list_schema(*names: str) -> dict[str, object]:
    return {"type": "array", "items": _object_schema(names, **_string_properties(*names))}


_READ: Final = ("slug", "title", "url", "markdown", "total_chars", "next_offset")
_FOUND: Final = ("slug", "title", "heading", "anchor", "snippet", "url")
TOOLS: Final = (
    Tool(
        name="list_docs",
        title="List the guides",
        description="List all guides of ProductRecs with their slugs and what each is for.",
        input_schema=_object_schema(()),
        output_schema=_object_schema(
            ("docs",), docs=_object_list_schema("slug", "title", "summary", "group", "url")
        ),
        annotations=_READ_ONLY,
    ),
    Tool(
        name="read_doc",
        title="Read a guide",
        description=(
            "Return one guide as markdown. A long one comes in parts: ask again with "
            "`offset` set to the `next_offset` of the reply until that is null."
        ),
        input_schema=_object_schema(
            ("slug",),
            slug={"type": "string", "description": "As list_docs names it."},
            offset={"type": "integer", "minimum": 0, "default": 0},
        ),
        output_schema=_object_schema(
            _READ,
            **_string_properties(*_READ[:4]),
            total_chars={"type": "integer"},
            next_offset={"type": ["integer", "null"]},
        ),
        annotations=_READ_ONLY,
    ),
    Tool(
        name="search_docs",
        title="Search the guides",
        description="Find the sections of the guides that answer a question, best first.",
        input_schema=_object_schema(
            ("query",),
            query={"type": "string", "description": "Words, an error code, a field."},
            limit={"type": "integer", "minimum": 1, "maximum": _MAX_RESULTS, "default": 8},
        ),
        output_schema=_object_schema(("results",), results=_object_list_schema(*_FOUND)),
        annotations=_READ_ONLY,
    ),
)
_CALLS: Final[Mapping[str, tuple[type[Any], Callable[[str, Any], dict[str, object]]]]] = (
    MappingProxyType(
        {
            "list_docs": (_NoArguments, list_docs),
            "read_doc": (_GuideArguments, read_doc),
            "search_docs": (_SearchArguments, search_docs),
        }
    )
)


def build_guides_server(base: str) -> McpToolServer:
    """Return the server; `base` is the address that the caller used."""

    async def run_tool(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
        if name not in _CALLS:
            raise UnknownToolError(name)
        arguments_type, tool = _CALLS[name]
        return tool(base, msgspec.convert(arguments, arguments_type))

    return McpToolServer(
        "productrecs-docs",
        title="ProductRecs guides",
        instructions="Start with list_docs or search_docs; read_doc has the whole guide.",
        website_url=base,
        tools=TOOLS,
        run=run_tool,
        list_ttl_ms=_HOUR_MS,
        list_scope="public",
    )
