"""Dashboard: time and weight of its pages, and what its users cost shoppers' lists.

The owner of the big shop logs in and opens every page of the navigation, one after another.
Then lists leave at drawn times, in turns with and without five people who open a page each
second; both p99 are of the same run.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import re
import statistics
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.servers import ServerError, ready_service
from benchmarks.speed.stores import DOMAIN, copy_of, productrecs
from productrecs.entrypoints.http.dashboard.registry import navigation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.report import Report
    from benchmarks.speed.servers import Server
    from benchmarks.speed.stores import BigShop

PEOPLE, THINKS_SECONDS, VISITS, ROUNDS = 5, 1.0, 20, 3
LISTS_PER_SECOND, CONNECTIONS, SECONDS = 200.0, 16, 10.0
PAGE_MS, PAGE_KB, RATIO = 200.0, 90.0, 1.3
CHOSEN = "any long enough text"  # the password
OWNER = ("--email", "owner@bench.example", "--base-url", "http://127.0.0.1")
LINK = re.compile(r"/dashboard/reset\?token=\S+")
CSRF = re.compile(r'name="csrf" value="([0-9a-f]+)"')
ASSET = re.compile(r'(?:src|href)="(/dashboard/static/[^"]+)"')


def dashboard(report: Report, shop: BigShop) -> None:
    """Add each page's p95 and weight, and the p99 of lists beside five people."""
    with copy_of(shop.trained) as data:
        link = LINK.search(productrecs(data, "account", "reset-link", DOMAIN, *OWNER))
        if link is None:
            raise ServerError("no link to a new password was printed")
        key = shop.publishable_key
        lists = b"\0".join(
            b"r"
            + traffic.get(
                f"/v1/recommendations?item_id={traffic.item_id(n)}&num=8&key={key}"
            )
            for n in range(500)
        )
        with ready_service(data, 1) as server:
            person = Person(server)
            person.log_in(link[0])
            paths = [page.path for _, pages in navigation() for page in pages]
            for path in paths:
                _page(report, person, path)
            rounds = [_round(server, person, paths, lists) for _ in range(ROUNDS)]
    ratio = statistics.median(beside / alone for beside, alone in rounds)
    told = ", ".join(f"{beside:.1f} and {alone:.1f}" for beside, alone in rounds)
    name = f"p99 of lists beside {PEOPLE} people at the dashboard"
    note = f"of that without them; ms with and without: {told}"
    report.add(
        Figure(name, ratio, "ratio", target=f"<= {RATIO}", ok=ratio <= RATIO, note=note)
    )


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


def _round(
    server: Server, person: Person, paths: list[str], lists: bytes
) -> tuple[float, float]:
    alone = server.load(lists, CONNECTIONS, SECONDS, LISTS_PER_SECOND)
    with _people(person, paths):
        beside = server.load(lists, CONNECTIONS, SECONDS, LISTS_PER_SECOND)
    return beside.p99_ms("r"), alone.p99_ms("r")


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
