"""Order races: an order is ingested once, however many send it at once."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from productrecs.core.timestamps import iso
from tests.support.service import Merchant, Service
from tests.trust.load import receipts, stored
from tests.trust.racer import LINES, WEEK_MS, Way, race

NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
FEW = [f"order-{n}" for n in range(48)]
MANY = [f"order-{n}" for n in range(2_000)]


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    """Give a service that is not started, with two workers, on each database."""
    service = Service(data_folder, database_url, workers=2, now=iso(NOON)).prepare()
    yield service
    service.kill()


@pytest.fixture
def merchant(service: Service) -> Merchant:
    return service.register()


def directly(service: Service, merchant: Merchant, now_ms: int = NOON) -> Way:
    """Return how processes receive the merchant's orders by themselves."""
    return Way(
        database_url=service.database_url,
        folder=str(service.folder),
        store_id=merchant.account.store_id,
        now_ms=now_ms,
    )


def over_http(service: Service, merchant: Merchant) -> Way:
    """Return how processes send the merchant's orders to the running service."""
    return Way((service.port,), merchant.account.publishable)


def lines_stored(service: Service, merchant: Merchant) -> dict[str, int]:
    """Return how many lines stand for each order; every receipt has some."""
    with service.database() as database:
        rows = stored(database, merchant.account.store_id)
        assert receipts(database, merchant.account.store_id) == set(rows)
    return dict(rows)


def check_each_ingested_once(
    service: Service, merchant: Merchant, way: Way, orders: Sequence[str]
) -> None:
    outcome = race(way, orders)

    assert outcome.wrong() == []
    assert all(answers[True] == 7 for answers in outcome.duplicates.values())
    assert lines_stored(service, merchant) == dict.fromkeys(orders, len(LINES))


def test_of_eight_processes_that_send_an_order_one_brings_it_in(
    service: Service, merchant: Merchant
) -> None:
    service.start()

    check_each_ingested_once(service, merchant, over_http(service, merchant), FEW)


def test_of_eight_processes_that_receive_an_order_one_writes_it(
    service: Service, merchant: Merchant
) -> None:
    check_each_ingested_once(service, merchant, directly(service, merchant), FEW)


def test_a_race_that_broke_off_does_not_spoil_the_next(data_folder: Path) -> None:
    service = Service(data_folder, now=iso(NOON)).prepare()
    way = directly(service, service.register())
    with pytest.raises(ValueError, match="Expecting value"):
        race(replace(way, folder=__file__), FEW[:1], processes=1)

    assert race(way, FEW[:2], processes=2).wrong() == []


def test_control_looking_first_and_then_inserting_ingests_orders_again(
    service: Service, merchant: Merchant
) -> None:
    way = replace(directly(service, merchant), check_then_insert=True)

    outcome = race(way, FEW)

    assert len(outcome.wrong()) > len(FEW) // 4
    assert lines_stored(service, merchant) != dict.fromkeys(FEW, len(LINES))


@pytest.mark.parametrize(
    "orders",
    [FEW, pytest.param(MANY[:1_000], marks=pytest.mark.trust)],
    ids=["few", "many"],
)
def test_a_week_later_eight_processes_bring_an_order_in_once_more_and_not_before(
    service: Service, merchant: Merchant, orders: list[str]
) -> None:
    early, late = orders[: len(orders) // 2], orders[len(orders) // 2 :]
    assert race(directly(service, merchant), early + late, processes=1).wrong() == []

    before = race(directly(service, merchant, NOON + WEEK_MS - 1), early, processes=2)
    at = race(directly(service, merchant, NOON + WEEK_MS), early)
    after = race(directly(service, merchant, NOON + WEEK_MS + 1), late)
    until = race(directly(service, merchant, NOON + 2 * WEEK_MS - 1), early, processes=2)

    assert before.wrong(fresh=0) == []
    assert at.wrong(fresh=1) == []
    assert after.wrong(fresh=1) == []
    assert until.wrong(fresh=0) == []  # the repeats before it prolonged nothing
    assert lines_stored(service, merchant) == dict.fromkeys(early + late, 6)


@pytest.mark.trust
def test_the_week_is_exact_to_the_millisecond_and_repeats_do_not_prolong_it(
    service: Service, merchant: Merchant
) -> None:
    moments = (0, WEEK_MS - 1, WEEK_MS, 2 * WEEK_MS - 1)
    expected = {0: 1, WEEK_MS: 1}  # how many of the eight get the reply that it is new
    service.command = "api"  # the half that receives orders: it is started four times
    for after_ms in moments:
        service.now = iso(NOON + after_ms)
        service.start()

        outcome = race(over_http(service, merchant), ["A-1", "A-2", "A-3"])

        assert outcome.wrong(fresh=expected.get(after_ms, 0)) == [], after_ms
        service.kill()


@pytest.mark.postgres
@pytest.mark.parametrize(
    "orders", [FEW[:24], pytest.param(MANY, marks=pytest.mark.trust)], ids=["few", "many"]
)
def test_of_three_machines_beside_one_postgresql_one_brings_an_order_in(
    tmp_path: Path, migrated_url: str, orders: list[str]
) -> None:
    replicas = [
        Service(tmp_path / f"machine-{number}", migrated_url, command="api", now=iso(NOON))
        for number in range(3)
    ]
    merchant = replicas[0].prepare().register()
    with contextlib.ExitStack() as running:
        for one in replicas:
            running.enter_context(one)
        way = Way(tuple(one.port for one in replicas), merchant.account.publishable)

        check_each_ingested_once(replicas[0], merchant, way, orders)


@pytest.mark.trust
def test_two_thousand_orders_of_eight_processes_are_each_ingested_once(
    service: Service, merchant: Merchant
) -> None:
    service.start()

    check_each_ingested_once(service, merchant, over_http(service, merchant), MANY)
