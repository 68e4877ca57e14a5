"""Files that wait for the merchant lose an erased shopper, and delay no erasure."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.plural import counted
from productrecs.features.imports.dashboard_file_import import (
    DashboardFileImporter,
    OnShare,
)
from productrecs.features.privacy.repository import ShopperRecordRepository
from productrecs.records.uploads.file_import import CHECK_JOB, FileImport
from productrecs.services import Services, build_eraser
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.tables import purchase_lines
from productrecs.tenancy.accounts.store import Store
from productrecs.worker.file_import_jobs import build_file_check_worker
from tests.dashboard.conftest import Office
from tests.dashboard.test_file_imports_page import find_import, id_of, press, send, work
from tests.support.dashboard import text_of

ME = "me-zq71"
OURS = (
    "order_id,item_id,customer_id,timestamp,note\n"
    f'A,mug,{ME},2026-10-01,"two\nlines"\n'
    "A,tent,,2026-10-01,her second line\n"
    f"B,rope,c-2,2026-10-02,{ME}\n"
    "C,rope,c-3,2026-10-02,'=1+1\n"
    "D,rope,c-4,2026-10-02,Grüße\n"
)
SHOPIFY = (
    "Name,Email,Financial Status,Created at,"
    "Lineitem quantity,Lineitem name,Lineitem price\n"
    f"#1,{ME}@shop.example,paid,2026-10-01 10:00:00 +0000,1,Mug,9\n"
    f"#1,{ME}@shop.example,,2026-10-01 10:00:00 +0000,1,Tent,9\n"
    "#2,x@shop.example,paid,2026-10-01 10:00:00 +0000,1,Rope,9\n"
)
UNKNOWN = f"Nummer;Ware;Kunde\n1;Becher;{ME}\n2;Zelt;c-2\n"
PRODUCTS = f"id,title,price,brand\nmug,Mug,9,{ME}\n"


def erase(office: Office, store: Store, name: str) -> None:
    """Erase a shopper, as the worker does."""
    eraser = build_eraser(office.services)
    eraser.request_erasure(store.store_id, name)
    eraser.continue_erasures(store.store_id)
    with office.services.database.transaction() as transaction:
        job = NewJob(store.store_id, CHECK_JOB)  # as the schedule does within 30 seconds
        office.services.queue.enqueue(transaction, job)


def waits(office: Office, store: Store) -> int:
    """Return for how many files an erasure of this moment waits."""
    with office.services.database.reading() as connection:
        return ShopperRecordRepository(connection, store.store_id).unfinished_upload_count(
            office.now_ms
        )


def kept(office: Office, path: str) -> str:
    """Return the file of an import."""
    return (office.services.uploads / id_of(path)).read_bytes().decode()


@pytest.mark.parametrize(
    ("content", "encoding", "name", "lost", "left"),
    [
        (OURS, "utf-8", ME, 2, ["B,rope", "C,rope", "D,rope"]),
        (OURS, "cp1252", ME, 2, ["B,rope", "C,rope", "D,rope,c-4,2026-10-02,Grüße"]),
        (OURS, "utf-8-sig", "c-4", 1, ["A,mug", "A,tent", "B,rope", "C,rope"]),
        (OURS, "utf-16", "c-3", 1, ["A,mug", "A,tent", "B,rope", "D,rope"]),
        (OURS, "utf-8", "nobody", 0, ["A,mug", "A,tent", "B,rope", "C,rope", "D,rope"]),
        (SHOPIFY, "utf-8", f"{ME}@shop.example", 2, ["#2"]),
        (UNKNOWN, "utf-8", ME, 1, ["2;Zelt"]),
        (UNKNOWN, "utf-8", "2", 0, ["1;Becher", "2;Zelt"]),  # a number may be anything
        (PRODUCTS, "utf-8", ME, 0, ["mug"]),
    ],
)
def test_a_checked_file_drops_the_orders_of_an_erased_shopper(
    office: Office,
    store: Store,
    content: str,
    encoding: str,
    name: str,
    lost: int,
    left: list[str],
) -> None:
    member = office.member(store)
    path = send(member, gzip.compress(content.encode(encoding)), "orders.csv.gz")
    work(office)
    office.now_ms += 1_000

    erase(office, store, name)
    waited = waits(office, store)
    work(office)

    file = office.services.uploads / id_of(path)
    raw = file.read_bytes()
    text = (raw if lost else gzip.decompress(raw)).decode(encoding).replace('"', "")
    assert (waited, waits(office, store)) == (1, 0)
    assert find_import(office, store, path).status == "checked"
    assert all(part in text for part in left)
    assert len(text.split()) >= len(left)
    if lost:
        dropped = f"{counted(lost, 'row')} of orders of erased customers"
        is_shown = dropped in text_of(member.get(path))
        assert is_shown or content is not OURS  # the others have a problem, which is shown
        assert text.count(name) == int(name == ME and content is OURS)  # another's note
    assert [
        one.name
        for one in office.services.uploads.iterdir()
        if "." in one.name and not one.name.endswith(".lock")
    ] == []


def test_what_is_left_is_imported_with_its_row_numbers(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    broken = "E,rope,c-5,2026-10-02,,,,\nF,,c-6,2026-10-02,no product\n"
    path = send(member, OURS + broken, "orders.csv")
    work(office)
    before = find_import(office, store, path).preview["errors"]
    erase(office, store, ME)
    work(office)
    after = find_import(office, store, path).preview["errors"]
    press(member, path, "start")
    work(office)

    lines = purchase_lines.c
    query = sa.select(lines.order_id).where(lines.store_id == store.store_id)
    with office.services.database.reading() as connection:
        orders = sorted(connection.execute(query).scalars())
    assert before == after
    assert before
    assert orders == ["B", "C", "D", "E"]


def erases_meanwhile(services: Services) -> DashboardFileImporter:
    """Return a checker during whose first check a shopper is erased."""

    class ErasesMeanwhile(DashboardFileImporter):
        def drop_erased_rows_and_dry_run(
            self, store: Store, one: FileImport, path: Path, on_share: OnShare
        ) -> Mapping[str, Any]:
            """Check as ever, then erase."""
            preview = super().drop_erased_rows_and_dry_run(store, one, path, on_share)
            eraser = build_eraser(services)
            if not eraser.all(store.store_id):
                eraser.request_erasure(store.store_id, ME)
                eraser.continue_erasures(store.store_id)
            return preview

    return ErasesMeanwhile(services.imports)


def test_a_shopper_who_is_erased_during_a_check_is_dropped_as_well(
    office: Office, store: Store
) -> None:
    path = send(office.member(store), OURS, "orders.csv")
    checker = build_file_check_worker(office.services, erases_meanwhile(office.services))

    while checker.run_next_job():
        pass

    assert find_import(office, store, path).status == "checked"
    assert "A,mug" not in kept(office, path)


def test_a_file_that_was_sent_after_the_erasure_is_left_as_it_is(
    office: Office, store: Store
) -> None:
    erase(office, store, ME)
    office.now_ms += 1_000

    path = send(office.member(store), OURS, "orders.csv")
    work(office)

    assert kept(office, path) == OURS  # its import leaves the customer out
