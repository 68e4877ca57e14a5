"""How long, and with how much memory, does a store learn ten million facts from nothing?"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.shop import walks
from benchmarks.speed.stores import (
    BENCH,
    DOMAIN,
    SHAPES,
    digest,
    timed,
)
from productrecs.core.clock import DAY_MS, system_ms
from productrecs.storage.database import Database
from productrecs.storage.dialects import raw_connection
from productrecs.storage.migrations import migrate
from productrecs.storage.sequence_and_item_numbers import StoreLog
from productrecs.storage.tables import events, items, purchase_lines
from productrecs.tenancy.accounts.store_management import Registration, register_store

if TYPE_CHECKING:
    from benchmarks.report import Report
    from productrecs.core.ids import StoreId

FACTS = int(os.environ.get("BENCH_REBUILD_FACTS", "10000000"))
SHOPPERS, DAYS = 500_000, 180
STEPS, CARTS = 7, 0.08  # a visit's products, and how many go into the cart
ORDER = 3  # products of an order; every sixth visit ends in one
VISITS_AN_ORDER = 6
VISITS = 12_000  # in a transaction
SECONDS, MEGABYTES = 90.0, 3_000

Rows = list[tuple[object, ...]]


def rebuild(report: Report) -> None:
    """Measure `productrecs train` on a log of ten million, beside reading its rows."""
    data = _log()
    database = Database.open(None, data)
    with database.reading() as connection:
        store_id, filled = raw_connection(connection).all(
            "SELECT store_id, seq FROM store_heads", ()
        )[0]
    floor = _bare(database, store_id)
    database.close()
    run = timed(data, "train", DOMAIN)  # a process that has read nothing yet
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    of = f"{filled:,} facts, {traffic.ITEMS:,} products"
    report.add(
        Figure(
            "rebuild from nothing",
            run.seconds,
            "s",
            floor,
            run.seconds / floor,
            f"<= {SECONDS:.0f}",
            run.seconds <= SECONDS,
            f"{of}; {run.told()}; floor: reading the rows",
        )
    )
    good = peak <= MEGABYTES
    target = f"<= {MEGABYTES}"
    report.add(Figure("rebuild, memory", peak, "MB", target=target, ok=good, note=of))


def _log() -> Path:
    """Return the data folder with the log; a broken-off beginning is gone on with."""
    made = BENCH / f"log-{FACTS}-{digest(*SHAPES, Path(__file__))}"
    if made.exists():
        return made
    half_made = made.with_name(f"half-{made.name}")
    begun = half_made.exists()
    half_made.mkdir(parents=True, exist_ok=True)
    database = Database.open(None, half_made)
    migrate(database)
    if not begun:
        _begin(database)
    _fill(database)
    database.close()
    half_made.rename(made)
    return made


def _begin(database: Database) -> None:
    """Register the store and write its items straight into their table."""
    store, _ = register_store(database, Registration(DOMAIN), system_ms)
    columns = {"present": True, "change_seq": 0, "created_at": 0, "updated_at": 0}
    with database.transaction(synced=False) as transaction:
        # Training does not look at it, and to fill it takes longer than all the rest.
        raw_connection(transaction).run(
            "DROP INDEX IF EXISTS ix_events_store_id_person", ()
        )
        stock = [
            {"store_id": store.store_id, "number": at, "item_id": f"i{at}", **columns}
            for at in range(traffic.ITEMS)
        ]
        transaction.execute(items.insert(), stock)
        raw_connection(transaction).run(
            "UPDATE store_heads SET next_number = ?", (traffic.ITEMS,)
        )


def _fill(database: Database) -> None:
    """Write facts straight into their tables, from where the log ends."""
    popularity = traffic.Popularity()
    store_id, seq = _head(database)
    while seq < FACTS:
        made, bought = _rows(store_id, seq, popularity)
        with database.transaction(synced=False) as transaction:
            StoreLog(database, transaction, store_id).take_seqs(len(made) + len(bought))
            database.insert_rows(transaction, events, made)
            database.insert_rows(transaction, purchase_lines, bought)
        seq += len(made) + len(bought)


def _head(database: Database) -> tuple[StoreId, int]:
    """Return the only store, and how far its log goes."""
    with database.reading() as connection:
        found = raw_connection(connection).all("SELECT store_id, seq FROM store_heads", ())
    return found[0][0], int(found[0][1])


def _rows(store_id: StoreId, seq: int, popularity: traffic.Popularity) -> tuple[Rows, Rows]:
    """Return the events and the order lines that follow `seq`, the same each time."""
    rng = np.random.default_rng((23, seq))
    begins, every = system_ms() - DAYS * DAY_MS, DAYS * DAY_MS // FACTS
    walked = walks(popularity, popularity.draw(VISITS, rng), STEPS, rng).tolist()
    kinds = np.where(rng.random((VISITS, STEPS)) < CARTS, 2, 1).tolist()
    people = rng.integers(SHOPPERS, size=VISITS).tolist()
    nothing = (None, None, None, None, None, None, None, False)
    made: Rows = []
    bought: Rows = []
    for number, visit in enumerate(walked):
        who = f"s_{people[number]:08d}"
        for item, kind in zip(visit, kinds[number], strict=True):
            seq += 1
            ts = begins + seq * every
            made.append((store_id, seq, ts, kind, item, who, who, who, *nothing))
        if number % VISITS_AN_ORDER == 0:
            order = seq
            for line, item in enumerate(visit[:ORDER]):
                seq += 1
                where = (store_id, seq, seq, order, f"A-{order}", 0, item, line, 1, False)
                told = (begins + seq * every, 1, 19.9, 19.9, None, who, who, who, False)
                bought.append((*where, *told))
    return made, bought


def _bare(database: Database, store_id: StoreId) -> float:
    began, after = time.perf_counter(), 0
    with database.reading() as connection:
        while page := raw_connection(connection).all(
            "SELECT seq, ts, kind, item, session FROM events "
            "WHERE store_id = ? AND seq > ? ORDER BY seq LIMIT 100000",
            (store_id, after),
        ):
            after = page[-1][0]
    return time.perf_counter() - began
