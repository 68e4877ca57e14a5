"""WooCommerce product exports, also as other programs write them."""

from pathlib import Path

import pytest

from tests.features.imports.feeds.reads import read, reading, refused, taken

HEAD = "ID,Type,SKU,Name,Published,Regular price,Sale price,"
DATES = HEAD + "Date sale price starts,Date sale price ends\n"
PARTS = HEAD + "Parent,Grouped products\n"


def notes_of(content: str, folder: Path) -> str:
    """Return what the reading of a file notes."""
    how = reading()
    read(content, folder, how=how)
    return " ".join(how.notes)


@pytest.mark.parametrize(
    ("begins", "ends", "price"),
    [
        ("2026-11-21 9:30:00", "", 9.0),  # now is noon of the 21st, in Berlin
        ("2026-11-21 12:30:00", "", 19.0),
        ("2026-11-28 4:52:08", "", 19.0),
        ("2026-11-28T4:52:08", "2026-12-01 0:00:00", 19.0),
        ("", "2026-11-21 4:52:08", 19.0),
        ("", "2026-11-21 22:52:08", 9.0),
        ("28.11.2026 04:52", "", 19.0),
        ("11/28/2026 4:52", "", 19.0),
        ("20/11/2026", "30/11/2026", 9.0),
    ],
)
def test_a_sale_price_holds_between_its_dates(
    tmp_path: Path, begins: str, ends: str, price: float
) -> None:
    content = DATES + f"1,simple,a,Tent,1,19,9,{begins},{ends}\n"

    assert taken(read(content, tmp_path))["1"]["price"] == price


def test_a_sale_date_that_cannot_be_read_lets_the_regular_price_stand(
    tmp_path: Path,
) -> None:
    how = reading()
    rows = "1,simple,a,Tent,1,19,9,next week,\n2,simple,b,Rope,1,,9,03/10/2026,\n"

    items = taken(read(DATES + rows, tmp_path, how=how))

    assert (items["1"]["price"], items["2"]["price"]) == (19.0, 9.0)  # no other is known
    assert (how.unreadable_dates, how.unreadable_date) == (2, "next week")


@pytest.mark.parametrize(
    ("currency", "prices", "read_as", "noted"),
    [
        ("EUR", ('"12,345"',), (12.345,), "if not, remove the commas and import again"),
        ("EUR", ('"12,345"', '"39,90"'), (12.345, 39.9), "a decimal comma"),
        ("EUR", ('"1,299"', "19.99"), (1299.0, 19.99), "have a decimal point"),
        ("EUR", ("1.299", '"39,90"'), (1299.0, 39.9), "have a decimal comma"),
        ("EUR", ("1.299", "19.99"), (1.299, 19.99), ""),
        ("EUR", ('"1,299"', "19.99", '"39,90"'), (1.299, 19.99, 39.9), "decimal comma"),
        ("EUR", ('"1,299"', '"1,299,000"'), (1299.0, 1299000.0), "decimal point"),
        ("EUR", ('"1.299,00"', '"0,125"'), (1299.0, 0.125), ""),
        ("EUR", ('"1,299.00"',), (1299.0,), ""),
        ("EUR", ("45", "0"), (45.0, 0.0), ""),
        ("TND", ('"12,345"', '"150,000"', "8"), (12.345, 150.0, 8.0), "three decimals"),
        ("TND", ("12.345", "150.000"), (12.345, 150.0), ""),
        ("TND", ('"1,299"', "19.500", "2.5"), (1299.0, 19.5, 2.5), "decimal point"),
        ("JPY", ('"12,345"', "800"), (12345.0, 800.0), "prices in JPY have no decimals"),
        ("JPY", ("12.345",), (12345.0,), "prices in JPY have no decimals"),
        ("JPY", ('"12,345"', '"3,5"'), (12.345, 3.5), "a decimal comma"),
        ("", ('"12,345"',), (12.345,), "No other price of the file shows"),
    ],
)
def test_a_comma_before_three_digits_is_decided_by_the_file_and_the_currency(
    tmp_path: Path,
    currency: str,
    prices: tuple[str, ...],
    read_as: tuple[float, ...],
    noted: str,
) -> None:
    how = reading()
    how.currency = currency
    rows = "".join(f"{n},simple,s{n},T,1,{price}\n" for n, price in enumerate(prices, 1))

    items = taken(
        read(HEAD.removesuffix("Sale price,").rstrip(",") + "\n" + rows, tmp_path, how=how)
    )

    assert tuple(items[str(n)]["price"] for n in range(1, len(prices) + 1)) == read_as
    assert noted in " ".join(how.notes)
    assert bool(how.notes) == bool(noted)


