"""Webhooks page: off until an owner adds an address; its secret, its log and replay."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.webhook import (
    DeliveryAttemptResult,
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
    WebhookMessage,
    WebhookMessageState,
)
from productrecs.storage.sql.audit_log import AuditLogRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, text_of

PAGE = "/dashboard/settings/webhooks"
ADDRESS = "https://hooks.example/T0/secret-token"


def endpoints_of(office: Office, store: Store) -> list[WebhookEndpoint]:
    with office.services.database.reading() as connection:
        return WebhookRepository(connection, store.store_id).endpoints()


def log_of(office: Office, store: Store, endpoint_id: str) -> list[WebhookMessage]:
    with office.services.database.reading() as connection:
        return WebhookRepository(connection, store.store_id).newest_messages(
            endpoint_id, 100
        )


def test_an_added_address_shows_its_secret_once_and_only_to_the_owner(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    assert "Nothing is sent yet" in text_of(member.get(PAGE))

    added = member.post(f"{PAGE}/add", address=f" {ADDRESS} ")

    assert added.status == 200
    (secret,) = re.findall(r"whsec_[A-Za-z0-9+/=]+", text_of(added))
    (endpoint,) = endpoints_of(office, store)
    assert (endpoint.url, endpoint.state) == (ADDRESS, WebhookEndpointState.ON)
    assert secret not in endpoint.secret  # stored encrypted
    assert "Store the secret, then send a test." in text_of(added)
    assert office.services.cipher.decrypt(endpoint.secret) == secret
    shown = text_of(member.get(PAGE))
    assert "whsec_" not in shown
    assert ADDRESS in shown
    editor = Member(office.inside)
    editor.log_in(add_user(office.services, store, Role.EDITOR))
    seen = text_of(editor.get(PAGE))
    assert "hooks.example" in seen
    assert "secret-token" not in seen
    assert editor.post(f"{PAGE}/add", address=ADDRESS).status == 403
    with office.services.database.reading() as connection:
        lines = AuditLogRepository(connection, store.store_id).page(5)
    assert any(
        line.action == "Added an address for webhooks"
        and line.detail.startswith("hooks.example: State: on")
        for line in lines
    )
    assert not any("secret-token" in line.detail + line.action for line in lines)


@pytest.mark.parametrize(
    ("address", "words"),
    [("http://hooks.example/", "begin with https"), ("hooks", "whole address")],
)
def test_an_address_that_cannot_be_used_is_explained(
    office: Office, store: Store, address: str, words: str
) -> None:
    reply = office.member(store).post(f"{PAGE}/add", address=address)

    assert reply.status == 422
    assert words in text_of(reply)
    assert endpoints_of(office, store) == []


def test_a_store_has_five_addresses_at_most(office: Office, store: Store) -> None:
    member = office.member(store)
    statuses = [member.post(f"{PAGE}/add", address=ADDRESS).status for _ in range(6)]

    assert statuses == [200] * 5 + [422]
    assert len(endpoints_of(office, store)) == 5


def test_a_test_message_is_logged_and_can_be_sent_again(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    member.post(f"{PAGE}/add", address=ADDRESS)
    (endpoint,) = endpoints_of(office, store)
    id_ = endpoint.endpoint_id
    assert member.post(f"{PAGE}/test", endpoint=id_).status == 303
    (message,) = log_of(office, store, id_)
    shown = text_of(member.get(PAGE))
    assert "ping" in shown
    assert "0 delivered, 1 waiting, 0 failed" in shown
    with office.services.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, store.store_id)
        for attempts in range(10):
            tried = replace(message, attempts=attempts)
            webhooks.record_attempt_and_schedule_retry(
                tried, DeliveryAttemptResult(500, "answered 500"), office.now_ms
            )
    failed = text_of(member.get(PAGE))
    assert "answered 500" in failed
    assert "0 delivered, 0 waiting, 1 failed" in failed

    assert member.post(f"{PAGE}/replay", endpoint=id_, number="1").status == 303

    (again,) = log_of(office, store, id_)
    assert (again.state, again.attempts) == (WebhookMessageState.PENDING, 0)
    assert again.message_id == message.message_id
    assert member.post(f"{PAGE}/replay", endpoint=id_, number="2").status == 404
    assert member.post(f"{PAGE}/replay", endpoint="x", number="1").status == 404


def test_a_sample_of_each_message_can_be_sent(office: Office, store: Store) -> None:
    member = office.member(store)
    member.post(f"{PAGE}/add", address=ADDRESS)
    (endpoint,) = endpoints_of(office, store)
    text = Path("src/productrecs/features/guides/pages/webhooks.md").read_text()
    guide = [line for line in text.splitlines() if line.startswith("| `")]
    page = member.get(PAGE).body.decode()

    for event in WebhookEvent:
        assert f'<option value="{event.value}">' in page
        form = {"endpoint": endpoint.endpoint_id, "event": event.value}
        assert member.post(f"{PAGE}/test", **form).status == 303

        sent = log_of(office, store, endpoint.endpoint_id)[0]
        data = json.loads(sent.body)["data"]
        assert (sent.event, data.pop("is_sample")) == (event, True)
        row = next(line for line in guide if f"`{event.value}`" in line.split("|")[1])
        assert [name for name in data if f"`{name}`" not in row] == []


def test_an_owner_chooses_what_an_address_is_told(office: Office, store: Store) -> None:
    member = office.member(store)
    member.post(f"{PAGE}/add", address=ADDRESS)
    (endpoint,) = endpoints_of(office, store)
    assert endpoint.left_out == frozenset()

    member.post(f"{PAGE}/events", endpoint=endpoint.endpoint_id, event="stockout.foreseen")

    (endpoint,) = endpoints_of(office, store)
    assert set(WebhookEvent) - endpoint.left_out == {
        WebhookEvent.STOCKOUT_FORESEEN,
        WebhookEvent.PING,
    }
    assert member.get(PAGE).body.decode().count(" checked> ") == 1


def test_an_address_is_switched_gets_a_new_secret_and_is_removed_with_its_log(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    member.post(f"{PAGE}/add", address=ADDRESS)
    (endpoint,) = endpoints_of(office, store)
    id_ = endpoint.endpoint_id
    member.post(f"{PAGE}/test", endpoint=id_)

    member.post(f"{PAGE}/switch", endpoint=id_)
    assert endpoints_of(office, store)[0].state is WebhookEndpointState.OFF
    assert "Send a test" not in text_of(member.get(PAGE)).partition("Log")[0]
    member.post(f"{PAGE}/switch", endpoint=id_, on="1")
    assert endpoints_of(office, store)[0].state is WebhookEndpointState.ON
    assert "whsec_" in text_of(member.post(f"{PAGE}/secret", endpoint=id_))
    assert endpoints_of(office, store)[0].secret != endpoint.secret
    member.post(f"{PAGE}/remove", endpoint=id_)
    assert endpoints_of(office, store) == []
    assert log_of(office, store, id_) == []


def test_a_long_log_has_pages(office: Office, store: Store) -> None:
    member = office.member(store)
    member.post(f"{PAGE}/add", address=ADDRESS)
    (endpoint,) = endpoints_of(office, store)
    for _ in range(30):
        member.post(f"{PAGE}/test", endpoint=endpoint.endpoint_id)

    first = member.get(PAGE).body.decode()
    (older,) = re.findall(r'href="([^"]+before=[^"]+)#log">Older', first)
    second = member.get(older.replace("&amp;", "&")).body.decode()

    numbers = [
        [int(one) for one in re.findall(r'name="number" value="(\d+)"', page)]
        for page in (first, second)
    ]
    assert numbers == [list(range(30, 5, -1)), list(range(5, 0, -1))]
