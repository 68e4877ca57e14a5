"""Cursor pages: lists of what is stored, a page at a time, for a merchant's server.

The reply has the page as `items` and the cursor of the next as `next`, null at the end.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Annotated, Any, Final, TypeVar

import msgspec
from fastapi import Query, Response

from productrecs.core.iso_dates import (
    InvalidDateError,
    normalise_date_or_datetime,
    window_start_ms,
)
from productrecs.http.openapi_responses import NULLABLE_TEXT, object_schema
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem

MAX_PAGE: Final = 1_000
DEFAULT_PAGE: Final = 100
CURSOR_DESCRIPTION: Final = "`next` of the page before."
_BATCH: Final = 25
_MAX_PAGE_BYTES: Final = 4 << 20
_encode: Final = msgspec.json.Encoder().encode

UpdatedAfter = Annotated[
    str | None,
    Query(
        description="Only what was received or changed after this ISO time.",
        examples=["2026-11-20"],
    ),
]
Limit = Annotated[
    int, Query(ge=1, le=MAX_PAGE, description="The most to return.", examples=[100])
]
KeyNumber = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 63) - 1)]
"""A number in a cursor; no database holds a larger one."""
Key = TypeVar("Key")


def page_schema(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a page whose rows have the schema `row`."""
    return object_schema(items={"type": "array", "items": row}, next=NULLABLE_TEXT)


def page_reply(
    keys: Sequence[Key], limit: int, load: Callable[[Sequence[Key]], Iterable[object]]
) -> Response:
    """Return the page of the first `limit` keys; one key more tells that others follow.

    `load` returns what is shown for some keys. The page ends early when it is large.
    """
    page_keys, rows, total_bytes = list(keys[:limit]), list[msgspec.Raw](), 0
    for start in range(0, len(page_keys), _BATCH):
        if total_bytes >= _MAX_PAGE_BYTES:
            page_keys = page_keys[:start]
            break
        encoded = [_encode(row) for row in load(page_keys[start : start + _BATCH])]
        rows += map(msgspec.Raw, encoded)
        total_bytes += sum(map(len, encoded))
    return json_reply(
        {
            "items": rows,
            "next": _encode_cursor(page_keys[-1]) if len(page_keys) < len(keys) else None,
        }
    )


def parse_cursor(cursor: str | None, key_type: type[Key], first: Key) -> Key:
    """Return the last key of the page before.

    Raises:
        InvalidInputError: when it is no cursor of such a list.
    """
    if cursor is None:
        return first
    try:
        data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.json.decode(data, type=key_type)
    except ValueError:
        message = "String should be the `next` of a page of this list"
        problem = ValidationProblem(("query", "cursor"), message, "cursor", cursor)
        raise InvalidInputError([problem]) from None


def parse_updated_after_ms(text: str | None, zone: tzinfo) -> int:
    """Return an ISO time in UTC ms; -1 for none.

    Raises:
        InvalidInputError: when it is no ISO time.
    """
    if text is None:
        return -1
    try:
        return window_start_ms(normalise_date_or_datetime(text), zone)
    except InvalidDateError as error:
        problem = ValidationProblem(
            ("query", "updated_after"), str(error), "iso_date", text
        )
        raise InvalidInputError([problem]) from None


def _encode_cursor(key: object) -> str:
    return base64.urlsafe_b64encode(_encode(key)).decode().rstrip("=")
