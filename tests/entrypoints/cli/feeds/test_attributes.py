"""Attributes: brand, colour and others of every file format reach the items."""

from pathlib import Path

import pytest

from tests.entrypoints.cli.feeds.reads import read

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
    "id\ttitle\titem_group_id\tbrand\tcolor\tsize\n"
    "T-B\tTee\tT\tAcme\tBlue/White\tM\nT-R\tTee\tT\tAcme\tRed\tM\n"
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            WOOCOMMERCE,
            {"Brand": ["Acme"], "Color": ["Blue", "Red", "Green"], "Fit": ["Slim, long"]},
        ),
        (SHOPIFY, {"Brand": ["Acme"], "Color": ["Blue", "Red"]}),
        (
            MAGENTO,
            {
                "Brand": ["Acme"],
                "Fabric": ["Wool", "Silk"],
                "Color": ["Blue"],
                "Style": ["a, b"],
            },
        ),
        (GOOGLE, {"Brand": ["Acme"], "Color": ["Blue", "White", "Red"], "Size": ["M"]}),
        ("id,title,vendor,colour\nT,Tee,Acme,Blue|Red\n", None),
        ('{"id": "T", "brand": "Acme", "color": "Blue|Red"}\n', None),
    ],
)
def test_attributes_come_with_a_product(
    tmp_path: Path, content: str, expected: dict[str, list[str]] | None
) -> None:
    first = read(content, tmp_path)[0]

    plain = {"Brand": ["Acme"], "Color": ["Blue", "Red"]}
    assert first.attributes == (expected or plain)
