"""Variant groups: products that differ only in size and colour."""

import numpy as np
import pytest

from productrecs.records.catalog.title_words import variant_words
from productrecs.records.catalog.variant_groups import CatalogVariantGroups


def test_items_newer_than_the_groups_stand_alone() -> None:
    groups = CatalogVariantGroups([7, 7, 5, 5], [1, 2, 3, 3])
    items = np.array([0, 9, 1, 9, 2, 3], np.int64)

    assert groups.groups_of(items).tolist() == [7, 0, 7, 0, 0, 0]
    assert groups.mask_first_of_each_group(items).tolist() == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]
    assert sorted(groups.members(7).tolist()) == [0, 1]


@pytest.mark.parametrize(
    ("title", "values", "shared", "differing"),
    [
        ("Shirt Blue M", (), "shirt", ("blue", "m")),
        ("Trail shoe, 42", ("42",), "trail shoe", ("42", "42")),
        ("Trail shoe, 42", (), "trail shoe 42", ()),
        ("Dress Midnight Sky", ("Midnight sky",), "dress", ("midnight", "sky") * 2),
        ("Oil 500ml", (), "oil", ("500ml",)),
    ],
)
def test_sizes_and_colours_of_a_product_are_what_differs(
    title: str, values: tuple[str, ...], shared: str, differing: tuple[str, ...]
) -> None:
    assert variant_words(title, values) == (shared, differing)
