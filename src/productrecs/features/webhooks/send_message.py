"""Sends a webhook message: one signed POST to a checked address, within ten seconds.

Redirects are not followed: a receiver that has moved counts as failed, and the merchant
changes the address.
"""

from __future__ import annotations

import http.client
import socket
import time
from typing import TYPE_CHECKING, Final

from productrecs.core.outbound_http import (
    ForbiddenUrlError,
    OutboundTarget,
    Resolve,
    connect,
    resolve_host,
    resolve_target,
)
from productrecs.features.webhooks.webhook import (
    DeliveryAttemptResult,
    WebhookError,
    WebhookMessage,
    parse_endpoint_url,
    signed_headers,
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
    headers = signed_headers(message.message_id, body, secret, now_ms // 1_000)
    try:
        target = resolve_target(parse_endpoint_url(url, trusted), trusted, lookup)
        return _post(target, headers, body, until)
    except WebhookError as error:
        return DeliveryAttemptResult(None, str(error))
    except ForbiddenUrlError as error:
        return DeliveryAttemptResult(
            None, f"not sent: {error.with_remedy('PRODUCTRECS_WEBHOOK_HOSTS')}"
        )
    except socket.gaierror:
        return DeliveryAttemptResult(None, "its host is not known; check the address")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= until:
            return DeliveryAttemptResult(None, f"no answer within {seconds:.0f} seconds")
        return DeliveryAttemptResult(
            None, f"the host cannot be reached ({type(error).__name__})"
        )


def _post(
    target: OutboundTarget, signed: dict[str, str], body: bytes, until: float
) -> DeliveryAttemptResult:
    with connect(target, until) as connection:
        headers = {
            "Host": target.origin,
            "User-Agent": _AGENT,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **signed,
        }
        connection.putrequest(
            "POST", target.path, skip_host=True, skip_accept_encoding=True
        )
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
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
