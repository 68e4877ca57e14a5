"""OpenAPI linter: the rules of common linters, and our own.

The document itself is judged by the specification's own schema. Beyond that stands what
linters ask (Spectral's `spectral:oas`, Redocly's `recommended-strict`), and what we ask: an
example of every request and reply, each fit for its schema.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

Schema = dict[str, Any]
METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
# A lone underscore stands where a name might, and is none.
_SEGMENT: Final = re.compile(r"([a-z0-9.-]*\{[a-z_]+\}(\.[a-z]+)?|[a-z0-9.-]*|_)")
_REF: Final = re.compile(r'"\$ref": "#/components/(\w+)/([^"]+)"')
_SHORTEST_DESCRIPTION: Final = 60
_LONGEST_SUMMARY: Final = 80
_DEEPEST: Final = 5


class ApiOperation(NamedTuple):
    """One operation, by how people name it, such as `GET /v1/trending`."""

    name: str
    path: str
    it: Schema


def operations(document: Schema) -> Iterator[ApiOperation]:
    """Yield every operation of a description."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield ApiOperation(f"{method.upper()} {path}", path, methods[method])


def faults(document: Schema) -> list[str]:
    """Return everything that is wrong with a description; nothing when it is right."""
    wrong = [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()]
    if wrong:
        return wrong
    messages = [fault for rule in _OF_THE_WHOLE for fault in rule(document)]
    for operation in operations(document):
        messages += [
            f"{operation.name}: {fault}"
            for rule in _OF_AN_OPERATION
            for fault in rule(document, operation)
        ]
    return messages


# ------------------------------------------------------------------------- the document


def _head(document: Schema) -> Iterator[str]:
    info = document["info"]
    if info.get("version") != "3.0.0":
        yield "info: the interface's version is 3.0.0"
    for name in ("description", "license", "contact"):
        if not info.get(name):
            yield f"info: no {name}"
    if not document.get("servers"):
        yield "no servers"
    for server in document.get("servers", ()):
        if server["url"].endswith("/") or "example.com" in server["url"]:
            yield f"a server that is none: {server['url']}"


def _tags(document: Schema) -> Iterator[str]:
    declared = [tag["name"] for tag in document.get("tags", ())]
    used = {tag for operation in operations(document) for tag in operation.it["tags"]}
    for tag in document.get("tags", ()):
        if not tag.get("description"):
            yield f"the tag {tag['name']} has no description"
    for name, times in Counter(declared).items():
        if times > 1:
            yield f"the tag {name} is declared twice"
    if used != set(declared):
        yield f"tags used and declared differ: {sorted(used ^ set(declared))}"


def _paths(document: Schema) -> Iterator[str]:
    for path in document["paths"]:
        if path != "/" and path.endswith("/"):
            yield f"{path} ends with a slash"
        if not all(_SEGMENT.fullmatch(part) for part in path.split("/")):
            yield f"{path} is not in small letters and hyphens"


def _components(document: Schema) -> Iterator[str]:
    named = set(_REF.findall(json.dumps(document)))
    known = {
        (kind, name)
        for kind, members in document["components"].items()
        for name in members
        if kind != "securitySchemes"
    }
    yield from (f"{name} is in components and nobody names it" for _, name in known - named)
    yield from (f"{name} is named and not in components" for _, name in named - known)


# ------------------------------------------------------------------------- one operation


def _words(_: Schema, operation: ApiOperation) -> Iterator[str]:
    summary = operation.it.get("summary", "")
    description = operation.it.get("description", "")
    if not _NAME.fullmatch(operation.it.get("operationId", "")):
        yield "no operationId of small letters"
    if len(operation.it.get("tags", ())) != 1:
        yield "not one tag"
    if not 0 < len(summary) <= _LONGEST_SUMMARY or summary.endswith("."):
        yield "a summary is a short phrase"
    if len(description) < _SHORTEST_DESCRIPTION or description.strip(".") == summary:
        yield "a description says more than the summary"


def _security(document: Schema, operation: ApiOperation) -> Iterator[str]:
    known = document["components"].get("securitySchemes", {})
    if "security" not in operation.it:
        yield "it does not say which key it wants"
        return
    for wanted in operation.it["security"]:
        yield from (f"the key {name} is nowhere told of" for name in wanted.keys() - known)
    if operation.it["security"] and "401" not in operation.it.get("responses", {}):
        yield "it wants a key and never answers 401"


