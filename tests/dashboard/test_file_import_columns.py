"""Imports page: which column is what, by its name, by its values or as chosen before."""

import pytest

from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.tenancy.accounts.store import Store
from tests.dashboard.conftest import Office
from tests.dashboard.test_file_imports_page import PAGE, id_of, press, send, work
from tests.support.dashboard import Member, flat_text

UNKNOWN = "Nr;Was;Wert\n" + "".join(f"{n};Becher {n};{n},50\n" for n in range(5))
CHOSEN = {"map-id": "Nr", "map-title": "Was", "map-price": "Wert"}


def product(office: Office, store: Store, item_id: str) -> Item:
    with office.services.database.reading() as connection:
        return CatalogRepository(connection, store.store_id).find([item_id])[item_id].item


def import_file(office: Office, member: Member, content: str) -> str:
    """Check and import a file; return the text of its check."""
    path = send(member, content, "products.csv", "items")
    work(office)
    checked = flat_text(member.get(path))
    press(member, path, "start")
    work(office)
    return checked


@pytest.mark.parametrize(
    "header",
    [
        "Article no.;Product name;Price €;In stock;Product group;Shop link",
        "Art.-Nr.;Artikel;VK-Preis;Bestand;Warengruppe;Produktseite",
        "Référence article;Intitulé;Prix TTC;Disponible;Rayon;Lien produit",
        "Código;Nombre artículo;PVP;Existencias;Familia;Enlace producto",
    ],
)
def test_everyday_headings_are_known_and_numbers_are_units_in_stock(
    office: Office, store: Store, header: str
) -> None:
    member = office.member(store)
    rows = "7;Mug;9,50;200;Gifts;https://shop.example/7\n8;Cup;3;0;Gifts;\n"

    import_file(office, member, f"{header}\n{rows}")

    mug, cup = product(office, store, "7"), product(office, store, "8")
    assert (mug.title, mug.price, mug.stock_qty) == ("Mug", 9.5, 200)
    assert (mug.categories, mug.product_url) == (("Gifts",), "https://shop.example/7")
    assert (cup.stock_qty, cup.availability) == (0, None)


def test_words_and_ones_in_a_column_about_stock_are_an_availability(
    office: Office, store: Store
) -> None:
    member = office.member(store)

    import_file(office, member, "id,title,Bestand\na,A,ja\nb,B,Ausverkauft\n")
    import_file(office, member, "id,title,In stock\nc,C,1\nd,D,0\n")

    found = [product(office, store, item_id) for item_id in "abcd"]
    assert [one.availability for one in found] == ["in_stock", "out_of_stock"] * 2
    assert {one.stock_qty for one in found} == {None}


def test_a_column_at_which_nearly_all_rows_fail_gets_another_meaning_first(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    rows = "".join(f"{number},Mug {number},on request\n" for number in range(10))
    path = send(member, f"id,title,Price\n{rows}", "products.csv", "items")
    work(office)

    page = flat_text(member.get(path))

    assert "Nearly all rows fail at the column “Price”. Choose another meaning" in page
    assert "Start the import" not in page
    assert page.index("How the file is read") < page.index("Rows that cannot be read")


def test_chosen_columns_are_remembered_by_the_headings(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    path = send(member, UNKNOWN + "9;Kanne;teuer\n", "a.csv", "items")
    work(office)
    assert "No column of this file was recognised" in flat_text(member.get(path))
    press(member, path, "file", kind="items", **CHOSEN)
    work(office)
    press(member, path, "start")
    work(office)
    failed = member.get(f"{PAGE}/failed-rows?file={id_of(path)}").body.decode("utf-8")
    assert failed.startswith('\ufeff"row";"reason";"Nr";"Was";"Wert"\n')

    checked = import_file(office, member, failed.replace("teuer", "9,90"))
    again = import_file(office, member, UNKNOWN)

    assert "as you chose for the last one with the same headings" in checked
    assert product(office, store, "9").price == 9.9
    assert "To import 0" not in again
    assert "Becher 1" in again


@pytest.mark.parametrize(("start", "is_noted"), [("", False), ("www.", True)])
def test_the_check_compares_the_host_of_the_links_with_the_shops(
    office: Office, store: Store, start: str, *, is_noted: bool
) -> None:
    member, host = office.member(store), f"{start}{store.domain}"
    path = send(member, f"id,title,link\na,A,https://{host}/a\n", "a.csv", "items")
    work(office)

    page = flat_text(member.get(path))

    note = f"The product links lead to {host}, and your shop is registered as"
    assert (note in page) is is_noted


def test_a_merchant_may_have_the_columns_found_again(office: Office, store: Store) -> None:
    member = office.member(store)
    table = "id,title,Wert,Price\nmug,Mug,4,5\n"
    mapping = {"map-id": "id", "map-title": "title", "map-price": "Wert"}
    path = send(member, table, "products.csv", "items")
    for choice in ({"format": "columns", **mapping}, {"format": "", **mapping}):
        work(office)
        press(member, path, "file", kind="items", **choice)
        work(office)
        press(member, path, "start")
        work(office)
        path = send(member, table, "products.csv", "items")
        price = 4 if choice["format"] else 5
        assert product(office, store, "mug").price == price
    work(office)

    assert "as you chose" not in flat_text(member.get(path))
