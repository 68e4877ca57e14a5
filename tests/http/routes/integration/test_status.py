"""Store status: correct, with null for what has not happened."""

import pytest

from productrecs.core.clock import system_ms
from productrecs.core.timestamps import parse_timestamp
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.tenancy.accounts.store_management import find_store
from tests.http.routes.integration.conftest import System

pytestmark = pytest.mark.parametrize(
    "process",
    ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
    indirect=True,
)

NOTHING = {
    "catalog_items": 0,
    "last_sync": None,
    "last_trained": dict.fromkeys(("buy", "browse", "complementary", "trending")),
    "platform": None,
    "first_connected_at": None,
    "events_30d": 0,
    "orders_30d": 0,
    "jobs": {"queued": 0, "running": 0, "failed": 0},
    "images": {"indexed": 0, "pending": 0, "failed": 0, "usual_failure": None},
}


def test_a_new_store_has_nothing(system: System) -> None:
    status = system.get("status")

    assert status == NOTHING
    assert list(status) == list(NOTHING)


def test_what_came_in_is_counted(system: System) -> None:
    before = system_ms()
    system.merchant.push({"id": "tent"}, {"id": "stove"}, {"id": "rope"})
    system.merchant.delete("rope")
    view = {"event": "detail-page-view", "item_id": "tent", "session_id": "s_1"}
    shown = {"event": "rec-impression", "item_ids": "tent,stove", "session_id": "s_1"}
    assert system.merchant.track(view, shown).status == 200
    system.merchant.order("A", "tent", "stove")
    system.merchant.order("A", "tent", "stove")
    system.merchant.order("B", "tent")

    status = system.get("status")

    assert status["catalog_items"] == 2
    assert before <= parse_timestamp(status["last_sync"]) <= system_ms()
    assert (status["events_30d"], status["orders_30d"]) == (3, 2)


def test_another_stores_facts_are_not_counted(system: System, other: System) -> None:
    system.merchant.push({"id": "tent"})
    system.merchant.order("A", "tent")
    system.post("connect")

    assert other.get("status") == NOTHING


def test_jobs_are_counted_by_state(system: System) -> None:
    database, queue = system.services.database, system.services.queue
    store = find_store(database, system.merchant.account.domain)
    for kind in ("dead", "running", "waiting"):
        with database.transaction() as transaction:
            queue.enqueue(transaction, NewJob(store.store_id, f"{store.store_id} {kind}"))
    dead = queue.claim([f"{store.store_id} dead"])
    assert dead is not None
    queue.fail(dead, ValueError("never mind"), final=True)
    assert queue.claim([f"{store.store_id} running"]) is not None

    assert system.get("status")["jobs"] == {"queued": 1, "running": 1, "failed": 1}
