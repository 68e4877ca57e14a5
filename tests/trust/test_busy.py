"""Locked database: waited for, then an honest 503."""

import contextlib
import http
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from productrecs.core.ids import StoreId
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.sqlite_connection import LOCK_WAIT_MS
from tests.support.service import Merchant, Reply, Service
from tests.trust.forms import violations
from tests.trust.load import receipts

BROKEN: Final = Path(__file__).parent / "broken"
CLIENTS: Final = 12
SHORT, LONG = 2.0, 10.0  # seconds that somebody holds the lock
# Whoever waits for the lock, and those that came meanwhile, have an answer after two waits.
# One client after another would take as many waits as there are clients: half of them are
# enough to tell, and leave the rest to a machine that stands still for a while.
PATIENCE: Final = LOCK_WAIT_MS / 1000 * CLIENTS / 2


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    """Give a running service on each database."""
    with Service(data_folder, database_url).prepare() as service:
        yield service


@contextlib.contextmanager
def held(
    service: Service, merchant: Merchant, seconds: float | None = None
) -> Iterator[None]:
    """Hold the store's lock (on SQLite the whole database's) beside the block.

    Without `seconds` that is until the block is over.
    """
    holding, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with service.database() as database, database.transaction() as transaction:
            StoreLogTransaction(
                database, transaction, StoreId(merchant.account.store_id)
            ).take_seqs(1)
            holding.set()
            is_over.wait(seconds)

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(10)
    try:
        yield
        if seconds is not None:
            holder.join()
    finally:
        is_over.set()
        holder.join()


def order_at_once(service: Service, merchant: Merchant) -> list[tuple[float, Reply]]:
    """Return the replies to clients that ordered at once, and after how many seconds."""
    replies: list[tuple[float, Reply]] = []

    def order(number: int) -> None:
        began = time.monotonic()
        reply = merchant.through(service.client(60)).order(f"o{number}", "a", "b")
        replies.append((time.monotonic() - began, reply))

    threads = [threading.Thread(target=order, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return replies


def test_a_lock_held_for_seconds_is_no_error(service: Service) -> None:
    merchant = service.register()
    with held(service, merchant, SHORT):
        replies = order_at_once(service, merchant)

    assert [reply.json for _, reply in replies if reply.status != http.HTTPStatus.OK] == []
    with service.database() as database:
        assert len(receipts(database, merchant.account.store_id)) == CLIENTS


def check_honest(
    service: Service, merchant: Merchant, replies: list[tuple[float, Reply]]
) -> None:
    assert {reply.status for _, reply in replies} == {503}
    assert {reply.json["code"] for _, reply in replies} == {"storage_busy"}
    assert [wrong for _, reply in replies for wrong in violations(reply)] == []
    assert max(waited for waited, _ in replies) < PATIENCE
    with service.database() as database:
        assert receipts(database, merchant.account.store_id) == set()


def test_a_lock_held_for_long_is_an_honest_503_for_everybody(service: Service) -> None:
    merchant = service.register()
    assert merchant.push({"id": "a"}).status == 200

    with held(service, merchant):
        replies = order_at_once(service, merchant)
        assert merchant.trending().ids == ["a"]  # reads go on

    check_honest(service, merchant, replies)
    assert {reply.status for _, reply in order_at_once(service, merchant)} == {200}


def test_control_trying_each_write_again_by_itself_keeps_clients_waiting(
    data_folder: Path,
) -> None:
    with Service(data_folder, broken=BROKEN / "one_by_one").prepare() as service:
        merchant = service.register()

        with held(service, merchant, LONG):
            replies = order_at_once(service, merchant)

        with pytest.raises(AssertionError):
            check_honest(service, merchant, replies)
