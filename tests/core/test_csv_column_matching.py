"""CSV column names: a price is found under the names that shops give it."""

import pytest

from productrecs.core.csv_column_matching import find_columns
from productrecs.features.imports.feeds.column_synonyms import item_column_names

PRICES = item_column_names(("price", "list_price", "cost"))


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("id", "Price incl VAT"), {"price": 1}),
        (("id", "Price (incl. 19% VAT) EUR"), {"price": 1}),
        (("id", "price_excl_tax"), {"price": 1}),
        (("id", "Gross price"), {"price": 1}),
        (("id", "Price €"), {"price": 1}),
        (("id", "Preis inkl. MwSt."), {"price": 1}),
        (("id", "Verkaufspreis in EUR"), {"price": 1}),
        (("id", "Prix TTC"), {"price": 1}),
        (("id", "Prix de vente hors taxe"), {"price": 1}),
        (("id", "Precio con IVA"), {"price": 1}),
        (("id", "Prijs incl. btw"), {"price": 1}),
        (("id", "Price excl VAT", "Price incl VAT"), {"price": 2}),
        (("Price incl VAT", "Price"), {"price": 1}),
        (("id", "RRP incl. VAT", "Cost price (net)"), {"list_price": 1, "cost": 2}),
        (("id", "VAT", "Price VAT", "Tax rate", "Shipping price"), {}),
    ],
)
def test_a_price_is_found_with_what_its_name_says_of_tax_and_currency(
    names: tuple[str, ...], found: dict[str, int]
) -> None:
    assert find_columns(names, PRICES) == found
