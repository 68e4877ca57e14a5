"""Webhook: the signature of the specification, its addresses, and three days of retries."""

import base64
import hmac
import json
from dataclasses import replace

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.features.webhooks.webhook import (
    RETRY_WAITS_MS,
    DeliveryAttemptResult,
    RefusedWebhookEndpointError,
    WebhookEvent,
    WebhookMessage,
    WebhookMessageState,
    message_body,
    new_secret,
    next_attempt_at,
    parse_endpoint_url,
    webhook_signature_headers,
)

MESSAGE = WebhookMessage(
    "e", 1, WebhookEvent.PING, "{}", 0, WebhookMessageState.PENDING, 0, 0, None, ""
)


def test_the_signature_is_that_of_the_published_example() -> None:
    headers = webhook_signature_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        1614265330,
    )

    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_new_secret_has_the_length_and_the_prefix_of_the_specification() -> None:
    secret = new_secret()
    prefix, _, key = secret.partition("_")

    assert prefix == "whsec"
    assert 24 <= len(base64.b64decode(key, validate=True)) <= 64
    assert new_secret() != secret
    signature = webhook_signature_headers("msg_1", b"{}", secret, 7)["webhook-signature"]
    expected = hmac.digest(base64.b64decode(key), b"msg_1.7.{}", "sha256")
    assert base64.b64decode(signature.removeprefix("v1,")) == expected


def test_a_message_has_a_type_a_time_and_facts() -> None:
    body = message_body(WebhookEvent.PLAN_ENDING, {"plan": "größer"}, 1_700_000_000_000)

    assert json.loads(body) == {
        "type": "plan.ending",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "data": {"plan": "größer"},
    }


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "whole address"),
        ("hooks.example", "whole address"),
        ("https://", "whole address"),
        ("https://a b.example/", "whole address"),
        ("https://hooks.example:x/", "whole address"),
        (f"https://hooks.example/{'a' * 500}", "whole address"),
        ("http://hooks.example/", "begin with https"),
        ("ftp://hooks.example/", "begin with https"),
        ("https://user:word@hooks.example/", "neither a user"),
        ("https://hooks.example/#a", "neither a user"),
    ],
)
def test_an_address_that_cannot_get_messages_is_refused(url: str, words: str) -> None:
    with pytest.raises(RefusedWebhookEndpointError, match=words):
        parse_endpoint_url(url, ())


@pytest.mark.parametrize(
    "url", [" https://hooks.example/a?b=c ", "http://n8n.lan:5678/a", "https://1.1.1.1/"]
)
def test_an_address_of_https_or_of_the_operators_hosts_is_taken(url: str) -> None:
    assert parse_endpoint_url(url, {"n8n.lan"}) == url.strip()


def test_retries_go_on_for_three_days_with_longer_and_longer_waits() -> None:
    now, waits = 0, []
    for attempts in range(100):
        due_at = next_attempt_at(
            replace(MESSAGE, attempts=attempts), DeliveryAttemptResult(500, ""), now
        )
        if due_at is None:
            break
        waits.append(due_at - now)
        now = due_at

    assert len(waits) == len(RETRY_WAITS_MS)
    assert waits == sorted(waits)
    assert 2.9 * DAY_MS < now < 3.1 * DAY_MS


def test_a_receiver_may_ask_for_a_longer_wait_of_a_day_at_most() -> None:
    for asked_ms, waited_ms in ((HOUR_MS, HOUR_MS), (9 * DAY_MS, DAY_MS), (1, 5_000)):
        attempt = DeliveryAttemptResult(503, "", asked_ms)
        assert next_attempt_at(MESSAGE, attempt, 10) == 10 + waited_ms
