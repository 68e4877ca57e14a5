"""Repeated order lines: the lines of one order and item in a file are added up."""

import io
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.orders import repeated_lines
from productrecs.records.orders.order_history_import import (
    DigestProgressStore,
    ImportProgressStore,
    OrderHistoryImport,
    OrderHistoryImportReport,
)
from productrecs.records.purchases.repository import OrderImportProgress
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)
from tests.records.orders.import_support import NOON, new_store_id, standing

HEADER = "order_id,item_id,quantity,price\n"


def add_up(
    database: Database,
    store_id: StoreId,
    content: str,
    journal: ImportProgressStore | None = None,
) -> OrderHistoryImportReport:
    history = OrderHistoryImport(
        database,
        ItemNumberCache(),
        store_id,
        ZoneInfo("UTC"),
        NOON,
        journal,
        adds_repeats=True,
    )
    return history.run(io.BytesIO(content.encode()))


def bought(database: Database, store_id: StoreId) -> list[tuple[object, ...]]:
    return [
        (line.order_id, line.item_id, line.quantity, line.price, line.total)
        for line in standing(database, store_id)
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("A,mug,1,2\nA,mug,4,2\n", [("A", "mug", 5, 2, 10)]),
        (
            "A,mug,1,2\nB,mug,1,2\nA,mug,1,5\n",
            [("A", "mug", 2, 3.5, 7), ("B", "mug", 1, 2, 2)],
        ),
        ("A,mug,3,2\nA,mug,-1,2\n", [("A", "mug", 2, 2, 4)]),
        ("A,mug,2,2\nA,mug,-2,2\nA,tent,1,9\n", [("A", "tent", 1, 9, 9)]),
        ("A,mug,,2\nA,mug,,3\n", [("A", "mug", None, 5, 5)]),
        ("A,mug,,2\nA,mug,3,2\n", [("A", "mug", 4, 2, 8)]),
        ("A,mug,0,2\nA,mug,3,2\n", [("A", "mug", 3, 2, 6)]),
        ("A,mug,1,\nA,mug,2,\n", [("A", "mug", 3, None, None)]),
    ],
)
def test_the_lines_of_an_order_and_item_are_added_up_also_apart(
    database: Database, rows: str, expected: list[tuple[object, ...]]
) -> None:
    store_id = new_store_id(database)

    add_up(database, store_id, HEADER + rows)

    assert bought(database, store_id) == expected


def test_the_same_file_again_changes_nothing(database: Database) -> None:
    store_id = new_store_id(database)
    content = f"{HEADER}A,mug,5,2\nB,mug,1,2\nA,mug,4,2\nA,mug,x,2\n"

    first = add_up(database, store_id, content)
    before = standing(database, store_id)
    again = add_up(database, store_id, content)

    assert standing(database, store_id) == before
    assert (first.lines, first.lines_imported, first.lines_repeated) == (3, 2, 1)
    assert (again.lines_imported, again.lines_updated, again.lines_repeated) == (0, 0, 1)


@dataclass(frozen=True)
class PowerCut(DigestProgressStore):
    """Breaks the transaction of the second chunk."""

    def record(
        self,
        log: StoreLogTransaction,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,
    ) -> None:
        """Store the progress of the first chunk only."""
        if progress.lines_added > 200:
            raise ConnectionError
        super().record(log, progress, report)


def test_an_interrupted_import_counts_each_line_once(database: Database) -> None:
    whole, cut = new_store_id(database), new_store_id(database)
    rows = [f"O-{number % 290},mug,{number % 7 + 1},2\n" for number in range(500)]
    content = HEADER + "".join(rows)

    add_up(database, whole, content)
    with pytest.raises(ConnectionError):
        add_up(database, cut, content, PowerCut(database, cut, "a file", NOON))
    rest = add_up(
        database, cut, content, DigestProgressStore(database, cut, "a file", NOON)
    )

    assert bought(database, cut) == bought(database, whole)
    assert (rest.lines_imported, rest.lines_repeated) == (290, 210)


def test_orders_whose_hashes_are_equal_stay_apart(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_id = new_store_id(database)
    monkeypatch.setattr(repeated_lines, "hash", lambda _key: 7, raising=False)

    report = add_up(database, store_id, f"{HEADER}A,mug,1,2\nB,mug,1,2\nA,mug,4,2\n")

    assert bought(database, store_id) == [("A", "mug", 5, 2, 10), ("B", "mug", 1, 2, 2)]
    assert report.lines_repeated == 1
