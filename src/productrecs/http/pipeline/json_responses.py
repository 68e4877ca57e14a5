"""JSON responses: a value as the JSON text of a reply."""

from collections.abc import Mapping
from typing import Final

import msgspec
from fastapi import Response

_encode: Final = msgspec.json.Encoder().encode


def json_reply(
    content: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a value as JSON."""
    return Response(_encode(content), status, headers, media_type="application/json")
