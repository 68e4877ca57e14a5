"""Many stores on one machine: memory and work of each, and time to learn.

`BENCH_STORES` (2,000) small stores of 500 products are written past the service, then
served on SQLite. Each store's lists are asked for once. Then a new habit begins in the
busiest store and in quiet ones, while shoppers visit all stores. At last the service is
started again.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import random
import sys
import threading
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed.servers import Server, service
from benchmarks.speed.stores import productrecs, scratch
from productrecs.core.clock import DAY_MS, MINUTE_MS, system_ms
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.training.repository import training_progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.report import Report
    from productrecs.services import Services

STORES = int(os.environ.get("BENCH_STORES", "2000"))
PRODUCTS, VISITS, VIEWS = 500, 100, 3
EVENTS_PER_SECOND = 20.0
HABITS, BELIEVERS = 6, 3
REST_SECONDS = 10.0
NEVER_SECONDS = 180.0
KINDS = ("tent", "stove", "lamp", "rope", "boots", "jacket", "cup", "mat")


@dataclass(frozen=True, slots=True)
class SmallStore:
    """A store of the benchmark, and the key of its pages."""

    store_id: str
    key: str


def many_stores(report: Report) -> None:
    """Measure start, memory, work at rest, first answers and learning of many stores."""
    with scratch() as data:
        productrecs(data, "migrate")
        services = build_services(Settings(data=data))
        began = time.perf_counter()
        stores = list(_written(services))
        _say(f"{STORES} stores written in {time.perf_counter() - began:.0f} s")
        with _started(report, data, stores[-1], "start") as serving:
            _made_ready(report, services)
            _at_rest(report, serving, "no store asked for")
            closed = _memory(serving)
            _first_answers(report, serving, stores)
            _at_rest(report, serving, "all stores in memory")
            opened = (_memory(serving) - closed) / STORES
            _add(report, "memory of an open store", opened / 1e3, "kB", "one API process")
            _learning(report, serving, stores)
        with _started(report, data, stores[-1], "restart") as serving:
            _at_rest(report, serving, "after a restart")
        services.close()


@contextlib.contextmanager
def _started(report: Report, data: Path, store: SmallStore, how: str) -> Iterator[Server]:
    """Start the service; measure the time to the first list of a store."""
    began = time.perf_counter()
    with service(data, 1) as serving:
        serving.wait("/health/ready")
        ready = time.perf_counter() - began
        _answer(serving, store, "p1")
        seconds = time.perf_counter() - began
        _add(report, f"{how} to first list", seconds, "s", f"ready after {ready:.1f} s")
        yield serving


def _written(services: Services) -> Iterator[SmallStore]:
    for number in range(STORES):
        store, _ = register_store(
            services.database, Registration(f"shop{number}.example"), system_ms
        )
        rng = random.Random(number)
        patches = [
            ItemPatch(
                f"p{one}",
                {"title": f"{KINDS[one % 8]} {one}", "price": 5.0 + one % 90},
            )
            for one in range(PRODUCTS)
        ]
        with services.database.transaction(synced=False) as transaction:
            log = StoreLogTransaction(services.database, transaction, store.store_id)
            upsert_items(log, patches, system_ms())
            ingest_events(log, [list(_visits(rng))], system_ms(), imported=True)
        yield SmallStore(store.store_id, store.publishable_key)


def _visits(rng: random.Random) -> Iterator[NewEvent]:
    for visit in range(VISITS):
        at_ms = system_ms() - rng.randrange(30 * DAY_MS)
        for view in range(VIEWS):
            yield NewEvent(
                EventKind.DETAIL_PAGE_VIEW,
                item_id=f"p{int(PRODUCTS * rng.random() ** 3)}",
                session_id=f"v{visit}",
                ts_ms=at_ms + view * MINUTE_MS,
            )


def _made_ready(report: Report, services: Services) -> None:
    """Wait until every store has a model and a search index."""

    def trained() -> int:
        with services.database.reading() as connection:
            rows = training_progress(connection)
        return sum(row.applied_seq is not None for row in rows)

    def indexed() -> int:
        return sum(1 for _ in services.indexes.glob("*/current.json"))

    began = time.perf_counter()
    for done, count in (("trained", trained), ("indexed", indexed)):
        while count() < STORES:
            time.sleep(1.0)
        seconds = time.perf_counter() - began
        note = f"{STORES / seconds:.1f} stores/s"
        _add(report, f"all stores {done} first", seconds, "s", note)


def _at_rest(report: Report, serving: Server, when: str) -> None:
    serving.settle()
    time.sleep(REST_SECONDS)
    spent = serving.cpu_seconds()
    time.sleep(REST_SECONDS)
    share = 100 * (serving.cpu_seconds() - spent) / REST_SECONDS
    _add(report, f"work at rest, {when}", share, "% of a core")
    sizes = sorted(
        (size // 1_000_000 for size in serving.pss_bytes().values()), reverse=True
    )
    _add(report, f"memory, {when}", _memory(serving) / 1e6, "MB", f"by process {sizes}")


def _memory(serving: Server) -> float:
    return float(sum(serving.pss_bytes().values()))


def _first_answers(report: Report, serving: Server, stores: list[SmallStore]) -> None:
    """Ask every store for a list once, which brings it into memory."""
    took = []
    for store in stores:
        began = time.perf_counter()
        _answer(serving, store, "p1")
        took.append(1e3 * (time.perf_counter() - began))
    took.sort()
    note = f"p99 {took[int(0.99 * len(took))]:.0f} ms, one after the other"
    _add(report, "first answer of a store, p50", median(took), "ms", note)


def _learning(report: Report, serving: Server, stores: list[SmallStore]) -> None:
    """Begin habits in the busiest store and in quiet ones, beside visits to all."""
    with _visited(serving, stores):
        for title, chosen in (
            ("the busiest", [stores[0]] * HABITS),
            ("quiet ones", stores[-HABITS:]),
        ):
            took = [
                _until_learned(serving, store, number)
                for number, store in enumerate(chosen)
            ]
            note = (
                f"worst {max(took):.1f} s of {HABITS}; "
                f"{EVENTS_PER_SECOND:.0f} events/s over all stores beside"
            )
            _add(report, f"time to learn, {title}, p50", median(took), "s", note)


def _until_learned(serving: Server, store: SmallStore, number: int) -> float:
    one, other = f"p{400 + 2 * number}", f"p{401 + 2 * number}"
    for believer in range(BELIEVERS):
        order = {
            "order_id": f"o{number}-{believer}",
            "user_id": f"u{number}-{believer}",
            "items": [
                {"item_id": item, "quantity": 1, "price": 9} for item in (one, other)
            ],
        }
        status, reply = serving.post(f"/v1/orders?key={store.key}", order)
        assert status == 200, reply
    began = time.perf_counter()
    while time.perf_counter() - began < NEVER_SECONDS:
        if other in _answer(serving, store, one, "buy"):
            break
        time.sleep(0.1)
    return time.perf_counter() - began


def _answer(
    serving: Server, store: SmallStore, item_id: str, source: str = "mix"
) -> list[str]:
    status, reply = serving.get(
        f"/v1/recommendations?key={store.key}&item_id={item_id}&source={source}"
    )
    assert status == 200, reply
    return [card["id"] for card in reply["recommendations"]]


@contextlib.contextmanager
def _visited(serving: Server, stores: list[SmallStore]) -> Iterator[None]:
    """Let shoppers view products of all stores, of the n-th one by 1/n as often."""
    over, rng = threading.Event(), random.Random(7)
    weights = list(itertools.accumulate(1 / (n + 1) for n in range(len(stores))))

    def visit() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=30)
        while not over.wait(rng.expovariate(EVENTS_PER_SECOND)):
            store = rng.choices(stores, cum_weights=weights)[0]
            event = {
                "event": "detail-page-view",
                "item_id": f"p{rng.randrange(PRODUCTS)}",
                "session_id": f"s{rng.randrange(10_000)}",
            }
            connection.request(
                "POST",
                f"/v1/events?key={store.key}",
                json.dumps(event),
                {"Content-Type": "text/plain"},
            )
            connection.getresponse().read()
        connection.close()

    shoppers = threading.Thread(target=visit, daemon=True)
    shoppers.start()
    try:
        yield
    finally:
        over.set()
        shoppers.join()


def _add(report: Report, name: str, value: float, unit: str, note: str = "") -> None:
    report.add(Figure(f"{STORES} stores: {name}", value, unit, note=note))


def _say(text: str) -> None:
    print(f"[bench] {text}", file=sys.stderr, flush=True)
