"""`productrecs openapi`: the OpenAPI document, and request collections for HTTP clients."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import click
import msgspec

from productrecs.http.pipeline.route_declaration import routes_by_path

_KEYS: Final = {  # by the first matching scheme in `security`
    "publishableKey": ("query", "key", "{{pk}}"),
    "secretKey": ("header", "X-API-Key", "{{sk}}"),
    "operatorToken": ("header", "Authorization", "Bearer {{metrics_token}}"),
}
_VARIABLES: Final = {"pk": "pk_...", "sk": "sk_...", "metrics_token": ""}
_POSTMAN: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_CUT: Final = "cut-here"


@dataclass(frozen=True, slots=True)
class ExampleCallParameter:
    """One query or path parameter, with its example."""

    name: str
    value: str
    about: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """One call of the OpenAPI description."""

    group: str
    title: str
    method: str
    path: str
    parameters: tuple[ExampleCallParameter, ...]
    headers: Mapping[str, str]
    body: str | None
    file: str | None

    @property
    def target(self) -> str:
        """The path with the parameters that the call needs."""
        needed = [(one.name, one.value) for one in self.parameters if one.is_required]
        return f"{self.path}?{urlencode(needed, safe='{},')}" if needed else self.path


def calls_in_openapi(document: Mapping[str, Any]) -> Iterator[ExampleCall]:
    """Yield every call of a description, in its order."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield _example_call(path, method.upper(), operation)


def to_http_file(document: Mapping[str, Any]) -> str:
    """Return the calls as a .http file for editors; variables come first."""
    variables = {"base": document["servers"][0]["url"], **_VARIABLES}
    lines = [f"@{name} = {value}" for name, value in variables.items()]
    for call in calls_in_openapi(document):
        lines += ["", f"### {call.title}", *_http_lines(call)]
    return "\n".join(lines) + "\n"


