"""Clients: writes the typed clients of `clients/` from the service's OpenAPI description.

`python -m tools.clients` writes them. The types of the TypeScript client come from
openapi-typescript, and its JavaScript from the TypeScript compiler (`npm ci` in
clients/typescript installs both); all else is made here.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from productrecs.application import create_declared_application
from productrecs.http.openapi_document import openapi_document

Schema = Mapping[str, Any]

ROOT: Final = Path(__file__).parents[1]
TYPESCRIPT: Final = ROOT / "clients/typescript"
PYTHON: Final = ROOT / "clients/python/productrecs_client"
GENERATOR: Final = TYPESCRIPT / "node_modules/.bin/openapi-typescript"

_TAGS: Final = frozenset({"widget", "server", "integration"})
_MORE_OPERATIONS: Final = frozenset({"mail_products"})
_JSON: Final = "application/json"
_REFERENCE: Final = "#/components/schemas/"
_NOTE: Final = "Made by `python -m tools.clients`; do not change it by hand."
_PYTHON_TYPES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}
_WIDTH: Final = 88
_TABLE_BEGIN: Final = "<!-- methods -->\n\n"
_TABLE_END: Final = "<!-- end of methods -->"


@dataclass(frozen=True)
class Parameter:
    """A parameter of the path or the query."""

    name: str
    schema: Schema
    description: str
    is_required: bool


@dataclass(frozen=True)
class CatalogOperation:
    """An operation of the description, as both clients need it."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    keys: str  # none, publishable, secret or either
    path_parameters: tuple[Parameter, ...]
    query: tuple[Parameter, ...]
    body: Schema | None  # None: it has none, or a file
    sends_file: bool
    is_idempotent: bool  # by an Idempotency-Key
    reply: str

    @property
    def needs_query(self) -> bool:
        """Whether a parameter of the query has no default."""
        return any(one.is_required for one in self.query)


def main() -> None:
    """Write both clients."""
    document = service_description()
    for path, text in (python_files(document) | typescript_files(document)).items():
        path.write_text(text, "utf-8")
    compile_typescript(TYPESCRIPT / "lib")


def compile_typescript(folder: Path) -> None:
    """Write the TypeScript client as JavaScript and its declarations into `folder`."""
    compiler = TYPESCRIPT / "node_modules/.bin/tsc"
    command: list[str | Path] = [compiler, "-p", TYPESCRIPT, "--outDir", folder]
    subprocess.run(command, check=True)  # noqa: S603 - the command is ours


def service_description() -> dict[str, Any]:
    """Return the part of the service's description that the clients are made of."""
    address = "https://recs.example.com"
    document = openapi_document(create_declared_application(), address)
    paths: dict[str, dict[str, Any]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            is_chosen = _TAGS & set(operation["tags"])
            if is_chosen or operation["operationId"] in _MORE_OPERATIONS:
                paths.setdefault(path, {})[method] = operation
    shared = document["components"]["schemas"]
    names = _reached_schemas(paths, shared)
    return {
        **{name: document[name] for name in ("openapi", "info")},
        "paths": paths,
        "components": {"schemas": {name: shared[name] for name in sorted(names)}},
    }


def _reached_schemas(paths: Schema, shared: Schema) -> set[str]:
    """Return the names of the schemas of bodies, parameters and successful replies."""
    waiting: list[object] = []
    for operations in paths.values():
        for operation in operations.values():
            waiting += [operation.get("parameters"), operation.get("requestBody")]
            waiting.append(_successful(operation))
    found: set[str] = set()
    while waiting:
        names = set(re.findall(rf'"{_REFERENCE}(\w+)"', json.dumps(waiting.pop())))
        waiting += [shared[name] for name in names - found]
        found |= names
    return found


def _successful(operation: Schema) -> dict[str, Any]:
    responses: Schema = operation["responses"]
    return next(dict(responses[code]) for code in responses if code.startswith("2"))


def operations_of(document: Schema) -> list[CatalogOperation]:
    """Return the operations, in the order of the description."""
    return [
        _operation(path, method, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]


def _operation(path: str, method: str, operation: Schema) -> CatalogOperation:
    parameters = operation.get("parameters", [])
    content = operation.get("requestBody", {}).get("content", {})
    schemes = {name for scheme in operation["security"] for name in scheme}
    kinds = {"secretKey": "secret", "publishableKey": "publishable"}
    keys = [kind for scheme, kind in kinds.items() if scheme in schemes]
    reply = _successful(operation)["content"][_JSON]["schema"]["$ref"]
    headers = {one["name"] for one in parameters if one["in"] == "header"}
    return CatalogOperation(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=operation.get("description", ""),
        keys="either" if len(keys) > 1 else (keys or ["none"])[0],
        path_parameters=_parameters(parameters, "path"),
        query=_parameters(parameters, "query"),
        body=content.get(_JSON, {}).get("schema"),
        sends_file="multipart/form-data" in content,
        is_idempotent="Idempotency-Key" in headers,
        reply=reply.removeprefix(_REFERENCE),
    )


def _parameters(parameters: Iterable[Schema], place: str) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            one["name"],
            one["schema"],
            one.get("description", ""),
            bool(one.get("required", False)),
        )
        for one in parameters
        if one["in"] == place
    )


