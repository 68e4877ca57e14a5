"""Undo of an import: the store is as it was before, unless something newer came."""

import pytest
import sqlalchemy as sa

from productrecs.core.ids import INSTALLATION
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.uploads.undo.repository import ImportChangeRepository
from productrecs.records.uploads.undo.undo_import import ImportUndo
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import import_changes, purchase_lines, store_heads
from productrecs.tenancy.accounts.store import Store
from productrecs.worker.file_import_jobs import UNDO_MS
from tests.dashboard.conftest import Office
from tests.dashboard.test_file_imports_and_erasures import erase
from tests.dashboard.test_file_imports_page import (
    PAGE,
    find_import,
    id_of,
    press,
    send,
    work,
)
from tests.support.dashboard import text_of

HEADER = "order_id,item_id,customer_id,timestamp,quantity\n"
MANY = "".join(f"M-{number},mug,c-{number},2026-10-01,1\n" for number in range(700))
PRODUCTS = (
    "id,title,price,price:USD,categories\nmug,Mug,9,10,Kitchen|Cups\ntent,Tent,90,,\n"
)


def imported(office: Office, store: Store, content: str, name: str = "a.csv") -> str:
    """Import a file; return the address of its page."""
    member = office.member(store)
    path = send(member, content, name)
    work(office)
    press(member, path, "start")
    work(office)
    assert find_import(office, store, path).status.value == "done"
    return path


def undone(office: Office, store: Store, path: str) -> str:
    """Undo an import; return its page."""
    member = office.member(store)
    press(member, path, "undo")
    work(office)
    return " ".join(text_of(member.get(path)).split())


def lines(office: Office, store: Store) -> set[tuple[object, ...]]:
    """Return the order lines that count."""
    columns = purchase_lines.c
    query = sa.select(
        columns.order_id, columns.item, columns.quantity, columns.ts, columns.person
    ).where(columns.store_id == store.store_id, columns.void.is_(False))
    with office.services.database.reading() as connection:
        return {tuple(row) for row in connection.execute(query)}


def catalog(office: Office, store: Store) -> object:
    """Return the products, the size of the catalog and its price lists."""
    heads = store_heads.c
    query = sa.select(heads.catalog_size, heads.price_lists).where(
        heads.store_id == store.store_id
    )
    with office.services.database.reading() as connection:
        page = CatalogRepository(connection, store.store_id).page(-1, 1_000)
        return [one.item for one in page], tuple(connection.execute(query).one())


def test_an_import_of_orders_is_undone_row_by_row(office: Office, store: Store) -> None:
    imported(office, store, f"{HEADER}A,mug,c-1,2026-10-01,1\n")
    before = lines(office, store)
    changing = f"{HEADER}A,mug,c-2,2026-10-05,7\n{MANY}A,mug,c-3,,8\nM-0,mug,,,5\n"
    changing = changing.replace("c-3,,8", "c-3,2026-10-06,8").replace(
        "mug,,,5", "mug,,2026-10-06,5"
    )
    path = imported(office, store, changing)
    counts = find_import(office, store, path).result["counts"]
    assert (counts["inserted"], counts["overwritten"], counts["added_up"]) == (700, 1, 2)
    assert len(lines(office, store)) == 701

    page = undone(office, store, path)

    assert lines(office, store) == before
    assert "Undone by owner@" in page
    assert "700 removed, 1 restored" in page
    assert "Undo this import" not in page
    again = imported(office, store, changing)
    assert len(lines(office, store)) == 701
    undone(office, store, again)
    assert lines(office, store) == before


def test_an_import_that_something_newer_changed_stays(office: Office, store: Store) -> None:
    first = imported(office, store, f"{HEADER}A,mug,,2026-10-01,1\nB,mug,,2026-10-01,1\n")
    second = imported(office, store, f"{HEADER}B,mug,,2026-10-02,4\n")
    after = lines(office, store)

    page = undone(office, store, first)

    assert "1 of its rows were changed after this import" in page
    assert lines(office, store) == after
    undone(office, store, second)
    assert "2 removed, 0 restored" in undone(office, store, first)
    assert lines(office, store) == set()


def test_an_import_of_products_is_undone(office: Office, store: Store) -> None:
    first = imported(office, store, PRODUCTS)
    before = catalog(office, store)
    path = imported(
        office,
        store,
        "id,title,price,price:USD,brand\nmug,Cup,8,11,Acme\nrope,Rope,4,5,\nmug,Bowl,7,,\n",
    )
    assert catalog(office, store) != before

    page = undone(office, store, path)

    assert catalog(office, store) == before
    assert "1 removed, 1 restored" in page
    assert "2 removed, 0 restored" in undone(office, store, first)
    assert catalog(office, store) == ([], (0, "{}"))


def test_an_interrupted_undo_goes_on(
    office: Office, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = imported(office, store, HEADER + MANY)
    kept, calls = ImportChangeRepository.record_undo, 0

    def stop(self: ImportChangeRepository, *arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyError
        kept(self, *arguments)  # type: ignore[arg-type]

    database, clock = office.services.database, office.services.clock
    undo = ImportUndo(database, store.store_id, id_of(path), "orders", clock)
    with monkeypatch.context() as patched:
        patched.setattr(ImportChangeRepository, "record_undo", stop)
        with pytest.raises(KeyError):
            undo.undo_unless_changed()
    assert 0 < len(lines(office, store)) < 700

    undo.undo_unless_changed()
    with database.transaction() as transaction:
        assert undo.delete_changes_and_count_undone(
            StoreLogTransaction(database, transaction, store.store_id)
        ) == {
            "removed": 700,
            "restored": 0,
        }
    assert lines(office, store) == set()


def test_an_undo_brings_no_erased_customer_back(office: Office, store: Store) -> None:
    imported(office, store, f"{HEADER}A,mug,me-zq72,2026-10-01,1\n")
    path = imported(office, store, f"{HEADER}A,mug,c-2,2026-10-01,3\n")
    erase(office, store, "me-zq72")
    query = sa.select(import_changes.c.before).where(
        import_changes.c.store_id == store.store_id
    )
    with office.services.database.reading() as connection:
        assert "me-zq72" not in str(connection.execute(query).all())

    undone(office, store, path)

    assert {(row[2], row[4]) for row in lines(office, store)} == {(1, None)}


def test_after_400_days_an_import_stays(office: Office, store: Store) -> None:
    path = imported(office, store, f"{HEADER}A,mug,,2026-10-01,1\n")
    assert "Undo this import" in text_of(office.member(store).get(path))
    office.now_ms += UNDO_MS + 1
    with office.services.database.transaction() as transaction:
        office.services.queue.enqueue(transaction, NewJob(INSTALLATION, "expire-files"))
    work(office)

    assert "Undo this import" not in text_of(office.member(store).get(path))
    assert "Imported" in undone(office, store, path)
    assert len(lines(office, store)) == 1
    assert PAGE in path
