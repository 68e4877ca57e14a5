"""What does a declared route send when it refuses? What the gate would, as a response."""

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fastapi import Request, Response

from productrecs.entrypoints.http.errors import Answer, Asked, refusal
from productrecs.entrypoints.http.paths import address_of, base_url

if TYPE_CHECKING:
    from productrecs.entrypoints.http.context import Exchange


def refused(
    request: Request, why: Answer, detail: str, more: Mapping[str, object] | None = None
) -> Response:
    """Return the refusal in the form that the caller asks for; `more` is told with it."""
    exchange: Exchange = request.scope["productrecs"]
    asked = Asked(
        exchange.request_id,
        base_url(request),
        address_of(request.scope),
        request.headers.get("accept", "").encode("latin-1"),
    )
    form = refusal(why, detail, asked, more)
    headers = {"content-type": form.content_type.decode()}
    if why.is_passing:
        headers["retry-after"] = str(random.randint(1, 5))  # noqa: S311 - spreads retries
    return Response(form.body, why.status, headers=headers)
