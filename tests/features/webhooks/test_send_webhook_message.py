"""Sending: one signed POST, to public addresses only, and never for long."""

import socket
import time
from collections.abc import Iterator, Sequence

import pytest

from productrecs.features.webhooks.send_webhook_message import send_message
from productrecs.features.webhooks.webhook import (
    DeliveryAttemptResult,
    WebhookEvent,
    WebhookMessage,
    WebhookMessageState,
    webhook_signature_headers,
)
from tests.support.webhook_receiver import HOST, WebhookReceiver, receiving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = WebhookMessage(
    "e", 7, WebhookEvent.PING, '{"a":"ü"}', 0, WebhookMessageState.PENDING, 0, 0, None, ""
)
NOW_MS = 1_614_265_330_000


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    with receiving() as opened:
        yield opened


def send(url: str, seconds: float = 5.0, trusted: str = HOST) -> DeliveryAttemptResult:
    return send_message(MESSAGE, url, SECRET, NOW_MS, {trusted}, seconds=seconds)


def test_a_message_arrives_once_as_it_was_signed(receiver: WebhookReceiver) -> None:
    attempt = send(f"{receiver.base}/hook?shop=1")

    assert attempt.is_delivered
    (request,) = receiver.of("/hook?shop=1")
    signed = webhook_signature_headers("msg_e_7", request.body, SECRET, NOW_MS // 1000)
    assert signed.items() <= request.headers.items()
    assert request.headers["content-type"] == "application/json"
    assert request.body == '{"a":"ü"}'.encode()


@pytest.mark.parametrize(
    ("status", "wait_ms"),
    [(500, 0), (404, 0), (410, 0), (429, 3_600_000), (503, 3_600_000), (301, 0), (307, 0)],
)
def test_any_answer_but_a_2xx_is_a_failure_and_no_redirect_is_followed(
    receiver: WebhookReceiver, status: int, wait_ms: int
) -> None:
    attempt = send(f"{receiver.base}/{status}")

    assert attempt == DeliveryAttemptResult(status, f"answered {status}", wait_ms)
    assert not attempt.is_delivered
    assert attempt.is_gone is (status == 410)
    assert receiver.of("/moved") == []


def test_a_receiver_that_does_not_answer_is_left_in_time(receiver: WebhookReceiver) -> None:
    began = time.monotonic()

    attempt = send(f"{receiver.base}/slow", seconds=0.3)

    assert attempt == DeliveryAttemptResult(None, "no answer within 0 seconds")
    assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.7", "0x7f.1"]
)
def test_nothing_is_sent_to_a_private_address(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> socket.socket:
        raise AssertionError

    monkeypatch.setattr(socket, "create_connection", refuse)
    attempt = send(f"https://{host}/hook", trusted="hooks.example")

    assert attempt.status is None
    assert "not a public address" in attempt.reply
    assert "PRODUCTRECS_WEBHOOK_HOSTS=" in attempt.reply


def test_control_the_same_address_gets_the_message_where_the_operator_allows_it(
    receiver: WebhookReceiver,
) -> None:
    assert send(f"{receiver.base}/allowed").is_delivered
    assert not send(f"{receiver.base}/allowed", trusted="hooks.example").is_delivered
    assert len(receiver.of("/allowed")) == 1


def test_a_name_that_changes_its_address_gets_no_message_at_the_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookups, connected = [0], []

    def lookup(_host: str, _port: int) -> Sequence[str]:
        lookups[0] += 1
        return ["1.1.1.1"] if lookups[0] % 2 else ["127.0.0.1"]

    def connect(address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        connected.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    for _ in range(10):
        url = "https://rebinding.example/"
        attempt = send_message(MESSAGE, url, SECRET, NOW_MS, lookup=lookup)
        assert attempt.status is None

    assert (lookups, connected) == ([10], ["1.1.1.1"] * 5)


def test_a_host_without_an_address_is_named_as_such() -> None:
    def lookup(_host: str, _port: int) -> Sequence[str]:
        raise socket.gaierror

    url = "https://nowhere.example/"
    attempt = send_message(MESSAGE, url, SECRET, NOW_MS, lookup=lookup)

    assert attempt.reply == "its host is not known; check the address"
