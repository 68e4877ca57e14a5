"""How long does a nightly run take, and how much memory, for 10,000 items and two years?

Sales are drawn from rates that differ a thousandfold between items, with weekdays, a season
and days that scatter more than chance: seven item-days in ten have no sale, as in shops.
"""

from __future__ import annotations

import json
import resource
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.report import Figure
from benchmarks.speed.stores import DOMAIN, create_store, productrecs, timed
from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.core.report import parse_report_query
from productrecs.features.forecast.demand_reports import stock_and_demand_report
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import items as item_table
from productrecs.storage.sql.tables import purchase_lines
from productrecs.tenancy.accounts.store_management import find_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.report import Report

ITEMS, DAYS = 10_000, 730
MOST_SECONDS, MOST_MB, REPORT_MS = 600.0, 3_000, 200.0
_CHUNK: Final = 100_000


def forecasting(report: Report) -> None:
    """Measure `productrecs forecast` on SQLite, reading and storing included."""
    folder = Path(tempfile.mkdtemp(prefix="productrecs-demand-"))
    try:
        keys = create_store(folder)
        lines = fill(folder, StoreId(keys["store_id"]))
        run = timed(folder, "forecast", DOMAIN)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        told = json.loads(productrecs(folder, "report", DOMAIN, "forecast", "--json"))
        report.add(what_to_order(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = {one["name"]: one["value"] for one in told["figures"]}
    note = (
        f"{lines:,} lines, {figures['learned']:,} items with the learned model; "
        f"{run.told()}; items' rmsse {figures['items rmsse']}, "
        f"28-day mean {figures['items moving_rmsse']}, coverage {figures['items coverage']}"
    )
    report.add(
        Figure(
            f"forecast, {ITEMS:,} items x {DAYS} days",
            run.seconds,
            "s",
            target=f"<= {MOST_SECONDS:.0f}",
            ok=run.seconds <= MOST_SECONDS,
            note=note,
        )
    )
    report.add(
        Figure(
            "forecast, peak memory", peak, "MB", target=f"<= {MOST_MB}", ok=peak <= MOST_MB
        )
    )


def what_to_order(folder: Path) -> Figure:
    """Measure the report of what to order, of all products of a store that was forecast."""
    database = Database.open(None, folder)
    store, now_ms = find_store(database, DOMAIN), time.time_ns() // 1_000_000
    wanted = parse_report_query(now_ms, store.settings.zone)
    times = []
    for _ in range(9):
        began = time.perf_counter()
        stock_and_demand_report(database, store, wanted, now_ms)
        times.append((time.perf_counter() - began) * 1000)
    database.close()
    took = median(times)
    return Figure(
        f"report demand, {ITEMS:,} items",
        took,
        "ms",
        target=f"<= {REPORT_MS:g} ms",
        ok=took <= REPORT_MS,
        note=f"median of {len(times)}, worst {max(times):.0f} ms",
    )


def fill(folder: Path, store_id: StoreId) -> int:
    """Write two years of orders into the store's database; return how many lines."""
    database = Database.open(None, folder)
    now = time.time_ns() // 1_000_000
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight - timedelta(days=DAYS)
    count = 0
    with database.transaction() as transaction:
        names = [column.name for column in item_table.columns]
        known = {
            "store_id": store_id,
            "present": True,
            "change_seq": 1,
            "title": "",
            "created_at": int(first.timestamp() * 1000),
            "updated_at": now,
        }
        rows = [
            [
                (known | {"number": number, "item_id": f"i{number}"}).get(
                    name, f'["c{number % 40}"]' if name.startswith("categor") else None
                )
                for name in names
            ]
            for number in range(ITEMS)
        ]
        database.insert_rows(transaction, item_table, rows)
        for chunk in _lines(store_id, int(first.timestamp() * 1000)):
            database.insert_rows(transaction, purchase_lines, chunk)
            count += len(chunk)
    database.close()
    return count


def _lines(store_id: StoreId, first_ms: int) -> Iterator[list[tuple[object, ...]]]:
    """Give chunks of purchase lines: one for each item and day on which it sold."""
    rng = np.random.default_rng(17)
    levels = np.exp(rng.normal(-1.6, 1.4, ITEMS))
    days = np.arange(DAYS)
    season = 1 + 0.4 * np.sin(2 * np.pi * days / 365)
    week = np.array([0.9, 0.9, 1.0, 1.1, 1.3, 1.2, 0.6])[days % 7]
    names = [column.name for column in purchase_lines.columns]
    seq, chunk = 0, list[tuple[object, ...]]()
    for day in range(DAYS):
        wanted = levels * season[day] * week[day] * rng.gamma(2, 0.5, ITEMS)
        sold = rng.poisson(wanted)
        for item in np.flatnonzero(sold).tolist():
            seq += 1
            facts = {
                "store_id": store_id,
                "line_seq": seq,
                "seq": seq,
                "basket": seq,
                "order_id": f"o{seq}",
                "receipt": 0,
                "item": item,
                "line": 0,
                "channel": 2,
                "void": False,
                "ts": first_ms + day * DAY_MS + 43_200_000,
                "quantity": int(sold[item]),
                "imported": True,
            }
            chunk.append(tuple(facts.get(name) for name in names))
        if len(chunk) >= _CHUNK:
            yield chunk
            chunk = []
    yield chunk
