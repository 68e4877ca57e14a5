"""OpenAPI responses: builders of the responses, bodies and examples of routes.

There is one example of each error code.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from productrecs.http.pipeline.error_responses import ERROR_CODES, ROUTER_CODES
from productrecs.http.transport.error_body import ERROR_GUIDE, HEADERS_TOO_LARGE


class ErrorExample(NamedTuple):
    """An error as an example: its title and its message."""

    summary: str
    detail: str


ERROR_EXAMPLES: Final[Mapping[str, ErrorExample]] = MappingProxyType(
    {
        "bad_path": ErrorExample(
            "The path is not percent-encoded UTF-8",
            "the id in the path is not UTF-8; percent-encode it as UTF-8",
        ),
        "too_many_items": ErrorExample(
            "More than 1000 items",
            "1001 items in one push; send at most 1000 at a time",
        ),
        "too_many_price_lists": ErrorExample(
            "More than 50 price lists",
            "the store would have 51 price lists and may have 50; nothing of this push was "
            "stored. Use one list for each currency and customer group, and remove those "
            "that are no longer used: send null as their price",
        ),
        "too_many_widget_types": ErrorExample(
            "More than 50 types",
            "a store may have 50 types of widgets; use one that it has",
        ),
        "widget_config_too_large": ErrorExample(
            "Settings larger than 64 KiB",
            "the settings of one widget may be at most 200 and 65536 bytes; set those "
            "you do not need to null",
        ),
        "missing_columns": ErrorExample(
            "A header without required columns",
            "the CSV has no column item_id; its first line names them: "
            "order_id,item_id[,customer_id][,timestamp][,quantity][,price][,currency]",
        ),
        "report_impossible": ErrorExample(
            "An unknown report or grouping",
            "group by any of day, widget, source, position, each once",
        ),
        "upload_stalled": ErrorExample(
            "Too slow",
            "the upload stalled; send it again",
        ),
        "client_closed": ErrorExample(
            "Broken off",
            "the client closed the connection before its body was complete",
        ),
        "key_missing": ErrorExample(
            "No key",
            "no key was sent; send the publishable key (pk_...) as the parameter `key`",
        ),
        "key_invalid": ErrorExample("An unknown key", "no store has this key"),
        "secret_key_required": ErrorExample(
            "A publishable key where a secret one is needed",
            "this needs the secret key (sk_...) as the header X-API-Key",
        ),
        "secret_key_in_address": ErrorExample(
            "A secret key as the parameter `key`",
            "a secret key must never be in an address; send it as the header X-API-Key, "
            "and replace it now with `productrecs keys rotate`",
        ),
        "metrics_token_invalid": ErrorExample(
            "Not the operator's token",
            "send PRODUCTRECS_METRICS_TOKEN as a bearer token; keys of stores are not "
            "accepted",
        ),
        "billing_inactive": ErrorExample(
            "The plan has ended, or the store is suspended",
            "this store's plan (trial) ended at 2026-11-21T09:00:00.000Z; it needs a "
            "new one; events, orders and deletions are still accepted",
        ),
        "plan_limit_catalog": ErrorExample(
            "New items exceed the plan's catalog",
            "the catalog would have 1,001 items and the plan allows 1,000; nothing of "
            "this push was stored. Updates always pass: delete items that are no longer "
            "sold, or choose a larger plan",
        ),
        "origin_refused": ErrorExample(
            "A page of another origin",
            "only this service's own pages may send an Origin header here; leave it out in "
            "programs",
        ),
        "item_unknown": ErrorExample(
            "Unknown item",
            "the catalog has no item of this id; nothing was deleted",
        ),
        "order_unknown": ErrorExample(
            "Unknown order",
            "this store has no order 'A-1001'; send it with POST /v1/orders",
        ),
        "placement_unknown": ErrorExample(
            "Unknown placement",
            "there is no placement 'carts'; there are: cart, home-hero",
        ),
        "bundle_unknown": ErrorExample(
            "Unknown bundle",
            "there is no bundle 9; the list of bundles names those there are",
        ),
        "bundle_changed": ErrorExample(
            "Changed by somebody else",
            "bundle 3 was changed since you read it; read it again and repeat your change",
        ),
        "test_unknown": ErrorExample(
            "Unknown test", "there is no test 'carts'; there are: cart-size"
        ),
        "guide_unknown": ErrorExample(
            "Unknown guide",
            "there is no guide of this name; try quickstart, items, orders",
        ),
        "picture_unknown": ErrorExample(
            "Unknown picture",
            "no look has this picture any more; GET /v1/looks lists the current ones",
        ),
        "mail_slot_unknown": ErrorExample(
            "Unknown mail slot",
            "there is no such slot here; the dashboard's page Products in mails switches "
            "slots on and has their addresses",
        ),
        "feed_unknown": ErrorExample(
            "Unknown feed",
            "there is no such feed here; the dashboard's page Product feeds switches feeds "
            "on and has their addresses",
        ),
        "assistant_catalog_unknown": ErrorExample(
            "No catalog for assistants",
            "there is no catalog for shopping assistants here; the dashboard's page "
            "Shopping assistants switches it on and has its addresses",
        ),
        "catalog_call_invalid": ErrorExample(
            "A call of another form", "Object missing required field `ids`"
        ),
        "request_too_large": ErrorExample(
            "Too many ids", "a lookup may have at most 50 ids, and this one has 51"
        ),
        "build_unknown": ErrorExample(
            "Unknown build",
            "no such build; the guide for widgets lists the tags of this release",
        ),
        "upload_unknown": ErrorExample(
            "Unknown upload",
            "this store has no upload with this id; POST /orders/upload returns one",
        ),
        "not_found": ErrorExample("Unknown file", "there is no such file"),
        "idempotency_key_reused": ErrorExample(
            "The same key with another body",
            "this Idempotency-Key was used with another body less than a day ago; use a "
            "new key for each call, and the same body for a retry",
        ),
        "body_too_large": ErrorExample(
            "Too large", "the body may be at most 1048576 bytes"
        ),
        "image_too_large": ErrorExample(
            "Over 10 MiB or 25 megapixels",
            "the picture has 9000 x 6000 pixels; 25 megapixels are the maximum",
        ),
        "body_encoded": ErrorExample(
            "A compressed body",
            "send the body uncompressed, without Content-Encoding",
        ),
        "not_a_form": ErrorExample(
            "No form",
            "send the file as multipart/form-data, in a part named 'file'",
        ),
        "too_many_requests": ErrorExample(
            "Too many calls from one address, or with one key",
            "more than 600 calls arrived at once from this address; it may send 10 a "
            "second",
        ),
        "too_many_uploads": ErrorExample(
            "Twenty uploads wait already",
            "20 uploads of this store are waiting or running; send this one when they "
            "are finished",
        ),
        "overloaded": ErrorExample(
            "Too many requests at once", "too many requests at once; retry"
        ),
        "search_rebuilding": ErrorExample(
            "The index was damaged", "the search index is being rebuilt; retry"
        ),
        "storage_busy": ErrorExample("The database is busy", "the database is busy; retry"),
        "storage_full": ErrorExample(
            "The disk is full", "the disk is full; nothing was stored"
        ),
        "storage_broken": ErrorExample(
            "The disk failed", "the disk could not make a write durable; retry"
        ),
        "storage_unavailable": ErrorExample(
            "The database is not reachable", "the database cannot be reached; retry"
        ),
        "headers_too_large": ErrorExample(
            "A request head larger than 64 KiB", "send fewer or shorter headers"
        ),
        "not_ready": ErrorExample(
            "The process has only just started",
            "not ready: still loading the stores",
        ),
    }
)

_STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {code.code: code.status for code in (*ERROR_CODES.values(), *ROUTER_CODES.values())}
    | {"not_ready": 503, HEADERS_TOO_LARGE.code: HEADERS_TOO_LARGE.status}
)
# The codes of a status if a route names none.
_COMMON_CODES: Final[Mapping[int, tuple[str, ...]]] = MappingProxyType(
    {
        401: ("key_missing", "key_invalid"),
        402: ("billing_inactive",),
        413: ("body_too_large",),
        415: ("body_encoded",),
        422: (),
        503: (
            *("overloaded", "storage_busy", "storage_full", "storage_broken"),
            "storage_unavailable",
        ),
    }
)


def status_and_codes_of(status_or_code: int | str) -> tuple[int, tuple[str, ...]]:
    """Return a status with its codes, or a code with its status.

    Raises:
        KeyError: when no error has this status or code.
    """
    if isinstance(status_or_code, str):
        return _STATUS[status_or_code], (status_or_code,)
    return status_or_code, _COMMON_CODES[status_or_code]


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


def error_responses(*statuses_and_codes: int | str) -> Responses:
    """Return the documented errors of a route.

    A status stands for all codes that any route may give with it.
    """
    found: dict[int, list[str]] = {}
    for status_or_code in statuses_and_codes:
        status, codes = status_and_codes_of(status_or_code)
        found.setdefault(status, []).extend(codes)
    return {
        status: _error_response(status, codes) for status, codes in sorted(found.items())
    }


def _error_response(status: int, codes: list[str]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": _WORDS[status]}
    if status == VALIDATION_FAILED:
        return response | {"content": json_content(ref("ValidationError"), _PROBLEM)}
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
    return {status: {"description": description, "content": json_content(schema, example)}}


def not_modified_response() -> Responses:
    """Return the documented 304 reply of a conditional request."""
    words = "`If-None-Match` has the current ETag; there is no body."
    return {304: {"description": words}}


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these required properties."""
    return {"type": "object", "required": list(properties), "properties": properties}


