"""Tool: its name, its arguments and what it does, for a visit of the dashboard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from productrecs.core.errors import ProductRecsError
from productrecs.dashboard.page import Visit

Result: TypeAlias = dict[str, object]
FormFields: TypeAlias = list[tuple[str, str]]


class ToolError(ProductRecsError):
    """A tool cannot do what its arguments ask; the message says why."""


class ToolArguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The arguments of a tool; each has a description for the assistant."""


@dataclass(frozen=True, slots=True)
class ReadingTool:
    """A tool that changes nothing."""

    name: str
    title: str
    description: str
    arguments: type[ToolArguments]
    run: Callable[[Visit, Any], Result]

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        return arguments_json_schema(self.arguments)


@dataclass(frozen=True, slots=True)
class ChangingTool:
    """A tool that sends the form of a page, after a dry run and a confirmation.

    `fields` returns the form for the tool's arguments, and `preview` what the dry run
    shows beside it; `preview` gets the visit with that form. `counter` is the column of
    `store_heads` that each change of this kind moves by one.
    """

    name: str
    title: str
    description: str
    arguments: type[ToolArguments]
    page: str  # whose form it is: its path
    counter: str
    fields: Callable[[Visit, Any], FormFields]
    preview: Callable[[Visit], Result]

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, with the confirmation."""
        schema = arguments_json_schema(self.arguments)
        confirmation = {
            "type": "string",
            "description": "From the dry run of this call. Without it, nothing changes.",
        }
        return schema | {"properties": schema["properties"] | {CONFIRMATION: confirmation}}


CONFIRMATION = "confirmation"


def arguments_json_schema(arguments: type[ToolArguments]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, without references."""
    _, components = msgspec.json.schema_components([arguments])
    schema = _without_references(components[arguments.__name__], components)
    left_out = {"title", "description"}  # of the class
    return {key: value for key, value in schema.items() if key not in left_out}


def _without_references(node: Any, components: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_without_references(element, components) for element in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        values = components[name]["enum"]
        return {"enum": values} | {k: value for k, value in node.items() if k != "$ref"}
    return {key: _without_references(value, components) for key, value in node.items()}
