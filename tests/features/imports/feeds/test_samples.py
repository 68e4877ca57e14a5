"""Sample exports: each becomes its shop's items, variants merged."""

import csv
import io
from pathlib import Path

import pytest

from productrecs.records.catalog.item import ItemPatch
from tests.features.imports.feeds.reads import SAMPLES, read, refused, taken

WOOCOMMERCE = {
    "44": {
        "sku": "tee",
        "title": "V-Neck & T-Shirt",
        "product_url": "https://shop.example/?p=44",
        "image_url": "https://shop.example/i/tee-1.jpg",
        "price": 20.0,  # the red one is cheaper, and sold out
        "availability": "in_stock",
        "stock_qty": 3,  # what is switched off does not count
        "categories": ("Clothing", "Clothing > Tshirts", "Sale, all"),
        "description": 'Soft, "light".\none\ntwo',
    },
    "46": {
        "title": "Hoodie; warm",
        "product_url": "https://shop.example/?p=46",
        "price": 39.9,  # on sale until the end of the 30th
        "list_price": 45.5,
        "planned_price": 39.9,
        "planned_price_from": "2026-11-01T00:00:00+00:00",
        "planned_price_until": "2026-11-30",
        "availability": "in_stock",
        "stock_qty": 7,
        "categories": ("Clothing",),
        "description": "Wool",
    },
    "47": {
        "sku": "-10",
        "title": "Cap",
        "product_url": "https://shop.example/?p=47",
        "price": 18.0,  # its sale is over
        "availability": "backorder",
        "categories": ("Clothing", "Clothing > Caps"),
    },
    "73": {
        "sku": "album",
        "title": "Album",
        "product_url": "https://shop.example/?p=73",
        "price": 15.0,
        "availability": "in_stock",
        "categories": ("Music",),
    },
    "80": {
        "title": "Scarf",
        "product_url": "https://shop.example/?p=80",
        "price": 30.0,
        "availability": "in_stock",
        "stock_qty": 12,  # counted for all variations together
        "categories": (),
    },
    "87": {
        "sku": "set",
        "title": "Logo set",
        "product_url": "https://shop.example/?p=87",
        "price": 15.0,  # of its cheapest part
        "availability": "in_stock",
        "categories": (),
    },
    "90": {
        "sku": "draft",
        "title": "Not yet",
        "product_url": "https://shop.example/?p=90",
        "price": 5.0,
        "availability": "discontinued",
        "categories": (),
    },
    "91": {
        "sku": "secret",
        "title": "Hidden",
        "product_url": "https://shop.example/?p=91",
        "price": 5.0,
        "availability": "discontinued",
        "categories": (),
    },
}
SHOPIFY = {
    "trail-shirt": {
        "sku": "TS-M",
        "title": "Trail Shirt",
        "product_url": "https://shop.example/products/trail-shirt",
        "image_url": "https://cdn.example/ts-1.jpg",
        "price": 29.0,
        "cost": 10.0,
        "availability": "in_stock",
        "stock_qty": 4,
        "categories": (
            "Apparel & Accessories",
            "Apparel & Accessories > Clothing",
            "Shirts",
        ),
        "description": "Light.\nDries fast & well.",
        "brand": "Peak",
        "size": ("M", "L"),
    },
    "mug": {
        "sku": "MUG",
        "title": 'Mug "Noir"',
        "product_url": "https://shop.example/products/mug",
        "price": 12.5,
        "availability": "in_stock",
        "categories": ("Kitchen",),
    },
    "tent": {
        "title": "Tent",
        "product_url": "https://shop.example/products/tent",
        "price": 199.0,
        "availability": "backorder",
        "stock_qty": -2,
        "categories": (),
    },
    "old-bag": {
        "title": "Old bag",
        "product_url": "https://shop.example/products/old-bag",
        "price": 10.0,
        "availability": "discontinued",
        "categories": (),
    },
    "web-off": {
        "title": "Not on the web",
        "product_url": "https://shop.example/products/web-off",
        "price": 10.0,
        "availability": "discontinued",
        "categories": (),
    },
}
MAGENTO = {
    "WJ": {
        "sku": "WJ",
        "title": "Rain Jacket",
        "product_url": "https://shop.example/rain-jacket.html",
        "image_url": "https://shop.example/media/catalog/product/w/j/wj%20main.jpg",
        "price": 65.5,  # on sale, of what can be had
        "list_price": 72.0,
        "planned_price": 65.5,
        "planned_price_from": "2026-11-01",
        "planned_price_until": "2026-11-30",
        "availability": "in_stock",
        "stock_qty": 4,  # what is disabled does not count
        "categories": ("Women", "Women > Jackets", "Sale, all"),
        "description": "Dry & light.",
    },
    "MUG-1": {
        "sku": "MUG-1",
        "title": "Mug",
        "product_url": "https://shop.example/mug.html",
        "price": 12.5,  # its sale is over
        "availability": "backorder",
        "stock_qty": 0,
        "categories": ("Kitchen",),
        "description": "Short.",
    },
    "CARD": {
        "sku": "CARD",
        "title": "Gift card",
        "product_url": "https://shop.example/card.html",
        "image_url": "https://cdn.example/card.jpg",
        "price": 25.0,
        "availability": "in_stock",  # not counted
        "categories": (),
    },
    "OFF": {
        "sku": "OFF",
        "title": "Disabled",
        "product_url": "https://shop.example/off.html",
        "price": 1.0,
        "availability": "discontinued",
        "stock_qty": 1,
        "categories": (),
    },
    "SPARE": {
        "sku": "SPARE",
        "title": "Spare part",
        "product_url": "https://shop.example/spare.html",
        "price": 3.0,
        "availability": "discontinued",
        "stock_qty": 1,
        "categories": (),
    },
    "SET": {
        "sku": "SET",
        "title": "Camp set",
        "product_url": "https://shop.example/set.html",
        "availability": "in_stock",
        "categories": ("Camp",),
    },
}
GOOGLE = {
    "DB_1": {
        "sku": "MPN1",
        "title": "Dog bowl - Blue",
        "product_url": "https://shop.example/db?s=m",
        "image_url": "https://img.example/db-m.png",
        "price": 10.99,
        "list_price": 12.99,
        "planned_price": 10.99,
        "planned_price_from": "2026-11-01T00:00:00+01:00",
        "planned_price_until": "2026-11-30T23:59:00+01:00",
        "cost": 4.0,
        "availability": "in_stock",
        "categories": ("Home", "Home > Pets", "Home > Pets > Bowls"),
        "description": "Solid plastic",
    },
    "LEASH": {
        "title": "Leash 5 < 6 m",
        "product_url": "https://shop.example/leash",
        "image_url": "https://img.example/leash.png",
        "price": 1299.0,
        "availability": "preorder",
        "category_ids": ("166",),
        "description": "Long & light",
        "available_until": "2027-01-31",
    },
}


