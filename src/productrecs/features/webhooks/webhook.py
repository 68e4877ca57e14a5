"""Webhook: its events, messages and signature (Standard Webhooks), and when it is retried.

A message is sent at least once, and those of one event in their order: a message waits
until the one before it was delivered or has failed for three days.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from productrecs.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import random_text
from productrecs.core.outbound_http import is_trusted_host, split_typed_url
from productrecs.core.timestamps import iso

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from productrecs.core.ids import StoreId

MAX_ENDPOINTS: Final = 5
"""The most addresses of one store."""

LOG_DAYS: Final = 30
"""How many days the log has messages."""

RETRY_WAITS_MS: Final = (
    5 * SECOND_MS,
    5 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    5 * HOUR_MS,
    10 * HOUR_MS,
    14 * HOUR_MS,
    20 * HOUR_MS,
    20 * HOUR_MS,
)
"""The waits after failed attempts: those Standard Webhooks proposes, for three days."""

MAX_WAIT_MS: Final = DAY_MS
"""The longest wait, also when a receiver asks for a longer one."""

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - no secret yet
_SECRET_BYTES: Final = 32
_MAX_URL: Final = 500


class WebhookEvent(StrEnum):
    """What a message is about."""

    STOCKOUT_FORESEEN = "stockout.foreseen"
    IMPORT_FINISHED = "import.finished"
    IMPORT_FAILED = "import.failed"
    QUOTA_REACHED = "quota.reached"
    TEST_DECIDED = "test.decided"
    SEARCHES_WITHOUT_RESULTS = "searches.without_results"
    KEY_EXPOSED = "key.exposed"
    PLAN_ENDING = "plan.ending"
    PING = "ping"  # the test button


class WebhookEndpointState(StrEnum):
    """Whether messages are sent to an endpoint."""

    ON = "on"
    OFF = "off"
    GONE = "gone"  # it answered 410


class WebhookMessageState(StrEnum):
    """What became of a message."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class RefusedWebhookEndpointError(ProductRecsError):
    """An endpoint cannot be added; the message says why."""


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """A merchant's address for webhooks."""

    endpoint_id: str
    url: str
    secret: str = field(repr=False)  # as it is stored
    state: WebhookEndpointState
    created_at: int
    left_out: frozenset[WebhookEvent] = frozenset()
    """The events that it does not get; so it gets those that a later version adds."""

    def wants(self, event: WebhookEvent) -> bool:
        """Return whether it gets messages of this event."""
        return self.state is WebhookEndpointState.ON and event not in self.left_out


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """One message to one endpoint."""

    endpoint_id: str
    number: int
    event: WebhookEvent
    body: str
    created_at: int
    state: WebhookMessageState
    attempts: int
    next_at: int
    tried_at: int | None
    reply: str

    @property
    def message_id(self) -> str:
        """The `webhook-id`: the same in each attempt and replay."""
        return f"msg_{self.endpoint_id}_{self.number}"


@dataclass(frozen=True, slots=True)
class DueWebhookMessage:
    """A message to send now, with its receiver."""

    store_id: StoreId
    message: WebhookMessage
    endpoint: WebhookEndpoint


@dataclass(frozen=True, slots=True)
class WebhookBacklog:
    """The endpoints of all stores, and the messages that wait for those that are on."""

    endpoints: Mapping[WebhookEndpointState, int]
    waiting: int
    since_ms: int | None  # when the oldest of them was stored


@dataclass(frozen=True, slots=True)
class DeliveryAttemptResult:
    """What one attempt got: the status code, or none, and a text for the log."""

    status: int | None
    reply: str
    wait_ms: int = 0  # the receiver asked for it

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver accepted the message."""
        return self.status is not None and self.status // 100 == 2  # noqa: PLR2004 - HTTP

    @property
    def is_gone(self) -> bool:
        """Whether the receiver wants no more messages."""
        return self.status == 410  # noqa: PLR2004 - HTTP


def new_endpoint_id() -> str:
    """Return the id of a new endpoint."""
    return random_text(16)


def new_secret() -> str:
    """Return a new secret for signatures, as the merchant copies it."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def message_body(event: WebhookEvent, data: Mapping[str, object], now_ms: int) -> str:
    """Return a message as it is stored, signed and sent."""
    content = {"type": event.value, "timestamp": iso(now_ms), "data": data}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def webhook_signature_headers(
    message_id: str, body: bytes, secret: str, now_s: int
) -> dict[str, str]:
    """Return the headers that prove a message's sender and time."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((message_id.encode(), str(now_s).encode(), body))
    signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(now_s),
        "webhook-signature": f"v1,{signature}",
    }


def parse_endpoint_url(url: str, trusted: Collection[str]) -> str:
    """Return an endpoint's URL without blanks around it.

    Whether its host is public is checked by each attempt, since it may change.

    Raises:
        RefusedWebhookEndpointError: when it is not an https URL, or http of a trusted host.
    """
    url = url.strip()
    split = split_typed_url(url, _MAX_URL)
    if split is None:
        message = "Enter a whole address, such as https://hooks.example.com/productrecs."
        raise RefusedWebhookEndpointError(message)
    is_trusted = is_trusted_host(split.hostname or "", split.port, trusted)
    if split.scheme != "https" and not (split.scheme == "http" and is_trusted):
        message = "The address must begin with https://, so that nobody else can read it."
        raise RefusedWebhookEndpointError(message)
    if "@" in split.netloc or split.fragment:
        message = "The address may contain neither a user, a password nor a # part."
        raise RefusedWebhookEndpointError(message)
    return url


def next_attempt_at(
    message: WebhookMessage, attempt: DeliveryAttemptResult, now_ms: int
) -> int | None:
    """Return when a failed message is sent again; None after the last attempt."""
    if message.attempts >= len(RETRY_WAITS_MS):
        return None
    wait_ms = max(RETRY_WAITS_MS[message.attempts], min(attempt.wait_ms, MAX_WAIT_MS))
    return now_ms + wait_ms
