"""Engine routes: init, sync and train queue durable jobs once, and report status."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from productrecs.tenancy.accounts.store_management import delete_store, find_store
from productrecs.worker.store_jobs import build_store_job_worker
from tests.http.routes.integration.conftest import System

ENGINES = {"buy", "browse", "complementary", "trending"}


def work(system: System) -> None:
    """Do all that is queued, as the background does."""
    worker = build_store_job_worker(system.services)
    while worker.run_next_job():
        pass


def jobs(system: System) -> Any:
    return system.get("status")["jobs"]


@pytest.mark.parametrize("body", [..., {}, None, {"currency": None, "store_url": None}])
def test_init_of_a_new_store_provisions_every_engine(system: System, body: object) -> None:
    first = system.post("engines/init", body)

    assert first == {"ok": True, "engines": dict.fromkeys(ENGINES, "waiting")}
    assert system.post("engines/init", body) == first
    assert jobs(system) == {"queued": 0, "running": 0, "failed": 0}


def test_init_stores_currency_and_address_when_given(system: System) -> None:
    system.post("connect", {"store_url": "https://old.example"})
    system.post("engines/init", {"currency": "chf", "store_url": "https://new.example"})

    assert system.widget()["settings"]["currency"] == "CHF"
    assert system.post("connect")["store_url"] == "https://new.example"
    system.post("engines/init", {})
    system.post("engines/init", {"currency": None, "store_url": None})
    assert system.widget()["settings"]["currency"] == "CHF"
    assert system.post("connect")["store_url"] == "https://new.example"


@pytest.mark.parametrize(
    ("said", "status", "kept"),
    [
        ("1.234,00\N{NO-BREAK SPACE}€", 200, "1.234,00\N{NO-BREAK SPACE}€"),
        ("", 200, "€1,234.00"),
        ("12,34 €", 422, "€1,234.00"),
        ("1,234\n€", 422, "€1,234.00"),
    ],
)
def test_init_stores_how_the_shop_writes_a_price(
    system: System, said: str, status: int, kept: str
) -> None:
    reply = system.call("POST", "engines/init", {"price_format": said})
    system.post("engines/init", {"price_format": None})

    assert reply.status == status
    assert system.widget()["settings"]["strings"]["price"] == kept


def test_init_alone_is_no_connection(system: System) -> None:
    system.post("engines/init", {"store_url": "https://shop.example"})

    status = system.get("status")
    assert (status["platform"], status["first_connected_at"]) == (None, None)


@pytest.mark.parametrize(
    ("said", "stored", "warnings"),
    [("chf", "CHF", 0), ("  ", "EUR", 0), ("points", "EUR", 1), ("12345678", "EUR", 1)],
)
def test_a_currency_is_stored_if_it_is_a_known_code(
    system: System, said: str, stored: str, warnings: int
) -> None:
    system.post("engines/init", {"currency": "EUR"})

    reply = system.post("engines/init", {"currency": said})

    assert system.widget()["settings"]["currency"] == stored
    assert len(reply.get("warnings", [])) == warnings
    for one in reply.get("warnings", []):
        assert one.startswith("the currency was not stored: ")


def test_a_currency_that_is_too_long_is_refused_and_nothing_stored(system: System) -> None:
    reply = system.call(
        "POST", "engines/init", {"currency": "EUROCENTS", "store_url": "https://a.b"}
    )

    assert reply.status == 422
    assert reply.json["detail"][0]["loc"] == ["body", "currency"]
    assert system.post("connect")["store_url"] is None


def test_init_trains_what_waits_and_then_all_is_ready(system: System) -> None:
    system.merchant.push({"id": "tent"}, {"id": "stove"})
    system.merchant.order("A", "tent", "stove")
    assert set(system.post("engines/init")["engines"].values()) == {"waiting"}
    assert jobs(system)["queued"] == 1

    work(system)

    assert system.post("engines/init")["engines"] == dict.fromkeys(ENGINES, "ready")
    assert jobs(system) == {"queued": 0, "running": 0, "failed": 0}


def test_train_is_queued_once_and_done(system: System) -> None:
    system.merchant.push({"id": "tent"}, {"id": "stove"})
    system.merchant.order("A", "tent", "stove")
    first = system.post("train")
    again = [system.post("train", engine=name) for name in ("buy", "complementary")]

    assert first == {"ok": True, "engine": "both", "job_id": first["job_id"]}
    assert [one["engine"] for one in again] == ["buy", "complementary"]
    assert {one["job_id"] for one in again} == {first["job_id"]}
    assert first["job_id"].startswith("job_")

    work(system)

    trained = system.get("status")["last_trained"]
    assert trained.keys() == ENGINES
    assert None not in trained.values()
    assert system.post("train")["job_id"] != first["job_id"]


def test_a_new_store_that_has_nothing_may_be_trained(system: System) -> None:
    system.post("train", engine="browse")

    work(system)

    assert jobs(system) == {"queued": 0, "running": 0, "failed": 0}


@pytest.mark.parametrize("engine", ["all", "", "BUY", "similar", "buy,browse"])
def test_an_unknown_engine_is_refused(system: System, engine: str) -> None:
    reply = system.call("POST", "train", engine=engine)

    assert reply.status == 422
    assert reply.json["detail"][0]["loc"] == ["query", "engine"]
    assert jobs(system)["queued"] == 0


def test_a_sync_pushes_the_catalog_again_and_trains(system: System) -> None:
    system.merchant.push({"id": "tent", "title": "Tent"}, {"id": "stove"})
    pushed = system.get("status")["last_sync"]
    reply = system.call("POST", "sync-engines")
    assert reply.status == 202
    assert reply.json == {"ok": True, "job_id": reply.json["job_id"]}
    assert system.post("sync-engines") == reply.json

    work(system)

    status = system.get("status")
    assert status["last_sync"] > pushed
    assert None not in status["last_trained"].values()
    assert status["catalog_items"] == 2
    assert sorted(system.merchant.trending().ids) == ["stove", "tent"]


def test_many_at_once_queue_one_job(system: System) -> None:
    with ThreadPoolExecutor(8) as threads:
        bodies = list(threads.map(lambda _: system.post("sync-engines"), range(16)))

    assert len({body["job_id"] for body in bodies}) == 1
    assert jobs(system)["queued"] == 1


def test_another_stores_jobs_are_not_counted(system: System, other: System) -> None:
    system.post("sync-engines")

    assert jobs(other) == {"queued": 0, "running": 0, "failed": 0}


def test_a_store_that_is_being_deleted_gets_no_job(system: System) -> None:
    database = system.services.database
    store = find_store(database, system.merchant.account.domain)
    assert system.get("status")["jobs"]["queued"] == 0
    delete_store(database, store)

    paths = ("train", "sync-engines", "engines/init", "connect")
    replies = [system.call("POST", path) for path in paths]

    assert [one.status for one in replies] == [401] * len(paths)
    assert {one.json["code"] for one in replies} == {"key_invalid"}