def _parameters(document: Schema, operation: ApiOperation) -> Iterator[str]:
    given = operation.it.get("parameters", [])
    in_path = {one["name"] for one in given if one["in"] == "path"}
    if in_path != set(re.findall(r"\{(\w+)\}", operation.path)):
        yield "the parameters of its path are others"
    for parameter in given:
        if not parameter.get("description"):
            yield f"the parameter {parameter['name']} has no description"
        examples = parameter["schema"].get("examples", [])
        if not examples:
            yield f"the parameter {parameter['name']} has no example"
        for example in examples:
            yield from _unfit(document, parameter["schema"], example)


def _replies(_: Schema, operation: ApiOperation) -> Iterator[str]:
    statuses = operation.it.get("responses", {})
    if not any(status.startswith("2") for status in statuses):
        yield "it never succeeds"
    if not any(status.startswith("4") for status in statuses):
        yield "it never refuses"
    for status, response in statuses.items():
        if not response.get("description"):
            yield f"{status} has no description"
        if "X-Request-Id" not in response.get("headers", {}):
            yield f"{status} has no X-Request-Id"
        if status in {"429", "503"} and "Retry-After" not in response["headers"]:
            yield f"{status} has no Retry-After"


def _examples(document: Schema, operation: ApiOperation) -> Iterator[str]:
    bodies = {"its body": operation.it.get("requestBody", {})} | {
        f"its {status}": response
        for status, response in operation.it.get("responses", {}).items()
    }
    for whose, said in bodies.items():
        for kind, media in said.get("content", {}).items():
            if {"example", "examples"} <= media.keys():
                yield f"{whose} ({kind}) has both an example and examples"
            values = examples_of(media)
            if not values:
                yield f"{whose} ({kind}) has no example"
            for value in values:
                for fault in _unfit(document, media["schema"], value):
                    yield f"{whose} ({kind}): {fault}"


def examples_of(media: Schema) -> list[Any]:
    """Return the values of a body's examples."""
    several = [one["value"] for one in media.get("examples", {}).values()]
    return several + ([media["example"]] if "example" in media else [])


def _unfit(document: Schema, schema: Schema, value: object) -> Iterator[str]:
    """Yield why an example is none of its schema."""
    whole = {**schema, "components": document["components"]}
    for error in Draft202012Validator(whole).iter_errors(value):
        place = "/".join(map(str, error.instance_path))
        yield f"the example {json.dumps(value)[:60]} at /{place}: {error.message[:200]}"


_OF_THE_WHOLE: Final[tuple[Callable[[Schema], Iterator[str]], ...]] = (
    _head,
    _tags,
    _paths,
    _components,
)
_OF_AN_OPERATION: Final[tuple[Callable[[Schema, ApiOperation], Iterator[str]], ...]] = (
    _words,
    _security,
    _parameters,
    _replies,
    _examples,
)


def published_names(document: Schema) -> set[str]:
    """Return what clients rely on: routes, parameters, fields, statuses and headers.

    One line each, such as `GET /v1/search query in_stock` or
    `POST /v1/orders 200 duplicate`; fields of lists are written `items[].id`.
    """
    names = set[str]()
    for operation in operations(document):
        names.add(operation.name)
        for parameter in operation.it.get("parameters", ()):
            found = _resolved(document, parameter)
            names.add(f"{operation.name} {found['in']} {found['name']}")
        body = operation.it.get("requestBody", {})
        names |= _fields(document, f"{operation.name} body", body)
        for status, reply in operation.it["responses"].items():
            found = _resolved(document, reply)
            place = f"{operation.name} {status}"
            names.add(place)
            if status.startswith("2"):  # errors have one form, which other tests hold
                names |= _fields(document, place, found)
                names |= {f"{place} header {name}" for name in found.get("headers", ())}
    return names


def _resolved(document: Schema, part: Schema) -> Schema:
    reference = part.get("$ref")
    if reference is None:
        return part
    found: Any = document
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return _resolved(document, found)


def _fields(document: Schema, place: str, content: Schema) -> set[str]:
    """Return the fields of each media type of a body or reply."""
    return {
        f"{place} {name}"
        for media in content.get("content", {}).values()
        for name in _properties(document, media.get("schema", {}), ())
    }


def _properties(document: Schema, schema: Schema, path: tuple[str, ...]) -> Iterator[str]:
    schema = _resolved(document, schema)
    if len(path) > _DEEPEST:
        return
    for name, value in schema.get("properties", {}).items():
        yield ".".join((*path, name))
        yield from _properties(document, value, (*path, name))
    for kind in ("anyOf", "oneOf", "allOf"):
        for choice in schema.get(kind, ()):
            yield from _properties(document, choice, path)
    if isinstance(schema.get("items"), dict):
        inner = (*path[:-1], f"{path[-1]}[]") if path else ("[]",)
        yield from _properties(document, schema["items"], inner)
