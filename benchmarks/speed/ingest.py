"""How fast do facts come in: events one at a time, and a year of orders at once?"""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw
from pyarrow import parquet

from benchmarks.quality import datasets
from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.rounds import compare
from benchmarks.speed.servers import Server, floor, ready_service
from benchmarks.speed.stores import (
    DOMAIN,
    BigShop,
    copy_of,
    create_store,
    scratch,
    timed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.report import Report

CLIENTS, WORKERS, SECONDS = 64, 2, 5.0
EVENTS_PER_SECOND, PACED_RATE, PACED_P99_MS = 8_000, 1_000.0, 50.0
LINES_PER_SECOND = 20_000
COLUMNS = ("order_id", "item_id", "customer_id", "timestamp", "quantity", "price")
PARQUET_COLUMNS = [
    "invoice_no",
    "stock_code",
    "customer_id",
    "invoice_date",
    "quantity",
    "unit_price",
]


def events(report: Report, shop: BigShop) -> None:
    """Measure durable `POST /v1/events`, one at a time from 64 clients, on two workers."""
    with (
        copy_of(shop.trained) as data,
        scratch() as folder,
        ready_service(data, WORKERS) as serving,
        floor("floor_events", folder, WORKERS) as bare,
    ):
        measured = Beacons(report, shop, bare, serving)
        measured.warm()
        measured.throughput()
        measured.latency()


@dataclass(frozen=True, slots=True)
class Beacons:
    """Events, told to the floor and to the service."""

    report: Report
    shop: BigShop
    bare: Server
    serving: Server

    def requests(self, seed: int) -> bytes:
        """Return the requests of one round."""
        return traffic.events_only(self.shop.publishable_key, seed)

    def warm(self) -> None:
        """Let both begin."""
        for server in (self.bare, self.serving):
            server.load(self.requests(1_000), CLIENTS, 2.0)

    def throughput(self) -> None:
        """Report the events per second."""
        found = compare(
            self.bare,
            self.serving,
            lambda server, requests: server.load(requests, CLIENTS, SECONDS),
            self.requests,
        )
        rate = found.ours(lambda load: load.rate("e"))
        self.report.add(
            Figure(
                "events, durable, 64 clients, two workers",
                rate,
                "events/s",
                found.theirs(lambda load: load.rate("e")),
                found.ratio(lambda load: load.rate("e")),
                f">= {EVENTS_PER_SECOND:,}/s",
                rate >= EVENTS_PER_SECOND and not found.refused(),
                f"p99 {found.ours(lambda load: load.p99_ms('e')):.1f} beside "
                f"{found.theirs(lambda load: load.p99_ms('e')):.1f} ms; "
                f"{found.conditions()}; {found.refused()} refused",
            )
        )

    def latency(self) -> None:
        """Report how soon events are durable when a thousand come in a second."""
        found = compare(
            self.bare,
            self.serving,
            lambda server, requests: server.load(requests, CLIENTS, SECONDS, PACED_RATE),
            lambda seed: self.requests(seed + 100),
        )
        p99 = found.ours(lambda load: load.p99_ms("e"))
        beneath = found.theirs(lambda load: load.p99_ms("e"))
        self.report.add(
            Figure(
                "events, durable, p99 at 1,000/s",
                p99,
                "ms",
                beneath,
                p99 / beneath,
                f"<= {PACED_P99_MS:.0f}",
                p99 <= PACED_P99_MS and not found.refused(),
                f"p50 {found.ours(lambda load: load.p50_ms('e')):.2f} ms; "
                f"{found.conditions()}",
            )
        )


def import_orders(report: Report) -> None:
    """Measure `import-orders` of the whole Online Retail year into an empty store."""
    source = datasets.folder() / "online_retail" / "transactions.parquet"
    if not source.is_file():
        why = f"{source} is not there; set PRODUCTRECS_BENCH_DATA to its folder"
        report.skip("import-orders", why)
        return
    with scratch() as folder:
        year = folder / "orders.csv"
        lines = write_year(source, year)
        floor_seconds = bare_import(year, folder / "floor.sqlite")
        data = folder / "data"
        create_store(data)
        run = timed(data, "import-orders", DOMAIN, str(year))
    rate, beneath = lines / run.seconds, lines / floor_seconds
    report.add(
        Figure(
            "import-orders, Online Retail year",
            rate,
            "lines/s",
            beneath,
            rate / beneath,
            f">= {LINES_PER_SECOND:,}/s",
            rate >= LINES_PER_SECOND,
            f"{lines:,} lines in {run.seconds:.1f} s with the program's start; "
            f"{run.told()}; floor: csv.reader and executemany, no rules",
        )
    )


def import_items(report: Report, shop: BigShop) -> None:
    """Measure `import-items` of the big shop's catalog into an empty store, and again."""
    with scratch() as folder:
        data = folder / "data"
        create_store(data)
        for what in ("new", "known"):
            run = timed(data, "import-items", DOMAIN, str(shop.files.items))
            items = sum(1 for _ in shop.files.items.open())
            report.add(
                Figure(
                    f"import-items, {items:,} {what} items",
                    items / run.seconds,
                    "items/s",
                    note=f"{run.seconds:.1f} s with the program's start; {run.told()}",
                )
            )


def write_year(source: Path, year: Path) -> int:
    """Write the transactions as an order history (4.2) and return the number of lines."""
    table = parquet.read_table(source, columns=PARQUET_COLUMNS)
    moments = [moment.isoformat() for moment in table["invoice_date"].to_pylist()]
    columns = [table[name].to_pylist() for name in PARQUET_COLUMNS]
    columns[PARQUET_COLUMNS.index("invoice_date")] = moments
    with year.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        writer.writerows(zip(*columns, strict=True))
    return int(table.num_rows)


def bare_import(year: Path, database: Path) -> float:
    """Return the seconds that csv.reader and executemany take for the same file."""
    began = time.perf_counter()
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE lines (order_id, item_id, customer_id, at, quantity, price);"
        "CREATE INDEX by_order ON lines (order_id, item_id)"
    )
    with year.open(newline="", encoding="utf-8") as rows, connection:
        reader = csv.reader(rows)
        next(reader)
        connection.executemany("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?)", reader)
    connection.close()
    return time.perf_counter() - began
