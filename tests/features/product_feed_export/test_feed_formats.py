"""Product feeds: each line keeps the published rules of Google, Meta and OpenAI."""

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from productrecs.features.product_feed_export.feed_entries import (
    FeedExclusionReason,
    FeedFormat,
    FeedProductCounts,
    ProductLabeller,
    select_and_count_feed_entries,
)
from productrecs.features.product_feed_export.feed_formats import (
    FeedSeller,
    feed_lines,
    longest_id,
)
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.item import Item

EURO = FeedSeller("shop.example", "https://shop.example/", "EUR")
G = "{http://base.google.com/ns/1.0}"
GTIN = "4006381333931"


def item(item_id: str = "tent", **fields: Any) -> Item:
    """Return an item that every feed takes."""
    given: dict[str, Any] = {
        "title": "Tent for two",
        "product_url": "https://shop.example/p/tent",
        "image_url": "https://shop.example/i/tent.jpg",
        "price": 149.0,
    }
    return Item(item_id, **given | fields)


def feed_of(
    feed: FeedFormat,
    *items: Item,
    groups: Sequence[str] = (),
    seller: FeedSeller = EURO,
    labeller: ProductLabeller | None = None,
) -> tuple[str, FeedProductCounts]:
    """Return the text of a feed of these items, and its count."""
    count = FeedProductCounts()
    grouped = zip(items, groups or [""] * len(items), strict=True)
    labeller = labeller or ProductLabeller({}, {}, None)
    products = select_and_count_feed_entries(grouped, labeller, longest_id(feed), count)
    return "".join(feed_lines(feed, products, seller)), count


def google_fields(*items: Item, **options: Any) -> list[dict[str, str]]:
    root = ET.fromstring(feed_of(FeedFormat.GOOGLE, *items, **options)[0])  # noqa: S314 - ours
    return [
        {child.tag.removeprefix(G): child.text or "" for child in entry}
        for entry in root.iter("item")
    ]


def meta_fields(*items: Item, **options: Any) -> list[dict[str, str]]:
    text = feed_of(FeedFormat.META, *items, **options)[0]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def openai_products(*items: Item, **options: Any) -> list[dict[str, Any]]:
    text = feed_of(FeedFormat.OPENAI, *items, **options)[0]
    return [json.loads(line) for line in text.splitlines()]


HOSTILE = item(
    "a&b",
    title='<b>Tent</b> & "two" ]]> \x0b' + "x" * 300,
    description="<p>Light,<br>dry</p><script>alert(1)</script>" + "y" * 12_000,
    brand="B" * 90,
    categories=("Camping", "Camping > Tents", "C" * 900),
    color=("red", "green", "blue", "white"),
)


def test_a_google_feed_keeps_its_rules_whatever_a_product_says() -> None:
    (fields,) = google_fields(HOSTILE)

    assert fields["id"] == "a&b"
    assert fields["title"].startswith('Tent & "two" ]]>')
    assert len(fields["title"]) <= 150
    assert fields["description"].startswith("Light,\ndry")
    assert "alert" not in fields["description"]
    assert len(fields["description"]) <= 5_000
    assert len(fields["brand"]) <= 70
    assert fields["product_type"] == "Camping > Tents"
    assert fields["color"] == "red/green/blue"
    assert re.fullmatch(r"\d+\.\d\d EUR", fields["price"])
    required = {"id", "title", "description", "link", "image_link", "availability", "price"}
    assert required | {"condition"} <= fields.keys()
    assert all(fields.values())


@pytest.mark.parametrize(
    ("given", "google", "meta", "openai"),
    [
        ({}, "in_stock", "in stock", (True, "in_stock")),
        ({"stock_qty": 0}, "out_of_stock", "out of stock", (False, "out_of_stock")),
        (
            {"availability": Availability.BACKORDER},
            "out_of_stock",  # Google refuses it without a date
            "available for order",
            (True, "backorder"),
        ),
        (
            {
                "availability": Availability.PREORDER,
                "attributes": (("availability_date", ("2026-12-24",)),),
            },
            "preorder",
            "preorder",
            (True, "preorder"),
        ),
        (
            {
                "availability": Availability.PREORDER,
                "attributes": (("availability_date", ("soon",)),),
            },
            "out_of_stock",
            "preorder",
            (True, "preorder"),
        ),
    ],
)
def test_availability_is_in_each_platforms_words(
    given: dict[str, Any], google: str, meta: str, openai: tuple[bool, str]
) -> None:
    (fields,) = google_fields(item(**given))
    (row,) = meta_fields(item(**given))
    (product,) = openai_products(item(**given))

    assert fields["availability"] == google
    assert ("availability_date" in fields) == (google == "preorder")
    assert row["availability"] == meta
    availability = product["variants"][0]["availability"]
    assert (availability["available"], availability["status"]) == openai


