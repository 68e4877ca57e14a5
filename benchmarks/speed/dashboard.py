"""Dashboard: time and weight of its pages, and what its users cost shoppers' lists.

The log of the big shop grows to ten million events, with what background jobs count of it.
Its owner logs in and opens every page, one after another. Then, in the shop of a million
events, lists leave at drawn times, in turns with and without five people who open a page
each second; both p99 are of the same run. The control of each turn is a process of its own
that has nothing to do with the service and takes the CPU time of the same pages: what it
costs the lists is the price of two processors, and no change of the service can save it.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import itertools
import multiprocessing
import os
import random
import re
import statistics
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.attributing import DAYS, Visits, fill, search_daily
from benchmarks.speed.servers import ServerError, ready_service
from benchmarks.speed.stores import DOMAIN, copy_of, productrecs
from productrecs.core.clock import DAY_MS, system_ms
from productrecs.dashboard.page_registry import navigation
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.reports.customer_segments_report import (
    compute_and_store_segments,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.store_counters_and_versions import log_seq
from productrecs.storage.sql.tables import events
from productrecs.tenancy.accounts.store_management import find_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.report import Report
    from benchmarks.speed.servers import Server
    from benchmarks.speed.stores import BigShop

EVENTS = int(os.environ.get("BENCH_DASHBOARD_EVENTS", "10000000"))
PEOPLE, THINKS_SECONDS, VISITS, ROUNDS = 5, 1.0, 20, 3
LISTS_PER_SECOND, CONNECTIONS, SECONDS = 200.0, 16, 10.0
PAGE_MS, PAGE_KB, RATIO = 200.0, 90.0, 1.3
CHOSEN = "any long enough text"  # the password
OWNER = ("--email", "owner@bench.example", "--base-url", "http://127.0.0.1")
LINK = re.compile(r"/dashboard/reset\?token=\S+")
CSRF = re.compile(r'name="csrf" value="([0-9a-f]+)"')
# Pages that the navigation leads to by another page.
DEEPER = (
    "/dashboard/products?q=oak+lamp",
    f"/dashboard/products/item?id={traffic.item_id(1)}",
    f"/dashboard/merchandising/rule?item={traffic.item_id(1)}",
    "/dashboard/search?q=oak+lamp",
    "/dashboard/impact?days=90&by=widget,source",
    "/dashboard/impact/orders",
    f"/dashboard/demand/product?id={traffic.item_id(1)}",
    f"/dashboard/customers/one?customer={traffic.shopper_id(1)}",
    "/dashboard/report.csv?report=credited-sales",
)
ASSET = re.compile(r'(?:src|href)="(/dashboard/static/[^"]+)"')


def dashboard(report: Report, shop: BigShop) -> None:
    """Add each page's p95 and weight, and the p99 of lists beside five people."""
    with copy_of(shop.trained) as data:
        _grow(data)
        with _opened(data) as (_, person):
            for path in (*_paths(), *DEEPER):
                _page(report, person, path)
    beside_people(report, shop)


def beside_people(report: Report, shop: BigShop) -> None:
    """Add the p99 of lists beside five people, and beside a process that is as busy."""
    key = shop.publishable_key
    lists = b"\0".join(
        b"r"
        + traffic.get(f"/v1/recommendations?item_id={traffic.item_id(n)}&num=8&key={key}")
        for n in range(500)
    )
    with copy_of(shop.trained) as data, _opened(data) as (server, person):
        for path in _paths():  # first visits open the store and compile templates
            person.open(path)
        bursts = [_cpu_seconds(server, person, path) for path in _paths()]
        rounds = [_round(server, person, bursts, lists) for _ in range(ROUNDS)]
    ratio = statistics.median(beside / alone for beside, alone, _ in rounds)
    control = statistics.median(busy / alone for _, alone, busy in rounds)
    told = ", ".join("{:.1f}, {:.1f} and {:.1f}".format(*one) for one in rounds)
    name = f"p99 of lists beside {PEOPLE} people at the dashboard"
    note = f"of that without them; ms with, without, and beside a busy process: {told}"
    target = f"<= {RATIO}"
    report.add(
        Figure(
            name, ratio, "ratio", floor=control, target=target, ok=ratio <= RATIO, note=note
        )
    )


def _grow(data: Path) -> None:
    """Fill the log up to `EVENTS`, and let the background jobs count it."""
    database = Database.open(None, data)
    store = find_store(database, DOMAIN)
    with database.reading() as connection:
        head = log_seq(connection, store.store_id)
    missing = max(0, EVENTS - head)
    visits = Visits(
        store.store_id,
        system_ms() - DAYS * DAY_MS,
        DAYS * DAY_MS / max(1, missing),
        after=head,
        customers=traffic.SHOPPERS,
    )
    with database.transaction(synced=False) as transaction:
        for index in events.indexes:  # to fill it row by row takes longer than all the rest
            index.drop(transaction)
    fill(database, store, visits, missing)
    with database.transaction(synced=False) as transaction:
        for index in events.indexes:
            index.create(transaction)
    search_daily(database, store)
    Attributor(database, data / "trails").catch_up(store)
    compute_and_store_segments(database, store, system_ms())
    database.close()