def titled(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's schema with the name that generated clients give its type."""
    return {**schema, "title": name}


def with_warnings(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a reply that may say what was accepted but looks wrong."""
    warnings = {"type": "array", "items": {"type": "string"}}
    return schema | {"properties": {**schema["properties"], "warnings": warnings}}


def documented_request_body(
    model: type[BaseModel],
    examples: Mapping[str, object],
    *,
    accepts_text: bool = False,
    accepts_list: bool = False,
    required: bool = True,
) -> dict[str, Any]:
    """Return the documented body of a route that parses its body itself.

    `examples` are values by title. `accepts_text` adds text/plain, without a preflight;
    `accepts_list` allows an array of up to 500.
    """
    schema: dict[str, Any] = ref(model_title(model))
    if accepts_list:
        list_schema = {"type": "array", "items": schema, "minItems": 1, "maxItems": 500}
        schema = {"anyOf": [schema, list_schema]}
    titled_examples = {
        name.replace(" ", "-"): {"summary": name, "value": value}
        for name, value in examples.items()
    }
    content = {"application/json": {"schema": schema, "examples": titled_examples}}
    body: dict[str, Any] = {"required": required, "content": content}
    if accepts_text:
        content["text/plain"] = {"schema": schema, "examples": titled_examples}
        body["description"] = (
            "JSON text. `text/plain` is read the same way, and browsers send it to "
            "another origin without a preflight request."
        )
    return {"requestBody": body}


def ref(name: str) -> dict[str, Any]:
    """Return a reference to a shared schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def model_title(model: type[BaseModel]) -> str:
    """Return the name of a model in the document."""
    return str(model.model_config.get("title") or model.__name__)


def json_content(schema: Mapping[str, Any], example: object) -> dict[str, Any]:
    """Return the documented content of a JSON body."""
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


WARNINGS: Final = {
    "warnings": {
        "type": "array",
        "items": {"type": "string"},
        "description": (
            "Parameters that are unknown, and why the signed identity of the call was "
            "refused: the reply is as without them. Otherwise absent."
        ),
    }
}


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
    "description": (
        "Where Enter leads: as `redirect` in the reply, with characters beyond ASCII "
        "percent-encoded. Otherwise absent."
    ),
    "schema": {"type": "string"},
    "example": "/help/shipping",
}


_VARIANT: Final = {
    "description": (
        "While a test of search runs: its name and the shopper's variant. Otherwise absent."
    ),
    "schema": {"type": "string"},
    "example": "sold-out=last",
}


def search_response(extra_fields: Mapping[str, Any]) -> Responses:
    """Return the documented reply of a search; `extra_fields` are further properties."""
    schema = object_schema(results={"type": "array", "items": ref("Result")})
    schema["properties"] |= {**extra_fields, **WARNINGS}
    found = success_response(
        "The products, best first.", schema, {"results": [_RESULT_EXAMPLE]}
    )
    found[200]["headers"] = {
        "X-Search-Relaxed": _RELAXED,
        "X-Search-Redirect": _REDIRECT,
        "X-Search-Variant": _VARIANT,
    }
    return found


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


def _photo_region_schema_and_example() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a photo's region with its products, and an example."""
    schema = titled(
        "PhotoRegion",
        object_schema(
            label={"type": "string"},
            bbox=_BOX,
            confidence={"type": "number", "minimum": 0, "maximum": 1},
            products={"type": "array", "items": ref("Product"), "maxItems": 6},
        ),
    )
    example = _HOTSPOT_EXAMPLE | {
        "confidence": 0.74,
        "products": [{**PRODUCT_EXAMPLE, "score": 0.81, "source": "similar"}],
    }
    return schema, example


def photo_search_response() -> Responses:
    """Return the documented reply of a search by photo."""
    shown = {**PRODUCT_EXAMPLE, "score": 0.83, "source": "similar"}
    region, _ = _photo_region_schema_and_example()
    schema = object_schema(results={"type": "array", "items": ref("Result")})
    schema["properties"]["regions"] = {"type": "array", "items": region, "maxItems": 8}
    return success_response(
        "The products, most similar first; `regions` only where it was asked for.",
        schema,
        {"results": [shown]},
    )


def photo_analysis_response() -> Responses:
    """Return the documented reply of the analysis of a photo."""
    hotspot, example = _photo_region_schema_and_example()
    schema = object_schema(hotspots={"type": "array", "items": hotspot, "maxItems": 8})
    return success_response(
        "The areas, most certain first.", schema, {"hotspots": [example]}
    )


def look_response() -> Responses:
    """Return the documented reply of a look, or of a page of the published looks."""
    text: Final = {"type": "string"}
    time: Final = {"type": "string", "format": "date-time"}
    product: Final = {"anyOf": [ref("Product"), {"type": "null"}]}
    spot: Final[dict[str, Any]] = {"label": text, "bbox": _BOX, "item_id": text}
    facts: Final[dict[str, Any]] = {
        "id": text,
        "title": text,
        "image_url": text,
        "item_id": text,
    }

    def look(hotspot: dict[str, Any], **times: Mapping[str, Any]) -> dict[str, Any]:
        return object_schema(**facts, hotspots={"type": "array", "items": hotspot}, **times)

    shown_spot = titled("LookHotspot", object_schema(**spot, product=product))
    shown = titled("Look", look(shown_spot, published_at=time))
    listed_spot = titled("ListedLookHotspot", object_schema(**spot))
    listed = titled("ListedLook", look(listed_spot, published_at=time, updated_at=time))
    example = {
        "id": "7",
        "title": "By the lake",
        "image_url": "https://shop.example.com/looks/lake.jpg",
        "item_id": "tent",
        "hotspots": [
            _HOTSPOT_EXAMPLE | {"item_id": "stove", "product": {**PRODUCT_EXAMPLE}}
        ],
        "published_at": "2026-11-21T09:00:00.000Z",
    }
    schema = {
        "type": "object",
        "properties": {
            "look": {"anyOf": [shown, {"type": "null"}]},
            "items": {"type": "array", "items": listed},
            "next": NULLABLE_TEXT,
        },
    }
    return success_response(
        "With `item_id` the look, or null, as `look`; without it a page of looks as "
        "`items`, and the cursor of the next as `next`, null at the end.",
        schema,
        {"look": example},
    )


OK_REPLY: Final = {"type": "boolean", "const": True}
OK_EXAMPLE: Final = {"ok": True}
NULLABLE_TEXT: Final = {"type": ["string", "null"]}
NULLABLE_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
