"""Health checks: GET /health/live and GET /health/ready."""

from typing import Annotated, Final

from fastapi import Query, Request, Response

from productrecs.core.plural import counted
from productrecs.http.limits.client_address import address_of_client, peer_of
from productrecs.http.openapi_responses import (
    NULLABLE_TEXT,
    OK_EXAMPLE,
    OK_REPLY,
    error_responses,
    object_schema,
    success_response,
)
from productrecs.http.pipeline.error_responses import error_response
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.readiness_checks import CHECKS, Readiness
from productrecs.http.pipeline.route_context import ProcessContext, RequestContext
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.transport.error_body import ErrorCode
from productrecs.storage.files.snapshot_cache import SHARE_MODELS

routes = Routes("public")

_DEEP: Final = 5_000
NOT_READY: Final = ErrorCode(503, "not_ready")

_OBSERVED_REQUEST: Final = object_schema(
    scheme=NULLABLE_TEXT, host=NULLABLE_TEXT, client=NULLABLE_TEXT
) | {"description": "With `seen=true`: the forwarding headers of the request."}
_LIVE: Final = {
    "type": "object",
    "required": ["ok"],
    "properties": {"ok": OK_REPLY, "seen": _OBSERVED_REQUEST},
}
_READY: Final = object_schema(
    ok=OK_REPLY,
    checks={
        "type": "object",
        "required": list(CHECKS),
        "properties": {
            name: {"type": "string", "description": "`ok`, or what is degraded."}
            for name in CHECKS
        },
    },
)
_READY_EXAMPLE: Final = {**OK_EXAMPLE, "checks": dict.fromkeys(CHECKS, "ok")}
StrictQuery = Annotated[
    bool,
    Query(
        description="Return 503 also when only the freshness of lists suffers.",
        examples=[True],
    ),
]
SeenQuery = Annotated[
    bool,
    Query(description="Return the forwarding headers of the request.", examples=[True]),
]


def determine_readiness(
    context: ProcessContext, *, draining: bool, preloaded: bool
) -> Readiness:
    """Return why this process should get no requests now, if there is a reason."""
    current = context.dependencies.current_readiness()
    reasons, warnings = dict(current.reasons), dict(current.warnings)
    if draining:
        reasons["process"] = "shutting down"
    elif not context.write_client.is_writer_available:
        reasons["process"] = "the writer process is not running yet"
    if count := context.stores.lacking_models_count:
        message = f"this data folder lacks the models of {counted(count, 'store')}"
        reasons["models"] = f"{message}: {SHARE_MODELS}"
    if not preloaded:
        reasons["models"] = "still loading the stores and their models"
    if not context.stores.is_current:
        reasons["database"] = "the database cannot be read"
    if context.write_client.depth > _DEEP:
        reasons["writes"] = "too many writes are waiting"
    if count := context.stores.refused_models_count:
        message = f"damaged models of {count} stores were rejected; the previous ones serve"
        warnings["models"] = message
    return Readiness(reasons, warnings)


@routes.get(
    "/health/live",
    NONE,
    is_rate_limited=False,
    summary="Check that the process runs",
    responses=success_response("It runs.", _LIVE, OK_EXAMPLE) | error_responses(422),
)
async def live(request: Request, *, seen: SeenQuery = False) -> Response:
    """Answer 200 as long as the process can answer at all.

    For a supervisor that restarts a process without answers. With `seen=true` the reply
    also has the forwarding headers of the request, to set up a proxy.
    """
    body: dict[str, object] = {"ok": True}
    if seen:
        body["seen"] = _forwarded_scheme_host_client(request)
    return json_reply(body)


def _forwarded_scheme_host_client(request: Request) -> dict[str, str | None]:
    """Return the scheme, host and client that the service believes of a request.

    None stands for a header that the proxy does not send.
    """
    headers = dict(request.scope["headers"])
    scheme = headers.get(b"x-forwarded-proto", b"").rpartition(b",")[2].strip()
    forwarded = headers.get(b"x-forwarded-for")
    return {
        "scheme": scheme.decode("latin-1") or None,
        "host": request.headers.get("host"),
        "client": address_of_client(peer_of(request.scope), headers) if forwarded else None,
    }


@routes.get(
    "/health/ready",
    NONE,
    is_rate_limited=False,
    summary="Check that the service is ready for requests",
    responses=success_response("They may.", _READY, _READY_EXAMPLE)
    | error_responses("not_ready", 422),
)
async def ready(request: Request, *, strict: StrictQuery = False) -> Response:
    """Answer 200 when the process is ready, else 503 with each failed check.

    For a proxy or a container's health check. What only makes lists less fresh (no
    worker, a full disk, a damaged page) is in `checks` and does not fail readiness; for
    a monitor, `strict=true` makes it fail.
    """
    exchange: RequestContext = request.scope["productrecs"]
    readiness = exchange.readiness()
    if strict:
        readiness = Readiness({**readiness.warnings, **readiness.reasons})
    if readiness.reasons:
        return not_ready_response(request, readiness)
    body = {"ok": True, "checks": readiness.results_by_check()}
    return json_reply(body)


def not_ready_response(request: Request, readiness: Readiness) -> Response:
    """Return the refusal of a process that should get no requests now."""
    reasons = list(readiness.reasons.values())
    detail = "not ready: " + "; ".join(reasons)
    extra_fields = {"reasons": reasons, "checks": readiness.results_by_check()}
    return error_response(request, NOT_READY, detail, extra_fields)
