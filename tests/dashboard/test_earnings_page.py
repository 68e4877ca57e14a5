"""Earnings: from a product's cost to a list, through the job, the process and the pages."""

import threading
from typing import Any

import pytest

from productrecs.core.clock import HOUR_MS
from productrecs.core.ids import StoreId
from productrecs.storage.jobs.job_queue import JobState, count_jobs_by_state
from productrecs.tenancy.accounts.store_management import change_settings, find_store
from productrecs.worker.job_worker import JobProgress
from productrecs.worker.store_jobs import StoreJobs
from tests.dashboard.conftest import Office
from tests.support.dashboard import text_of
from tests.support.filled_store import Filled, open_store
from tests.support.service import eventually
from tests.worker.test_alert_mails import forecast

PAGE = "/dashboard/merchandising/earnings"
COSTS = {"p0": 97.31, "p1": 97.32, "p2": 97.33, "p3": 12.34, "p4": 97.35, "p5": 97.36}
STOCK = {"p0": 30, "p1": 30, "p2": 2, "p3": 30, "p4": 9_000, "p5": 30}


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store of six products of one price; the fourth earns most."""
    office.now_ms += 2 * HOUR_MS
    services = office.services
    domain = f"earnings-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    change_settings(services.database, made.store, {"demand_forecast": "true"})
    for name, cost in COSTS.items():
        item = {"id": name, "title": "Tent", "price": 100, "cost": cost}
        made.merchant.push({**item, "stock_qty": STOCK[name]})
    forecast(services, find_store(services.database, domain), each=0.5)
    return made


def index(office: Office, store_id: StoreId) -> None:
    job: Any = type("Job", (), {"store_id": store_id})()
    StoreJobs(office.services).compute_and_store_earning_index(
        job, JobProgress(threading.Event())
    )


def test_a_weight_puts_what_earns_more_forward_and_is_due_each_hour(
    office: Office, shop: Filled
) -> None:
    member, store_id = office.member(shop.store), shop.store.store_id
    plain = shop.merchant.recommend(num=5).ids
    assert store_id not in StoreJobs(office.services).stores_with_due_earning_index()

    refused = member.post(PAGE, weight="1,5")
    assert refused.status == 422
    assert "The weight must be a number from 0 to 1" in text_of(refused)
    assert member.post(PAGE, weight="1").status == 303

    assert store_id in StoreJobs(office.services).stores_with_due_earning_index()
    index(office, store_id)
    assert store_id not in StoreJobs(office.services).stores_with_due_earning_index()
    eventually(lambda: shop.merchant.recommend(num=5).ids != plain, 5)
    earning = shop.merchant.recommend(num=5).ids
    # The best margin leads, overstock steps forward, what runs out steps out of the list.
    assert (plain, earning) == (
        ["p5", "p4", "p3", "p2", "p1"],
        ["p3", "p4", "p5", "p1", "p0"],
    )
    office.now_ms += HOUR_MS + 1
    assert store_id in StoreJobs(office.services).stores_with_due_earning_index()
    change_settings(office.services.database, shop.store, {"earnings_weight": "0"})
    eventually(lambda: shop.merchant.recommend(num=5).ids == plain, 5)


def test_no_shopper_sees_a_cost(office: Office, shop: Filled) -> None:
    change_settings(office.services.database, shop.store, {"earnings_weight": "1"})
    index(office, shop.store.store_id)
    merchant = shop.merchant
    for reply in (
        merchant.recommend(item_id="p1", anchor="true"),
        merchant.recommend(source="browse", user_id="s_1"),
        merchant.trending(),
        merchant.search(""),
        merchant.search("tent", facets="brand,price"),
    ):
        assert reply.status == 200
        assert b"cost" not in reply.body
        assert not any(str(cost).encode() in reply.body for cost in COSTS.values())


def test_a_replay_is_started_and_shown(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    assert "was not replayed yet" in text_of(member.get(PAGE))

    assert member.post(f"{PAGE}/replay").status == 303

    with office.services.database.reading() as connection:
        waiting = count_jobs_by_state(connection, shop.store.store_id)[JobState.QUEUED]
    assert waiting >= 1
    job: Any = type("Job", (), {"store_id": shop.store.store_id})()
    StoreJobs(office.services).replay_earning_weights_of_store(
        job, JobProgress(threading.Event())
    )
    assert "0 orders to replay, 50 are needed" in text_of(member.get(PAGE))
    report = shop.merchant.client.ask(
        "GET", "/integration/report?name=earnings", None, shop.merchant.server
    )
    assert report.json["figures"][2]["value"] == len(COSTS)