def test_a_variation_finds_its_product_by_sku_and_by_id(tmp_path: Path) -> None:
    rows = (
        "77,variation,tee-b,Tee - Blue,1,15,,id:44,\n"
        "44,variable,tee,Tee,1,,,,\n"
        "78,variation,tee-r,Tee - Red,1,12,,tee,\n"
    )

    items = read(PARTS + rows, tmp_path)

    assert refused(items) == {}
    assert taken(items).keys() == {"44"}
    assert taken(items)["44"]["price"] == 12.0


def test_a_grouped_product_costs_what_its_cheapest_part_does(tmp_path: Path) -> None:
    rows = (
        '9,grouped,set,Set,1,,,,"mug, id:5, tee, gone"\n'
        "4,simple,mug,Mug,1,12.50,8.50,,\n"
        "5,simple,,Cup,1,9,,,\n"
        "6,variable,tee,Tee,1,,,,\n"
        "7,variation,,Tee - S,1,7,,id:6,\n"
        "8,variation,,Tee - L,-1,1,,tee,\n"  # switched off
        '10,grouped,none,None,1,,,,"gone"\n'
    )

    items = taken(read(PARTS + rows, tmp_path))

    assert items["9"]["price"] == 7.0
    assert "price" not in items["10"]


def test_without_a_column_id_products_go_by_their_sku(tmp_path: Path) -> None:
    content = (
        "Type,SKU,Name,Published,Regular price,Parent\n"
        "variable,tee,Tee,1,,\n"
        "variation,,Tee - Red,1,12,tee\n"
        "simple,,No name of its own,1,5,\n"
    )

    items = read(content, tmp_path)

    assert taken(items) == {"tee": {"sku": "tee", "title": "Tee", "price": 12.0}}
    assert refused(items) == {4: "the row has no ID and no SKU"}
    assert "products get their SKU as id" in notes_of(content, tmp_path)


def test_a_choice_of_columns_notes_what_is_missing(tmp_path: Path) -> None:
    how = reading()
    content = "ID,Name,Regular price,Categories,Tags,Tax class\n7,Mug,9.50,Kitchen,a,b\n"

    items = taken(read(content, tmp_path, how=how))

    assert items["7"] == {
        "title": "Mug",
        "price": 9.5,
        "categories": ("Kitchen",),
        "product_url": "https://shop.example/?p=7",
    }
    assert list(how.ignored) == ["Tags", "Tax class"]
    assert "no column Published" in " ".join(how.notes)


@pytest.mark.parametrize(
    "head",
    [
        "ID,Typ,Artikelnummer,Name,Veröffentlicht,Regulärer Preis,Kategorien",
        "ID,Type,UGS,Nom,Publié,Tarif régulier,Catégories",
        "ID,Tipo,SKU,Nombre,Publicado,Precio normal,Categorías",
        "ID,Tipo,COD,Nome,Pubblicato,Prezzo di listino,Categorie",
        "ID,Type,SKU,Naam,Gepubliceerd,Reguliere prijs,Categorieën",
        "ID,Tipo,SKU,Nome,Publicado,Preço,Categorias",
    ],
)
def test_columns_are_known_in_other_languages(tmp_path: Path, head: str) -> None:
    content = head + '\n7,simple,m,Mug,1,"9,50",Kitchen\n8,simple,d,Draft,-1,1,\n'

    items = read(content, tmp_path)

    assert taken(items)["7"]["title"] == "Mug"
    assert taken(items)["7"]["price"] == 9.5
    assert taken(items)["7"]["categories"] == ("Kitchen",)
    assert [item.is_hidden for item in items] == [False, True]
