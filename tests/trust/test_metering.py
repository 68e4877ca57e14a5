"""Metering: calls are counted over several processes; a kill loses a second of them."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.tenancy.accounts.store_management import change_subscription, find_store
from productrecs.tenancy.billing.call_meter import month_at
from productrecs.tenancy.billing.metered_calls.repository import (
    MeteredCallRepository,
    add_calls,
)
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from tests.support.service import Merchant, Service, eventually

QUOTA: Final = DEFAULT_PLANS["starter"].monthly_calls or 0
ONE_PER_CENT: Final = 0.01
BROKEN: Final = Path(__file__).parent / "broken"


def counted(service: Service, merchant: Merchant, more: int = 0) -> int:
    """Return how many calls of the month the database has, after adding some."""
    store_id, month = StoreId(merchant.account.store_id), month_at(system_ms()).name
    with service.database() as database, database.transaction() as transaction:
        if more:
            add_calls(transaction, {(store_id, month): more})
        return MeteredCallRepository(transaction, store_id).calls(month)


def shop_of(service: Service, plan: str) -> Merchant:
    """Return a new store with something to show."""
    merchant = service.register(plan=plan)
    assert merchant.push({"id": "a"}, {"id": "b"}).status == 200
    return merchant


def wait_for_flush(service: Service) -> None:
    """Wait until each process has stored its counts: those of another store, too."""
    other = service.everywhere(shop_of(service, "unlimited"))
    for there in other:
        assert there.trending().status == 200
    eventually(lambda: counted(service, other[0]) == len(other), 20)


@dataclass
class Callers:
    """Sixteen pages of one shop, as many at each API process, each a thread."""

    pages: list[Merchant]
    statuses: Counter[str | None] = field(default_factory=Counter)  # answered, by status
    shown: int = 0  # of them, with products
    shown_at: list[float] = field(default_factory=list)  # when, by the monotonic clock
    noting: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, service: Service, merchant: Merchant) -> "Callers":
        """Return the callers, with their connections."""
        return cls([page for _ in range(8) for page in service.everywhere(merchant)])

    def call(self, times: int) -> None:
        """Let each call so often, or until nobody answers."""
        with ThreadPoolExecutor(len(self.pages)) as pool:
            list(pool.map(lambda page: self._call(page, times), self.pages))

    def _call(self, page: Merchant, times: int) -> None:
        for _ in range(times):
            try:
                reply = page.trending(num=3)
            except (OSError, http.client.HTTPException):
                return
            assert len(reply.ids) in {0, 2}
            with self.noting:
                self.statuses[reply.header("x-billing-status")] += 1
                if reply.ids:
                    self.shown += 1
                    self.shown_at.append(time.monotonic())


@dataclass(frozen=True)
class Loss:
    """Answered calls that are not counted after a kill, and those of the second before."""

    lost: int
    of_the_last_second: int


def lost_by_a_kill(service: Service, seconds: float) -> Loss:
    """Kill the service after `seconds` of load; return what its counts lack."""
    merchant = shop_of(service, "unlimited")
    callers = Callers.of(service, merchant)
    with ThreadPoolExecutor(1) as pool:
        calling = pool.submit(callers.call, 1_000_000)
        eventually(lambda: callers.shown >= len(callers.pages), 120)
        time.sleep(seconds)
        service.kill()
        killed_at = time.monotonic()
        calling.result()
    kept = counted(service, merchant)
    assert kept <= callers.shown + len(callers.pages)  # what was just being answered
    last = sum(moment > killed_at - 1 for moment in callers.shown_at)
    service.start()
    return Loss(callers.shown - kept, last)


def answered_beyond_the_quota(service: Service, left: int) -> float:
    """Return which share of a quota sixteen callers get beyond it; `left` is theirs."""
    merchant = shop_of(service, "starter")
    counted(service, merchant, more=QUOTA - left)
    callers = Callers.of(service, merchant)

    callers.call(left // 6)  # those of one process alone could use it up

    assert callers.statuses.keys() == {"warn", "over_quota"}
    assert callers.statuses["warn"] == callers.shown
    return (callers.shown - left) / QUOTA


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def started_service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Give a service with two API processes, on each database."""
    folder, url, databases = tmp_path_factory.mktemp("metering"), None, None
    if request.param == "postgres":
        databases = request.getfixturevalue("migrated_databases")
        url = databases.take()
    service = Service(folder, url, workers=2).prepare()
    yield service
    service.kill()
    if databases is not None and url is not None:
        databases.give_back(url)


