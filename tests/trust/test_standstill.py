"""Stopped background: lists are served for an hour while nothing else works.

Every process but those that answer stands still, so that no supervisor replaces it, and
the database takes no write: only freshness may suffer. Once all goes on, so do writes. The
long form keeps models and indexes in an object store, which is gone meanwhile as well.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.object_server import MotoServer
from tests.support.service import Merchant, Reply, Service, eventually
from tests.trust.forms import violations
from tests.trust.test_busy import held

BROKEN: Final = Path(__file__).parent / "broken"
ITEMS: Final = ("oak", "elm", "ash")
BEHIND: Final = ("writer", "worker", "indexer", "importer", "pictures")
HOUR: Final = 3_600.0


def furnish(service: Service) -> Merchant:
    """Return a store whose lists of every kind have something to show."""
    merchant = service.register()
    goods = ({"id": one, "title": f"{one} table", "price": 9} for one in ITEMS)
    assert merchant.push(*goods).status == 200
    for number in range(6):
        assert merchant.order(f"o-{number}", "oak", "elm", user_id="u").status == 200
    if not service.variables:  # else its worker does, and shares the model
        service.train(merchant)
    eventually(lambda: merchant.recommend(item_id="oak", source="buy").ids == ["elm"], 60)
    eventually(lambda: len(merchant.search("table").ids) == len(ITEMS), 30)
    return merchant


@contextlib.contextmanager
def standing_still(service: Service) -> Iterator[int]:
    """Stop every process that does not answer where it is; give how many."""
    still = [
        number
        for number, line in service.processes().items()
        if line.split(" ")[0] in BEHIND
    ]
    for number in still:
        os.kill(number, signal.SIGSTOP)
    try:
        yield len(still)
    finally:
        for number in still:
            os.kill(number, signal.SIGCONT)


def ask_all(merchant: Merchant, number: int) -> list[Reply]:
    """Return what shoppers, known ones and new ones, are shown on every kind of page."""
    here, paths = merchant.target, ("/v1/widget-config", "/v1/looks", "/health/live")
    return [
        merchant.recommend(item_id="oak"),
        merchant.recommend(item_id="oak", source="buy", user_id=f"u-{number}"),
        merchant.recommend(user_id="u", session_id=f"s_{number}"),
        merchant.trending(session_id=f"s_{number}"),
        merchant.search("table"),
        merchant.search(f"tabel {number}"),
        *(merchant.client.ask("GET", here(path, item_id="oak")) for path in paths),
    ]


def check_standstill(service: Service, merchant: Merchant, seconds: float) -> int:
    """Return how many calls were answered as they should, while nothing else worked."""
    until, replied = time.monotonic() + seconds, 0
    # The lock first: nobody may be stopped who holds it.
    with held(service, merchant, seconds), standing_still(service) as still:
        assert still == len(BEHIND)
        while time.monotonic() < until - 0.2:
            replies = ask_all(merchant, replied)
            wrong = [reply for reply in replies if reply.status != 200]
            assert not wrong, (replied, wrong[:2], [violations(one) for one in wrong])
            replied += len(replies)
            time.sleep(0.05)
    return replied


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    with Service(data_folder, database_url).prepare() as service:
        yield service


def test_shops_show_lists_though_nothing_behind_them_works(service: Service) -> None:
    merchant = furnish(service)

    check_standstill(service, merchant, 1.5)

    eventually(lambda: merchant.order("after", "oak").status == 200, 30)


@pytest.mark.trust
@pytest.mark.parametrize("seconds", [10.0, HOUR])
def test_shops_show_lists_for_an_hour_though_the_object_store_is_gone_as_well(
    data_folder: Path, database_url: str | None, seconds: float
) -> None:
    objects = MotoServer()
    variables = {**objects.environment, "PRODUCTRECS_OBJECTS": objects.address()}
    with Service(data_folder, database_url, variables=variables).prepare() as service:
        merchant = furnish(service)
        objects.close()

        replied = check_standstill(service, merchant, seconds)

        print(f"{replied} calls in {seconds} s, all answered")  # noqa: T201 - the figures
        eventually(lambda: merchant.order("after", "oak").status == 200, 30)


def test_control_lists_that_wait_for_a_write_are_seen(data_folder: Path) -> None:
    broken = BROKEN / "writes_to_read"
    with Service(data_folder, broken=broken).prepare() as service:
        merchant = furnish(service)
        (data_folder / "broken").touch()

        with pytest.raises(AssertionError):
            check_standstill(service, merchant, 3.0)
