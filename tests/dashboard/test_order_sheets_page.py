"""Order sheets page: sheets with their files, suppliers, and a budget."""

import csv
import html
import io
import re
from functools import partial

import pytest

from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from tests.dashboard.conftest import Office
from tests.dashboard.test_demand_forecast_pages import selling
from tests.support.dashboard import Member, flat_text, text_of

__all__ = ["selling"]

PAGE = "/dashboard/demand/orders"


@pytest.fixture
def owner(office: Office, selling: Store) -> Member:
    return office.member(selling)


def test_a_supplier_has_a_sheet_with_its_file(owner: Member) -> None:
    saved = owner.post(f"{PAGE}/supplier", page=PAGE, supplier="Lamps & Co", lead_time="10")
    terms = b"product,supplier,pack_size\nlamp,Lamps & Co,12\nghost,Lamps & Co,1\n"
    uploaded = owner.send_file(f"{PAGE}/terms", terms, "terms.csv", page=PAGE)
    page = owner.get(PAGE)
    link = re.search(
        r'href="(/dashboard/report.csv\?report=order-sheet[^"]*Lamps[^"]*)"',
        page.body.decode(),
    )

    assert (saved.status, uploaded.status) == (303, 303)
    text = flat_text(page)
    assert "Products to order 1 1 today, 0 before the next order" in text
    assert "of all sheets; 1 product without a cost, valued at the mean price" in text
    assert re.search(r"A lamp lamp \d+ \d+ of 12", text)
    assert "Lamps & Co 1 10 7" in text
    assert link is not None
    reply = owner.get(link[1].replace("&amp;", "&"))
    name = str(reply.header("content-disposition"))
    assert re.search(r'"order-sheet-lamps-co-\d{4}-\d\d-\d\d\.csv"', name)
    (row,) = csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig")))
    assert row.keys() >= {"stock_qty", "revenue_at_risk", "revenue_saved"}
    sent = owner.get(link[1].replace("&amp;", "&").replace("order-sheet", "supplier-order"))
    (order,) = csv.DictReader(io.StringIO(sent.body.decode("utf-8-sig")))
    assert order == {name: row[name] for name in order} | {"unit_cost": "", "cost": ""}
    assert list(order) == [
        *("supplier", "item_id", "sku", "title", "quantity", "packs", "pack_size"),
        *("unit_cost", "cost"),
    ]
    assert (row["supplier"], row["item_id"]) == ("Lamps & Co", "lamp")
    assert int(row["quantity"]) == 12 * int(row["packs"]) > 0
    assert f"A lamp lamp {row['quantity']} {row['packs']} of 12" in text

    product = flat_text(owner.get("/dashboard/demand/product?id=lamp"))
    assert re.search(
        r"Days of cover \d, counted from tomorrow; stock runs out on \d", product
    )
    assert "expected in 10 days of lead time" in product  # the settings say 14
    assert "for 10 + 7 days" in product

    assert owner.post(f"{PAGE}/remove", page=PAGE, supplier="Lamps & Co").status == 303
    assert owner.post(f"{PAGE}/remove", page=PAGE, supplier="Lamps & Co").status == 404


def test_wrong_terms_say_what_is_right(owner: Member) -> None:
    wrong = owner.post(f"{PAGE}/supplier", page=PAGE, supplier="A", lead_time="soon")
    file = owner.send_file(f"{PAGE}/terms", b"sku,from\na,b\n", "terms.csv", page=PAGE)
    binary = owner.send_file(f"{PAGE}/terms", b"\xff\xfe\x00", "terms.csv", page=PAGE)

    assert (wrong.status, file.status, binary.status) == (422, 422, 422)
    assert "The lead time is a whole number from 1 to 365." in text_of(wrong)
    assert "names the columns product, supplier" in text_of(file)
    assert "Save the file as CSV in UTF-8" in text_of(binary)


