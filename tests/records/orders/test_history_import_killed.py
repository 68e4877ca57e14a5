"""Killed import: it continues where it was, with the same result."""

import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import imports, items, purchase_lines
from tests.records.orders.import_support import NOON, import_text, new_store_id, rows_of
from tests.support.migrated import bring

ROWS = 12_000
IMPORT = """
import sys
from pathlib import Path
from zoneinfo import ZoneInfo
from productrecs.records.orders.order_history_import import OrderHistoryImport
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import ItemNumberCache

url, folder, store, file, at = sys.argv[1:]
history = OrderHistoryImport(
    Database.open(url or None, Path(folder)), ItemNumberCache(), store,
    ZoneInfo("UTC"), int(at)
)
with open(file, "rb") as content:
    history.run(content)
"""


@dataclass(frozen=True)
class Importer:
    """Imports one file into one store, in a process of its own."""

    url: str | None
    folder: Path
    store: StoreId
    file: Path

    def start(self, at: int) -> subprocess.Popen[bytes]:
        """Start, as if the file were handed in at that time."""
        arguments = [self.url or "", str(self.folder), self.store, str(self.file), str(at)]
        return subprocess.Popen([sys.executable, "-c", IMPORT, *arguments])


def a_history() -> str:
    """Return a file with orders over chunks, repeats, returns, bad rows and no dates."""
    lines = ["order_id,item_id,customer_id,quantity,price"]
    for number in range(ROWS):
        order, item = number // 7, (number * 31) % 400
        bad = "" if number % 997 else "zero"
        units = bad or number % 5 - 1 or 3
        lines.append(f"B-{order % 1500},item-{item},c-{order % 90},{units},{item / 4}")
    return "\n".join(lines)


def done(database: Database, store: StoreId) -> int:
    query = sa.select(imports.c.lines_done).where(imports.c.store_id == store)
    with database.reading() as connection:
        return connection.execute(query).scalar() or 0


def killed_after_progress(importer: Importer, database: Database, at: int) -> bool:
    """Let an import get further, kill it; return whether it was still at work."""
    before = done(database, importer.store)
    process = importer.start(at)
    while process.poll() is None and done(database, importer.store) == before:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def test_a_killed_import_ends_as_one_that_ran_through(
    database_url: str | None, data_folder: Path, tmp_path: Path
) -> None:
    bring(data_folder, database_url)
    database = Database.open(database_url, data_folder)
    file = tmp_path / "orders.csv"
    file.write_text(a_history())
    whole, broken = new_store_id(database), new_store_id(database)
    expected = import_text(database, whole, a_history())
    importer = Importer(database_url, data_folder, broken, file)

    kills = sum(
        killed_after_progress(importer, database, NOON + day * DAY_MS) for day in range(3)
    )
    report = import_text(database, broken, a_history(), at=NOON + 9 * DAY_MS)

    assert kills == 3
    assert report == expected
    for table in (purchase_lines, items, imports):
        assert rows_of(database, broken, table) == rows_of(database, whole, table)
    database.close()
