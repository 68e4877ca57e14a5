"""Item import: platform exports and feeds, stored or as a dry run."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.core.csv_reader import read_header
from productrecs.features.imports.feeds.format_detection import NAMED_CATALOG
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.item import Item
from productrecs.records.catalog.price_lists import PriceListEntry
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.services import Services
from productrecs.storage.sql.tables import items, store_heads
from productrecs.tenancy.accounts.store_management import find_store
from tests.cli.conftest import BOTH, CommandLine
from tests.support.project import ROOT

Write = Callable[[str, str | bytes], str]
SAMPLES = ROOT / "tests/features/imports/feeds/samples"
SHOPIFY = str(SAMPLES / "shopify.csv")
GOOGLE = str(SAMPLES / "google-rss.xml")
NOW = "2026-11-21T12:00:00Z"


def catalog(services: Services) -> dict[str, Item]:
    store = find_store(services.database, "shop.example")
    with services.database.reading() as connection:
        page = CatalogRepository(connection, store.store_id).page(-1, 1_000)
    return {stored.item.item_id: stored.item for stored in page}


def rows(services: Services) -> list[tuple[object, ...]]:
    with services.database.reading() as connection:
        found = [tuple(row) for row in connection.execute(sa.select(items))]
        return found + [tuple(row) for row in connection.execute(sa.select(store_heads))]


@BOTH
def test_an_item_import_prints_its_result(
    shell: CommandLine, shop: str, services: Services
) -> None:
    first = shell.json_with_skipped_rows("import-items", shop, SHOPIFY)
    again = shell.json_with_skipped_rows("import-items", shop, SHOPIFY)

    assert (first["created"], first["updated"], first["total"]) == (3, 0, 3)
    assert (first["rows"], first["folded"], first["hidden"]) == (8, 2, 2)
    assert first["errors"] == [{"row": 9, "message": "the row has no handle"}]
    assert first["notes"][0] == "The file was read as a Shopify export."
    assert "https://shop.example" in first["notes"][-1]
    assert (again["created"], again["updated"], again["total"]) == (0, 3, 3)
    assert catalog(services).keys() == {"trail-shirt", "mug", "tent"}
    assert catalog(services)["trail-shirt"].price == 29.0


def test_what_a_shop_no_longer_shows_is_hidden_if_it_is_known(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    head = "Handle,Title,Status,Variant Price\n"
    shell("import-items", shop, write("on.csv", head + "mug,Mug,active,9\n"))

    result = shell.json(
        "import-items", shop, write("off.csv", head + "mug,Mug,draft,9\nbag,Bag,draft,9\n")
    )

    assert (result["updated"], result["created"], result["hidden"]) == (1, 0, 1)
    assert catalog(services)["mug"].availability is Availability.DISCONTINUED
    shell("import-items", shop, write("on.csv", head + "mug,Mug,active,9\n"))
    assert catalog(services)["mug"].availability is Availability.IN_STOCK


@BOTH
def test_a_dry_run_reports_what_the_import_does_and_changes_nothing(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    shell("import-items", shop, write("a.csv", "id,title\ntent,Old\n"))
    before = rows(services)

    dry_run = shell.json_with_skipped_rows("import-items", shop, SHOPIFY, "--dry-run")

    assert rows(services) == before
    done = shell.json_with_skipped_rows("import-items", shop, SHOPIFY)
    same = ("rows", "created", "updated", "total", "folded", "hidden", "errors", "notes")
    assert {name: dry_run[name] for name in same} == {name: done[name] for name in same}
    assert (dry_run["created"], dry_run["updated"]) == (2, 1)
    assert [(one["row"], one["change"], one["id"]) for one in dry_run["would"]] == [
        (2, "create", "trail-shirt"),
        (5, "create", "mug"),
        (6, "update", "tent"),
    ]
    assert dry_run["would"][0]["fields"]["price"] == 29.0


def test_a_dry_run_of_many_items_counts_each_once(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    shell("store", "set-plan", shop, "unlimited")
    lines = "".join(f"item-{number % 1_500},{number},T\n" for number in range(2_500))
    path = write("items.csv", "id,price,title\n" + lines)

    dry_run = shell.json("import-items", shop, path, "--dry-run")

    assert catalog(services) == {}
    done = shell.json("import-items", shop, path)
    assert (dry_run["created"], dry_run["updated"]) == (done["created"], done["updated"])
    assert (dry_run["total"], done["total"]) == (1_500, 1_500)


def test_a_dry_run_reports_what_the_import_would_do(shell: CommandLine, shop: str) -> None:
    result = shell.run("import-items", shop, GOOGLE, "--dry-run", PRODUCTRECS_NOW=NOW)

    assert result.exit_code == 1
    assert "row 1 would create DB_1: " in result.stdout
    assert "2 would be created, 0 would be updated, 2 skipped" in result.stdout
    assert "the catalog would have 2." in result.stdout
    assert "row 4 skipped: 'free' is not a price" in result.stderr


def test_the_beginning_of_addresses_can_be_named(
    shell: CommandLine, shop: str, services: Services
) -> None:
    address = "https://x.example/de/"
    result = shell.json_with_skipped_rows(
        "import-items", shop, SHOPIFY, "--base-url", address
    )

    assert "--base-url" not in "".join(result["notes"])
    assert catalog(services)["mug"].product_url == "https://x.example/de/products/mug"
    result = shell.run("import-items", shop, SHOPIFY, "--base-url", "x.example")
    assert result.exit_code == 2
    assert "--base-url" in result.stderr


def test_prices_in_another_currency_are_mentioned(
    shell: CommandLine, shop: str, write: Write
) -> None:
    feed = "id\ttitle\tlink\tprice\na\tA\thttps://shop.example/a\t9.90 USD\n"

    result = shell.json("import-items", shop, write("feed.txt", feed))

    assert "Prices are in USD" in result["notes"][-1]
    assert "currency=USD" in result["notes"][-1]


def test_the_kind_of_a_file_can_be_named(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    path = write("items.csv", "ID,Name,Categories\n7,Mug,Kitchen > Mugs\n")

    shell("import-items", shop, path, "--format", "woocommerce")

    assert catalog(services)["7"].categories == ("Kitchen", "Kitchen > Mugs")
    result = shell.run("import-items", shop, path, "--format", "shopify")
    assert result.exit_code == 1
    assert "no column handle" in result.stderr


def test_an_option_keeps_the_variants_of_a_feed_apart(
    shell: CommandLine, shop: str, services: Services
) -> None:
    shell.json_with_skipped_rows(
        "import-items", shop, GOOGLE, "--each-variant", PRODUCTRECS_NOW=NOW
    )

    assert catalog(services).keys() == {"DB_1-M", "DB_1-L", "LEASH"}


def test_a_hostile_feed_opens_no_file_and_stores_nothing(
    shell: CommandLine, shop: str, services: Services, write: Write, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do not read me")
    feed = (
        f'<!DOCTYPE rss [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
        "<rss><channel><item><id>a</id><title>&x;</title></item></channel></rss>"
    )

    said = shell.refused("import-items", shop, write("feed.xml", feed))

    assert "entities" in said
    assert catalog(services) == {}


@BOTH
def test_prices_of_lists_come_from_columns_and_from_a_feed_of_one_market(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    table = "id;title;price;price:group:trade;list_price:group:trade\nmug;Mug;9;7,5;8\n"
    feed = (
        "id\ttitle\tlink\tprice\tsale_price\nmug\tTasse\thttps://s.example/m\t12.90 USD\t"
        "9.90 USD\nnew\tNeu\thttps://s.example/n\t1 USD\t\n"
    )

    shell("import-items", shop, write("items.csv", table))
    result = shell.json_with_skipped_rows(
        "import-items", shop, write("us.txt", feed), "--price-list", "usd"
    )

    mug = catalog(services)["mug"]
    assert catalog(services).keys() == {"mug"}
    assert (mug.title, mug.price, result["updated"]) == ("Mug", 9, 1)
    assert mug.prices == (
        PriceListEntry("USD", 9.9, 12.9),
        PriceListEntry("group:trade", 7.5, 8),
    )
    assert "currency" not in " ".join(result["notes"])
    for kind in ("csv", "jsonl"):
        exported = shell("export", shop, "items", "--format", kind)
        shell("import-items", shop, write(f"again.{kind}", exported))
        assert catalog(services)["mug"] == mug
    result = shell.run("import-items", shop, "-", "--price-list", "dollars")
    assert (result.exit_code, "is no price list" in result.stderr) == (2, True)


@BOTH
def test_attributes_are_stored_exported_and_follow_the_file(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    whole = "Handle,Title,Body (HTML),Vendor,Option1 Name,Option1 Value,Variant Price\n"
    rows = "tee,Tee,<p>Soft.</p>,Acme,Color,Blue,9\ntee,,,,,Red,9\n"
    own = '{"id": "mug", "title": "Mug", "attributes": {"Volume": "3 l"}, "list_price": 9}'

    shell("import-items", shop, write("a.csv", whole + rows))
    shell("import-items", shop, write("b.jsonl", own))

    tee = catalog(services)["tee"]
    assert (tee.description, tee.brand, tee.color) == ("Soft.", "Acme", ("Blue", "Red"))
    for kind in ("csv", "jsonl"):
        before = catalog(services)
        exported = shell("export", shop, "items", "--format", kind)
        shell("import-items", shop, write(f"again.{kind}", exported))
        assert catalog(services) == before
    shell("import-items", shop, write("b.csv", "id,title,brand\ntee,Tee,Other\n"))
    assert catalog(services)["tee"].brand == "Other"
    assert catalog(services)["tee"].color == ("Blue", "Red")


ITEM_HEADERS = [
    ("product_id", "name", "price", "inventory", "category"),
    ("SKU", "Product name", "Retail price", "quantity_available", "Product category"),
    ("Artikelnummer", "Bezeichnung", "Preis", "Lagerbestand", "Warengruppe"),
    ("Code article", "Désignation", "Prix TTC", "Quantité en stock", "Catégorie"),
    ("Código producto", "Nombre", "Precio", "Existencias", "Categoría"),
    ("Codice prodotto", "Nome", "Prezzo", "Giacenza", "Categoria"),
    ("Productnummer", "Naam", "Prijs", "Voorraad", "Categorie"),
    ("Código produto", "Nome do produto", "Preço", "Estoque", "Categoria"),
    ("Varenummer", "Varenavn", "Pris", "Lagerbeholdning", "Kategori"),
    ("Artikelnr", "Artikelnamn", "Pris", "Lagersaldo", "Kategori"),
    ("Tuotekoodi", "Tuotenimi", "Hinta", "Varastosaldo", "Osasto"),
    ("Kod produktu", "Nazwa", "Cena brutto", "Stan magazynowy", "Kategoria"),
    ("Kód zboží", "Název", "Cena", "Skladem", "Kategorie"),
    ("Cikkszám", "Megnevezés", "Ár", "Készlet", "Kategóriák"),
    ("Cod produs", "Denumire", "Preț", "Stoc", "Categorii"),
    ("Ürün kodu", "Ürün adı", "Fiyat", "Stok", "Kategori"),
    ("Артикул", "Наименование", "Цена", "Остаток", "Категория"),
    ("Κωδικός προϊόντος", "Τίτλος", "Τιμή", "Απόθεμα", "Κατηγορία"),
    ("رقم المنتج", "الاسم", "السعر", "المخزون", "الفئة"),
    ("பொருள் எண்", "பெயர்", "விலை", "இருப்பு", "வகை"),
]


@pytest.mark.parametrize("names", ITEM_HEADERS, ids=lambda names: names[0])
def test_columns_of_products_are_known_by_their_names_in_many_languages(
    names: tuple[str, ...],
) -> None:
    head = (";".join(names) + "\n").encode()

    found = read_header(head, NAMED_CATALOG).columns

    ours = ("id", "title", "price", "stock_qty", "categories")
    assert {found[name]: name for name in ours} == dict(enumerate(ours))
