"""Metrics endpoint: GET /metrics, for Prometheus.

Any process answers for all processes of its supervisor, from the files of
prometheus_client's multiprocess mode, and for the installation, from the database.
"""

import asyncio
from typing import Final

from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import choose_encoder

from productrecs.entrypoints.http.pipeline.route_context import Context, RequestContext
from productrecs.entrypoints.http.routes.public.page_response import text_response
from productrecs.entrypoints.http.routes.public.prometheus_metrics import MetricsCollector

router = APIRouter(tags=["public"])

_EXAMPLE: Final = """# HELP productrecs_events_received_total Events that were stored.
# TYPE productrecs_events_received_total counter
productrecs_events_received_total 1027.0
"""


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Return the installation's metrics",
    responses=text_response("text/plain", "The metrics, as text.", _EXAMPLE),
    response_class=Response,
)
async def metrics(request: Request) -> Response:
    """Return metrics in the format of Prometheus, or in OpenMetrics if accepted.

    Requires the operator's token; no metric is about a shopper or a product.
    """
    exchange: RequestContext = request.scope["productrecs"]
    exchange.context.request_metrics.settle()
    accept = request.headers.get("accept", "")
    body, kind = await asyncio.to_thread(_written, exchange.context, accept)
    return Response(body, headers={"content-type": kind})


def _written(context: Context, accept: str) -> tuple[bytes, str]:
    encode, kind = choose_encoder(accept)
    return encode(MetricsCollector(context)), kind