# ------------------------------------------------------------------ Python
def python_files(document: Schema) -> dict[Path, str]:
    """Return the generated modules of the Python client, formatted."""
    return {
        PYTHON / "types.py": _formatted(_python_types(document)),
        PYTHON / "client.py": _formatted(_python_client(document)),
        PYTHON.parent / "README.md": _build_readme(PYTHON.parent, document, str),
    }


def _build_readme(folder: Path, document: Schema, method_name: Callable[[str], str]) -> str:
    """Return the README of a client with the table of its methods."""
    text = (folder / "README.md").read_text("utf-8")
    before, _, rest = text.partition(_TABLE_BEGIN)
    after = rest.partition(_TABLE_END)[2]
    rows = "".join(
        f"| `{method_name(one.name)}` | {one.summary} | {one.keys} |\n"
        for one in operations_of(document)
    )
    table = f"| method | does | key |\n| --- | --- | --- |\n{rows}"
    return f"{before}{_TABLE_BEGIN}{table}\n{_TABLE_END}{after}"


def _formatted(text: str) -> str:
    for command in ("check --quiet --fix-only --select I,F401", "format"):
        arguments = [*command.split(), "--stdin-filename", PYTHON / "made.py", "-"]
        done = subprocess.run(  # noqa: S603 - ruff, on text of our own
            [sys.executable, "-m", "ruff", *map(str, arguments)],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout
    return text


def _python_types(document: Schema) -> str:
    parts = [
        f'"""Types of bodies and replies.\n\n{_NOTE}\n"""\n',
        "from __future__ import annotations\n",
        "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n",
    ]
    for name, schema in document["components"]["schemas"].items():
        parts.append(_python_type_definition(name, schema))
    return "\n\n".join(parts)


def _python_type_definition(name: str, schema: Schema) -> str:
    fields = schema.get("properties", {})
    if not fields or schema.get("additionalProperties") is True:
        return f'{name}: TypeAlias = "{python_type(schema, is_alias=True)}"\n'
    required = set(schema.get("required", ()))
    types = {
        field: python_type(part) if field in required else _optional(python_type(part))
        for field, part in fields.items()
    }
    if not all(field.isidentifier() and not keyword.iskeyword(field) for field in fields):
        members = "".join(f'    "{field}": "{types[field]}",\n' for field in fields)
        return f'{name} = TypedDict("{name}", {{\n{members}}})\n'
    lines = [f"class {name}(TypedDict):", _docstring(_words(schema, name), 4)]
    for field, part in fields.items():
        lines.append(f"    {field}: {types[field]}")
        if words := part.get("description"):
            lines.append(_docstring(_sentence(words), 4))
    return "\n".join(lines) + "\n"


def _words(schema: Schema, name: str) -> str:
    return _sentence(schema.get("description", "")) or f"{_spaced(name)}."


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return f"{text}." if text and text[-1] not in ".!?" else text


def _optional(text: str) -> str:
    return f"NotRequired[{text}]"


def python_type(schema: Schema, *, is_alias: bool = False) -> str:
    """Return the type of a schema in Python."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REFERENCE)
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        quote = "'" if is_alias else '"'
        texts = [
            f"{quote}{one}{quote}" if isinstance(one, str) else repr(one) for one in values
        ]
        return f"Literal[{', '.join(texts)}]"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return _union(python_type(one) for one in choices)
    kinds = schema.get("type", [])
    if isinstance(kinds, list):
        return _union(python_type({**schema, "type": kind}) for kind in kinds) or "Any"
    return _plain_python_type(kinds, schema)


def _plain_python_type(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"list[{python_type(schema.get('items', {}))}]"
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and not schema.get("properties"):
        return f"dict[str, {python_type(values)}]"
    return _PYTHON_TYPES[kind]


def _union(types: Iterable[str]) -> str:
    found = list(dict.fromkeys(part for one in types for part in _choices(one)))
    found.sort(key=lambda one: one == "None")
    return " | ".join(found)


def _choices(text: str) -> list[str]:
    """Return the members of a union, of which brackets may hold others."""
    members, depth = [""], 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "|" and not depth:
            members.append("")
        else:
            members[-1] += character
    return [one.strip() for one in members]


def _docstring(text: str, indent: int) -> str:
    pad = " " * indent
    raw = "r" if "\\" in text else ""
    paragraphs = [" ".join(one.split()) for one in text.split("\n\n")]
    first, *rest = textwrap.wrap(paragraphs[0], _WIDTH - indent) or [""]
    lines = [f'{raw}"""{first}', *rest]
    for paragraph in paragraphs[1:]:
        lines += ["", *textwrap.wrap(paragraph, _WIDTH - indent)]
    closing = '"""' if len(lines) == 1 else f'\n{pad}"""'
    return "\n".join(f"{pad}{line}" if line else "" for line in lines) + closing


def _python_client(document: Schema) -> str:
    operations = operations_of(document)
    names = {one.reply for one in operations}
    for one in operations:
        parts = [one.body, [parameter.schema for parameter in one.query]]
        names |= set(re.findall(rf'"{_REFERENCE}(\w+)"', json.dumps(parts)))
    lines = [
        f'"""The client, and the same for asyncio.\n\n{_NOTE}\n"""\n',
        "from __future__ import annotations\n",
        "from typing import TYPE_CHECKING, Literal\n",
        "from productrecs_client.transport import AsyncTransport, Call, Transport, escaped",
        f"from productrecs_client.types import ({', '.join(sorted(names))},)\n",
        "if TYPE_CHECKING:",
        "    from typing import Any, BinaryIO\n\n",
        "class ProductRecs(Transport):",
        '    """The service, for one store: each method is one call."""\n',
        *(_python_method(one, is_async=False) for one in operations),
        "class AsyncProductRecs(AsyncTransport):",
        '    """The service, for one store, for asyncio: each method is one call."""\n',
        *(_python_method(one, is_async=True) for one in operations),
    ]
    return "\n".join(lines)


def _python_method(one: CatalogOperation, *, is_async: bool) -> str:
    arguments = [f"{_python_name(each.name)}: str" for each in one.path_parameters]
    if one.body is not None:
        arguments.append(f"body: {python_type(one.body)}")
    if one.sends_file:
        arguments.append("file: bytes | BinaryIO")
    named = [_python_argument(each) for each in one.query]
    if one.is_idempotent:
        named.append("idempotency_key: str | None = None")
    signature = ", ".join(["self", *arguments, *(["*", *named] if named else [])])
    waits = "await " if is_async else ""
    return (
        f"    {'async ' if is_async else ''}def {one.name}({signature}) -> {one.reply}:\n"
        f"{_method_docstring(one, is_async=is_async)}\n"
        f"        call = {_python_call(one)}\n"
        f"        return {waits}self._send({one.reply}, call)\n"
    )


def _method_docstring(one: CatalogOperation, *, is_async: bool) -> str:
    if is_async:
        return _docstring(f"{one.summary}: see `ProductRecs.{one.name}`.", 8)
    text = "\n\n".join(part for part in (f"{one.summary}.", one.description) if part)
    described = [each for each in one.query if each.description]
    if not described:
        return _docstring(text, 8)
    lines = [_docstring(text, 8).removesuffix('"""').rstrip(), "", "        Args:"]
    for each in described:
        words = f"{_python_name(each.name)}: {_sentence(each.description)}"
        wrapped = textwrap.wrap(" ".join(words.split()), _WIDTH - 16)
        lines += [f"{' ' * (16 if n else 12)}{line}" for n, line in enumerate(wrapped)]
    return "\n".join([*lines, '        """'])


def _python_argument(one: Parameter) -> str:
    kind = python_type(one.schema)
    if one.is_required:
        return f"{_python_name(one.name)}: {kind}"
    return f"{_python_name(one.name)}: {_union([kind, 'None'])} = None"


def _python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _python_call(one: CatalogOperation) -> str:
    path = re.sub(r"\{(\w+)\}", r"{escaped(\1)}", one.path)
    arguments = [f'"{one.method}"', f'{"f" if path != one.path else ""}"{path}"']
    arguments.append(f'"{one.keys}"')
    if one.query:
        pairs = ", ".join(f'"{each.name}": {_python_name(each.name)}' for each in one.query)
        arguments.append(f"query={{{pairs}}}")
    if one.body is not None:
        arguments.append("body=body")
    if one.sends_file:
        arguments.append("file=file")
    if one.is_idempotent:
        arguments += ["is_idempotent=True", "idempotency_key=idempotency_key"]
    return f"Call({', '.join(arguments)})"


# ------------------------------------------------------------------ TypeScript
def typescript_files(document: Schema) -> dict[Path, str]:
    """Return the generated modules of the TypeScript client; it needs `GENERATOR`."""
    return {
        TYPESCRIPT / "src/schema.ts": _typescript_types(document),
        TYPESCRIPT / "src/client.ts": _typescript_client(document),
        TYPESCRIPT / "README.md": _build_readme(TYPESCRIPT, document, _camel),
    }


def _typescript_types(document: Schema) -> str:
    """Return what openapi-typescript makes, without errors, which are thrown."""
    paths = {
        path: {
            method: {**operation, "responses": {"200": _without_headers(operation)}}
            for method, operation in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    with TemporaryDirectory() as folder:
        source, made = Path(folder, "openapi.json"), Path(folder, "schema.ts")
        source.write_text(json.dumps({**document, "paths": paths}), "utf-8")
        options = ["--root-types", "--root-types-no-schema-prefix"]
        subprocess.run(  # noqa: S603 - on a file of our own
            [GENERATOR, source, "-o", made, *options], check=True, capture_output=True
        )
        return made.read_text("utf-8")


def _without_headers(operation: Schema) -> dict[str, Any]:
    found = _successful(operation)
    return {name: found[name] for name in ("description", "content")}


def _typescript_client(document: Schema) -> str:
    operations = operations_of(document)
    replies = ", ".join(sorted({one.reply for one in operations}))
    lines = [
        f"// {_NOTE}",
        f'import type {{ operations, {replies} }} from "./schema.js";',
        'import { type CallOptions, Transport } from "./transport.js";',
        "",
        "type Name = keyof operations;",
        "/** The parameters of an operation's query. */",
        "export type Query<N extends Name> =",
        '  NonNullable<operations[N]["parameters"]["query"]>;',
        "/** The JSON body of an operation. */",
        "export type Body<N extends Name> = operations[N] extends {",
        '  requestBody?: { content: { "application/json": infer B } };',
        "}",
        "  ? B",
        "  : never;",
        "",
        "/** The service, for one store: each method is one call. */",
        "export class ProductRecs extends Transport {",
        *(line for one in operations for line in _typescript_method(one)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _typescript_method(one: CatalogOperation) -> Iterator[str]:
    arguments = [f"{_camel(each.name)}: string" for each in one.path_parameters]
    if one.body is not None:
        arguments.append(f'body: Body<"{one.name}">')
    if one.sends_file:
        arguments.append("file: Blob")
    if one.query:
        default = "" if one.needs_query else " = {}"
        arguments.append(f'query: Query<"{one.name}">{default}')
    arguments.append("options: CallOptions = {}")
    words = "\n\n".join(part for part in (f"{one.summary}.", one.description) if part)
    yield from _comment(words)
    yield f"  {_camel(one.name)}({', '.join(arguments)}): Promise<{one.reply}> {{"
    path = one.path
    for each in one.path_parameters:
        part = f"${{this.escaped({_camel(each.name)})}}"
        path = path.replace(f"{{{each.name}}}", part)
    details = [f'method: "{one.method}"', f"path: `{path}`", f'keys: "{one.keys}"']
    details += ["query"] if one.query else []
    details += ["body"] if one.body is not None else []
    details += ["file"] if one.sends_file else []
    details += ["isIdempotent: true"] if one.is_idempotent else []
    yield f"    return this.send({{ {', '.join(details)} }}, options);"
    yield "  }"
    yield ""


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _comment(text: str) -> Iterator[str]:
    yield "  /**"
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield "   *"
        for line in textwrap.wrap(" ".join(paragraph.split()), _WIDTH):
            yield f"   * {line}"
    yield "   */"


if __name__ == "__main__":
    main()
