"""OpenAPI document: the declared routes, completed with shared schemas and headers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.registry import ENGINES, NAMES
from productrecs.features.widgets.widget_config_update import WidgetConfigBody
from productrecs.http.openapi_responses import (
    REQUEST_ID,
    VALIDATION_FAILED,
    error_responses,
)
from productrecs.http.pipeline.route_declaration import CredentialKind, routes_by_path
from productrecs.schemas.events import EventBody
from productrecs.schemas.integration import (
    BundleBody,
    ConnectBody,
    CustomerIdChangesBody,
    DashboardLinkBody,
    EnginesInitBody,
    ExperimentActionBody,
    ExperimentBody,
    RecommenderSettingsBody,
)
from productrecs.schemas.items import ItemsPush
from productrecs.schemas.orders import OrderBody
from productrecs.schemas.photos import PhotoBody, PhotoSearchBody
from productrecs.schemas.purchase_orders import PurchaseOrdersBody
from productrecs.tenancy.billing.call_meter import BillingStatus

MODELS: Final[Sequence[type[BaseModel]]] = (
    ItemsPush,
    EventBody,
    OrderBody,
    PhotoBody,
    PhotoSearchBody,
    ConnectBody,
    EnginesInitBody,
    PurchaseOrdersBody,
    CustomerIdChangesBody,
    DashboardLinkBody,
    RecommenderSettingsBody,
    ExperimentBody,
    ExperimentActionBody,
    WidgetConfigBody,
    BundleBody,
)
_SCHEMAS: Final = "#/components/schemas/"
INTRODUCTION: Final = """\
Recommendations for online stores, self-hosted. A store sends its catalog, its orders and
what shoppers do; the service answers which products belong on a page.

Browsers call it with the **publishable key** (`pk_...`, the parameter `key`), and so that
they need not ask first: parameters in the address, bodies as `text/plain`. The merchant's
server calls it with the **secret key** (`sk_...`, the header `X-API-Key`). All paths that
browsers call answer `OPTIONS` with 200.

