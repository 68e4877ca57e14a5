"""How much time and memory does the training of a store with 100 million records take?

The records are written straight into the tables of a real database, then `productrecs
train` reads them in a new process. Stores stay in `.bench` for the next run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
import sqlalchemy as sa

from benchmarks.report import Figure
from benchmarks.speed.stores import BENCH, SHAPES, CommandError, digest
from productrecs.core.clock import DAY_MS, system_ms
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import raw_connection
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.storage.sql.tables import events, items, purchase_lines
from productrecs.tenancy.accounts.store_management import (
    Registration,
    find_store,
    register_store,
)
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import TrainingInputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from benchmarks.report import Report
    from productrecs.core.ids import StoreId
    from productrecs.engines.array_types_and_sorting import Floats

RECORDS = int(os.environ.get("BENCH_LARGE_RECORDS", "100000000"))
SMALLER = min(10_000_000, RECORDS)
DATABASE_URL = os.environ.get("DATABASE_URL")  # SQLite without one
FOLDER = Path(os.environ.get("BENCH_LARGE_FOLDER", str(BENCH)))
RECORDS_PER_ITEM, RECORDS_PER_SHOPPER = 100, 20
STEPS, STAYS = 7, 0.7  # of a visit: its events, and how many stay near the last one
CLUSTER, CATEGORY, VARIANTS, QUERY = 25, 250, 3, 5  # items
ORDER, VISITS_AN_ORDER = 3, 6  # lines
KINDS = {
    EventKind.DETAIL_PAGE_VIEW: 0.62,
    EventKind.ADD_TO_CART: 0.08,
    EventKind.REC_IMPRESSION: 0.20,
    EventKind.REC_CLICK: 0.03,
    EventKind.SEARCH_PREF: 0.03,
    EventKind.SEARCH_CLICK: 0.02,
    EventKind.CATEGORY_VIEW: 0.02,
}
SEARCHES = (EventKind.SEARCH_PREF, EventKind.SEARCH_CLICK)
IN_LISTS = (EventKind.REC_IMPRESSION, EventKind.REC_CLICK)
WITHOUT_ITEM = (EventKind.SEARCH_PREF, EventKind.CATEGORY_VIEW)
PLACES = 10
VISITS, ITEMS_AT_ONCE = 20_000, 100_000  # of a page
DAYS = 90
SECONDS, REBUILD_MEGABYTES = 90.0, 3_000
MEGABYTES, SLOWER = 6_000, 1.5
MEGABYTE, LOOK_SECONDS = 1_000_000, 0.1
HIGHEST = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """What one training took."""

    seconds: float
    cpu_seconds: float
    megabytes: float  # highest resident set size, with mapped files


def rebuild(report: Report) -> None:
    """Measure `productrecs train` on a log of ten million, beside reading its rows."""
    data, records = _filled(SMALLER)
    bare_seconds = _bare(data, SMALLER)
    run = _train(data, SMALLER)
    of = f"{records:,} records, {SMALLER // RECORDS_PER_ITEM:,} products"
    report.add(
        Figure(
            "rebuild from nothing",
            run.seconds,
            "s",
            bare_seconds,
            run.seconds / bare_seconds,
            f"<= {SECONDS:.0f}",
            run.seconds <= SECONDS,
            f"{of}; {run.cpu_seconds:.1f} s CPU; floor: reading the rows",
        )
    )
    _add_memory(report, "rebuild, memory", run, REBUILD_MEGABYTES, of)


def large_store(report: Report) -> None:
    """Measure a training of ten million records and one of `RECORDS`."""
    smaller = 0.0
    for size in (SMALLER, RECORDS):
        data, records = _filled(size)
        run = _train(data, size)
        each = run.cpu_seconds / records * 1e6
        smaller = smaller or each
        ratio = each / smaller
        of = f"{records:,} records, {size // RECORDS_PER_ITEM:,} items"
        report.add(
            Figure(
                "large store, processor time of a record",
                each,
                "us",
                ratio=ratio,
                target=f"<= {SLOWER} of {SMALLER:,}",
                ok=ratio <= SLOWER,
                note=f"{of}; {run.seconds:.0f} s, {run.cpu_seconds:.0f} s CPU",
            )
        )
        _add_memory(report, "large store, memory", run, MEGABYTES, of)


def _add_memory(report: Report, name: str, run: Trained, most: int, note: str) -> None:
    good, target = run.megabytes <= most, f"<= {most}"
    report.add(Figure(name, run.megabytes, "MB", target=target, ok=good, note=note))


def _read(data: Path, size: int) -> TrainingInputs:
    database = Database.open(DATABASE_URL, data)
    store, inputs = find_store(database, _domain(size)), TrainingInputs(data / "models")
    with database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        seq = repository.existing_head().seq
        searches = EventLogRepository(connection, store.store_id)
        inputs.read_log_up_to(repository, seq, searches=searches)
    database.close()
    return inputs


def _train(data: Path, size: int) -> Trained:
    """Run `productrecs train` in a process that has read nothing yet."""
    command = [sys.executable, "-m", "productrecs", "train", _domain(size)]
    began, spent, peak = time.perf_counter(), os.times(), 0.0
    with subprocess.Popen(
        [*command, "--data", str(data)], stdout=subprocess.DEVNULL
    ) as training:
        while training.poll() is None:
            status = Path(f"/proc/{training.pid}/status").read_text()
            if found := HIGHEST.search(status):  # none of a process that has just ended
                peak = int(found[1]) * 1024 / MEGABYTE
            time.sleep(LOOK_SECONDS)
    if training.returncode:
        raise CommandError(f"productrecs train: status {training.returncode}")
    seconds, used = time.perf_counter() - began, os.times()
    cpu_seconds = used.children_user + used.children_system
    cpu_seconds -= spent.children_user + spent.children_system
    return Trained(seconds, cpu_seconds, peak)


def _bare(data: Path, size: int) -> float:
    database = Database.open(DATABASE_URL, data)
    store = find_store(database, _domain(size))
    began, after = time.perf_counter(), 0
    with database.reading() as connection:
        while page := raw_connection(connection).all(
            "SELECT seq, ts, kind, item, session FROM events "
            "WHERE store_id = ? AND seq > ? ORDER BY seq LIMIT 100000",
            (store.store_id, after),
        ):
            after = page[-1][0]
    seconds = time.perf_counter() - began
    database.close()
    return seconds


def _domain(size: int) -> str:
    return f"large-{size}.example"


def _filled(size: int) -> tuple[Path, int]:
    """Return the data folder of a store of this size, and its number of records."""
    made = FOLDER / f"large-{size}-{digest(*SHAPES, Path(__file__))}"
    if DATABASE_URL:
        made = made.with_name(f"{made.name}-server")
    count = made / "records"
    if not count.exists():
        for old in made.parent.glob(f"large-{size}-*"):
            if old.name.endswith("-server") == made.name.endswith("-server"):
                shutil.rmtree(old)
        made.mkdir(parents=True)
        count.write_text(str(_fill(made, size)))
    return made, int(count.read_text())


def _fill(data: Path, size: int) -> int:
    """Register a store, write its records, and return how many."""
    database = Database.open(DATABASE_URL, data)
    migrate(database)
    registration = Registration(_domain(size))
    store_id = register_store(database, registration, system_ms)[0].store_id
    by_shopper = [
        index
        for table in (events, purchase_lines)
        for index in table.indexes
        if "person" in index.columns
    ]
    with database.transaction() as transaction:
        for index in by_shopper:  # faster to build than to maintain
            index.drop(transaction)
    if DATABASE_URL:
        writer: _SqliteFile | _Server = _Server(database)
    else:
        database.close()
        writer = _SqliteFile(data / "productrecs.db")
    n_items, seq = size // RECORDS_PER_ITEM, 0
    for first in range(0, n_items, ITEMS_AT_ONCE):
        numbers = range(first, min(first + ITEMS_AT_ONCE, n_items))
        writer.write(items, ITEM_COLUMNS, [(store_id, *_item(one)) for one in numbers])
    for made, bought in _pages(store_id, size):
        writer.write(events, EVENT_COLUMNS, made)
        writer.write(purchase_lines, LINE_COLUMNS, bought)
        seq += len(made) + len(bought)
    writer.close(by_shopper)
    database = Database.open(DATABASE_URL, data)
    with database.transaction() as transaction:
        raw_connection(transaction).run(
            "UPDATE store_heads SET seq = ?, catalog_seq = 1, catalog_size = ?, "
            "next_number = ? WHERE store_id = ?",
            (seq, n_items, n_items, store_id),
        )
    database.close()
    return seq


class _SqliteFile:
    """Writes rows into a SQLite file without a journal."""

    def __init__(self, path: Path) -> None:
        os.environ["SQLITE_TMPDIR"] = str(path.parent)
        self._connection = apsw.Connection(str(path))
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "cache_size = -262144",
            "temp_store = FILE",
        ):
            self._connection.execute(f"PRAGMA {pragma}")

    def write(self, table: sa.Table, columns: str, rows: Sequence[Row]) -> None:
        places = ", ".join("?" * (columns.count(",") + 1))
        with self._connection:
            self._connection.executemany(
                f"INSERT INTO {table.name} ({columns}) VALUES ({places})",  # noqa: S608 - own names
                rows,
            )

    def close(self, indexes: Sequence[sa.Index]) -> None:
        """Create the indexes, and let the product open the file as its own."""
        for index in indexes:
            self._connection.execute(str(sa.schema.CreateIndex(index)))
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.close()


class _Server:
    """Writes rows into a PostgreSQL database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, table: sa.Table, columns: str, rows: Sequence[Row]) -> None:
        with self._database.transaction(synced=False) as transaction:
            driver: Any = transaction.connection.dbapi_connection
            with (
                driver.cursor() as cursor,
                cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy,
            ):
                for row in rows:
                    copy.write_row(row)

    def close(self, indexes: Sequence[sa.Index]) -> None:
        """Create the indexes."""
        with self._database.transaction() as transaction:
            for index in indexes:
                index.create(transaction)
        self._database.close()


