"""Item import of a complete feed: what it would change, what it removes, and its undo."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from productrecs.features.imports import item_staging
from productrecs.features.imports.import_report import (
    ItemImportReport,
    item_import_row_counts,
)
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.import_source import open_import_source
from productrecs.features.imports.item_import import ItemImportOptions, import_items
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.uploads.file_import import ItemImportProgress
from productrecs.records.uploads.undo.undo_import import ImportChangeJournal, ImportUndo
from productrecs.records.uploads.upload_folder import UploadFolder
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from tests.support.migrated import ON_SQLITE

NOW = 1_772_366_400_000
HEADER = "id,title,price\n"
ROWS = [f"p{number},Product {number},{number}\n" for number in range(1, 6)]
FIVE = HEADER + "".join(ROWS)


@dataclass
class Shop:
    """A store whose catalog follows files; `marks` are the progress of the last import."""

    services: ImportServices
    folder: Path
    store: Store
    marks: list[ItemImportProgress] = field(default_factory=list)

    def bring(
        self, content: str, name: str = "feed.csv", **options: Any
    ) -> ItemImportReport:
        """Import a file as complete, and only its changes."""
        path = self.folder / name
        path.write_text(content)
        chosen = {"is_complete": True, "only_changes": True, **options}
        self.marks = []
        chosen["on_stored"] = lambda _transaction, mark: self.marks.append(mark)
        with open_import_source(str(path), self.folder) as source:
            return import_items(
                self.services, self.store, source, ItemImportOptions(**chosen)
            )

    def catalog(self) -> dict[str, tuple[float | None, str | None]]:
        """Return price and availability of each product."""
        with self.services.database.reading() as connection:
            page = CatalogRepository(connection, self.store.store_id).page(-1, 100)
        return {one.item.item_id: (one.item.price, one.item.availability) for one in page}

    def change_seqs(self) -> dict[str, int]:
        """Return the place of each product's last change in the log."""
        with self.services.database.reading() as connection:
            page = CatalogRepository(connection, self.store.store_id).page(-1, 100)
        return {one.item.item_id: one.change_seq for one in page}


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> Shop:
    services = ImportServices(
        database,
        lambda: NOW,
        ItemNumberCache(),
        tmp_path,
        DEFAULT_PLANS,
        UploadFolder(tmp_path / "uploads"),
    )
    wanted = Registration("shop.example", None, None, DEFAULT_PLANS["unlimited"])
    return Shop(services, tmp_path, register_store(database, wanted, lambda: NOW)[0])


def counts(report: ItemImportReport) -> dict[str, int]:
    """Return how many products a dry run says are new, changed, repriced and removed."""
    kinds = ("new", "changed", "price", "removed")
    return {kind: report.diff[kind]["count"] for kind in kinds}


def test_a_dry_run_says_what_is_new_changed_repriced_and_removed(shop: Shop) -> None:
    shop.bring(FIVE)
    before = shop.catalog()
    content = HEADER + "p1,Product 1,1\np2,New title,2\np3,Product 3,30\np9,New,9\n"

    report = shop.bring(content, dry_run=True)

    assert counts(report) == {"new": 1, "changed": 2, "price": 1, "removed": 2}
    assert report.diff["price"]["examples"] == [
        {"id": "p3", "title": "Product 3", "before": 3.0, "after": 30.0}
    ]
    assert [one["id"] for one in report.diff["removed"]["examples"]] == ["p4", "p5"]
    assert shop.catalog() == before


@ON_SQLITE
@pytest.mark.parametrize(
    ("content", "is_held"),
    [
        pytest.param(FIVE, False, id="unchanged"),
        pytest.param(FIVE.replace("Product 1", "Other"), False, id="a title"),
        pytest.param(FIVE.replace("Product 1,1", "Product 1,7"), False, id="20 %"),
        pytest.param(FIVE.replace(",1\n", ",7\n").replace(",2\n", ",7\n"), True, id="40 %"),
        pytest.param(HEADER + "".join(ROWS[:3]), True, id="two are missing"),
        pytest.param(HEADER + "p1,Product 1,7\n" + "".join(ROWS[1:4]), True, id="both"),
        pytest.param(FIVE + "p1,Product 1,7\np2,Product 2,7\n", True, id="repeated ids"),
    ],
)
def test_a_file_that_removes_or_reprices_more_than_a_fifth_is_held(
    shop: Shop, content: str, *, is_held: bool
) -> None:
    shop.bring(FIVE)

    report = shop.bring(content, dry_run=True)

    assert bool(report.diff["brake"]) is is_held, report.diff


