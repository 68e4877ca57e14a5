"""Value parsing: prices and category paths."""

from pathlib import Path

import pytest

from productrecs.features.imports.feeds.value_parsing import (
    InvalidOfferError,
    ParsedPrice,
    category_levels,
    parse_price,
    parse_stock,
)
from productrecs.records.catalog.item import ItemPatch
from tests.features.imports.feeds.reads import read


@pytest.mark.parametrize(
    ("text", "separator", "price"),
    [
        ("19.90 EUR", ",", ParsedPrice(19.9, "EUR")),
        ("EUR 1.299,00", "\t", ParsedPrice(1299.0, "EUR")),
        ("€19,90", ";", ParsedPrice(19.9, None)),
        ("1 299,00 kr", ";", ParsedPrice(1299.0, None)),
        ("15,550.00 USD", ",", ParsedPrice(15550.0, "USD")),
        ("1,234", ",", ParsedPrice(1234.0, None)),
        ("1,234", ";", ParsedPrice(1.234, None)),
        ("12", ",", ParsedPrice(12.0, None)),
        ("0", ",", ParsedPrice(0.0, None)),
        ("  ", ",", None),
    ],
)
def test_a_price_is_read_as_it_was_meant(
    text: str, separator: str, price: ParsedPrice | None
) -> None:
    assert parse_price(text, separator) == price


@pytest.mark.parametrize("text", ["free", "12 to 15", "1.2.3", "EUR", "12/2 EUR", "1e5"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(InvalidOfferError, match="is not a price"):
        parse_price(text, ",")


def test_a_category_path_belongs_to_each_of_its_levels() -> None:
    assert category_levels("Apparel &gt; Shoes>Trail ") == [
        "Apparel",
        "Apparel > Shoes",
        "Apparel > Shoes > Trail",
    ]
    assert category_levels(" > ") == []


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), (" 7.0 ", 7), ("-2", -2), ("parent", None), ("", None), ("1e999", None)],
)
def test_a_stock_is_a_whole_number_or_unknown(text: str, number: int | None) -> None:
    assert parse_stock(text) == number


WOOCOMMERCE = (
    "ID,Type,SKU,Name,Published,Parent,Brands,Attribute 1 name,Attribute 1 value(s),"
    "Attribute 2 name,Attribute 2 value(s)\n"
    '44,variable,tee,Tee,1,,Acme,Color,"Blue, Red",Fit,"Slim\\, long"\n'
    "45,variation,tee-g,Tee - Green,1,tee,,Color,Green,,\n"
)
SHOPIFY = (
    "Handle,Title,Vendor,Option1 Name,Option1 Value,Variant Price\n"
    "tee,Tee,Acme,Color,Blue,9\ntee,,,,Red,9\nmug,Mug,Potter,Title,Default Title,5\n"
)
MAGENTO = (
    "sku,product_type,name,url_key,configurable_variations,additional_attributes\n"
    'T,configurable,Tee,tee,"sku=T-B,color=Blue","manufacturer=Acme,fabric=Wool|Silk"\n'
    'T-B,simple,Tee-Blue,tee-b,,"color=Blue,has_options=1,style=a, b"\n'
)
GOOGLE = (
    "id\ttitle\titem_group_id\tbrand\tcolor\tsize\tmaterial\n"
    "T-B\tTee\tT\tAcme\tBlue/White\tM\tWool\nT-R\tTee\tT\tAcme\tRed\tM\tWool\n"
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            WOOCOMMERCE,
            {"color": ("Blue", "Red", "Green"), "attributes": (("Fit", ("Slim, long",)),)},
        ),
        (SHOPIFY, {"color": ("Blue", "Red")}),
        (
            MAGENTO,
            {
                "color": ("Blue",),
                "attributes": (("Fabric", ("Wool", "Silk")), ("Style", ("a, b",))),
            },
        ),
        (
            GOOGLE,
            {"color": ("Blue", "White", "Red"), "size": ("M",), "material": ("Wool",)},
        ),
        ("id,title,vendor,colour\nT,Tee,Acme,Blue|Red\n", {"color": ("Blue", "Red")}),
        (
            '{"id": "T", "vendor": "Acme", "attributes": {"Fit": "Slim", "Pockets": 2}}\n',
            {"attributes": (("Fit", ("Slim",)), ("Pockets", ("2",)))},
        ),
    ],
)
def test_attributes_become_fields_of_the_item(
    tmp_path: Path, content: str, expected: dict[str, object]
) -> None:
    first = read(content, tmp_path)[0]

    assert isinstance(first.item, ItemPatch)
    names = ("brand", "color", "size", "material", "attributes")
    found = {name: first.item.fields[name] for name in names if name in first.item.fields}
    assert found == {"brand": "Acme", **expected}