ITEM_COLUMNS = (
    "store_id, number, item_id, present, change_seq, title, categories, created_at, "
    "updated_at"
)
EVENT_COLUMNS = (
    "store_id, seq, ts, kind, item, shopper, person, session, term, position, imported"
)
LINE_COLUMNS = (
    "store_id, line_seq, seq, basket, order_id, receipt, item, line, channel, void, ts, "
    "quantity, price, total, shopper, person, session, imported"
)


def _item(number: int) -> Row:
    colours = ("red", "green", "blue")
    title = f"Tent {number // VARIANTS} {colours[number % VARIANTS]}"
    kinds = json.dumps([f"kind {number // CATEGORY}"])
    return number, f"sku-{number:07d}", True, 1, title, kinds, 0, 0


def _pages(store_id: StoreId, size: int) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the events and order lines of some visits, in log order."""
    weights = 1.0 / np.arange(1, size // RECORDS_PER_ITEM + 1) ** 0.9
    popularity = np.cumsum(weights / weights.sum())
    popularity[-1] = 1.0
    visits, seq = int(size / (STEPS + ORDER / VISITS_AN_ORDER)), 0
    begins = system_ms() - DAYS * DAY_MS
    for first in range(0, visits, VISITS):
        numbers = np.arange(first, min(first + VISITS, visits))
        times = begins + numbers * (DAYS * DAY_MS) // visits
        rng = np.random.default_rng((23, first))
        shoppers = rng.integers(size // RECORDS_PER_SHOPPER, size=len(numbers)).tolist()
        made, bought = _visits(
            (store_id, seq), _walks(len(numbers), popularity, rng), times, shoppers, rng
        )
        seq += len(made) + len(bought)
        yield made, bought


def _walks(visits: int, popularity: Floats, rng: np.random.Generator) -> NDArray[Any]:
    """Return the items [visits, STEPS]: mostly of one cluster; Zipf popularity."""
    drawn = np.searchsorted(popularity, rng.random((visits, STEPS)))
    for step in range(1, STEPS):
        near = drawn[:, step - 1] // CLUSTER * CLUSTER
        near += rng.integers(CLUSTER, size=visits)
        stays = rng.random(visits) < STAYS
        drawn[stays, step] = np.minimum(near, len(popularity) - 1)[stays]
    return drawn


def _visits(
    log: tuple[StoreId, int],
    walked: NDArray[Any],
    times: NDArray[np.int64],
    shoppers: list[int],
    rng: np.random.Generator,
) -> tuple[list[Row], list[Row]]:
    store_id, seq = log
    names = [int(kind) for kind in KINDS]
    kinds = rng.choice(names, p=list(KINDS.values()), size=walked.shape).tolist()
    places = rng.integers(1, PLACES + 1, size=walked.shape).tolist()
    made: list[Row] = []
    bought: list[Row] = []
    for visit, (walk, begin, shopper) in enumerate(
        zip(walked.tolist(), times.tolist(), shoppers, strict=True)
    ):
        session = f"s_{shopper:08d}"
        who = session if shopper % 2 else f"u{shopper:08d}"
        for step, item in enumerate(walk):
            seq += 1
            kind, ts = kinds[visit][step], begin + step * 20_000
            subject = None if kind in WITHOUT_ITEM else item
            term = None
            if kind in SEARCHES:
                term = f"tent {item // QUERY}"
            elif subject is None:
                term = f"kind {item // CATEGORY}"
            position = places[visit][step] if kind in IN_LISTS else None
            made.append(
                (store_id, seq, ts, kind, subject, who, who, session, term, position, False)
            )
        if visit % VISITS_AN_ORDER == 0:
            basket, order = seq, f"A-{seq:010d}"
            for line, item in enumerate(walk[:ORDER]):
                seq += 1
                where = (store_id, seq, seq, basket, order, 0, item, line, 1, False, ts)
                bought.append((*where, 1, 19.9, 19.9, who, who, session, False))
    return made, bought
