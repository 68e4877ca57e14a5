"""Which titles are one product in two sizes or colours, and which are two products?"""

from __future__ import annotations

import pytest

from productrecs.records.catalog.variants import variant_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Merino Shirt, Navy, M", "Merino shirt - black XL"),
        ("Leinenhemd grün Größe L", "Leinenhemd GRAU Größe s"),
        ("Olive oil 500ml", "Olive Oil 1l"),
        ("Same listing twice", "Same listing twice"),
    ],
)
def test_sizes_colours_and_measures_tell_no_products_apart(one: str, other: str) -> None:
    assert variant_key(one) == variant_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Saga, volume 1", "Saga, volume 2"),
        ("Merino shirt M", "Merino trousers M"),
        ("tent-0", "tent-1"),
    ],
)
def test_other_words_and_plain_numbers_do(one: str, other: str) -> None:
    assert variant_key(one) != variant_key(other)


@pytest.mark.parametrize("title", ["", "Red", "XL", "--"])
def test_where_nothing_is_left_there_is_no_telling(title: str) -> None:
    assert variant_key(title) == ""
