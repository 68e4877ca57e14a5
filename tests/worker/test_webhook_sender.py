"""Webhook sender: at least once, in order, for each store alone, and after a kill."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS, SECOND_MS, system_ms
from productrecs.core.ids import StoreId
from productrecs.features.webhooks.repository import WebhookRepository, due_messages
from productrecs.features.webhooks.webhook import (
    RETRY_WAITS_MS,
    DeliveryAttemptResult,
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
    WebhookMessage,
    WebhookMessageState,
    new_secret,
    webhook_signature_headers,
)
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.tables import leases
from productrecs.worker.webhook_sender import WebhookSender
from tests.support.migrated import bring
from tests.support.project import ROOT
from tests.support.service import eventually
from tests.support.stores import new_store
from tests.support.webhook_receiver import HOST, WebhookReceiver, receiving

STOCK, IMPORT = WebhookEvent.STOCKOUT_FORESEEN, WebhookEvent.IMPORT_FINISHED


class Outbox:
    """A service with a clock of its own, its stores, and their messages."""

    def __init__(self, services: Services) -> None:
        self.now = [system_ms()]
        self.services = replace(services, system_clock=lambda: self.now[0])
        self.secrets: dict[StoreId, str] = {}

    def store(self, domain: str, *urls: str) -> StoreId:
        """Register a store with endpoints, whose ids are their places: 0, 1, ..."""
        database = self.services.database
        store = new_store(database, domain)
        secret = self.secrets[store.store_id] = new_secret()
        with database.transaction() as transaction:
            for place, url in enumerate(urls):
                stored = self.services.cipher.encrypt_if_keyed(secret)
                endpoint = WebhookEndpoint(
                    str(place), url, stored, WebhookEndpointState.ON, place
                )
                WebhookRepository(transaction, store.store_id).add_endpoint(endpoint)
        return store.store_id

    def send(self, store_id: StoreId, event: WebhookEvent, **data: object) -> None:
        """Write a message to each endpoint of a store."""
        with self.services.database.transaction() as transaction:
            webhooks = WebhookRepository(transaction, store_id)
            webhooks.enqueue_for_subscribed_endpoints(event, data, self.now[0])

    def log(self, store_id: StoreId, endpoint_id: str = "0") -> list[WebhookMessage]:
        """Return an endpoint's messages, oldest first."""
        with self.services.database.reading() as connection:
            webhooks = WebhookRepository(connection, store_id)
            return list(reversed(webhooks.newest_messages(endpoint_id, 100)))

    def states(
        self, store_id: StoreId, endpoint_id: str = "0"
    ) -> list[WebhookMessageState]:
        """Return the states of an endpoint's messages, oldest first."""
        return [message.state for message in self.log(store_id, endpoint_id)]

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Send what is due while the block runs."""
        sender = WebhookSender(self.services, idle_seconds=0.1)
        thread = threading.Thread(target=sender.run)
        thread.start()
        try:
            yield
        finally:
            sender.stop()
            thread.join()


@pytest.fixture
def outbox(tmp_path: Path, database_url: str | None) -> Iterator[Outbox]:
    settings = Settings(tmp_path, database_url, webhook_hosts=frozenset({HOST}))
    bring(tmp_path, database_url)
    with contextlib.closing(build_services(settings)) as opened:
        yield Outbox(opened)


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with receiving() as opened:
        yield opened


def test_each_endpoint_gets_each_message_once_in_order_and_signed(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    store_id = outbox.store("a.example", f"{receiver.base}/a", f"{receiver.base}/b")
    other_id = outbox.store("b.example", f"{receiver.base}/c")
    for place in range(5):
        outbox.send(store_id, STOCK, place=place)

    with outbox.sending():
        eventually(lambda: len(receiver.requests) == 10, 20)

    for path in ("/a", "/b"):
        found = receiver.of(path)
        assert [one.message["data"]["place"] for one in found] == list(range(5))
        assert len({one.headers["webhook-id"] for one in found}) == 5
    assert outbox.states(store_id) == [WebhookMessageState.DELIVERED] * 5
    assert (outbox.log(other_id), receiver.of("/c")) == ([], [])
    request = receiver.requests[0]
    sent_at = int(request.headers["webhook-timestamp"])
    signed = webhook_signature_headers(
        request.headers["webhook-id"], request.body, outbox.secrets[store_id], sent_at
    )
    assert signed.items() <= request.headers.items()


def test_a_failing_message_holds_back_its_own_event_only(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    receiver.statuses["/a"] = 500
    store_id = outbox.store("a.example", f"{receiver.base}/a")
    outbox.send(store_id, STOCK, place=0)
    outbox.send(store_id, STOCK, place=1)
    with outbox.sending():
        eventually(lambda: len(receiver.requests) == 1, 20)
        eventually(lambda: outbox.log(store_id)[0].attempts == 1, 20)
        receiver.statuses["/a"] = 204
        outbox.send(store_id, IMPORT, place=2)
        eventually(lambda: outbox.states(store_id)[2] is WebhookMessageState.DELIVERED, 20)
        assert outbox.states(store_id)[:2] == [WebhookMessageState.PENDING] * 2
        outbox.now[0] += RETRY_WAITS_MS[0]
        eventually(lambda: len(receiver.requests) == 4, 20)

    places = [one.message["data"]["place"] for one in receiver.requests]
    assert places == [0, 2, 0, 1]
    ids = [one.headers["webhook-id"] for one in receiver.requests]
    assert ids[0] == ids[2]


def test_a_message_is_retried_for_three_days_and_can_be_sent_again_by_hand(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    receiver.statuses["/a"] = 500
    store_id = outbox.store("a.example", f"{receiver.base}/a")
    outbox.send(store_id, STOCK)
    began = outbox.now[0]
    with outbox.sending():
        for attempt in range(1, len(RETRY_WAITS_MS) + 2):
            eventually(lambda: outbox.log(store_id)[0].attempts == attempt, 20)  # noqa: B023
            outbox.now[0] = max(outbox.now[0], outbox.log(store_id)[0].next_at)
        assert outbox.states(store_id) == [WebhookMessageState.FAILED]
        assert outbox.log(store_id)[0].reply == "answered 500"
        assert 2.9 * DAY_MS < outbox.now[0] - began < 3.1 * DAY_MS
        receiver.statuses["/a"] = 204
        with outbox.services.database.transaction() as transaction:
            webhooks = WebhookRepository(transaction, store_id)
            assert webhooks.requeue("0", 1, outbox.now[0])
            assert not webhooks.requeue("0", 2, outbox.now[0])
        eventually(lambda: outbox.states(store_id) == [WebhookMessageState.DELIVERED], 20)

    assert len({one.headers["webhook-id"] for one in receiver.requests}) == 1


def test_slow_receivers_of_one_store_do_not_hold_up_another_store(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    urls = [f"{receiver.base}/slow{place}" for place in range(4)]
    slow_id = outbox.store("slow.example", *urls)
    store_id = outbox.store("a.example", f"{receiver.base}/a")
    for event in WebhookEvent:
        outbox.send(slow_id, event)
    with outbox.sending():
        eventually(lambda: len(receiver.requests) == 1, 20)
        outbox.send(store_id, STOCK)
        eventually(lambda: outbox.states(store_id) == [WebhookMessageState.DELIVERED], 8)
        assert len(receiver.requests) == 2
        receiver.release()


def test_new_messages_go_before_those_that_failed_before(outbox: Outbox) -> None:
    failed_id = outbox.store("failed.example", "https://hooks.example/")
    store_id = outbox.store("a.example", "https://hooks.example/")
    outbox.send(failed_id, STOCK)
    (message,) = outbox.log(failed_id)
    with outbox.services.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, failed_id)
        webhooks.record_attempt_and_schedule_retry(
            message, DeliveryAttemptResult(500, ""), outbox.now[0]
        )
        # What another process sent meanwhile is not counted twice.
        webhooks.record_attempt_and_schedule_retry(
            message, DeliveryAttemptResult(204, ""), outbox.now[0]
        )
    assert outbox.states(failed_id) == [WebhookMessageState.PENDING]
    outbox.now[0] += RETRY_WAITS_MS[0]
    outbox.send(store_id, STOCK)

    with outbox.services.database.reading() as connection:
        found = due_messages(connection, outbox.now[0], 10)
        assert [due.store_id for due in found] == [store_id, failed_id]
        idle = due_messages(connection, outbox.now[0], 10, {store_id})
        assert [due.store_id for due in idle] == [failed_id]


def test_an_endpoint_that_answers_410_gets_nothing_until_it_is_switched_on(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    receiver.statuses["/a"] = 410
    store_id = outbox.store("a.example", f"{receiver.base}/a", f"{receiver.base}/b")
    outbox.send(store_id, STOCK)
    with outbox.sending():
        eventually(
            lambda: outbox.states(store_id, "1") == [WebhookMessageState.DELIVERED], 20
        )
        eventually(lambda: outbox.log(store_id)[0].attempts == 1, 20)
        outbox.send(store_id, STOCK)
        outbox.now[0] += HOUR_MS
        eventually(lambda: len(receiver.of("/b")) == 2, 20)
        assert len(receiver.of("/a")) == 1
        receiver.statuses["/a"] = 204
        with outbox.services.database.transaction() as transaction:
            webhooks = WebhookRepository(transaction, store_id)
            assert webhooks.endpoints()[0].state is WebhookEndpointState.GONE
            webhooks.set_state("0", WebhookEndpointState.ON)
        eventually(lambda: outbox.states(store_id) == [WebhookMessageState.DELIVERED], 20)


def test_a_clock_that_was_set_back_holds_no_message_back(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    store_id = outbox.store("a.example", f"{receiver.base}/a")
    outbox.send(store_id, STOCK)
    outbox.now[0] -= 30 * DAY_MS
    with outbox.sending():
        eventually(lambda: outbox.states(store_id) == [WebhookMessageState.DELIVERED], 20)


def test_a_secret_that_cannot_be_read_is_said_so(
    outbox: Outbox, receiver: WebhookReceiver
) -> None:
    store_id = outbox.store("a.example", f"{receiver.base}/a")
    with outbox.services.database.transaction() as transaction:
        WebhookRepository(transaction, store_id).set_secret("0", "fernet:nonsense")
    outbox.send(store_id, STOCK)
    with outbox.sending():
        eventually(lambda: outbox.log(store_id)[0].attempts == 1, 20)

    assert "make a new secret" in outbox.log(store_id)[0].reply
    assert receiver.requests == []


def test_the_log_has_thirty_days_and_goes_with_its_endpoint(outbox: Outbox) -> None:
    store_id = outbox.store("a.example", "https://hooks.example/")
    other_id = outbox.store("b.example", "https://hooks.example/")
    for _ in range(2):
        outbox.send(store_id, STOCK)
        outbox.send(other_id, STOCK)
        outbox.now[0] += 20 * DAY_MS
    with outbox.services.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, store_id)
        webhooks.set_source_position("plan", {"a": 1})
        webhooks.delete_old_messages(outbox.now[0])
        assert [message.number for message in webhooks.newest_messages("0", 10)] == [2]
        assert webhooks.counts_by_state()["0"][WebhookMessageState.PENDING] == 1
        webhooks.remove_endpoint_with_messages("0")
        assert (webhooks.endpoints(), webhooks.newest_messages("0", 10)) == ([], [])
        assert webhooks.source_positions() == {}

    assert len(outbox.log(other_id)) == 2


def test_a_message_is_sent_again_after_a_kill_while_it_was_sent(
    outbox: Outbox, receiver: WebhookReceiver, tmp_path: Path, database_url: str | None
) -> None:
    store_id = outbox.store("a.example", f"{receiver.base}/slow")
    outbox.send(store_id, STOCK, place=1)
    outbox.send(store_id, STOCK, place=2)
    environment = os.environ | {"PRODUCTRECS_WEBHOOK_HOSTS": HOST}
    if database_url is not None:
        environment["DATABASE_URL"] = database_url
    command = [sys.executable, "-m", "productrecs", "worker", "--data", str(tmp_path)]
    sender = subprocess.Popen([*command, "--lane", "pictures"], cwd=ROOT, env=environment)
    try:
        eventually(lambda: len(receiver.requests) == 1, 40)
    finally:
        sender.send_signal(signal.SIGKILL)
        sender.wait()
    assert outbox.states(store_id) == [WebhookMessageState.PENDING] * 2
    with outbox.services.database.transaction() as transaction:
        transaction.execute(leases.update().values(expires_at=0))  # its time is over
    receiver.release()

    with outbox.sending():
        eventually(
            lambda: outbox.states(store_id) == [WebhookMessageState.DELIVERED] * 2, 20
        )

    places = [one.message["data"]["place"] for one in receiver.requests]
    assert places == [1, 1, 2]
    assert len({one.headers["webhook-id"] for one in receiver.requests}) == 2


def test_two_senders_send_nothing_twice(outbox: Outbox, receiver: WebhookReceiver) -> None:
    store_id = outbox.store("a.example", f"{receiver.base}/slow", f"{receiver.base}/b")
    for _ in range(3):
        outbox.send(store_id, STOCK)
    with outbox.sending():
        eventually(lambda: len(receiver.requests) == 1, 20)
        with outbox.sending():
            outbox.now[0] += SECOND_MS
            receiver.release()
            eventually(lambda: len(receiver.requests) == 6, 20)
        eventually(
            lambda: outbox.states(store_id) == [WebhookMessageState.DELIVERED] * 3, 20
        )

    assert len(receiver.requests) == 6
