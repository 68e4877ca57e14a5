"""Usage metering: counts reach the database, and no request waits or fails for it."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from productrecs.core.errors import StorageBusyError
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import parse_timestamp
from productrecs.http.limits import usage_metering as module
from productrecs.http.limits.usage_metering import UsageMetering, billing_headers
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    Registration,
    delete_store,
    register_store,
)
from productrecs.tenancy.billing.call_meter import BillingStatus, CallMeter, QuotaNotice
from productrecs.tenancy.billing.metered_calls.repository import (
    MeteredCallRepository,
    add_calls,
)
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from tests.support.migrated import bring
from tests.support.service import eventually

NOON = parse_timestamp("2026-03-10T12:00:00Z")
MONTH = "2026-03"


@pytest.fixture
def services(data_folder: Path, database_url: str | None) -> Iterator[Services]:
    """Give the services of a process at noon, on each database."""
    settings = Settings(data=data_folder, database_url=database_url, now_ms=NOON)
    bring(data_folder, database_url)
    services = build_services(settings)
    yield services
    services.close()


@pytest.fixture
def metering(services: Services) -> Iterator[UsageMetering]:
    """Give the meters of a process, being flushed."""
    metering = UsageMetering(services)
    metering.start()
    yield metering
    metering.close()


def store_of(services: Services, domain: str = "shop.example") -> Store:
    wanted = Registration(domain, plan=DEFAULT_PLANS["growth"])
    return register_store(services.database, wanted, services.clock)[0]


def opened(metering: UsageMetering, services: Services, store: Store) -> CallMeter:
    reader = services.database.raw_reader()

    async def read(what: Any) -> Any:
        return what(reader)

    meter = asyncio.run(metering.open_meter(store, read))
    reader.close()
    return meter


def kept(services: Services, store_id: StoreId) -> int:
    with services.database.reading() as connection:
        return MeteredCallRepository(connection, store_id).calls(MONTH)


def serve(meter: CallMeter, store: Store, times: int) -> None:
    for _ in range(times):
        assert meter.check_quota(store.subscription, NOON) is None
        meter.count_call()


def test_what_is_counted_is_stored_within_a_second_and_for_its_store(
    services: Services, metering: UsageMetering
) -> None:
    one, other = store_of(services), store_of(services, "other.example")
    serve(opened(metering, services, one), one, 300)
    serve(opened(metering, services, other), other, 7)

    took = eventually(
        lambda: (kept(services, one.store_id), kept(services, other.store_id)) == (300, 7)
    )

    assert took < 2  # a second, and what a busy machine adds


def test_a_meter_is_opened_once_and_begins_with_what_is_stored(
    services: Services, metering: UsageMetering
) -> None:
    store = store_of(services)
    with services.database.transaction() as transaction:
        add_calls(transaction, {(store.store_id, MONTH): 999_999})

    first = opened(metering, services, store)

    assert first.check_quota(store.subscription, NOON) == QuotaNotice(
        BillingStatus.WARN, 1_000_000, 1_000_000
    )
    assert opened(metering, services, store) is first is metering.meters.get(store.store_id)


def test_what_other_processes_count_is_known_within_a_second(
    services: Services, metering: UsageMetering
) -> None:
    store = store_of(services)
    here = opened(metering, services, store)
    elsewhere = UsageMetering(services)
    elsewhere.start()
    there = opened(elsewhere, services, store)

    serve(there, store, 40)
    serve(here, store, 2)

    assert eventually(lambda: here.months_to_flush()[-1].used == 42) < 2
    assert eventually(lambda: there.months_to_flush()[-1].used == 42) < 2
    elsewhere.close()


def test_a_stop_stores_everything(services: Services) -> None:
    store = store_of(services)
    metering = UsageMetering(services)
    metering.start()
    serve(opened(metering, services, store), store, 5_000)

    metering.close()

    assert kept(services, store.store_id) == 5_000


class _Away:
    """Makes a database refuse transactions, as one that is away."""

    def __init__(self, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_away = True
        self.attempts = 0
        transaction = services.database.transaction

        @contextmanager
        def refusing(**said: Any) -> Iterator[Any]:
            self.attempts += 1
            if self.is_away:
                message = "the database cannot be reached"
                raise StorageBusyError(message)
            with transaction(**said) as connection:
                yield connection

        monkeypatch.setattr(services.database, "transaction", refusing)


def test_while_the_database_is_away_counts_gather_and_one_line_says_so(
    services: Services,
    metering: UsageMetering,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = store_of(services)
    meter = opened(metering, services, store)
    away = _Away(services, monkeypatch)
    with caplog.at_level(logging.INFO):
        serve(meter, store, 1_000)
        eventually(lambda: away.attempts >= 3)
        assert kept(services, store.store_id) == 0

        away.is_away = False
        eventually(lambda: kept(services, store.store_id) == 1_000)
        eventually(lambda: len(caplog.records) > 1)

    lines = [(one.message, one.levelname, one.exc_info) for one in caplog.records]
    assert lines == [
        ("usage write failed", "WARNING", False),
        ("usage written again", "INFO", None),
    ]


def test_a_count_that_cannot_be_read_begins_at_zero_and_is_learned(
    services: Services, metering: UsageMetering
) -> None:
    store = store_of(services)
    with services.database.transaction() as transaction:
        add_calls(transaction, {(store.store_id, MONTH): 1_000_000})

    async def fails(_: Any) -> Any:
        message = "the database does not answer"
        raise StorageBusyError(message)

    meter = asyncio.run(metering.open_meter(store, fails))

    assert meter.months_to_flush()[-1].used in {0, 1_000_000}
    eventually(lambda: meter.check_quota(store.subscription, NOON) is not None)


def test_a_deleted_stores_meter_is_forgotten_and_leaves_nothing(
    services: Services, metering: UsageMetering
) -> None:
    store = store_of(services)
    meter = opened(metering, services, store)
    delete_store(services.database, store)

    serve(meter, store, 3)

    eventually(lambda: metering.meters.get(store.store_id) is None)
    assert kept(services, store.store_id) == 0


def test_an_unused_meter_is_dropped_once_its_count_is_stored(
    services: Services, metering: UsageMetering, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(services)
    serve(opened(metering, services, store), store, 3)
    monkeypatch.setattr(module, "MAX_IDLE_ROUNDS", 1)

    eventually(lambda: metering.meters.get(store.store_id) is None)

    assert kept(services, store.store_id) == 3
    assert opened(metering, services, store).months_to_flush()[-1].used == 3


def test_headers_report_a_plan_without_content() -> None:
    notice = QuotaNotice(BillingStatus.OVER_QUOTA, 10, 9)

    assert billing_headers(notice) == (
        (b"x-billing-status", b"over_quota"),
        (b"x-quota-used", b"10"),
        (b"x-quota-limit", b"9"),
    )
    assert billing_headers(replace(notice, used=None)) == (
        (b"x-billing-status", b"over_quota"),
    )