def to_postman_collection(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the calls as a Postman collection, one folder per tag."""
    folders: dict[str, list[dict[str, Any]]] = {}
    for call in calls_in_openapi(document):
        folders.setdefault(call.group, []).append(_postman_item(call))
    variables = {"base": document["servers"][0]["url"], **_VARIABLES}
    return {
        "info": {"name": document["info"]["title"], "schema": _POSTMAN},
        "item": [{"name": name, "item": items} for name, items in folders.items()],
        "variable": [{"key": name, "value": value} for name, value in variables.items()],
    }


def _example_call(path: str, method: str, operation: Mapping[str, Any]) -> ExampleCall:
    parameters = operation.get("parameters", [])
    needed = routes_by_path()[path].metered_parameter  # the publishable key needs it
    for parameter in parameters:
        if parameter["in"] == "path":
            path = path.replace(
                f"{{{parameter['name']}}}", quote(_parameter_example(parameter), safe="")
            )
    schemes = [name for scheme in operation["security"] for name in scheme if name in _KEYS]
    if "publishableKey" in schemes and method == "GET":
        schemes = ["publishableKey"]  # as a shop's page reads lists
    where, name, value = _KEYS[schemes[0]] if schemes else ("", "", "")
    key = (
        [ExampleCallParameter(name, value, "", is_required=True)]
        if where == "query"
        else []
    )
    content_type, body, file = _body_type_text_and_file(
        operation.get("requestBody", {}).get("content", {})
    )
    return ExampleCall(
        group=operation["tags"][0],
        title=operation["summary"],
        method=method,
        path=path,
        parameters=(*_query_parameters(parameters, needed), *key),
        headers=({name: value} if where == "header" else {})
        | ({"Content-Type": content_type} if content_type else {}),
        body=body,
        file=file,
    )


def _query_parameters(
    declared: Iterable[Mapping[str, Any]], needed_name: str
) -> Iterator[ExampleCallParameter]:
    for parameter in declared:
        if parameter["in"] == "query":
            about = " ".join(parameter.get("description", "").split())
            is_required = (
                parameter.get("required", False) or parameter["name"] == needed_name
            )
            yield ExampleCallParameter(
                parameter["name"],
                _parameter_example(parameter),
                about,
                is_required=is_required,
            )


def _parameter_example(parameter: Mapping[str, Any]) -> str:
    shown = parameter["schema"]["examples"][0]
    if isinstance(shown, list):
        shown = shown[0]
    return str(shown).lower() if isinstance(shown, bool) else str(shown)


def _body_type_text_and_file(
    content: Mapping[str, Any],
) -> tuple[str | None, str | None, str | None]:
    """Return a body's media type, its text and its file; None for each missing one."""
    if "multipart/form-data" in content:
        form = content["multipart/form-data"]
        return None, None, str(form["example"]["file"])
    # Prefer text/plain, as browsers send it: it avoids the CORS preflight.
    kind = next((one for one in ("text/plain", "application/json") if one in content), None)
    if kind is None:
        return None, None, None
    shown = content[kind].get("examples", {"": {"value": content[kind].get("example")}})
    value = next(iter(shown.values()))["value"]
    return kind, json.dumps(value, indent=2, ensure_ascii=False), None


def _http_lines(call: ExampleCall) -> Iterator[str]:
    for parameter in call.parameters:
        if not parameter.is_required:
            yield f"# {parameter.name}={parameter.value}  {parameter.about}".rstrip()
    yield f"{call.method} {{{{base}}}}{call.target}"
    for name, value in call.headers.items():
        yield f"{name}: {value}"
    if call.body is not None:
        yield from ("", call.body)
    if call.file is not None:
        yield f"Content-Type: multipart/form-data; boundary={_CUT}"
        yield from ("", f"--{_CUT}")
        yield 'Content-Disposition: form-data; name="file"; filename="orders.csv"'
        yield from ("", call.file.rstrip("\n"), f"--{_CUT}--")


def _postman_item(call: ExampleCall) -> dict[str, Any]:
    query = [
        {
            "key": parameter.name,
            "value": parameter.value,
            "description": parameter.about,
            "disabled": not parameter.is_required,
        }
        for parameter in call.parameters
    ]
    raw = f"{{{{base}}}}{call.target}"
    request: dict[str, Any] = {
        "method": call.method,
        "url": {
            "raw": raw,
            "host": ["{{base}}"],
            "path": call.path.removeprefix("/").split("/"),
            "query": query,
        },
        "header": [{"key": name, "value": value} for name, value in call.headers.items()],
    }
    if call.body is not None:
        request["body"] = {"mode": "raw", "raw": call.body}
    if call.file is not None:
        field = {"key": "file", "type": "file", "src": "orders.csv"}
        request["body"] = {"mode": "formdata", "formdata": [field]}
    return {"name": call.title, "request": request}


_ADDRESS: Final = "http://127.0.0.1:8000"


@click.command()
@click.option(
    "--base-url",
    default=_ADDRESS,
    show_default=True,
    help="The address of the service that is described.",
)
@click.option(
    "--form",
    type=click.Choice(["openapi", "http", "postman"]),
    default="openapi",
    show_default=True,
    help="Print the calls as a .http file for editors, or as a Postman collection.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of standard output.",
)
def openapi(base_url: str, form: str, out: Path | None) -> None:
    """Print the OpenAPI description, the same as `/openapi.json`.

    With --form, print its calls with examples, for API clients.

    Example: productrecs openapi --base-url https://recs.example.com --out openapi.json
    Example: productrecs openapi --form http --out productrecs.http
    """
    # Imported here: the web framework is slow to import.
    from productrecs.application import create_declared_application  # noqa: PLC0415
    from productrecs.http.openapi_document import openapi_document  # noqa: PLC0415

    document = openapi_document(create_declared_application(), base_url.rstrip("/"))
    text = to_http_file(document) if form == "http" else _json_text(document, form)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, "utf-8")


def _json_text(described: Mapping[str, Any], form: str) -> str:
    document = to_postman_collection(described) if form == "postman" else described
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
