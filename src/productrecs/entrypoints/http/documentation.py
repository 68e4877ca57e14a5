"""What does /openapi.json say of replies and bodies that no pydantic model makes?"""

from typing import Any, Final

from pydantic import BaseModel

_PRODUCT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["id", "title", "price", "image_url", "product_url"],
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "price": {"type": ["number", "null"]},
        "image_url": {"type": ["string", "null"]},
        "product_url": {"type": ["string", "null"]},
        "score": {"type": "number"},
        "source": {
            "type": "string",
            "enum": ["buy", "browse", "complementary", "similar", "category", "trending"],
        },
    },
}
_RESULT: Final[dict[str, Any]] = {
    **_PRODUCT,
    "properties": {
        **_PRODUCT["properties"],
        "source": {"type": "string", "enum": ["search", "trending"]},
    },
}
_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["detail", "code", "request_id"],
    "properties": {
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "request_id": {"type": "string"},
    },
}
_PROBLEMS: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["loc", "msg", "type"],
                "properties": {
                    "loc": {
                        "type": "array",
                        "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    },
                    "msg": {"type": "string"},
                    "type": {"type": "string"},
                    "input": {},
                    "ctx": {"type": "object"},
                },
            },
        }
    },
}
_WORDS: Final = {
    400: "The request cannot be what was meant; `code` says why.",
    401: "No key, or not one that may do this.",
    403: "Not from a page of another origin.",
    404: "There is no such thing.",
    413: "The body is too large.",
    415: "The body is encoded, or of another type than is read here.",
    422: "The request does not fit its schema.",
    429: "Too many at a time; retry after the seconds in Retry-After.",
    503: "Not now; retry after the seconds in Retry-After.",
}


def _json(schema: dict[str, Any], example: object = None) -> dict[str, Any]:
    shown = {} if example is None else {"example": example}
    return {"application/json": {"schema": schema, **shown}}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documented error replies of a route."""
    return {
        status: {
            "description": _WORDS[status],
            "content": _json(_PROBLEMS if status == 422 else _ERROR),  # noqa: PLR2004 - HTTP
        }
        for status in statuses
    }


def reply(
    description: str, schema: dict[str, Any], example: object = None, status: int = 200
) -> dict[int | str, dict[str, Any]]:
    """Return the documented reply of a route that succeeds with `status`."""
    return {status: {"description": description, "content": _json(schema, example)}}


def answers(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of `properties`."""
    return {"type": "object", "required": list(properties), "properties": properties}


def body(
    model: type[BaseModel] | list[type[BaseModel]],
    *,
    text: bool,
    required: bool = True,
    example: object = None,
) -> dict[str, Any]:
    """Return the documented body of a route that reads it itself.

    `text` adds text/plain, which spares a browser the preflight.
    """
    models = model if isinstance(model, list) else [model]
    schemas = [_inlined(one.model_json_schema()) for one in models]
    schema = schemas[0]
    if len(models) > 1:
        many = {"type": "array", "items": schemas[0], "minItems": 1, "maxItems": 500}
        schema = {"anyOf": [schemas[0], many]}
    content = _json(schema, example)
    if text:
        content["text/plain"] = {"schema": schema}
    return {"requestBody": {"required": required, "content": content}}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    definitions = schema.pop("$defs", {})

    def resolve(value: Any) -> Any:
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).removeprefix("#/$defs/")
            found = definitions.get(name)
            return resolve(found) if found else {k: resolve(v) for k, v in value.items()}
        return [resolve(one) for one in value] if isinstance(value, list) else value

    inlined: dict[str, Any] = resolve(schema)
    return inlined


RECOMMENDATIONS_REPLY: Final = reply(
    "The products, best first.",
    answers(recommendations={"type": "array", "items": _PRODUCT}),
)
SEARCH_REPLY: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The products, best first.",
        "headers": {
            "X-Search-Relaxed": {
                "description": "What had to be given up to find enough: `spelling` where "
                "a word that no product has was read as another, `words` where some "
                "products hold only some of the words. Absent otherwise.",
                "schema": {"type": "string", "enum": ["spelling", "words"]},
            }
        },
        "content": _json(
            answers(results={"type": "array", "items": _RESULT}),
            {
                "results": [
                    {
                        "id": "tent-2",
                        "title": "Two-person tent",
                        "price": 189.0,
                        "image_url": "/img/tent-2.jpg",
                        "product_url": "/p/tent-2",
                        "score": 14.2,
                        "source": "search",
                    }
                ]
            },
        ),
    }
}
OK_REPLY: Final = {"type": "boolean", "const": True}
NULLABLE_TEXT: Final = {"type": ["string", "null"]}
NULLABLE_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
