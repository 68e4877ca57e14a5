"""Imports page: a file is checked, corrected, started and reported by the worker."""

import gzip
import re

import pytest

from productrecs.core.ids import INSTALLATION
from productrecs.features.imports.dashboard_file_import import DashboardFileImporter
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.uploads.file_import import OPEN_LIMIT, FileImport
from productrecs.records.uploads.file_imports.repository import (
    FileImportRepository,
    files_of_open_imports,
)
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.worker.file_import_jobs import (
    MAX_ATTEMPTS,
    RETENTION_MS,
    build_file_check_worker,
    build_file_import_worker,
)
from productrecs.worker.job_worker import JobInterruptedError
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_store, add_user, flat_text, text_of
from tests.support.service import Reply

PAGE = "/dashboard/imports"
PRODUCTS = "id,title,price\nmug,Blue mug,9.5\ntent,Tent,ninety\nrope,Rope,4\n"
ORDERS = (
    "order_id,item_id,timestamp,quantity\n"
    "A,mug,2026-10-01,1\nA,tent,2026-10-01,two\nB,rope,2026-10-02,1\nB,rope,2026-10-02,1\n"
)


def send(member: Member, content: str | bytes, name: str, kind: str = "") -> str:
    """Send a file; return the address of its page."""
    data = content.encode() if isinstance(content, str) else content
    reply = member.send_file(PAGE, data, name, page=PAGE, kind=kind)
    assert reply.status == 303, text_of(reply)
    return reply.header("location") or ""


def work(office: Office) -> None:
    """Let the workers do what is due."""
    files = DashboardFileImporter(office.services.imports)
    for worker in (
        build_file_check_worker(office.services, files),
        build_file_import_worker(office.services, files),
    ):
        while worker.run_next_job():
            pass


def id_of(path: str) -> str:
    """Return the id in the address of an import."""
    return path.partition("file=")[2]


def press(member: Member, path: str, button: str, **fields: str) -> Reply:
    """Send one of the forms of an import's page; return the page that follows."""
    reply = member.post(f"{PAGE}/{button}", page=path, file=id_of(path), **fields)
    assert reply.status == 303, text_of(reply)
    return member.get(reply.header("location") or "")


def stored(office: Office, store: Store) -> set[str]:
    """Return the ids of the catalog."""
    with office.services.database.reading() as connection:
        page = CatalogRepository(connection, store.store_id).page(-1, 1000)
    return {one.item.item_id for one in page}


