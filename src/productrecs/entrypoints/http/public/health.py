"""GET /health/live and /health/ready: is anybody there, and can they answer?"""

from collections.abc import Callable
from typing import Final

import msgspec
from fastapi import APIRouter, Request, Response

from productrecs.entrypoints.http.context import Context, Exchange
from productrecs.entrypoints.http.documentation import (
    OK_EXAMPLE,
    OK_REPLY,
    answers,
    errors,
    reply,
)
from productrecs.entrypoints.http.errors import Answer

router = APIRouter(tags=["public"])

_encode: Final = msgspec.json.Encoder().encode
_DEEP: Final = 5_000
NOT_READY: Final = Answer(503, "not_ready")
Readiness = Callable[[], list[str]]


def reasons_against(context: Context, *, draining: bool, preloaded: bool) -> list[str]:
    """Return why this process should get no requests now; none when it is ready."""
    reasons = []
    if draining:
        reasons.append("shutting down")
    if not preloaded:
        reasons.append("still reading the stores into memory")
    if not context.shops.is_current:
        reasons.append("the database cannot be read")
    if not context.desk.is_staffed:
        reasons.append("the process that writes is not there yet")
    if max(context.writer.depth, context.desk.depth) > _DEEP:
        reasons.append("too many writes are waiting")
    return reasons


@router.get(
    "/health/live",
    operation_id="live",
    summary="Tell whether the process runs",
    responses=reply("It runs.", answers(ok=OK_REPLY), OK_EXAMPLE),
    response_class=Response,
)
async def live() -> Response:
    """Answer 200 as long as the process can answer at all.

    For a supervisor that starts again what does not answer.
    """
    return Response(b'{"ok":true}', media_type="application/json")


@router.get(
    "/health/ready",
    operation_id="ready",
    summary="Tell whether requests may come",
    responses=reply("They may.", answers(ok=OK_REPLY), OK_EXAMPLE) | errors("not_ready"),
    response_class=Response,
)
async def ready(request: Request) -> Response:
    """Answer 200 when requests may come, else 503 with the reasons.

    For whatever sends requests here: a proxy, a container's health check.
    """
    exchange: Exchange = request.scope["productrecs"]
    reasons = exchange.readiness()
    if not reasons:
        return Response(b'{"ok":true}', media_type="application/json")
    return not_ready(exchange, reasons)


def not_ready(exchange: Exchange, reasons: list[str]) -> Response:
    """Return the refusal of a process that should get no requests now."""
    content = {
        "detail": "not ready: " + "; ".join(reasons),
        "code": NOT_READY.code,
        "request_id": exchange.request_id,
        "reasons": reasons,
    }
    headers = {"retry-after": "1"}
    return Response(
        _encode(content), NOT_READY.status, headers=headers, media_type="application/json"
    )
