"""Key rotation: the old secret key fails within a second, in every process."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.service import Account, Merchant, Service, eventually, kept_once

BROKEN: Final = Path(__file__).parent / "broken"
WORKERS: Final = 3
SECONDS: Final = 1.0
ON_EVERY_MACHINE: Final = 5.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service of three processes."""
    service = Service(tmp_path_factory.mktemp("rotation"), workers=WORKERS).prepare()
    with service:
        yield service


def rotated(service: Service, merchant: Merchant) -> Merchant:
    """Return the store with its new key, as whoever runs the service makes it."""
    rotation = json.loads(service.run("keys", "rotate", merchant.account.domain, "--json"))
    old = merchant.account
    new = Account(old.store_id, old.domain, old.publishable, rotation["secret_key"])
    return Merchant(new, merchant.client)


def statuses(everywhere: list[Merchant]) -> set[int]:
    """Return what every process answers to a push."""
    return {one.push({"id": "a"}).status for one in everywhere}


def rotate_once(service: Service, *machines: Service) -> float:
    """Return after how many seconds every process refuses a key that was replaced."""
    merchant = service.register()
    everywhere = [
        there for one in (service, *machines) for there in one.everywhere(merchant)
    ]
    assert len(everywhere) >= WORKERS
    assert statuses(everywhere) == {200}

    now = rotated(service, merchant)

    took = eventually(lambda: statuses(everywhere) == {401}, 20)
    assert statuses([now.through(one.client) for one in everywhere]) == {200}
    return took


def test_a_rotated_secret_is_refused_by_every_worker_within_a_second(
    service: Service,
) -> None:
    assert kept_once(lambda: rotate_once(service), SECONDS)


@pytest.mark.trust
def test_fifty_rotated_secrets_are_each_refused_within_a_second(service: Service) -> None:
    assert max(rotate_once(service) for _ in range(50)) <= SECONDS


@pytest.mark.trust
@pytest.mark.postgres
def test_fifty_rotated_secrets_are_each_refused_within_five_seconds_on_every_machine(
    tmp_path: Path, migrated_url: str
) -> None:
    with contextlib.ExitStack() as running:
        machines = [
            running.enter_context(
                Service(tmp_path / f"machine-{n}", migrated_url, command="api").prepare()
            )
            for n in range(WORKERS)
        ]

        assert max(rotate_once(*machines) for _ in range(50)) <= ON_EVERY_MACHINE


def test_control_a_process_that_does_not_look_again_is_noticed(data_folder: Path) -> None:
    service = Service(data_folder, broken=BROKEN / "deaf_accounts").prepare()
    merchant = service.register()
    with service:
        assert merchant.push({"id": "a"}).status == 200

        rotated(service, merchant)
        time.sleep(SECONDS)

        assert merchant.push({"id": "a"}).status == 200  # the old key lives on
