"""Item updates: a push changes only the fields it has."""

from dataclasses import fields

import pytest

from productrecs.records.catalog.item import FIELD_DEFAULTS, Item, ItemPatch, new_item
from productrecs.records.catalog.title_words import size_code_in_title, variant_key


def test_a_new_item_has_the_defaults_of_what_its_push_left_out() -> None:
    item = new_item(ItemPatch("a", {"price": 5.0}))

    assert item == Item("a", price=5.0)
    assert {field.name for field in fields(Item)} == {"item_id", *FIELD_DEFAULTS}
    assert new_item(ItemPatch("a", FIELD_DEFAULTS)) == Item("a")


def test_a_push_keeps_the_fields_it_does_not_carry() -> None:
    stored = Item("a", title="Tent", price=5.0, stock_qty=3)

    changed = stored.with_patch(ItemPatch("a", {"price": None, "stock_qty": 0}))

    assert changed == Item("a", title="Tent", price=None, stock_qty=0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Merino Shirt, Navy, M", "Merino shirt - black XL"),
        ("Leinenhemd grün Größe L", "Leinenhemd GRAU Größe s"),
        ("Olive oil 500ml", "Olive Oil 1l"),
        ("Same listing twice", "Same listing twice"),
        ("Women's Jacket S", "Womens jacket M"),
        ("Huile d'olive 1l", "Huile d\u2019Olive 500ml"),
        ("Levi's 501 S", "Levi\u2019s 501 'XL'"),
    ],
)
def test_variants_of_size_colour_and_measure_have_one_key(one: str, other: str) -> None:
    assert variant_key(one) == variant_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Saga, volume 1", "Saga, volume 2"),
        ("Merino shirt M", "Merino trousers M"),
        ("tent-0", "tent-1"),
        ("Women's Jacket", "Women Jacket"),
        ("H&M shirt", "H shirt"),
    ],
)
def test_other_words_and_plain_numbers_do(one: str, other: str) -> None:
    assert variant_key(one) != variant_key(other)


@pytest.mark.parametrize("title", ["", "Red", "XL", "--"])
def test_a_title_of_variant_words_only_has_no_key(title: str) -> None:
    assert variant_key(title) == ""


def test_the_size_is_the_last_word_that_names_one() -> None:
    assert (
        size_code_in_title("Shirt navy XL")
        == size_code_in_title("Rock, xl")
        != size_code_in_title("Shirt navy L")
        != 0
    )
    assert size_code_in_title("Mug red") == size_code_in_title("") == 0
    assert size_code_in_title("Small bag M") == size_code_in_title("Shirt M")


@pytest.mark.parametrize(
    "title",
    ["Women's Jacket", "Men\u2019s jacket", "Shampoo L'Or", "M&M's, 45 g", "H&M shirt"],
)
def test_a_letter_that_belongs_to_a_word_is_no_size(title: str) -> None:
    assert size_code_in_title(title) == 0
    assert (
        size_code_in_title(f"{title} S")
        == size_code_in_title("Boys' black&white shirt 'S'")
        != 0
    )