def test_products_are_checked_then_imported_and_failed_rows_come_back(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    path = send(member, PRODUCTS, "my products.csv")
    assert "Checking" in text_of(member.get(path))
    work(office)
    checked = text_of(member.get(path))

    assert "Some rows have errors" in checked
    assert "Ready to start" not in checked
    assert "Start the import without this row" in checked
    assert "Blue mug" in checked
    assert re.search(r"3\s+price\s+ninety\s+is not a number; write it like", checked)
    assert not stored(office, store)

    press(member, path, "start")
    work(office)
    done, page = text_of(member.get(path)), text_of(member.get(PAGE))
    rejects = member.get(f"{PAGE}/failed-rows?file={id_of(path)}")

    assert "Imported" in done
    assert stored(office, store) == {"mug", "rope"}
    assert re.search(r"New\s+2\s+Changed\s+0\s+Left out\s+0\s+Failed\s+1", done)
    head, row = rejects.body.decode("utf-8-sig").splitlines()
    assert head == '"row","reason","id","title","price"'
    assert row.startswith("3,")
    assert row.endswith(',"tent","Tent","ninety"')
    assert "my-products-failed-rows.csv" in (rejects.header("content-disposition") or "")
    assert "my products.csv" in page
    assert not (office.services.uploads / id_of(path)).exists()


def test_the_check_shows_which_prices_a_file_of_products_changes(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    path = send(member, "id,title,price\nmug,Blue mug,9.5\nrope,Rope,4\n", "a.csv")
    work(office)
    press(member, path, "start")
    work(office)

    path = send(member, "id,title,price\nmug,Blue mug,8\nrope,Rope,4\n", "b.csv")
    work(office)
    page = flat_text(member.get(path))

    assert "New products 0 Changed products 1 With a new price 1 No longer shown 0" in page
    assert re.search(r"mug Blue mug: \D*9\.50\D* → \D*8\.00", page), page
    press(member, path, "discard")


def test_the_check_of_orders_adds_up_units_and_sales(office: Office, store: Store) -> None:
    member = office.member(store)
    text = (
        "Order number;Article no.;Date;Qty;Unit price;Currency\nA;mug;2026-10-01;2;8,50;\n"
    )
    text += (
        "A;mug;2026-10-01;1;8,50;\nB;rope;2026-10-02;-1;4;EUR\nB;tent;2026-10-02;1;90;USD\n"
    )
    path = send(member, text, "sold.csv", "orders")
    work(office)

    checked = flat_text(member.get(path))

    assert "2 orders from 1 Oct 2026 to 2 Oct 2026: 3 units for 21.50 EUR in all" in checked


def test_orders_are_counted_and_a_second_time_already_stored(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    pages = []
    for _ in range(2):
        path = send(member, gzip.compress(ORDERS.encode()), "orders.csv.gz")
        work(office)
        checked = text_of(member.get(path))
        assert "2 orders from 1 Oct 2026 to 2 Oct 2026: 3 units in all" in checked
        assert re.search(r"3\s+quantity\s+two\s+is not a number", checked)
        assert re.search(r"To import\s+2\s+Added up\s+1\s+", checked)
        assert "1 line repeats an article of its order: the quantities are added" in checked
        assert "Waiting" in text_of(press(member, path, "start"))
        work(office)
        pages.append(" ".join(text_of(member.get(path)).split()))

    assert "New 2 Changed 0 Already stored 0 Added up 1 Left out 0 Failed 1" in pages[0]
    assert "New 0 Changed 0 Already stored 2 Added up 1 Left out 0 Failed 1" in pages[1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "bought.csv",
            "order_id,item_id,timestamp,quantity\nA,mug,2026-10-01,-1\n",
            "with a quantity below 0: imported as returned. 1 of 1 product is not in the",
        ),
        (
            "goods.csv",
            "id,title,price,stock_qty\nmug,Mug,,3\ntent,Tent,9,-4\n",
            "1 new product without a price: their cards show none. 1 product with a stock",
        ),
        ("goods.csv", "id,title,price\nmug,Mug,auf  Anfrage\n", "auf Anfrage is not a"),
        ("empty.csv", "order_id,item_id,timestamp\n", "The file has no rows"),
        ("foto.png", "\x89PNG\r\n\x1a\n", "foto.png is a picture"),
    ],
)
def test_the_check_says_what_a_merchant_may_not_have_meant(
    office: Office, store: Store, name: str, content: str, message: str
) -> None:
    member = office.member(store)
    path = send(member, content.encode("latin-1"), name)
    work(office)
    assert message in flat_text(member.get(path))


def test_the_history_says_that_a_file_cannot_start_and_the_log_names_it(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    path = send(member, "order_id,item_id\nA,mug\n", "no dates.csv", "orders")
    work(office)
    assert "Cannot start yet" in flat_text(member.get(path))
    history = flat_text(member.get(PAGE))
    assert "Cannot start yet" in history
    assert "Ready to start" not in history
    log = flat_text(member.get("/dashboard/audit"))
    assert "“no dates.csv”" in log
    assert id_of(path) not in log


def test_unknown_columns_are_chosen_by_hand(office: Office, store: Store) -> None:
    member = office.member(store)
    table = "Stück;Was;Wert\n7;Becher;9,50\n8;Zelt;89,00\n"
    path = send(member, table, "artikel.csv", "items")
    work(office)
    unknown = member.get(path)
    assert "No column of this file was recognised as Product id" in text_of(unknown)
    assert "Start the import" not in text_of(unknown)

    chosen = {"map-id": "Stück", "map-title": "Was", "map-price": "Wert"}
    press(member, path, "file", kind="items", **chosen)
    work(office)
    checked = member.get(path)
    assert "Becher" in text_of(checked)
    assert 'value="Was" selected' in checked.body.decode()
    assert "Becher · Zelt" in text_of(checked)
    press(member, path, "start")
    work(office)

    with office.services.database.reading() as connection:
        found = CatalogRepository(connection, store.store_id).find(["7", "8"])
    assert {key: one.item.price for key, one in found.items()} == {"7": 9.5, "8": 89.0}


def test_a_file_without_a_price_column_asks_which_one_it_is(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    table = (
        "id,title,Shelf,What it costs\nmug,Mug,A7,9.50\ntent,Tent,B2,abc\nrope,Rope,C1,4\n"
    )
    path = send(member, table, "goods.csv")
    work(office)
    page = member.get(path)
    text = flat_text(page)
    assert "No price was found" in text
    assert "Is What it costs your price? 9.50 · abc · 4" in text
    assert "Is Shelf your price?" not in text
    assert text.index("Is What it costs") < text.index("Start the import without prices")

    first_form = page.body.decode().split('action="/dashboard/imports/file"')[1]
    fields = dict(
        re.findall(r'name="([\w-]+)" value="([^"]*)"', first_form.split("</form>")[0])
    )
    del fields["csrf"], fields["file"]
    press(member, path, "file", **fields)
    work(office)
    checked = flat_text(member.get(path))
    assert "Is What it costs your price?" not in checked
    assert "abc" in checked, checked
    assert "all other rows will be imported" in checked
    assert checked.index("Rows that cannot be read") < checked.index("How the file is read")
    assert "9.50" in checked


def test_the_merchant_says_whether_the_day_or_the_month_comes_first(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    path = send(member, "order_id,item_id,timestamp\nA,mug,03/04/2026\n", "o.csv")
    work(office)
    refused = text_of(member.get(path))
    assert "No row has a readable time" in refused
    assert "Cannot start yet" in refused
    assert "Start the import" not in refused

    press(member, path, "file", kind="orders", format="csv", time_format="%d/%m/%Y")
    work(office)

    assert "from 3 Apr 2026" in text_of(member.get(path))


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"\x89PNG\r\n\x1a\n", "a.png", "is a picture"),
        (b"%PDF-1.7", "a.csv", "is a PDF"),
        (b"PK\x03\x04 no archive", "-", "cannot be unpacked"),
        (
            gzip.compress(b"a,b\n" * 100, mtime=0)[:-12],
            "a.csv.gz",
            "not a complete gzip file",
        ),
        (b"<rss><channel></channel></rss>", "feed.xml", "not a product feed"),
        (b'{"a": 1}', "a.json", "array"),
    ],
)
def test_a_file_that_is_no_table_gets_an_error_in_words(
    office: Office, store: Store, content: bytes, name: str, words: str
) -> None:
    member = office.member(store)
    path = send(member, content, name)
    work(office)
    seen = text_of(member.get(path))

    assert words in seen
    assert "Start the import" not in seen
    press(member, path, "start")
    work(office)
    assert "Cannot start yet" in text_of(member.get(path))


def test_orders_without_dates_start_only_as_orders_of_today(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    path = send(member, "order_id,item_id,colour\nT-1,mug,red\n", "o.csv", "orders")
    work(office)
    refused = text_of(member.get(path))
    assert "No column says when the orders were placed" in refused
    assert "Ready to start" not in refused

    press(member, path, "file", kind="orders", format="csv", ordered_today="on")
    work(office)

    checked = text_of(member.get(path))
    assert "Ready to start" in checked
    assert "as you said, their orders are of today" in checked
    assert "Columns that are not used: colour." in checked


def test_every_row_of_a_file_is_in_one_count(office: Office, store: Store) -> None:
    member = office.member(store)
    repeated = "".join(f"c{number},Cup {number}\n" for number in range(1_001))
    content = f"id,title\n{repeated}c1,Cup one\nc1000,Cup\n,no id\n"
    path = send(member, content, "cups.csv")
    work(office)
    press(member, path, "start")
    work(office)
    counts = find_import(office, store, path).result["counts"]

    assert counts == {
        "rows": 1_004,
        "inserted": 1_001,
        "overwritten": 0,
        "removed": 0,
        "folded": 0,
        "repeated": 2,
        "left_out": 0,
        "skipped": 1,
    }


def test_a_discarded_file_is_gone(office: Office, store: Store) -> None:
    member = office.member(store)
    path = send(member, PRODUCTS, "a.csv")
    work(office)

    press(member, path, "discard")

    assert member.get(path).status == 404
    assert not (office.services.uploads / id_of(path)).exists()


def test_an_empty_choice_gets_an_error_beside_the_field(
    office: Office, store: Store
) -> None:
    member = office.member(store)

    none = member.send_file(PAGE, b"", "", page=PAGE, kind="orders")
    empty = member.send_file(PAGE, b"", "a.csv", page=PAGE)

    assert (none.status, empty.status) == (422, 422)
    assert "Choose a file." in text_of(none)
    assert 'value="orders" selected' in none.body.decode()
    assert "The file is empty" in text_of(empty)


def test_a_store_has_a_limited_number_of_open_files(office: Office, store: Store) -> None:
    member = office.member(store)
    for _ in range(OPEN_LIMIT):
        send(member, PRODUCTS, "a.csv")

    refused = member.send_file(PAGE, PRODUCTS.encode(), "b.csv", page=PAGE)

    assert refused.status == 422
    assert "files wait already" in text_of(refused)
    with office.services.database.reading() as connection:
        needed = files_of_open_imports(connection)
    assert {path.name for path in office.services.uploads.glob("up_*")} == needed
    work(office)


def test_imports_of_another_store_are_not_found(office: Office, store: Store) -> None:
    owner = office.member(store)
    path = send(owner, PRODUCTS, "a.csv")
    work(office)
    other = office.member(add_store(office.services, f"other-{office.now_ms}.example"))

    assert other.get(path).status == 404
    assert other.get(f"{PAGE}/failed-rows?file={id_of(path)}").status == 404
    for form in ("file", "start", "discard", "undo"):
        assert other.post(f"{PAGE}/{form}", page=PAGE, file=id_of(path)).status == 404


def test_a_viewer_sees_the_history_and_no_form(office: Office, store: Store) -> None:
    path = send(office.member(store), PRODUCTS, "a.csv")
    work(office)
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, store, Role.VIEWER))

    page, file = viewer.get(PAGE).body.decode(), viewer.get(path).body.decode()

    assert "a.csv" in page
    assert "<form" not in page.partition("<main")[2]
    assert "<form" not in file.partition("<main")[2]