def test_an_upload_names_new_suppliers_and_the_audit_log_what_changed(
    owner: Member,
) -> None:
    owner.post(f"{PAGE}/supplier", page=PAGE, supplier="Lamps & Co")
    terms = b"product,supplier\nlamp,Lamp & Co\n"
    uploaded = owner.send_file(f"{PAGE}/terms", terms, "terms.csv", page=PAGE)
    first = text_of(owner.get(PAGE))
    again = owner.send_file(f"{PAGE}/terms", terms, "terms.csv", page=PAGE)
    second = text_of(owner.get(PAGE))
    log = flat_text(owner.get("/dashboard/audit"))

    assert (uploaded.status, again.status) == (303, 303)
    assert "New supplier: Lamp & Co." in first
    assert "New supplier" not in second
    assert "Uploaded who supplies which product Lamp & Co: Products: 1" in log
    assert "File: terms.csv" in log


def test_a_budget_cuts_the_sheets(office: Office, owner: Member, selling: Store) -> None:
    saved = owner.post(f"{PAGE}/budget", page=PAGE, order_budget="100")
    text = flat_text(owner.get(PAGE))
    wrong = owner.post(f"{PAGE}/budget", page=PAGE, order_budget="lots")
    reset = owner.post(f"{PAGE}/budget", page=PAGE, order_budget="")

    assert (saved.status, wrong.status, reset.status) == (303, 422, 303)
    assert "Over the budget" in text
    assert re.search(r"A lamp lamp 5 \D*100", text)  # at 20 each
    stored = find_store(office.services.database, selling.domain).settings
    assert stored.order_budget == 0


def test_a_supplier_has_a_budget_of_its_own(owner: Member) -> None:
    terms = b"product,supplier\nlamp,Lamps & Co\n"
    owner.send_file(f"{PAGE}/terms", terms, "terms.csv", page=PAGE)
    fields = {"supplier": "Lamps & Co", "minimum_order": "0"}
    saved = owner.post(f"{PAGE}/supplier", page=PAGE, budget="100,50", **fields)
    page = owner.get(PAGE)

    assert saved.status == 303
    text = flat_text(page)
    assert re.search(r"A lamp lamp 5 \D*100", text)  # at 20 each
    assert re.search(r"Together \S*100\S*, within the budget of \S*100\.50", text)
    assert 'name="budget" value="100.5"' in page.body.decode()
    owner.post(f"{PAGE}/supplier", page=PAGE, budget="0,50", **fields)
    nothing = owner.get(PAGE).body.decode()
    assert "report=supplier-order" not in nothing
    owner.post(f"{PAGE}/remove", page=PAGE, supplier="Lamps & Co")


def test_a_sheet_is_recorded_as_ordered_and_the_next_one_subtracts_it(
    owner: Member,
) -> None:
    first = owner.get(PAGE).body.decode()
    fields = {
        name: re.findall(rf'name="{name}" value="([^"]*)"', first)[0]
        for name in ("item", "units", "expected")
    }
    post = partial(owner.post, f"{PAGE}/ordered", page=PAGE, supplier="")
    unticked = post(**fields)
    assert "Nothing was recorded: no product was ticked." in text_of(owner.get(PAGE))
    recorded = post(ordered="lamp", **fields)
    page = owner.get(PAGE)
    number = re.search(r'name="number" value="(\d+)"', page.body.decode())
    log = flat_text(owner.get("/dashboard/audit"))

    assert (unticked.status, recorded.status) == (303, 303)
    assert "Recorded 1 product as ordered." in text_of(page)
    assert "There is nothing to order before the next order." in text_of(page)
    assert f"A lamp {fields['units']} " in flat_text(page)
    assert "Recorded an order sheet as ordered Goods on order: Lines: 0 → 1" in log
    assert number is not None
    received = owner.post(f"{PAGE}/ordered/remove", page=PAGE, number=number[1])
    again = owner.post(f"{PAGE}/ordered/remove", page=PAGE, number=number[1])
    assert (received.status, again.status) == (303, 404)
    assert "Nothing is on order." in text_of(owner.get(PAGE))