Every reply has an `X-Request-Id`. Every refusal but 422 is an `Error`, whose `code` has its
remedy in [the guide](/guides/errors). Start with [the quick start](/guides/quickstart).
"""
TAGS: Final = (
    {
        "name": "widget",
        "description": "Called by shoppers' browsers, with the publishable key.",
    },
    {
        "name": "server",
        "description": "Called by the merchant's server: catalog and orders.",
    },
    {
        "name": "integration",
        "description": "Called by store plugins: connect, appearance, training, status.",
    },
    {"name": "public", "description": "Public: the index and the health checks."},
    {
        "name": "documentation",
        "description": "The guides, this description, and both for AI assistants.",
    },
)
_PRODUCT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "One product of a reply; `source` is the engine that suggested it.",
    "required": ["id", "title", "price", "image_url", "product_url"],
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "price": {"type": ["number", "null"]},
        "currency": {
            "type": "string",
            "description": "With `price_list`: the currency of the list's prices.",
        },
        "image_url": {"type": ["string", "null"]},
        "product_url": {"type": ["string", "null"]},
        "score": {
            "type": "number",
            "description": (
                "Scores decrease down the list; compare them within one reply only."
            ),
        },
        "source": {
            "type": "string",
            "enum": list(NAMES),
            "description": "; ".join(
                f"`{engine.name}`: {engine.summary}" for engine in ENGINES
            )
            + ".",
        },
        "certain": {
            "type": "boolean",
            "description": (
                "With `anchor`, in `source=buy` lists: whether enough orders contain both "
                "products. The widget ticks only such products."
            ),
        },
    },
}
_RESULT: Final[dict[str, Any]] = {
    **_PRODUCT,
    "description": "One product of a search; `source` says whether words found it.",
    "properties": {
        **_PRODUCT["properties"],
        "source": {"type": "string", "enum": ["search", "similar", "trending"]},
        "variants": {
            "type": "integer",
            "minimum": 2,
            "description": (
                "How many products that differ only in size and colour this result stands "
                "for: those that may be shown and pass the filters. Absent if it is one."
            ),
        },
        "highlight": {
            "type": "object",
            "title": "Highlight",
            "description": (
                "With `highlight=true`: the parts that match the query, as "
                "HTML, in <mark>; null if none does. Everything else in it "
                "is escaped."
            ),
            "required": ["title", "description"],
            "properties": {
                "title": {"type": ["string", "null"]},
                "description": {"type": ["string", "null"]},
            },
        },
    },
}
_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "description": (
        "Every error except 422: a message, and a code for programs. With "
        "`Accept: application/problem+json` the reply is in the format of "
        "RFC 9457, with these members."
    ),
    "required": ["detail", "code", "doc_url", "request_id"],
    "properties": {
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
        "code": {"type": "string", "description": "The same, for programs."},
        "doc_url": {"type": "string", "description": "The guide's section on this code."},
        "request_id": {"type": "string", "description": "The same as X-Request-Id."},
    },
}
_INVALID_REQUEST: Final[dict[str, Any]] = {
    "type": "object",
    "description": (
        "A request that does not match its schema: each problem with its location."
    ),
    "required": ["detail"],
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "title": "ValidationProblem",
                "required": ["loc", "msg", "type"],
                "properties": {
                    "loc": {
                        "type": "array",
                        "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    },
                    "msg": {"type": "string"},
                    "type": {"type": "string"},
                    "input": {"description": "The input, cut at 256 bytes."},
                    "ctx": {"type": "object"},
                },
            },
        }
    },
}
_HEADERS: Final = {
    "X-Request-Id": {
        "description": (
            "Identifies this request in the log; a valid one in the request is echoed."
        ),
        "schema": {"type": "string"},
        "example": REQUEST_ID,
    },
    "Retry-After": {
        "description": "Seconds to wait before the same request may succeed.",
        "schema": {"type": "integer", "minimum": 1},
        "example": 2,
    },
    "RateLimit-Policy": {
        "description": (
            "How many calls (q) are allowed in how many seconds (w), per key "
            "and per address. On every reply if the installation has rate "
            "limits."
        ),
        "schema": {"type": "string"},
        "example": '"key";q=500;w=10',
    },
    "RateLimit": {
        "description": (
            "How many calls are left now (r), and in how many seconds all "
            "are available again (t)."
        ),
        "schema": {"type": "string"},
        "example": '"key";r=0;t=10',
    },
    "X-Billing-Status": {
        "description": (
            "Absent normally. `warn` from 80 % of the month's calls; "
            "`over_quota` when they are used up and `suspended` when the "
            "plan has ended or the store is suspended: then the reply has no "
            "content."
        ),
        "schema": {"type": "string", "enum": [status.value for status in BillingStatus]},
        "example": "warn",
    },
    "X-Quota-Used": {
        "description": "The month's metered calls, including this one; from 80 % on.",
        "schema": {"type": "integer", "minimum": 0},
        "example": 8_214,
    },
    "X-Quota-Limit": {
        "description": "How many calls the plan allows; from 80 % on.",
        "schema": {"type": "integer", "minimum": 0},
        "example": 10_000,
    },
}
_RATE_LIMIT_HEADERS: Final = ("RateLimit-Policy", "RateLimit")
_METERED: Final = ("X-Billing-Status", "X-Quota-Used", "X-Quota-Limit")
_SCHEMES: Final = {
    "publishableKey": {
        "type": "apiKey",
        "in": "query",
        "name": "key",
        "description": "The publishable key (pk_...): public by design, for pages.",
    },
    "publishableKeyHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Pub-Key",
        "description": (
            "The publishable key as a header, which makes a browser send a preflight "
            "request."
        ),
    },
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "The secret key (sk_...) as a bearer token; X-API-Key is the same.",
    },
    "secretKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The secret key (sk_...): for the merchant's server only.",
    },
}
_OPERATOR: Final = {
    "operatorToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "The installation's token, PRODUCTRECS_METRICS_TOKEN.",
    },
}
_SECRET: Final = ("bearer", "secretKey")
_PUBLISHABLE: Final = ("publishableKey", "publishableKeyHeader")
_SECURITY_SCHEMES: Final[Mapping[CredentialKind, tuple[str, ...]]] = MappingProxyType(
    {
        CredentialKind.NONE: (),
        CredentialKind.PUBLISHABLE: _PUBLISHABLE,
        CredentialKind.SECRET: _SECRET,
        CredentialKind.EITHER: (*_SECRET, *_PUBLISHABLE),
        CredentialKind.OPERATOR: tuple(_OPERATOR),
    }
)
_UNAUTHORISED: Final[Mapping[CredentialKind, tuple[str, ...]]] = MappingProxyType(
    {
        CredentialKind.PUBLISHABLE: ("key_missing", "key_invalid", "secret_key_in_address"),
        CredentialKind.SECRET: (
            *("key_missing", "key_invalid", "secret_key_required"),
            "secret_key_in_address",
        ),
        CredentialKind.EITHER: ("key_missing", "key_invalid", "secret_key_in_address"),
        CredentialKind.OPERATOR: ("metrics_token_invalid",),
    }
)


def openapi_document(application: FastAPI, base_url: str) -> dict[str, Any]:
    """Return the OpenAPI document with the server `base_url`."""
    found = _document_without_server(application)
    contact = {"name": "The guides", "url": f"{base_url}/guides"}
    servers = [{"url": base_url, "description": "This service."}]
    return {**found, "info": {**found["info"], "contact": contact}, "servers": servers}


@memoized(RegisteredCache.CONSTANTS)
def _document_without_server(application: FastAPI) -> dict[str, Any]:
    """Return the document without the server; built once."""
    document = application.openapi()
    document["info"] |= {
        "description": INTRODUCTION,
        "license": {"name": "MIT", "identifier": "MIT"},
    }
    document["tags"] = list(TAGS)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete_operation(operation, routes_by_path()[path].methods[method.upper()])
            if routes_by_path()[path].empty:
                _add_headers(operation["responses"]["200"], _METERED)
            if routes_by_path()[path].is_rate_limited:
                _add_rate_limit_response(operation["responses"])
    shared = _shared_schemas(document["components"].get("schemas", {}))
    for operations in document["paths"].values():
        for operation in operations.values():
            _share_reply_schemas(operation, shared)
    document["components"] = {
        "schemas": dict(sorted(shared.items())),
        "headers": _HEADERS,
        "securitySchemes": _SCHEMES | _OPERATOR,
    }
    return document


def _complete_operation(operation: dict[str, Any], credential: CredentialKind) -> None:
    """Add security, headers and errors to an operation, as its credential requires."""
    operation["security"] = [{name: []} for name in _SECURITY_SCHEMES[credential]]
    responses = operation["responses"]
    invalid_request = responses.get(str(VALIDATION_FAILED), {})
    if "HTTPValidationError" in str(invalid_request):
        del responses[str(VALIDATION_FAILED)]  # FastAPI's 422 of a path that takes any text
    responses["431"] = error_responses("headers_too_large")[431]
    if credential in _UNAUTHORISED:
        responses["401"] = error_responses(*_UNAUTHORISED[credential])[401]
    for response in responses.values():
        _add_headers(response, ("X-Request-Id",))


def _add_rate_limit_response(responses: dict[str, Any]) -> None:
    """Add the 429 of an installation's rate limits."""
    existing = responses.get("429", {"content": {"application/json": {"examples": {}}}})
    codes = {"too_many_requests": None} | existing["content"]["application/json"][
        "examples"
    ]
    responses["429"] = error_responses(*codes)[429]
    _add_headers(responses["429"], ("X-Request-Id", *_RATE_LIMIT_HEADERS))


