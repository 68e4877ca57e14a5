"""How fast is an uploaded order history imported, and do events wait for it meanwhile?"""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import TYPE_CHECKING, Any

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.ingest import LINES_PER_SECOND, bare_import
from benchmarks.speed.servers import Server, busy_seconds, ready_service
from benchmarks.speed.stores import create_store, scratch

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.report import Report
    from benchmarks.speed.servers import Load

ROWS, ORDERS_OF, ITEMS, CUSTOMERS = 500_000, 3, 5_000, 90_000
EVENTS_PER_SECOND, CONNECTIONS, LOAD_SECONDS = 200.0, 16, 5.0
EVENTS_P99_MS = 100.0
BOUNDARY = "----a-boundary-of-ours"
WAIT_SECONDS = 600.0


def upload(report: Report) -> None:
    """Measure an upload from its 202 to `done`, and events beside it, on one worker."""
    with scratch() as folder:
        file = folder / "history.csv"
        write_history(file)
        beneath = ROWS / bare_import(file, folder / "floor.sqlite")
        data = folder / "data"
        keys = create_store(data)
        events = traffic.events_only(keys["publishable_key"], 71)
        with ready_service(data, 1) as serving:
            quiet = paced(serving, events, LOAD_SECONDS)
            accepted = hand_in(serving, keys["secret_key"], file)
            busy, spent = busy_seconds(), serving.cpu_seconds()
            shopping = Shopping(serving, events)
            seconds = done_after(serving, keys["secret_key"], accepted)
            loads = shopping.end()
            spent = serving.cpu_seconds() - spent
            others = (busy_seconds() - busy - spent) / seconds
    rate = ROWS / seconds
    report.add(
        Figure(
            "upload of an order history, from 202 to done",
            rate,
            "rows/s",
            beneath,
            rate / beneath,
            f">= {LINES_PER_SECOND:,}/s",
            rate >= LINES_PER_SECOND,
            f"{ROWS:,} rows in {seconds:.1f} s beside {EVENTS_PER_SECOND:.0f} events/s, "
            f"{1e6 * spent / ROWS:.0f} us CPU of the service a row, events and all; "
            f"clients and neighbours {others:.2f}; floor: csv.reader and executemany",
        )
    )
    p99 = max(load.p99_ms("e") for load in loads)
    report.add(
        Figure(
            "events beside an upload, p99",
            p99,
            "ms",
            quiet.p99_ms("e"),
            p99 / quiet.p99_ms("e"),
            f"<= {EVENTS_P99_MS:.0f}",
            p99 <= EVENTS_P99_MS and not any(load.refused() for load in loads),
            f"the worst of {len(loads)} stretches; p50 "
            f"{max(load.p50_ms('e') for load in loads):.1f} ms; floor: without an upload",
        )
    )


def write_history(file: Path) -> None:
    """Write an order history of `ROWS` rows of some 50 characters."""
    with file.open("w", encoding="utf-8") as out:
        out.write("order_id,item_id,customer_id,timestamp,quantity,price\n")
        for row in range(ROWS):
            order, item = row // ORDERS_OF, row * 7_919 % ITEMS
            day = f"2026-0{1 + row % 6}-{1 + row % 28:02d}"
            out.write(
                f"A-{order},item-{item},c-{order % CUSTOMERS},{day},{1 + row % 3},"
                f"{item % 90}.5\n"
            )


class Shopping:
    """Events at an even pace, stretch after stretch, until its end is asked for."""

    def __init__(self, serving: Server, events: bytes) -> None:
        self._serving, self._events = serving, events
        self._loads: list[Load] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()

    def end(self) -> list[Load]:
        """Return what each stretch measured."""
        self._over.set()
        self._thread.join()
        return self._loads

    def _go_on(self) -> None:
        while not self._over.is_set():
            self._loads.append(paced(self._serving, self._events, LOAD_SECONDS))


def paced(serving: Server, events: bytes, seconds: float) -> Load:
    """Return how soon events were acknowledged."""
    return serving.load(events, CONNECTIONS, seconds, EVENTS_PER_SECOND)


def hand_in(serving: Server, secret: str, file: Path) -> str:
    """Send the file and return the upload's id, once it was accepted."""
    head = (
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; "
        'name="file"; filename="orders.csv"\r\n\r\n'
    )
    body = head.encode() + file.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    told = asked(serving, secret, "POST", "/orders/upload", body, {"Content-Type": kind})
    upload_id: str = told["upload_id"]
    return upload_id


def done_after(serving: Server, secret: str, upload_id: str) -> float:
    """Return after how many seconds from now the upload was done.

    Raises:
        RuntimeError: when it failed, or is not done after ten minutes.
    """
    began = time.monotonic()
    while True:
        told = asked(serving, secret, "GET", f"/orders/upload/{upload_id}")
        taken = time.monotonic() - began
        if told["status"] == "done":
            return taken
        if told["status"] == "failed" or taken > WAIT_SECONDS:
            raise RuntimeError(str(told))
        time.sleep(0.05)


def asked(
    serving: Server,
    secret: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return the JSON that a call with the secret key is answered with."""
    connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=120)
    try:
        connection.request(method, path, body, {"X-API-Key": secret, **(headers or {})})
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found
    finally:
        connection.close()