@pytest.mark.parametrize(
    ("name", "expected", "bad_rows"),
    [
        ("woocommerce.csv", WOOCOMMERCE, {14, 15}),
        ("woocommerce-de.csv", WOOCOMMERCE, {14, 15}),  # known by its order of columns
        ("shopify.csv", SHOPIFY, {9}),
        ("shopify-old.csv", SHOPIFY, {9}),
        ("magento.csv", MAGENTO, {12, 13}),
        ("google.tsv", GOOGLE, {5, 6}),
        ("google-rss.xml", GOOGLE, {4, 5}),
        ("google-atom.xml", GOOGLE, {4, 5}),
    ],
)
def test_an_export_becomes_the_items_that_are_sold(
    tmp_path: Path, name: str, expected: dict[str, dict[str, object]], bad_rows: set[int]
) -> None:
    items = read((SAMPLES / name).read_bytes(), tmp_path)

    assert taken(items) == expected
    assert refused(items).keys() == bad_rows


def test_every_row_is_counted_once(tmp_path: Path) -> None:
    items = read((SAMPLES / "woocommerce.csv").read_bytes(), tmp_path)

    assert sum(item.rows for item in items) == 14
    assert {item.row for item in items if item.is_hidden} == {12, 13}


def test_variants_of_a_feed_can_stay_apart(tmp_path: Path) -> None:
    items = read((SAMPLES / "google.tsv").read_bytes(), tmp_path, each_variant=True)

    assert taken(items).keys() == {"DB_1-M", "DB_1-L", "LEASH"}
    assert taken(items)["DB_1-M"]["price"] == 9.99


def rewritten(name: str, separator: str, encoding: str) -> bytes:
    """Return a sample as another program would have saved it."""
    whole = (SAMPLES / name).read_text("utf-8-sig")
    rows = csv.reader(io.StringIO(whole), delimiter="\t" if name.endswith("tsv") else ",")
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("woocommerce-de.csv", WOOCOMMERCE),
        ("shopify.csv", SHOPIFY),
        ("magento.csv", MAGENTO),
        ("google.tsv", GOOGLE),
    ],
)
def test_an_export_may_have_been_through_a_spreadsheet(
    tmp_path: Path,
    name: str,
    expected: dict[str, dict[str, object]],
    separator: str,
    encoding: str,
) -> None:
    assert taken(read(rewritten(name, separator, encoding), tmp_path)) == expected


def test_letters_of_latin_1_and_odd_quotes_come_through(tmp_path: Path) -> None:
    content = 'Handle,Title,Variant Price\ncafe,"Café ""Noir"", 5"" größer",9.90\n'

    items = read(content.encode("latin-1"), tmp_path)

    assert taken(items)["cafe"]["title"] == 'Café "Noir", 5" größer'


def test_what_an_export_leaves_empty_the_product_does_not_have(tmp_path: Path) -> None:
    content = "Handle,Title,Image Src,Variant Price\nmug,Mug,,9.90\n"

    (item,) = read(content, tmp_path)

    assert isinstance(item.item, ItemPatch)
    assert item.item.fields["image_url"] is None
    assert item.item.fields["price"] == 9.9
    assert "description" not in item.item.fields  # it has no such column
