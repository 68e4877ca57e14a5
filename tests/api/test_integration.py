"""Integration API: calls over several processes, with background jobs running."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.storage.sql.tables import jobs
from tests.support.service import Merchant, Reply, Service, eventually, kept_once


def call(merchant: Merchant, method: str, path: str, body: object = None) -> Reply:
    sent = None if body is None else json.dumps(body).encode()
    return merchant.client.ask(method, f"/integration/{path}", sent, merchant.server)


def status(merchant: Merchant) -> Any:
    return call(merchant, "GET", "status").json


def widget(merchant: Merchant, **query: str) -> Any:
    return merchant.client.ask("GET", merchant.target("/v1/widget-config", **query)).json


def shown(merchant: Merchant) -> tuple[int, int]:
    """Return how many products trend, and how many a widget is configured to show."""
    return len(merchant.trending().ids), widget(merchant)["settings"]["num"]


def everywhere(service: Service, merchant: Merchant) -> list[Merchant]:
    return [merchant.through(client) for client in service.clients_of_every_worker()]


def test_a_look_is_seen_by_every_process_at_once(
    service: Service, merchant: Merchant
) -> None:
    one, other = everywhere(service, merchant)

    for number in range(20):
        said = call(one, "PUT", "widget-config", {"settings": {"gap": number}})
        assert said.status == 200
        assert widget(other)["settings"]["gap"] == number


def test_settings_are_followed_by_every_process_within_a_second(
    service: Service, merchant: Merchant
) -> None:
    merchant.push(*({"id": f"item-{number}"} for number in range(12)))
    one, other = everywhere(service, merchant)
    eventually(lambda: shown(one) == shown(other) == (8, 8))

    numbers = iter((3, 4, 5))

    def change() -> float:
        number = next(numbers)
        said = call(one, "PUT", "recommender-settings", {"rec_num": number})

        began = time.monotonic()
        assert said.json["rec_num"] == number
        assert call(other, "GET", "recommender-settings").json["rec_num"] == number
        eventually(lambda: shown(one) == shown(other) == (number, number), 20)
        return time.monotonic() - began

    assert kept_once(change, 1.0)


def test_updates_through_both_processes_at_once_all_survive(
    service: Service, merchant: Merchant
) -> None:
    def put(number: int) -> None:
        there = merchant.through(service.client())
        body = {"settings": {f"key-{number}": number}}
        assert call(there, "PUT", "widget-config", body).status == 200

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(put, range(24)))

    kept = call(merchant, "GET", "widget-config").json["settings"]
    assert kept == {f"key-{number}": number for number in range(24)}


def test_connects_through_both_processes_at_once_agree(
    service: Service, merchant: Merchant
) -> None:
    def connect(platform: str) -> str:
        there = merchant.through(service.client())
        return str(call(there, "POST", "connect", {"platform": platform}).body)

    with ThreadPoolExecutor(8) as threads:
        bodies = set(threads.map(connect, ["magento", "opencart", "custom"] * 6))

    assert len(bodies) == 1


def test_a_store_is_connected_provisioned_synced_and_trained(merchant: Merchant) -> None:
    assert call(merchant, "POST", "connect", {"platform": "magento"}).status == 200
    assert call(merchant, "POST", "engines/init", {"currency": "USD"}).status == 200
    merchant.push({"id": "tent"}, {"id": "stove"})
    for number in range(3):
        merchant.order(f"order-{number}", "tent", "stove")
    pushed = status(merchant)["last_sync"]

    queued = call(merchant, "POST", "sync-engines")
    trained = call(merchant, "POST", "train?engine=buy")

    assert (queued.status, trained.status) == (202, 200)
    eventually(lambda: status(merchant)["last_sync"] > pushed, 30)
    eventually(
        lambda: merchant.recommend(item_id="tent", source="buy").ids == ["stove"], 30
    )
    eventually(lambda: sum(status(merchant)["jobs"].values()) == 0, 30)
    after = status(merchant)
    assert None not in after["last_trained"].values()
    assert (after["platform"], after["catalog_items"], after["orders_30d"]) == (
        "magento",
        2,
        3,
    )
    engines = call(merchant, "POST", "engines/init").json["engines"]
    assert set(engines.values()) == {"ready"}


def test_a_widget_reads_its_look_from_another_origin(merchant: Merchant) -> None:
    reply = merchant.client.ask(
        "GET",
        merchant.target("/v1/widget-config", type="fbt"),
        headers={"origin": "https://shop.example"},
    )
    preflight = merchant.client.ask("OPTIONS", "/v1/widget-config")
    refused = merchant.client.ask("OPTIONS", "/integration/widget-config")

    assert (reply.status, reply.header("access-control-allow-origin")) == (200, "*")
    assert (preflight.status, refused.status) == (200, 405)


def state_of(service: Service, job_id: str) -> str:
    with service.database() as database, database.reading() as connection:
        query = sa.select(jobs.c.state).where(jobs.c.job_id == job_id)
        return str(connection.execute(query).scalar_one())


@pytest.mark.parametrize("path", ["sync-engines", "train"])
def test_queued_work_survives_a_power_cut(tmp_path: Path, path: str) -> None:
    service = Service(tmp_path).prepare()
    with service:
        merchant = service.register()
        merchant.push({"id": "tent"})
        job_id = call(merchant, "POST", path).json["job_id"]
        service.kill()

        service.start()

        eventually(lambda: state_of(service, job_id) == "done", 30)
        after = status(merchant.through(service.client()))
        assert (after["last_sync"] is None, after["jobs"]["failed"]) == (False, 0)
