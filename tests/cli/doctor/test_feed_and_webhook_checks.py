"""Feed and webhook checks: the doctor names receivers that fail."""

from collections.abc import Callable

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, system_ms
from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.webhook import (
    RETRY_WAITS_MS,
    DeliveryAttemptResult,
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
)
from productrecs.services import Services
from productrecs.tenancy.accounts.store_management import find_store
from tests.cli.conftest import CommandLine
from tests.cli.doctor.test_doctor import wrongs

URL = "https://hooks.example.com/secret-path"


def deliver(webhooks: WebhookRepository, status: int | None, now_ms: int) -> None:
    """Store what the newest message's next attempt got."""
    newest = webhooks.newest_messages("1", 1)[0]
    webhooks.record_attempt_and_schedule_retry(
        newest, DeliveryAttemptResult(status, f"answer {status}"), now_ms
    )


def fresh(webhooks: WebhookRepository) -> None:
    webhooks.enqueue("1", WebhookEvent.PING, {}, system_ms() - MINUTE_MS)


def unsent(webhooks: WebhookRepository) -> None:
    webhooks.enqueue("1", WebhookEvent.PING, {}, system_ms() - HOUR_MS)


def delivered(webhooks: WebhookRepository) -> None:
    unsent(webhooks)
    deliver(webhooks, 200, system_ms())


def failing(webhooks: WebhookRepository) -> None:
    unsent(webhooks)
    deliver(webhooks, 500, system_ms())


def switched_off(webhooks: WebhookRepository) -> None:
    failing(webhooks)
    webhooks.set_state("1", WebhookEndpointState.OFF)


def failed(webhooks: WebhookRepository) -> None:
    webhooks.enqueue("1", WebhookEvent.PING, {}, system_ms() - 4 * DAY_MS)
    for _ in range(len(RETRY_WAITS_MS) + 1):
        deliver(webhooks, None, system_ms())


def gone(webhooks: WebhookRepository) -> None:
    unsent(webhooks)
    deliver(webhooks, 410, system_ms())


@pytest.mark.parametrize(
    ("happens", "level", "words"),
    [
        (fresh, "wrong", []),
        (delivered, "wrong", []),
        (switched_off, "wrong", []),
        (
            unsent,
            "wrong",
            ["1 of its webhooks", "not sent since", "start productrecs serve"],
        ),
        (failing, "wrong", ["1 of its webhooks", "wait since", "answer 500", "receiver"]),
        (gone, "wrong", ["are off", "answered 410", "switch it on", "Webhooks"]),
        (failed, "note", ["1 of its webhooks", "failed in the last 30 days", "Webhooks"]),
    ],
)
def test_webhooks_that_do_not_arrive_are_found(
    shell: CommandLine,
    shop: str,
    services: Services,
    happens: Callable[[WebhookRepository], None],
    level: str,
    words: list[str],
) -> None:
    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, store.store_id)
        webhooks.add_endpoint(
            WebhookEndpoint("1", URL, "stored", WebhookEndpointState.ON, 0)
        )
        happens(webhooks)

    found = [line for line in wrongs(shell, level) if "webhooks" in line]

    assert len(found) == bool(words), found
    for line in found:
        assert all(word in line for word in [*words, "hooks.example.com"]), line
        assert "secret-path" not in line