def _add_headers(response: dict[str, Any], names: Iterable[str]) -> None:
    added = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    response["headers"] = added | response.get("headers", {})


def _shared_schemas(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shared schemas by name."""
    own_schemas = {
        "Product": _PRODUCT,
        "Result": _RESULT,
        "Error": _ERROR,
        "ValidationError": _INVALID_REQUEST,
    }
    declared_schemas = {
        name: schema
        for name, schema in declared.items()
        if name not in {"HTTPValidationError", "ValidationError"}
    }
    shared = declared_schemas | _request_body_schemas()
    for name, schema in own_schemas.items():
        _share_schema(schema, name, shared)
    return shared


def _share_reply_schemas(operation: dict[str, Any], shared: dict[str, Any]) -> None:
    """Move the schemas of an operation's replies to the shared ones, under names.

    Generators of clients name their classes by them: `SearchReply`, `SearchReplyFacets`.
    """
    name = f"{_class_name(operation['operationId'])}Reply"
    for status, response in operation["responses"].items():
        for content in response.get("content", {}).values():
            if status.startswith("2") and "schema" in content:
                content["schema"] = _share_schema(content["schema"], name, shared)


def _share_schema(
    schema: Mapping[str, Any], name: str, shared: dict[str, Any]
) -> dict[str, Any]:
    """Return a reference to an object's schema, which is added to `shared`.

    Its name is its title, else `name`; other schemas are returned with their parts named.
    """
    named = dict(schema)
    if "properties" in schema:
        name = named.pop("title", name)
    if "items" in schema:
        named["items"] = _share_schema(schema["items"], _singular(name), shared)
    if isinstance(schema.get("additionalProperties"), dict):
        value = schema["additionalProperties"]
        named["additionalProperties"] = _share_schema(value, _singular(name), shared)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            named[union] = [
                _share_schema(alternative, name, shared) for alternative in schema[union]
            ]
    if not schema.get("properties"):
        return named
    named["properties"] = {
        field: _share_schema(part, name + _class_name(field), shared)
        for field, part in schema["properties"].items()
    }
    if shared.setdefault(name, named) != named:
        message = f"two schemas of replies have the name {name}"
        raise ValueError(message)
    return {"$ref": f"{_SCHEMAS}{name}"}


def _class_name(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("_"))


def _singular(name: str) -> str:
    if name.endswith("ies"):
        return f"{name.removesuffix('ies')}y"
    return name.removesuffix("s") if name.endswith("s") else f"{name}Item"


def _request_body_schemas() -> dict[str, Any]:
    """Return the schemas of all bodies by title, which references use."""
    _, found = models_json_schema(
        [(model, "validation") for model in MODELS], ref_template=f"{_SCHEMAS}{{model}}"
    )
    text = json.dumps(found["$defs"])
    for name, schema in found["$defs"].items():
        text = text.replace(f'"{_SCHEMAS}{name}"', f'"{_SCHEMAS}{schema["title"]}"')
    return {
        schema["title"]: _without_empty_defaults(schema)
        for schema in json.loads(text).values()
    }


def _without_empty_defaults(schema: Any) -> Any:
    """Return a schema whose fields have no default null, [] or {}.

    Absent says the same, and generators of clients refuse such defaults of a union.
    """
    if isinstance(schema, list):
        return [_without_empty_defaults(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_empty_defaults(value)
        for name, value in schema.items()
        if name != "default" or value not in (None, [], {})
    }
