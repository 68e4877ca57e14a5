"""Availability: all spellings are understood, and derived when absent."""

import pytest

from productrecs.records.catalog.availability import (
    Availability,
    UnknownAvailabilityError,
    effective_availability,
    is_buyable,
    parse_availability,
)

IN_STOCK, OUT_OF_STOCK, PREORDER, BACKORDER, DISCONTINUED = Availability


@pytest.mark.parametrize(
    ("spelling", "state"),
    [
        ("in_stock", IN_STOCK),
        ("in stock", IN_STOCK),
        ("instock", IN_STOCK),
        ("In-Stock", IN_STOCK),
        ("  IN STOCK ", IN_STOCK),
        ("https://schema.org/InStock", IN_STOCK),
        ("http://schema.org/InStock", IN_STOCK),
        ("HTTPS://SCHEMA.ORG/INSTOCK", IN_STOCK),
        ("https://www.schema.org/InStock", IN_STOCK),
        ("https://schema.org/InStock/", IN_STOCK),
        ("schema:InStock", IN_STOCK),
        ("https://schema.org/LimitedAvailability", IN_STOCK),
        ("https://schema.org/OnlineOnly", IN_STOCK),
        ("out_of_stock", OUT_OF_STOCK),
        ("out of stock", OUT_OF_STOCK),
        ("outofstock", OUT_OF_STOCK),
        ("https://schema.org/OutOfStock", OUT_OF_STOCK),
        ("https://schema.org/SoldOut", OUT_OF_STOCK),
        ("https://schema.org/InStoreOnly", OUT_OF_STOCK),
        ("https://schema.org/Reserved", OUT_OF_STOCK),
        ("preorder", PREORDER),
        ("pre-order", PREORDER),
        ("https://schema.org/PreOrder", PREORDER),
        ("https://schema.org/PreSale", PREORDER),
        ("backorder", BACKORDER),
        ("back order", BACKORDER),
        ("onbackorder", BACKORDER),
        ("available for order", BACKORDER),
        ("https://schema.org/BackOrder", BACKORDER),
        ("https://schema.org/MadeToOrder", BACKORDER),
        ("discontinued", DISCONTINUED),
        ("https://schema.org/Discontinued", DISCONTINUED),
    ],
)
def test_every_spelling_of_the_three_vocabularies_is_known(
    spelling: str, state: Availability
) -> None:
    assert parse_availability(spelling) is state


@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "yes",
        "true",
        "1",
        "in stock now",
        "https://schema.org/",
        "InStock!",
        "stock",
        "https://example.com/InStock",
        "https://schema.org.evil/InStock",
        "in\0stock",
        "\ud800",
        "in" + "_" * 200 + "stock",
    ],
)
def test_any_other_word_is_refused_with_the_known_ones(word: str) -> None:
    with pytest.raises(UnknownAvailabilityError, match="in_stock, out_of_stock, preorder"):
        parse_availability(word)


@pytest.mark.parametrize(
    ("given", "stock_qty", "state"),
    [
        (None, None, IN_STOCK),
        (None, 0, OUT_OF_STOCK),
        (None, 1, IN_STOCK),
        (None, -1, IN_STOCK),
        (IN_STOCK, 0, IN_STOCK),
        (BACKORDER, 0, BACKORDER),
        (OUT_OF_STOCK, 9, OUT_OF_STOCK),
        (DISCONTINUED, 9, DISCONTINUED),
    ],
)
def test_a_given_availability_wins_over_the_stock(
    given: Availability | None, stock_qty: int | None, state: Availability
) -> None:
    assert effective_availability(given, stock_qty) is state


def test_what_is_in_stock_or_on_order_can_be_bought() -> None:
    assert [state for state in Availability if is_buyable(state)] == [
        IN_STOCK,
        PREORDER,
        BACKORDER,
    ]
