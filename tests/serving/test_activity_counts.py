"""Activity counts: recounted, and cached where counting is slow."""

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.services import Services
from productrecs.serving.activity_counts import ActivityCounter, ActivityCounts
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import Registration, register_store
from tests.support.clock import FakeClock


@pytest.fixture
def store_id(services: Services) -> StoreId:
    wanted = Registration("shop.example")
    return register_store(services.database, wanted, services.clock)[0].store_id


def view(services: Services, store_id: StoreId) -> None:
    event = NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="a", session_id="s_1")
    with services.database.transaction() as transaction:
        log = StoreLogTransaction(services.database, transaction, store_id)
        ingest_events(log, [[event]], services.clock())


def test_quick_counting_is_always_fresh(services: Services, store_id: StoreId) -> None:
    activity = ActivityCounter(services, FakeClock(0.0, step=0.01))
    seen = []
    for _ in range(3):
        seen.append(activity.cached_or_counted(store_id))
        view(services, store_id)

    assert seen == [ActivityCounts(0, 0), ActivityCounts(1, 0), ActivityCounts(2, 0)]


@pytest.mark.parametrize(("took", "rest"), [(1.0, 20.0), (10.0, 60.0)])
def test_slow_counting_rests(
    services: Services, store_id: StoreId, took: float, rest: float
) -> None:
    watch = FakeClock(0.0, step=took)
    activity = ActivityCounter(services, watch)
    first = activity.cached_or_counted(store_id)
    view(services, store_id)

    ended, watch.step = watch.now, 0.0
    watch.now = ended + rest - 0.1
    meanwhile = activity.cached_or_counted(store_id)
    watch.now = ended + rest
    later = activity.cached_or_counted(store_id)

    assert (first, meanwhile, later) == (
        ActivityCounts(0, 0),
        ActivityCounts(0, 0),
        ActivityCounts(1, 0),
    )


def test_each_store_rests_for_itself(services: Services, store_id: StoreId) -> None:
    activity = ActivityCounter(services, FakeClock(0.0, step=1.0))
    activity.cached_or_counted(StoreId("st_another"))
    view(services, store_id)

    assert activity.cached_or_counted(store_id) == ActivityCounts(1, 0)