def find_import(office: Office, store: Store, path: str) -> FileImport:
    """Return an import as it is stored."""
    with office.services.database.reading() as connection:
        one = FileImportRepository(connection, store.store_id).find(id_of(path))
    assert one is not None
    return one


def test_an_import_that_is_not_started_expires(office: Office, store: Store) -> None:
    member = office.member(store)
    path = send(member, PRODUCTS, "a.csv")
    work(office)
    office.now_ms += RETENTION_MS + 1
    with office.services.database.transaction() as transaction:
        office.services.queue.enqueue(transaction, NewJob(INSTALLATION, "expire-files"))
    work(office)

    assert find_import(office, store, path).status.value == "failed"


def test_a_file_that_breaks_the_worker_is_given_up(office: Office, store: Store) -> None:
    member = office.member(store)
    path = send(member, PRODUCTS, "a.csv")
    with office.services.database.transaction() as transaction:
        repository = FileImportRepository(transaction, store.store_id)
        for _ in range(MAX_ATTEMPTS):
            repository.begin_attempt(id_of(path))
    work(office)

    assert "was interrupted" in text_of(member.get(path))


def test_interruptions_do_not_count_as_attempts(
    office: Office, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = office.member(store)
    path = send(member, PRODUCTS, "a.csv")
    files, stops = DashboardFileImporter(office.services.imports), []

    def stopped(*_: object) -> None:
        stops.append(1)
        message = "the worker stops"
        raise JobInterruptedError(message)

    with monkeypatch.context() as patched:
        patched.setattr(DashboardFileImporter, "drop_erased_rows_and_dry_run", stopped)
        checker = build_file_check_worker(office.services, files)
        for _ in range(MAX_ATTEMPTS + 1):
            assert checker.run_next_job()
    assert len(stops) == MAX_ATTEMPTS + 1
    assert find_import(office, store, path).attempts == 0
    work(office)

    assert "Start the import" in text_of(member.get(path))


def started(office: Office, store: Store, rows: int) -> str:
    """Send a file of products and start it; return its page's address."""
    member = office.member(store)
    lines = "".join(f"p{number},Product {number}\n" for number in range(rows))
    path = send(member, f"id,title\n{lines}", "a.csv")
    checker = build_file_check_worker(
        office.services, DashboardFileImporter(office.services.imports)
    )
    while checker.run_next_job():
        pass
    press(member, path, "start")
    return path


def test_an_interrupted_import_of_products_goes_on_where_it_stopped(
    office: Office, store: Store
) -> None:
    path = started(office, store, 4_500)
    files = DashboardFileImporter(office.services.imports)
    file = office.services.uploads / id_of(path)

    def stop(share: float) -> None:
        if share > 0.8:
            raise KeyError

    with pytest.raises(KeyError):
        files.import_file(store, find_import(office, store, path), file, stop)
    first = find_import(office, store, path).item_progress
    work(office)
    done = find_import(office, store, path)

    assert first.items == first.created == 3_000
    assert done.result["counts"]["inserted"] == 4_500
    assert done.result["counts"]["overwritten"] == 0  # as pushing again would count
    assert len(stored(office, store)) == 1_000  # of a page


def test_imports_of_several_stores_take_turns(office: Office, store: Store) -> None:
    other = add_store(office.services, f"small-{office.now_ms}.example")
    long, short = started(office, store, 4_500), started(office, other, 2)
    importer = build_file_import_worker(
        office.services, DashboardFileImporter(office.services.imports), slice_seconds=0.0
    )

    states = []
    while importer.run_next_job():
        both = (find_import(office, store, long), find_import(office, other, short))
        states.append(tuple(one.status.value for one in both))

    assert ("running", "done") in states
    assert states[-1] == ("done", "done")
    assert find_import(office, store, long).result["counts"]["inserted"] == 4_500
    assert find_import(office, store, long).attempts == 0
