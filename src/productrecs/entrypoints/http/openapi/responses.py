"""OpenAPI responses: builders of the responses, bodies and examples of routes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel

from productrecs.entrypoints.http.openapi.error_examples import (
    ERROR_EXAMPLES,
    error_codes_for,
)
from productrecs.entrypoints.http.transport.error_body import ERROR_GUIDE

REQUEST_ID: Final = "req_7Yt3kQ0vXn"
_WORDS: Final = {
    400: "The request is invalid; `code` says why.",
    401: "No valid key, or a key that is not allowed here.",
    402: (
        "The plan does not allow it; `code` says whether it has ended or its catalog is "
        "full."
    ),
    403: "Pages of other origins are not allowed.",
    404: "Not found.",
    409: "A conflict with an earlier call; `code` says which.",
    413: "The body is too large.",
    415: "The body is encoded, or its media type is not supported.",
    422: "The request does not match its schema.",
    431: "The head of the request is larger than 64 KiB.",
    429: "Too many requests; retry after the seconds in Retry-After.",
    503: "Temporarily unavailable; retry after the seconds in Retry-After.",
}
VALIDATION_FAILED: Final = 422
_RETRYABLE_STATUSES: Final = frozenset({429, 503})
_PROBLEM: Final = {
    "detail": [
        {
            "loc": ["query", "num"],
            "msg": "Input should be less than or equal to 20",
            "type": "less_than_equal",
            "input": "99",
            "ctx": {"le": 20},
        }
    ]
}
Responses = dict[int | str, dict[str, Any]]


def error_responses(*statuses: int | str) -> Responses:
    """Return the documented errors of a route, by status or by code.

    A status stands for all codes that any route may give with it.
    """
    found: dict[int, list[str]] = {}
    for entry in statuses:
        status, codes = error_codes_for(entry)
        found.setdefault(status, []).extend(codes)
    return {status: _error(status, codes) for status, codes in sorted(found.items())}


def _error(status: int, codes: list[str]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": _WORDS[status]}
    if status == VALIDATION_FAILED:
        return response | {"content": _json(ref("ValidationError"), _PROBLEM)}
    examples = {
        code: {
            "summary": ERROR_EXAMPLES[code].summary,
            "value": {
                "detail": ERROR_EXAMPLES[code].detail,
                "code": code,
                "doc_url": f"https://recs.example.com{ERROR_GUIDE}#{code}",
                "request_id": REQUEST_ID,
            },
        }
        for code in codes
    }
    content = {"application/json": {"schema": ref("Error"), "examples": examples}}
    headers = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    return (
        response
        | {"content": content}
        | ({"headers": headers} if status in _RETRYABLE_STATUSES else {})
    )


def success_response(
    description: str, schema: Mapping[str, Any], example: object, status: int = 200
) -> Responses:
    """Return the documented success reply of a route."""
    return {status: {"description": description, "content": _json(schema, example)}}


def not_modified_response() -> Responses:
    """Return the documented 304 reply of a conditional request."""
    words = "`If-None-Match` has the current ETag; there is no body."
    return {304: {"description": words}}


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these required properties."""
    return {"type": "object", "required": list(properties), "properties": properties}


def request_body(
    model: type[BaseModel],
    examples: Mapping[str, object],
    *,
    text: bool = False,
    is_list: bool = False,
    required: bool = True,
) -> dict[str, Any]:
    """Return the documented body of a route that parses its body itself.

    `examples` are values by title. `text` adds text/plain, which avoids the preflight;
    `is_list` allows an array of up to 500.
    """
    schema: dict[str, Any] = ref(title(model))
    if is_list:
        listed = {"type": "array", "items": schema, "minItems": 1, "maxItems": 500}
        schema = {"anyOf": [schema, listed]}
    shown = {
        name.replace(" ", "-"): {"summary": name, "value": value}
        for name, value in examples.items()
    }
    content = {"application/json": {"schema": schema, "examples": shown}}
    body: dict[str, Any] = {"required": required, "content": content}
    if text:
        content["text/plain"] = {"schema": schema, "examples": shown}
        body["description"] = (
            "JSON text. `text/plain` is read the same way, and browsers send it to "
            "another origin without a preflight request."
        )
    return {"requestBody": body}