@contextlib.contextmanager
def _opened(data: Path) -> Iterator[tuple[Server, Person]]:
    """Give the service, and its owner at the dashboard."""
    link = LINK.search(productrecs(data, "account", "reset-link", DOMAIN, *OWNER))
    if link is None:
        raise ServerError("no link to a new password was printed")
    with ready_service(data, 1) as server:
        person = Person(server)
        person.log_in(link[0])
        yield server, person


def _paths() -> list[str]:
    return [page.path for _, pages in navigation() for page in pages]


class Person:
    """Somebody at the dashboard: a connection at a time, and the cookies of a session."""

    def __init__(self, server: Server) -> None:
        """Start without a session."""
        self._port = server.port
        self._cookies: dict[str, str] = {}

    def log_in(self, link: str) -> None:
        """Choose a password at a reset link, which opens a session."""
        token = CSRF.search(self.open(link).decode())
        form = {"csrf": token[1] if token else "", "token": link.partition("token=")[2]}
        self._ask("POST", "/dashboard/reset", urlencode({**form, "password": CHOSEN}))
        if b"/dashboard/logout" not in self.open("/dashboard"):
            raise ServerError("the dashboard did not take the new password")

    def open(self, path: str) -> bytes:
        """Return the body of a page."""
        status, body = self._ask("GET", path, "")
        if status != http.HTTPStatus.OK:
            raise ServerError(f"{path} answered {status}")
        return body

    def _ask(self, method: str, path: str, form: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self._cookies.items())}
        if form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Origin"] = f"http://127.0.0.1:{self._port}"
        with contextlib.closing(connection):
            connection.request(method, path, form or None, headers)
            reply = connection.getresponse()
            for cookie in reply.headers.get_all("Set-Cookie") or ():
                name, _, value = cookie.partition(";")[0].partition("=")
                self._cookies[name] = value
            return reply.status, reply.read()


def _page(report: Report, person: Person, path: str) -> None:
    """Add the p95 of one page and its weight with everything that it loads."""
    took = []
    for _ in range(VISITS):
        began = time.perf_counter()
        body = person.open(path)
        took.append(1e3 * (time.perf_counter() - began))
    p95 = sorted(took)[int(len(took) * 0.95) - 1]
    assets = dict.fromkeys(ASSET.findall(body.decode()))
    weight = sum(len(gzip.compress(one)) for one in (body, *map(person.open, assets))) / 1e3
    is_ok = p95 <= PAGE_MS and weight <= PAGE_KB
    target = f"<= {PAGE_MS:.0f} ms, {PAGE_KB:.0f} kB"
    note = (
        f"{weight:.1f} kB gzip with {len(assets)} files; the first visit {took[0]:.0f} ms"
    )
    report.add(Figure(f"page {path}, p95", p95, "ms", target=target, ok=is_ok, note=note))


def _cpu_seconds(server: Server, person: Person, path: str) -> float:
    """Return the service's CPU time of one visit to a page."""
    spent = server.cpu_seconds()
    for _ in range(VISITS):
        person.open(path)
    return (server.cpu_seconds() - spent) / VISITS


def _round(
    server: Server, person: Person, bursts: list[float], lists: bytes
) -> tuple[float, float, float]:
    """Return the p99 with people, without, and beside a process that is as busy."""

    def p99() -> float:
        return server.load(lists, CONNECTIONS, SECONDS, LISTS_PER_SECOND).p99_ms("r")

    alone = p99()
    with _people(person, _paths()):
        beside = p99()
    with _busy_process(bursts):
        return beside, alone, p99()


@contextlib.contextmanager
def _busy_process(bursts: list[float]) -> Iterator[None]:
    """Take these CPU times in another process, one after another, at the people's rate."""
    busy = multiprocessing.get_context("spawn").Process(target=_take, args=(bursts,))
    busy.start()
    try:
        yield
    finally:
        busy.kill()
        busy.join()


def _take(bursts: list[float]) -> None:
    rng, due = random.Random(1), time.perf_counter()
    for burst in itertools.cycle(bursts):
        due += rng.expovariate(PEOPLE / THINKS_SECONDS)
        time.sleep(max(0.0, due - time.perf_counter()))
        until = time.thread_time() + burst
        while time.thread_time() < until:
            pass


@contextlib.contextmanager
def _people(person: Person, paths: list[str]) -> Iterator[None]:
    """Let people open one page after another while the block runs."""
    end = threading.Event()

    def click(first: int) -> None:
        place = first
        while not end.wait(THINKS_SECONDS):
            person.open(paths[place % len(paths)])
            place += 1

    threads = [threading.Thread(target=click, args=(3 * one,)) for one in range(PEOPLE)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()
