"""Import history: imports of commands stand in it, and are undone like the dashboard's."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.features.imports.order_import import OrderImport
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.uploads.file_import import ImportStatus
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.services import Services
from productrecs.storage.sql.tables import purchase_lines, stores
from tests.cli.conftest import BOTH, CommandLine

Write = Callable[[str, str | bytes], str]
HEADER = "order_id,item_id,timestamp,quantity\n"
FIRST = HEADER + "A,mug,2026-10-01,1\n"
SECOND = HEADER + "A,mug,2026-10-02,5\nB,tent,2026-10-02,1\n"


def lines(services: Services) -> set[tuple[object, ...]]:
    """Return the order lines that count."""
    columns = purchase_lines.c
    query = sa.select(columns.order_id, columns.quantity).where(columns.void.is_(False))
    with services.database.reading() as connection:
        return {tuple(row) for row in connection.execute(query)}


def titles(services: Services) -> set[str | None]:
    """Return the titles of the catalog."""
    with services.database.reading() as connection:
        store_id = StoreId(connection.execute(sa.select(stores.c.store_id)).scalar_one())
        page = CatalogRepository(connection, store_id).page(-1, 100)
    return {one.item.title for one in page}


@BOTH
def test_an_import_of_orders_is_listed_undone_once_and_can_come_again(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    shell("import-orders", shop, write("first.csv", FIRST))
    before = lines(services)
    path = write("second.csv", SECOND)
    shell("import-orders", shop, path)
    shell("import-orders", shop, path, "--dry-run")

    newest, oldest = shell.json("imports", "list", shop)

    assert (newest["file_name"], oldest["file_name"]) == ("second.csv", "first.csv")
    assert newest["sent_by"].startswith("Command line")
    assert (newest["status"], newest["kind"]) == ("done", "orders")
    assert (newest["counts"]["inserted"], newest["counts"]["overwritten"]) == (1, 1)
    assert "1 new, 1 changed" in shell("imports", "list", shop)
    newer = shell.refused("imports", "undo", shop, oldest["import_id"])
    assert "1 of its rows were changed after this import" in newer

    undone = shell.json("imports", "undo", shop, newest["import_id"])

    assert undone == {"removed": 1, "restored": 1}
    assert lines(services) == before
    again = shell.refused("imports", "undo", shop, newest["import_id"])
    assert "second.csv is undone and cannot be undone" in again
    result = shell.json("import-orders", shop, path)
    assert (result["lines_imported"], result["lines_updated"]) == (1, 1)


def test_an_import_of_products_is_undone(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    shell("import-items", shop, write("a.csv", "id,title\nmug,Mug\n"))
    changed = "id,title\nmug,Cup\ntent,Tent\n"
    shell("import-items", shop, "-", stdin=changed)
    newest = shell.json("imports", "list", shop)[0]
    assert (newest["file_name"], newest["kind"]) == ("standard input", "items")

    said = shell("imports", "undo", shop, newest["import_id"])

    assert "standard input is undone: 1 removed, 1 restored." in said
    assert titles(services) == {"Mug"}


def test_an_import_that_failed_is_listed_and_changes_nothing(
    shell: CommandLine, shop: str, write: Write
) -> None:
    shell.refused("import-orders", shop, write("a.csv", "order_id,item_id\nA,mug\n"))
    (one,) = shell.json("imports", "list", shop)
    assert one["status"] == "failed"
    error = shell.refused("imports", "undo", shop, one["import_id"])
    assert "cannot be undone" in error
    assert "has no import 'up_x'" in shell.refused("imports", "undo", shop, "up_x")


def test_an_interrupted_command_leaves_what_can_be_undone(
    shell: CommandLine,
    shop: str,
    services: Services,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write("a.csv", FIRST)
    with monkeypatch.context() as patched:
        patched.setattr(OrderImport, "_name_columns_in_errors_and_note", _interrupt)
        shell.run("import-orders", shop, path)
    (one,) = shell.json("imports", "list", shop)
    assert (one["status"], len(lines(services))) == ("failed", 1)

    shell("imports", "undo", shop, one["import_id"])

    assert lines(services) == set()


def test_a_worker_leaves_the_import_of_a_command_alone(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    shell("import-orders", shop, write("a.csv", FIRST))
    (one,) = shell.json("imports", "list", shop)
    with services.database.transaction() as transaction:
        store_id = StoreId(transaction.execute(sa.select(stores.c.store_id)).scalar_one())
        repository = FileImportRepository(transaction, store_id)
        done, command = (ImportStatus.DONE,), ImportStatus.COMMAND
        assert repository.change_status(one["import_id"], done, command)
        assert repository.oldest_in_status(*set(ImportStatus) - {command}) is None
    error = shell.refused("imports", "undo", shop, one["import_id"])
    assert "is command and cannot be undone" in error


def _interrupt(*_arguments: object) -> None:
    raise KeyboardInterrupt