def ref(name: str) -> dict[str, Any]:
    """Return a reference to a shared schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def title(model: type[BaseModel]) -> str:
    """Return the name of a model in the document."""
    return str(model.model_config.get("title") or model.__name__)


def _json(schema: Mapping[str, Any], example: object) -> dict[str, Any]:
    return {"application/json": {"schema": schema, "example": example}}


PRODUCT_EXAMPLE: Final = MappingProxyType(
    {
        "id": "stove",
        "title": "Gas stove",
        "price": 39.5,
        "image_url": "https://shop.example.com/i/stove.jpg",
        "product_url": "https://shop.example.com/p/stove",
    }
)


def recommendations_response(
    source: str, extra_fields: Mapping[str, Any] = MappingProxyType({})
) -> Responses:
    """Return the documented reply of a list of products, with an example from `source`.

    `extra_fields` are the schemas of further properties.
    """
    shown = {**PRODUCT_EXAMPLE, "score": 0.87, "source": source}
    schema = object_schema(recommendations={"type": "array", "items": ref("Product")})
    schema["properties"] |= extra_fields
    return success_response(
        "The products, best first.", schema, {"recommendations": [shown]}
    )


_RESULT_EXAMPLE: Final = {**PRODUCT_EXAMPLE, "score": 14.2, "source": "search"}
_RELAXED: Final = {
    "description": (
        "How the query was relaxed to find enough: `spelling` if a word that "
        "no product has was corrected, `words` if some products have only "
        "some of the words or a similar meaning, `meaning` if no product has any "
        "of the words and all are of similar meaning. Otherwise absent."
    ),
    "schema": {"type": "string", "enum": ["spelling", "words", "meaning"]},
    "example": "spelling",
}


_REDIRECT: Final = {
    "description": "The merchant's redirect for this query. Otherwise absent.",
    "schema": {"type": "string"},
    "example": "/help/shipping",
}


def search_response(extra_fields: Mapping[str, Any]) -> Responses:
    """Return the documented reply of a search; `extra_fields` are further properties."""
    schema = object_schema(results={"type": "array", "items": ref("Result")})
    schema["properties"] |= extra_fields
    found = success_response(
        "The products, best first.", schema, {"results": [_RESULT_EXAMPLE]}
    )
    found[200]["headers"] = {"X-Search-Relaxed": _RELAXED, "X-Search-Redirect": _REDIRECT}
    return found


def photo_search_response() -> Responses:
    """Return the documented reply of a search by photo."""
    shown = {**PRODUCT_EXAMPLE, "score": 0.83, "source": "similar"}
    schema = object_schema(results={"type": "array", "items": ref("Result")})
    return success_response(
        "The products, most similar first.", schema, {"results": [shown]}
    )


_BOX: Final = {
    "type": "array",
    "items": {"type": "number", "minimum": 0, "maximum": 1},
    "minItems": 4,
    "maxItems": 4,
    "description": (
        "x, y, width and height as fractions of the upright picture, from "
        "its top left corner."
    ),
}
_HOTSPOT_EXAMPLE: Final = {"label": "Stove", "bbox": [0.55, 0.6, 0.2, 0.25]}


def analysis_response() -> Responses:
    """Return the documented reply of the analysis of a photo."""
    share = {"type": "number", "minimum": 0, "maximum": 1}
    hotspot = object_schema(
        label={"type": "string"},
        bbox=_BOX,
        confidence=share,
        products={"type": "array", "items": ref("Product"), "maxItems": 6},
    )
    shown = _HOTSPOT_EXAMPLE | {
        "confidence": 0.74,
        "products": [{**PRODUCT_EXAMPLE, "score": 0.81, "source": "similar"}],
    }
    schema = object_schema(hotspots={"type": "array", "items": hotspot, "maxItems": 8})
    return success_response("The areas, most certain first.", schema, {"hotspots": [shown]})


def look_response() -> Responses:
    """Return the documented reply of a look."""
    text: Final = {"type": "string"}
    hotspot = object_schema(
        label=text,
        bbox=_BOX,
        item_id=text,
        product={"anyOf": [ref("Product"), {"type": "null"}]},
    )
    look = object_schema(
        id=text,
        title=text,
        image_url=text,
        item_id=text,
        hotspots={"type": "array", "items": hotspot},
        published_at={"type": "string", "format": "date-time"},
    )
    shown = {
        "id": "7",
        "title": "By the lake",
        "image_url": "https://shop.example.com/looks/lake.jpg",
        "item_id": "tent",
        "hotspots": [
            _HOTSPOT_EXAMPLE | {"item_id": "stove", "product": {**PRODUCT_EXAMPLE}}
        ],
        "published_at": "2026-11-21T09:00:00.000Z",
    }
    schema = object_schema(look={"anyOf": [look, {"type": "null"}]})
    return success_response("The look, or null.", schema, {"look": shown})


OK_REPLY: Final = {"type": "boolean", "const": True}
OK_EXAMPLE: Final = {"ok": True}
NULLABLE_TEXT: Final = {"type": ["string", "null"]}
NULLABLE_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