@pytest.mark.parametrize("is_ticked", [True, False])
def test_a_sheet_with_wrong_units_comes_back_as_it_was_sent(
    owner: Member, *, is_ticked: bool
) -> None:
    form = html.unescape(owner.get(PAGE).body.decode()).split("Record as ordered")[1]
    names = ("csrf", "supplier")
    sent = [(one, re.findall(rf'name="{one}" value="([^"]*)"', form)[0]) for one in names]
    rows = [("item", "lamp"), ("units", "-3"), ("item", "gone"), ("units", "0")]
    rows += [("expected", ""), ("expected", ""), ("ordered", "gone")]
    ticked = [("ordered", "lamp")] * is_ticked
    reply = owner.send(f"{PAGE}/ordered", [*sent, *rows, *ticked])
    page = reply.body.decode()

    assert reply.status == 422
    sheet = page.split("Record as ordered")[1].split("</details>")[0]
    assert "The quantity is a whole number from 1" in sheet
    assert 'name="units" value="-3"' in sheet
    assert ('value="lamp" checked' in sheet) == is_ticked


def test_a_recorded_sheet_is_removed_as_a_whole(owner: Member) -> None:
    post = partial(owner.post, page=PAGE)
    for product, supplier in (("lamp", "A"), ("vase", "A"), ("vase", "B")):
        fields = {"item": product, "units": "7", "expected": "2030-01-01"}
        fields["ordered"] = product
        post(f"{PAGE}/ordered", supplier=supplier, **fields)
    text = flat_text(owner.get(PAGE))
    delivery = {"supplier": "A", "expected_day": "2030-01-01"}
    removed = post(f"{PAGE}/ordered/remove-delivery", **delivery)
    again = post(f"{PAGE}/ordered/remove-delivery", **delivery)
    left = flat_text(owner.get(PAGE))
    post(f"{PAGE}/ordered/remove-delivery", **delivery | {"supplier": "B"})

    assert re.search(r"A 2 14 Remove all", text)
    assert (removed.status, again.status) == (303, 404)
    assert re.search(r"B 1 7 Remove all", left)
    assert "Nothing is on order." in text_of(owner.get(PAGE))


def test_goods_on_order_are_added_by_hand_or_replaced_by_a_file(owner: Member) -> None:
    added = owner.post(
        f"{PAGE}/ordered/add",
        page=PAGE,
        product="lamp",
        quantity="7",
        expected_day="2020-01-01",
        ordered_from="Lamps & Co",
    )
    late = flat_text(owner.get(PAGE))
    ghost, wrong = (
        owner.post(
            f"{PAGE}/ordered/add",
            page=PAGE,
            product=product,
            quantity="7",
            expected_day=day,
            ordered_from="",
        )
        for product, day in (("ghost", "2030-01-01"), ("lamp", "soon"))
    )
    file = b"product,quantity,expected_day\nlamp,9,2030-01-01\nghost,1,2030-01-01\n"
    replaced = owner.send_file(f"{PAGE}/ordered/file", file, "ordered.csv", page=PAGE)
    text = flat_text(owner.get(PAGE))
    bad = owner.send_file(f"{PAGE}/ordered/file", b"a,b\n", "ordered.csv", page=PAGE)

    assert (added.status, replaced.status) == (303, 303)
    assert (ghost.status, wrong.status, bad.status) == (422, 422, 422)
    product = flat_text(owner.get("/dashboard/demand/product?id=lamp"))
    assert "On order 9, counted from the day on which they arrive." in product
    assert "late: not counted Lamps & Co" in late
    assert "Your catalog has no product ghost." in text_of(ghost)
    assert "ghost" not in text_of(owner.get("/dashboard/audit"))
    assert "Write the expected day as 2026-03-01." in text_of(wrong)
    assert "Stored 1 line. Your catalog lacks 1: ghost." in text
    assert "A lamp 9 " in text
    assert "names the columns product, quantity" in text_of(bad)


def test_a_number_of_any_length_is_no_line(owner: Member) -> None:
    for number in ("9" * 30, "9" * 5_000):
        removed = owner.post(f"{PAGE}/ordered/remove", page=PAGE, number=number)

        assert removed.status == 404, number[:40]
