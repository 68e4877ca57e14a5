"""Remote writer: API processes and the writer process lose nothing between them."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.errors import QueueFullError, UnconfirmedWriteError
from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import OrderReceipt
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.services import Services, build_services
from productrecs.serving.writes.write_client import WriterProcessClient
from productrecs.serving.writes.write_messages import WriteKind
from productrecs.serving.writes.write_server import WriteServer
from productrecs.settings import from_environment
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.storage_failures import StorageFailures
from productrecs.storage.sql.tables import events
from tests.support.migrated import bring
from tests.support.stores import new_store

STORE = "shop.example"


@pytest.fixture
def services(data_folder: Path, database_url: str | None) -> Iterator[Services]:
    environment = {"DATABASE_URL": database_url} if database_url else {}
    bring(data_folder, database_url)
    made = build_services(from_environment(environment, data_folder))
    yield made
    made.close()


@pytest.fixture
def store(services: Services) -> StoreId:
    return new_store(services.database, STORE).store_id


@pytest.fixture
def door(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "writer.sock"))
        listener.listen()
        yield listener


@contextlib.contextmanager
def serving(services: Services, door: socket.socket) -> Iterator[WriteServer]:
    server = WriteServer(services, door.dup())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


def view(item: str, shopper: str = "s_1", event_id: str | None = None) -> NewEvent:
    return NewEvent(
        EventKind.DETAIL_PAGE_VIEW, item_id=item, session_id=shopper, event_id=event_id
    )


def an_order(order_id: str) -> NewOrder:
    return NewOrder(order_id, (NewOrderLine("tent", 2, 5.0),), user_id="c-1")


def stored(services: Services, store: StoreId) -> int:
    with services.database.reading() as connection:
        query = sa.select(sa.func.count()).where(events.c.store_id == store)
        return int(connection.execute(query).scalar_one())


async def with_writer(path: Path, act: Any, limit: int = 10_000) -> Any:
    writer = WriterProcessClient(path, StorageFailures(), limit)
    await writer.start()
    try:
        return await act(writer)
    finally:
        await writer.close()


def test_events_and_orders_of_two_processes_are_each_answered(
    services: Services, store: StoreId, door: socket.socket, tmp_path: Path
) -> None:
    async def send(writer: WriterProcessClient) -> list[Any]:
        sent = [
            writer.submit(WriteKind.EVENTS, store, [[view(f"i{number}")], [view("again")]])
            for number in range(100)
        ]
        orders = [
            writer.submit(WriteKind.ORDER, store, an_order(f"A-{n}")) for n in (1, 2, 1)
        ]
        return [await asyncio.gather(*sent), await asyncio.gather(*orders)]

    async def both() -> list[Any]:
        path = tmp_path / "writer.sock"
        return list(await asyncio.gather(with_writer(path, send), with_writer(path, send)))

    with serving(services, door):
        first, second = asyncio.run(both())

    assert first[0] == second[0] == [None] * 100
    receipts = [*first[1], *second[1]]
    assert all(isinstance(one, OrderReceipt) for one in receipts)
    fresh = [one.order_id for one in receipts if not one.duplicate]
    assert sorted(fresh) == ["A-1", "A-2"]  # each once, whoever sent it
    assert stored(services, store) == 400


def test_an_error_comes_back_as_what_it_is(
    services: Services, door: socket.socket, tmp_path: Path
) -> None:
    async def send(writer: WriterProcessClient) -> None:
        with pytest.raises(StoreDeletedError, match="deleted"):
            await writer.submit(WriteKind.EVENTS, "nobody", [[view("tent")]])

    with serving(services, door):
        asyncio.run(with_writer(tmp_path / "writer.sock", send))


def test_what_comes_before_the_writer_does_waits_for_it(
    services: Services, store: StoreId, door: socket.socket, tmp_path: Path
) -> None:
    async def send(writer: WriterProcessClient) -> object:
        sent = writer.submit(WriteKind.EVENTS, store, [[view("tent")]])
        await asyncio.sleep(0.05)
        assert not sent.done()
        before = (
            writer.is_writer_available
        )  # connected, for the door is there; but nobody behind it
        stack.enter_context(serving(services, door))
        done = await asyncio.wait_for(sent, 20)
        assert (before, writer.is_writer_available) == (False, True)
        return done

    with contextlib.ExitStack() as stack:
        assert asyncio.run(with_writer(tmp_path / "writer.sock", send)) is None
    assert stored(services, store) == 1


def test_writes_sent_to_a_dying_writer_fail_and_unsent_writes_wait(
    services: Services, store: StoreId, tmp_path: Path
) -> None:
    """A writer that takes one question and dies; then a real one comes to the address."""
    path = tmp_path / "writer.sock"
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(path))
        deaf.listen()

        async def send(writer: WriterProcessClient) -> list[Any]:
            sent = writer.submit(WriteKind.EVENTS, store, [[view("sent")]])
            connection, _ = await asyncio.to_thread(deaf.accept)
            await asyncio.to_thread(connection.recv, 1)
            deaf.close()
            path.unlink()
            connection.close()
            with pytest.raises(UnconfirmedWriteError, match="it may be stored"):
                await asyncio.wait_for(sent, 20)
            second = writer.submit(WriteKind.EVENTS, store, [[view("unsent")]])
            await asyncio.sleep(0.1)
            door = stack.enter_context(socket.socket(socket.AF_UNIX))
            door.bind(str(path))
            door.listen()
            stack.enter_context(serving(services, door))
            assert not writer.is_writer_available
            return [await asyncio.wait_for(second, 20)]

        with contextlib.ExitStack() as stack:
            assert asyncio.run(with_writer(path, send)) == [None]
    assert stored(services, store) == 1


def test_too_many_waiting_writes_are_refused(store: StoreId, tmp_path: Path) -> None:
    async def send() -> None:
        writer = WriterProcessClient(tmp_path / "nobody", StorageFailures(), limit=2)
        for _ in range(2):
            writer.submit(WriteKind.EVENTS, store, [[view("tent")]])
        with pytest.raises(QueueFullError):
            writer.submit(WriteKind.EVENTS, store, [[view("tent")]])

    asyncio.run(send())


def test_a_stop_waits_for_those_who_are_connected(
    services: Services, store: StoreId, door: socket.socket, tmp_path: Path
) -> None:
    async def send(writer: WriterProcessClient) -> list[Any]:
        first = await writer.submit(WriteKind.EVENTS, store, [[view("before")]])
        server.stop()
        await asyncio.sleep(0.2)
        return [first, await writer.submit(WriteKind.EVENTS, store, [[view("after")]])]

    with serving(services, door) as server:
        assert asyncio.run(with_writer(tmp_path / "writer.sock", send)) == [None, None]
    assert stored(services, store) == 2


def test_the_writer_needs_no_web_framework() -> None:
    code = (
        "import productrecs.serving.writes.write_server, sys;"
        "print([one for one in ('fastapi', 'starlette') if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
