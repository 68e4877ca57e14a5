"""How fast do facts come in: events one at a time, and a year of orders at once?"""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import apsw

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.servers import Server, floor, ready_service
from benchmarks.speed.stores import (
    DOMAIN,
    BigShop,
    copy_of,
    create_store,
    productrecs,
    scratch,
)

if TYPE_CHECKING:
    from benchmarks.report import Report

DATA = "PRODUCTRECS_BENCH_DATA"
CLIENTS, WORKERS, ROUNDS, SECONDS = 64, 2, 3, 5.0
EVENTS_PER_SECOND, PACED_RATE, PACED_SECONDS, PACED_P99_MS = 8_000, 1_000.0, 12.0, 50.0
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
    requests = traffic.events_only(shop.publishable_key, seed=31)
    with (
        copy_of(shop.trained) as data,
        scratch() as folder,
        ready_service(data, WORKERS) as serving,
        floor("floor_events", folder, WORKERS) as bare,
    ):
        for server in (bare, serving):
            server.load(requests, CLIENTS, 2.0)
        rounds = [
            (
                bare.load(requests, CLIENTS, SECONDS),
                serving.load(requests, CLIENTS, SECONDS),
            )
            for _ in range(ROUNDS)
        ]
        rate = median(ours.rate("e") for _, ours in rounds)
        beneath = median(theirs.rate("e") for theirs, _ in rounds)
        refused = {status for _, ours in rounds for status in ours.refused()}
        report.add(
            Figure(
                "events, durable, 64 clients, two workers",
                rate,
                "events/s",
                beneath,
                rate / beneath,
                f">= {EVENTS_PER_SECOND:,}/s",
                rate >= EVENTS_PER_SECOND and not refused,
                f"p99 {median(ours.p99_ms('e') for _, ours in rounds):.1f} ms, floor's "
                f"{median(theirs.p99_ms('e') for theirs, _ in rounds):.1f} ms; client at "
                f"most {max(ours.client_cpu for _, ours in rounds):.2f} CPU"
                + (f"; REFUSED {sorted(refused)}" if refused else ""),
            )
        )
        _event_latency(report, requests, serving, bare)


def _event_latency(report: Report, requests: bytes, serving: Server, bare: Server) -> None:
    theirs = bare.load(requests, CLIENTS, PACED_SECONDS, PACED_RATE)
    ours = serving.load(requests, CLIENTS, PACED_SECONDS, PACED_RATE)
    p99 = ours.p99_ms("e")
    report.add(
        Figure(
            "events, durable, p99 at 1,000/s",
            p99,
            "ms",
            theirs.p99_ms("e"),
            p99 / theirs.p99_ms("e"),
            f"<= {PACED_P99_MS:.0f}",
            p99 <= PACED_P99_MS and not ours.refused(),
            f"p50 {ours.classes['e']['p50_ms']:.2f}, "
            f"p99.9 {ours.classes['e']['p999_ms']:.1f} ms",
        )
    )


def import_orders(report: Report) -> None:
    """Measure `import-orders` of the whole Online Retail year into an empty store."""
    source = Path(os.environ.get(DATA, "")) / "online_retail" / "transactions.parquet"
    if not os.environ.get(DATA) or not source.exists():
        report.skip("import-orders", f"set {DATA} to the folder that holds online_retail/")
        return
    with scratch() as folder:
        year = folder / "orders.csv"
        lines = write_year(source, year)
        floor_seconds = bare_import(year, folder / "floor.sqlite")
        data = folder / "data"
        create_store(data)
        began = time.perf_counter()
        productrecs(data, "import-orders", DOMAIN, str(year))
        seconds = time.perf_counter() - began
    rate, beneath = lines / seconds, lines / floor_seconds
    report.add(
        Figure(
            "import-orders, Online Retail year",
            rate,
            "lines/s",
            beneath,
            rate / beneath,
            f">= {LINES_PER_SECOND:,}/s",
            rate >= LINES_PER_SECOND,
            f"{lines:,} lines in {seconds:.1f} s with the program's start; floor: "
            "csv.reader and executemany, no rules",
        )
    )


def write_year(source: Path, year: Path) -> int:
    """Write the transactions as an order history (4.2) and return the number of lines."""
    from pyarrow import parquet  # noqa: PLC0415 - only where the data is

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