def test_products_that_a_complete_file_lacks_go_and_return_with_a_later_one(
    shop: Shop,
) -> None:
    shop.bring(FIVE)
    report = shop.bring(HEADER + "p1,Product 1,1\n")

    assert (report.removed, report.unchanged, report.updated) == (4, 1, 0)
    assert item_import_row_counts(report)["removed"] == 4
    assert shop.catalog()["p1"] == (1.0, None)
    assert shop.catalog()["p5"] == (5.0, "discontinued")

    report = shop.bring(FIVE)

    assert (report.removed, report.updated, report.unchanged) == (0, 4, 1)
    assert {available for _, available in shop.catalog().values()} == {None}


def test_a_file_that_is_not_complete_removes_nothing(shop: Shop) -> None:
    shop.bring(FIVE)

    report = shop.bring(HEADER + "p1,Product 1,1\n", is_complete=False)

    assert report.removed == 0
    assert {available for _, available in shop.catalog().values()} == {None}


def test_products_of_rejected_rows_stay(shop: Shop) -> None:
    shop.bring(FIVE)
    rows = [ROWS[0], "p2,Product 2,two\n", *ROWS[2:4]]

    assert shop.bring(HEADER + "".join(rows)).removed == 1  # p5; p2 is in a rejected row
    assert shop.catalog()["p2"] == (2.0, None)

    report = shop.bring('{"id": "p1", "title": "Product 1"}\n{"id": \n', "feed.jsonl")

    assert report.removed == 0  # the second row may be any product
    assert "no product was removed" in " ".join(report.notes)


def test_unchanged_products_are_not_stored_again(shop: Shop) -> None:
    shop.bring(FIVE)
    before = shop.change_seqs()

    shop.bring(FIVE.replace("Product 3", "Other"))

    after = shop.change_seqs()
    assert {item_id for item_id in before if before[item_id] != after[item_id]} == {"p3"}


def test_the_last_row_of_a_repeated_id_counts_even_if_it_changes_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.bring(FIVE)
    for chunk in (1_000, 2):
        monkeypatch.setattr(item_staging, "MAX_ITEMS", chunk)

        shop.bring(HEADER + "p1,Product 1,7\n" + "".join(ROWS))

        assert shop.catalog()["p1"] == (1.0, None)


def test_an_interrupted_import_goes_on_and_counts_everything_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.bring(FIVE)
    monkeypatch.setattr(item_staging, "MAX_ITEMS", 2)
    content = HEADER + "p1,Product 1,1\np2,Two,2\np6,Six,6\np7,Seven,7\n"
    whole = shop.bring(content)
    marks = list(shop.marks)
    assert len(marks) == 3  # two chunks, and the removals
    expected, counted = shop.catalog(), whole.removed
    for mark in marks:
        report = shop.bring(content, progress=mark)
        total = report.created + report.updated + report.unchanged
        assert (total, report.rows) == (4, 4)
        assert report.removed == (counted if mark is marks[-1] else 0)
        assert shop.catalog() == expected


def test_an_undo_brings_back_removed_and_repriced_products(shop: Shop) -> None:
    shop.bring(FIVE)
    before = shop.catalog()
    rows = HEADER + "p1,Product 1,1\np2,Product 2,9\np2,Product 2,8\np9,New,9\n"
    shop.bring(rows, changes=ImportChangeJournal("up_feed"))
    database, store_id = shop.services.database, shop.store.store_id
    undo = ImportUndo(database, store_id, "up_feed", "items", lambda: NOW)

    undo.undo_unless_changed()

    assert shop.catalog() == before
    with database.transaction() as transaction:
        done = undo.delete_changes_and_count_undone(
            StoreLogTransaction(database, transaction, store_id)
        )
    assert done == {"removed": 1, "restored": 4}
