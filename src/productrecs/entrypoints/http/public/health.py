"""GET /health/live and /health/ready: is anybody there, and can they answer?"""

from collections.abc import Callable
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Query, Request, Response

from productrecs.entrypoints.http.context import Context, Exchange
from productrecs.entrypoints.http.documentation import (
    NULLABLE_TEXT,
    OK_EXAMPLE,
    OK_REPLY,
    answers,
    errors,
    reply,
)
from productrecs.entrypoints.http.errors import Answer
from productrecs.entrypoints.http.refusing import refused

router = APIRouter(tags=["public"])

_encode: Final = msgspec.json.Encoder().encode
_DEEP: Final = 5_000
NOT_READY: Final = Answer(503, "not_ready")
Readiness = Callable[[], list[str]]

_SEEN: Final = answers(scheme=NULLABLE_TEXT, host=NULLABLE_TEXT, client=NULLABLE_TEXT) | {
    "description": "With `seen=true`: what proxies said of the request."
}
_LIVE: Final = {
    "type": "object",
    "required": ["ok"],
    "properties": {"ok": OK_REPLY, "seen": _SEEN},
}
SeenQuery = Annotated[
    bool,
    Query(description="Tell what proxies said of the request.", examples=[True]),
]


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
    responses=reply("It runs.", _LIVE, OK_EXAMPLE) | errors(422),
    response_class=Response,
)
async def live(request: Request, *, seen: SeenQuery = False) -> Response:
    """Answer 200 as long as the process can answer at all.

    For a supervisor that starts again what does not answer. With `seen=true` it also tells
    how the request came here, for whoever sets up a proxy.
    """
    told: dict[str, object] = {"ok": True}
    if seen:
        headers = request.headers
        told["seen"] = {
            "scheme": _last(headers.get("x-forwarded-proto")),
            "host": headers.get("host"),
            "client": _last(headers.get("x-forwarded-for")),
        }
    return Response(_encode(told), media_type="application/json")


def _last(told: str | None) -> str | None:
    """Return what the nearest proxy added to a header that each of them may add to."""
    return told.split(",")[-1].strip() or None if told else None


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
    return not_ready(request, reasons)


def not_ready(request: Request, reasons: list[str]) -> Response:
    """Return the refusal of a process that should get no requests now."""
    detail = "not ready: " + "; ".join(reasons)
    return refused(request, NOT_READY, detail, {"reasons": reasons})