@pytest.mark.parametrize(
    ("currency", "text", "usual", "minor_units"),
    [
        ("EUR", "12.50 EUR", "20.00 EUR", 1250),
        ("JPY", "12 JPY", "20 JPY", 12),
        ("KWD", "12.500 KWD", "20.000 KWD", 12500),
    ],
)
def test_prices_have_the_digits_of_their_currency(
    currency: str, text: str, usual: str, minor_units: int
) -> None:
    seller = FeedSeller("shop.example", "https://shop.example/", currency)
    reduced = item(price=12.5 if currency != "JPY" else 12.0, list_price=20.0)

    (fields,) = google_fields(reduced, seller=seller)
    (product,) = openai_products(reduced, seller=seller)

    assert fields["sale_price"] == text
    assert fields["price"] == usual
    variant = product["variants"][0]
    assert variant["price"] == {"amount": minor_units, "currency": currency}
    assert variant["list_price"]["amount"] > minor_units


def test_variants_share_a_group_and_are_one_product_for_openai() -> None:
    small = item("shirt-s", title="Shirt", size=("S",), color=("red",))
    large = item("shirt-l", title="Shirt", size=("L",), color=("red",))
    groups = ["shirt-s", "shirt-s", ""]

    rows = meta_fields(small, large, item(), groups=groups)
    products = openai_products(small, large, item(), groups=groups)

    assert [row["item_group_id"] for row in rows] == groups
    assert [product["id"] for product in products] == ["shirt-s", "tent"]
    shirt = products[0]["variants"]
    assert [variant["id"] for variant in shirt] == ["shirt-s", "shirt-l"]
    assert shirt[1]["variant_options"] == [
        {"name": "Color", "value": "red"},
        {"name": "Size", "value": "L"},
    ]


@pytest.mark.parametrize(
    ("given", "gtin", "identifier_exists"),
    [
        ({"gtin": GTIN}, GTIN, ""),
        ({"gtin": "4006381333932"}, "", "no"),
        ({"gtin": "12345"}, "", "no"),
        ({"brand": "Hill", "sku": "T-2"}, "", ""),
    ],
)
def test_only_codes_with_the_right_check_digit_are_sent(
    given: dict[str, Any], gtin: str, identifier_exists: str
) -> None:
    (fields,) = google_fields(item(**given))
    (product,) = openai_products(item(**given))

    assert fields.get("gtin", "") == gtin
    assert fields.get("identifier_exists", "") == identifier_exists
    codes = [code["value"] for code in product["variants"][0].get("barcodes", [])]
    assert codes == ([gtin] if gtin else [])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"title": "<p></p>"}, FeedExclusionReason.NO_TITLE),
        ({"product_url": None}, FeedExclusionReason.NO_PAGE),
        ({"product_url": "/p/tent"}, FeedExclusionReason.NO_PAGE),
        ({"image_url": "javascript:alert(1)"}, FeedExclusionReason.NO_PICTURE),
        ({"price": 0.0}, FeedExclusionReason.NO_PRICE),
        ({"price": None}, FeedExclusionReason.NO_PRICE),
    ],
)
def test_a_product_that_lacks_something_is_left_out_and_counted(
    given: dict[str, Any], reason: FeedExclusionReason
) -> None:
    for feed in FeedFormat:
        text, count = feed_of(feed, item("bad", **given), item("good"))

        assert "good" in text
        assert ">bad<" not in text
        assert count.products == 1
        assert count.left_out == {reason: ["bad"]}


def test_a_long_id_is_left_out_where_the_platform_refuses_it() -> None:
    long = item("x" * 60)

    counted = feed_of(FeedFormat.GOOGLE, long)[1].left_out_counts
    assert counted == {FeedExclusionReason.LONG_ID: 1}
    assert feed_of(FeedFormat.META, long)[1].products == 1


def test_an_empty_catalog_is_a_feed_without_products() -> None:
    assert google_fields() == []
    assert meta_fields() == []
    assert feed_of(FeedFormat.META)[0].startswith('"id","title",')
    assert openai_products() == []


def test_labels_say_how_a_product_sells_its_stock_and_its_margin() -> None:
    labeller = ProductLabeller(
        {f"sold-{rank}": rank for rank in range(20)},
        {"sold-0": "runs_out", "sold-5": "enough_stock"},
        (0.2, 0.5),
    )
    items = [
        item("sold-0", cost=140.0),
        item("sold-5", cost=100.0),
        item("new", cost=10.0, stock_qty=0),
    ]

    rows = meta_fields(*items, labeller=labeller)
    labels = [[row[f"custom_label_{number}"] for number in range(3)] for row in rows]

    assert labels == [
        ["bestseller", "runs_out", "margin_low"],
        ["sells", "enough_stock", "margin_medium"],
        ["no_sales", "out_of_stock", "margin_high"],
    ]
    assert "margin" not in feed_of(FeedFormat.OPENAI, *items, labeller=labeller)[0]
    assert "140" not in feed_of(FeedFormat.META, item(cost=140.0))[0]