@pytest.fixture
def service(started_service: Service) -> Service:
    """Return the service, running."""
    if not started_service.is_running:
        started_service.start()
    return started_service


def test_sixteen_callers_pass_a_quota_by_less_than_one_per_cent(service: Service) -> None:
    assert 0 <= answered_beyond_the_quota(service, left=1_200) <= ONE_PER_CENT


def test_a_suspended_shops_events_are_taken_and_none_is_counted(service: Service) -> None:
    tell_while_suspended(service, arrays=8)


def test_processes_count_together_and_a_stop_loses_nothing(service: Service) -> None:
    one, other = shop_of(service, "starter"), shop_of(service, "unlimited")
    for there in service.everywhere(one):
        for _ in range(40):
            assert there.trending().status == 200
        assert there.recommend(num=30).status == 422
    eventually(lambda: counted(service, one) == 80, 20)
    counted(service, one, more=QUOTA - 81)  # as a replica might

    everywhere = service.everywhere(one)
    lag = eventually(lambda: {_used(there) for there in everywhere} == {str(QUOTA)}, 20)
    last = everywhere[0].trending()
    for there in everywhere:
        eventually(lambda there=there: there.trending().ids == [], 20)  # type: ignore[misc]
    other = other.through(service.client())
    for _ in range(25):
        assert other.trending().status == 200
    assert service.stop() == 0

    assert lag < 2  # a second, and what a busy machine adds
    assert (last.header("x-billing-status"), len(last.ids)) == ("warn", 2)
    assert counted(service, other) == 25
    assert QUOTA <= counted(service, one) <= QUOTA + 2


def _used(there: Merchant) -> str | None:
    """Return the calls that a process knows of, with one that is not counted."""
    return there.trending(num=99).header("x-quota-used")


def test_a_kill_under_load_loses_the_calls_of_a_second_at_most(service: Service) -> None:
    loss = lost_by_a_kill(service, seconds=1.5)

    assert loss.lost <= loss.of_the_last_second


def test_control_counts_that_are_seldom_flushed_are_lost_and_pass_the_quota(
    data_folder: Path,
) -> None:
    broken = BROKEN / "seldom_flushed"
    with Service(data_folder, workers=2, broken=broken).prepare() as service:
        assert answered_beyond_the_quota(service, left=1_200) > ONE_PER_CENT
        loss = lost_by_a_kill(service, seconds=2.0)

        assert loss.lost > loss.of_the_last_second


def tell_while_suspended(service: Service, arrays: int) -> None:
    """Check that a suspended shop's events and orders are taken, and its calls withheld."""
    merchant = shop_of(service, "trial")
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        change_subscription(database, store, lambda held: held.suspended(system_ms()))
    eventually(lambda: merchant.trending().header("x-billing-status") == "suspended", 20)
    assert merchant.push({"id": "c"}).status == 402
    wait_for_flush(service)
    before = counted(service, merchant)

    view = {"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}
    statuses = {merchant.track(*[view] * 500).status for _ in range(arrays)}
    statuses |= {merchant.track(view).status for _ in range(50)}
    statuses |= {merchant.order(f"o-{n}", "a", "b").status for n in range(50)}

    assert statuses == {200}
    assert {one.trending().ids == [] for one in service.everywhere(merchant)} == {True}
    wait_for_flush(service)
    assert counted(service, merchant) == before


@pytest.mark.trust
def test_a_suspended_shop_sends_a_hundred_thousand_events(service: Service) -> None:
    tell_while_suspended(service, arrays=200)


@pytest.mark.trust
def test_five_kills_under_load_lose_the_calls_of_a_second_each(service: Service) -> None:
    for _ in range(5):
        loss = lost_by_a_kill(service, seconds=10.0)
        assert loss.lost <= loss.of_the_last_second


@pytest.mark.trust
def test_a_trials_quota_holds_to_one_per_cent_from_its_first_call(service: Service) -> None:
    trial = DEFAULT_PLANS["trial"].monthly_calls or 0
    merchant = shop_of(service, "trial")
    callers = Callers.of(service, merchant)

    callers.call(trial // len(callers.pages) + 100)

    assert trial <= callers.shown <= trial * (1 + ONE_PER_CENT)
    eventually(lambda: counted(service, merchant) == callers.shown, 20)
