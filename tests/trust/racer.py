"""Order races: many processes send the same orders at one moment.

`race` starts processes that all have the same list of orders, lets them go at once, and
returns the reply to each of them for each order. A process reaches the service over HTTP,
or is itself a process that receives orders into the database; one of these is broken on
purpose.
All of them are copies of a starter, which has the program loaded and nothing open.
"""

import atexit
import contextlib
import functools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.records.orders.ingest_events_and_orders import ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.purchases.repository import PurchaseRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import order_receipts
from tests.support.project import ROOT
from tests.support.service import Client

WEEK_MS: Final = 7 * DAY_MS
LINES: Final = ("tent", "tent", "stove")


@dataclass(frozen=True)
class Way:
    """How processes hand in their orders: over HTTP by `ports` in turn, else directly."""

    ports: tuple[int, ...] = ()
    key: str = ""
    database_url: str | None = None
    folder: str = ""
    store_id: str = ""
    now_ms: int = 0
    check_then_insert: bool = False


@dataclass(frozen=True)
class Race:
    """What every process received: `duplicate` by order, and what went wrong."""

    duplicates: dict[str, Counter[bool]]
    errors: list[str]

    def wrong(self, fresh: int = 1) -> list[str]:
        """Return the orders that were not ingested exactly `fresh` times, and errors."""
        return self.errors + [
            key for key, replies in self.duplicates.items() if replies[False] != fresh
        ]


def race(way: Way, order_ids: Sequence[str], processes: int = 8) -> Race:
    """Return the replies to `processes` processes that sent the same orders at once."""
    order = {"way": asdict(way), "order_ids": list(order_ids), "processes": processes}
    duplicates: dict[str, Counter[bool]] = {order_id: Counter() for order_id in order_ids}
    errors: list[str] = []
    everybody = _ask_starter(json.dumps(order))
    assert len(everybody) == processes
    for answers in everybody:
        assert len(answers) == len(order_ids)
        for order_id, duplicate, error in answers:
            if error:
                errors.append(error)
            else:
                duplicates[order_id][duplicate] += 1
    return Race(duplicates, errors)


def _ask_starter(order: str) -> Any:
    """Let the starter run a race; return the replies of each process.

    A race that breaks off ends the starter: its late replies are not the next race's.
    """
    starter = _starter()
    assert starter.stdin is not None
    assert starter.stdout is not None
    try:
        starter.stdin.write(order + "\n")
        starter.stdin.flush()
        return json.loads(starter.stdout.readline())
    except BaseException:
        os.killpg(starter.pid, signal.SIGKILL)
        _starter.cache_clear()
        raise


@functools.cache
def _starter() -> subprocess.Popen[str]:
    """Return this test run's starter, which ends with it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    words = [sys.executable, "-m", "tests.trust.racer"]
    starter: subprocess.Popen[str] = subprocess.Popen(  # type: ignore[call-overload]
        words, cwd=ROOT, start_new_session=True, **pipes
    )
    atexit.register(starter.communicate)  # it ends when nothing more can be asked
    return starter


def _run(line: str) -> str:
    """Let the processes race that one line asks for; return their replies."""
    order = json.loads(line)
    way, order_ids = Way(**order["way"]), order["order_ids"]
    copies = multiprocessing.get_context("fork")
    start = copies.Barrier(order["processes"])
    ends = [copies.Pipe(duplex=False) for _ in range(order["processes"])]
    racers = []
    for number, (_, sender) in enumerate(ends):
        here = (way, number, order_ids, start, sender)
        racers.append(copies.Process(target=_race, args=here))
        racers[-1].start()
        sender.close()
    replies = [hears.recv() for hears, _ in ends]
    for racer, (hears, _) in zip(racers, ends, strict=True):
        racer.join()
        hears.close()
    return json.dumps(replies)


def _race(
    way: Way, number: int, order_ids: Sequence[str], start: Barrier, sender: Connection
) -> None:
    """Be one of the processes."""
    with _receiving(way, number) as receive:
        start.wait(60)
        sender.send([_attempt(receive, order_id) for order_id in order_ids])


def _attempt(
    receive: Callable[[str], bool], order_id: str
) -> tuple[str, bool | None, str | None]:
    try:
        return order_id, receive(order_id), None
    except Exception as error:
        return order_id, None, f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _receiving(way: Way, number: int) -> Iterator[Callable[[str], bool]]:
    if way.ports:
        client = Client(way.ports[number % len(way.ports)])
        yield lambda order_id: _over_http(client, way, order_id)
        client.close()
        return
    database = Database.open(way.database_url, Path(way.folder))
    with database.reading():
        pass  # connected before the race
    receive = _receive
    if way.check_then_insert:
        PurchaseRepository.number_receipt_unless_repeated_recently = _admit_anything  # type: ignore[method-assign]  # the fault
        receive = _checking_first
    yield lambda order_id: receive(database, way, order_id)
    database.close()


def _over_http(client: Client, way: Way, order_id: str) -> bool:
    sent = {"order_id": order_id, "items": [{"item_id": item} for item in LINES]}
    target = f"/v1/orders?key={way.key}"
    reply = client.ask("POST", target, json.dumps(sent).encode())
    assert reply.status == 200, (reply.status, reply.body)
    body = reply.json
    assert body["order_id"] == order_id
    assert body["items_ingested"] == (0 if body["duplicate"] else len(LINES))
    return bool(body["duplicate"])


def _receive(database: Database, way: Way, order_id: str) -> bool:
    order = NewOrder(
        order_id, tuple(NewOrderLine(item) for item in LINES), session_id="s_1"
    )
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, StoreId(way.store_id))
        return ingest_order(log, order, way.now_ms).duplicate


def _checking_first(database: Database, way: Way, order_id: str) -> bool:
    """Receive an order the wrong way: look whether it is known, and then insert."""
    with database.reading() as connection:
        known = sa.select(order_receipts).where(
            order_receipts.c.store_id == way.store_id, order_receipts.c.order_id == order_id
        )
        if connection.execute(known).first() is not None:
            return True
    return _receive(database, way, order_id)


def _admit_anything(self: PurchaseRepository, order_id: str, now_ms: int) -> int | None:
    store_id = self._store_id
    added = upsert(self._connection, order_receipts).values(
        store_id=store_id, order_id=order_id, receipt=0, received_at=now_ms
    )
    query = added.on_conflict_do_update(
        index_elements=["store_id", "order_id"],
        set_={"received_at": now_ms, "receipt": order_receipts.c.receipt + 1},
    ).returning(order_receipts.c.receipt)
    return self._connection.execute(query).scalar()


if __name__ == "__main__":
    for asked in sys.stdin:
        print(_run(asked), flush=True)  # noqa: T201 - the answer
