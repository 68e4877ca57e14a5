"""Reduced prices and barcodes: the same product in the formats of all platforms."""

from pathlib import Path

import pytest

from productrecs.records.catalog.item import ItemPatch
from tests.features.imports.feeds.reads import read, taken

WOO = (
    'ID,Type,SKU,"GTIN, UPC, EAN, or ISBN",Name,Published,Regular price,Sale price,'
    "Date sale price starts,Date sale price ends,Parent,Grouped products\n"
)
SHOPIFY = "Handle,Title,Option1 Value,Variant Price,Variant Compare At Price,"
NEW_SHOPIFY = "Title,URL handle,Price,Compare-at price,Barcode,Option1 value\n"
MAGENTO = (
    "sku,product_type,name,price,special_price,special_price_from_date,"
    "special_price_to_date,additional_attributes,configurable_variations"
)
GOOGLE = "id\ttitle\tlink\tprice\tsale_price\tsale_price_effective_date\tgtin\n"
EAN = "4006381333931"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (WOO + f"1,simple,a,{EAN},Tent,1,19,9,,,,\n", (9.0, 19.0, EAN)),
        (WOO + "1,simple,a,,Tent,1,19,9,2026-11-28 4:52:08,,,\n", (19.0, None, None)),
        (WOO + "1,simple,a,,Tent,1,19,9,,2026-11-20,,\n", (19.0, None, None)),
        (
            WOO + "1,simple,a,978-3-16-148410-0,Tent,1,19,19,,,,\n",
            (19.0, None, "9783161484100"),
        ),
        (
            WOO + "1,variable,a,,Tent,1,,,,,,\n"
            "2,variation,,,Red,1,30,25,,,id:1,\n"
            f"3,variation,,{EAN},Blue,1,28,,,,id:1,\n",
            (25.0, 30.0, EAN),
        ),
        (
            WOO + "1,grouped,a,,Set,1,,,,,,b\n2,simple,b,,Mug,1,12,8,,,,\n",
            (8.0, None, None),
        ),
        (SHOPIFY + f"Variant Barcode\n1,Tent,M,9,19,'{EAN}\n", (9.0, 19.0, EAN)),
        (SHOPIFY + "Variant Barcode\n1,Tent,M,9,9,4.00638E+12\n", (9.0, None, None)),
        (SHOPIFY + "Variant Barcode\n1,Tent,M,9,,\n", (9.0, None, None)),
        (NEW_SHOPIFY + f"Tent,1,9,19,{EAN},M\n", (9.0, 19.0, EAN)),
        (MAGENTO + f",ean\n1,simple,Tent,19,9,11/1/26,,,,{EAN}\n", (9.0, 19.0, EAN)),
        (MAGENTO + f"\n1,simple,Tent,19,9,12/1/26,,gtin={EAN},\n", (19.0, None, EAN)),
        (GOOGLE + f"1\tTent\tx\t19 EUR\t9 EUR\t\t{EAN}\n", (9.0, 19.0, EAN)),
        (
            GOOGLE + "1\tTent\tx\t19 EUR\t9 EUR\t2026-01-01/2026-01-31\t036000291452\n",
            (19.0, None, "036000291452"),
        ),
    ],
)
def test_a_valid_sale_price_keeps_the_regular_one_as_list_price(
    tmp_path: Path, content: str, expected: tuple[float, float | None, str | None]
) -> None:
    item = taken(read(content, tmp_path))["1"]

    assert (item["price"], item.get("list_price"), item.get("gtin")) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            WOO + "1,simple,a,,Tent,1,19,9,2027-11-28 4:52:08,2027-12-01,,\n",
            (9.0, "2027-11-28T04:52:08", "2027-12-01"),
        ),
        (
            MAGENTO + "\n1,simple,Tent,19,9,12/1/27,,,\n",
            (9.0, "2027-12-01", None),
        ),
        (
            GOOGLE + "1\tTent\tx\t19 EUR\t9 EUR\t2027-11-01/2027-11-08\t\n",
            (9.0, "2027-11-01", "2027-11-08"),
        ),
        (
            GOOGLE + "1\tTent\tx\t19 EUR\t9 EUR\t2026-01-01/2026-01-31\t\n",
            (None, None, None),
        ),
        (GOOGLE + "1\tTent\tx\t19 EUR\t9 EUR\t\t\n", (None, None, None)),
        (GOOGLE + "1\tTent\tx\t19 EUR\t9 EUR\t2027-11-01\t\n", (None, None, None)),
        (
            GOOGLE + "1\tTent\tx\t19 EUR\t9 EUR\t2026-01-01/2099-01-31\t\n",
            (9.0, "2026-01-01", "2099-01-31"),
        ),
        (
            "id;title;price;planned_price;planned_price_from\n1;Tent;19,90;14,90;2099-01-01\n",
            (14.9, "2099-01-01", None),
        ),
    ],
)
def test_a_sale_price_of_days_ahead_is_the_planned_price(
    tmp_path: Path, content: str, expected: tuple[float | None, str | None, str | None]
) -> None:
    item = taken(read(content, tmp_path))["1"]

    names = ("planned_price", "planned_price_from", "planned_price_until")
    assert tuple(item.get(name) for name in names) == expected


def test_the_end_of_a_sale_empties_the_list_price(tmp_path: Path) -> None:
    over = "1\tTent\tx\t19 EUR\t9 EUR\t2026-01-01/2026-01-31\t\n"

    item = read(GOOGLE + over, tmp_path)[0].item

    assert isinstance(item, ItemPatch)
    assert item.fields["list_price"] is None
    assert item.fields["planned_price"] is None
