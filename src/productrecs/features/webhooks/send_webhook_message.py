"""Sends a webhook message: one signed POST to a checked address, within ten seconds.

Redirects are not followed: a receiver that has moved counts as failed, and the merchant
changes the address.
"""

from __future__ import annotations

import http.client
import time
from typing import TYPE_CHECKING, Final

from productrecs.core.outbound_http import (
    ForbiddenUrlError,
    OutboundTarget,
    Resolve,
    connect,
    resolve_host,
    resolve_target,
    send_request,
    unreachable_reason,
)
from productrecs.features.webhooks.webhook import (
    DeliveryAttemptResult,
    RefusedWebhookEndpointError,
    WebhookMessage,
    parse_endpoint_url,
    webhook_signature_headers,
)

if TYPE_CHECKING:
    from collections.abc import Collection

SEND_SECONDS: Final = 10.0
_AGENT: Final = "ProductRecs (webhooks)"
_BACKOFF_STATUSES: Final = frozenset({429, 503})


def send_message(
    message: WebhookMessage,
    url: str,
    secret: str,
    now_ms: int,
    trusted: Collection[str] = (),
    lookup: Resolve = resolve_host,
    seconds: float = SEND_SECONDS,
) -> DeliveryAttemptResult:
    """Send a message once; return what the receiver answered, or why it did not."""
    until = time.monotonic() + seconds
    body = message.body.encode()
    headers = webhook_signature_headers(message.message_id, body, secret, now_ms // 1_000)
    try:
        target = resolve_target(parse_endpoint_url(url, trusted), trusted, lookup)
        return _post_signed_body(target, headers, body, until)
    except RefusedWebhookEndpointError as error:
        return DeliveryAttemptResult(None, str(error))
    except ForbiddenUrlError as error:
        return DeliveryAttemptResult(
            None, f"not sent: {error.with_remedy('PRODUCTRECS_WEBHOOK_HOSTS')}"
        )
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= until:
            return DeliveryAttemptResult(None, f"no answer within {seconds:.0f} seconds")
        return DeliveryAttemptResult(None, unreachable_reason(error))


def _post_signed_body(
    target: OutboundTarget, signed: dict[str, str], body: bytes, until: float
) -> DeliveryAttemptResult:
    with connect(target, until) as connection:
        headers = {
            "User-Agent": _AGENT,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **signed,
        }
        send_request(connection, "POST", target, headers, body)
        response = connection.getresponse()
        try:
            wait = response.getheader("retry-after") or ""
            may_wait = response.status in _BACKOFF_STATUSES and wait.isdecimal()
            seconds = int(wait[:6]) if may_wait else 0
            return DeliveryAttemptResult(
                response.status, f"answered {response.status}", seconds * 1_000
            )
        finally:
            response.close()
