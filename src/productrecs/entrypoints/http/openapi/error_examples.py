"""Error examples: one example of each error code, for the OpenAPI document."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.entrypoints.http.pipeline.error_responses import ERROR_CODES, ROUTER_CODES
from productrecs.entrypoints.http.transport.error_body import HEADERS_TOO_LARGE


class ErrorExample(NamedTuple):
    """An error as an example: its title and its message."""

    summary: str
    detail: str


ERROR_EXAMPLES: Final[Mapping[str, ErrorExample]] = MappingProxyType(
    {
        "bad_path": ErrorExample(
            "The path is not percent-encoded UTF-8",
            "the item id in the path is not UTF-8; percent-encode it as UTF-8",
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
            "order_id,item_id[,customer_id][,timestamp][,quantity][,price]",
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
            "pages of other origins are not allowed; programs send no Origin",
        ),
        "item_unknown": ErrorExample(
            "Unknown item",
            "the catalog has no item of this id; nothing was deleted",
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
        "guide_unknown": ErrorExample(
            "Unknown guide",
            "there is no guide of this name; try quickstart, items, orders",
        ),
        "picture_unknown": ErrorExample(
            "Unknown picture",
            "no look has this picture any more; GET /v1/looks lists the current ones",
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
    {one.code: one.status for one in (*ERROR_CODES.values(), *ROUTER_CODES.values())}
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


def error_codes_for(status: int | str) -> tuple[int, tuple[str, ...]]:
    """Return a status with its codes, or a code with its status.

    Raises:
        KeyError: when no error has this status or code.
    """
    if isinstance(status, str):
        return _STATUS[status], (status,)
    return status, _COMMON_CODES[status]
