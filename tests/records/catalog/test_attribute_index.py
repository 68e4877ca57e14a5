"""Attribute index: values of items, by name, without case and accents."""

import numpy as np

from productrecs.records.catalog.attribute_index import AttributeIndex, ValueCount


def test_an_item_that_changes_leaves_its_old_values() -> None:
    index = AttributeIndex()
    index.reserve(3)
    index.put(0, (("brand", ("Acme",)), ("Fit", ("Slim", "slim", "Wide"))))
    index.put(2, (("Brand", ("ACME",)),))

    assert index.mask("brand", ["acme"], 3).tolist() == [True, False, True]
    assert index.attributes_of(0) == {"brand": ["Acme"], "Fit": ["Slim", "Wide"]}
    index.put(0, (("Fit", ("Wide",)),))
    assert index.mask("BRAND", ["acme", "unknown"], 3).tolist() == [False, False, True]
    assert index.mask("fit", ["slim"], 3).sum() == 0
    assert index.attributes_of(0) == {"Fit": ["Wide"]}
    assert index.attributes_of(99) == {}


def test_counts_begin_with_the_attribute_that_most_items_have() -> None:
    index = AttributeIndex()
    index.reserve(4)
    index.put(0, (("Fit", ("Slim", "Wide")), ("color", ("Red",))))
    index.put(1, (("Fit", ("Wide",)),))
    index.put(3, (("color", ("Blue",)),))

    counts = index.top_value_counts(np.array([0, 1, 2]))

    assert list(counts) == ["Fit", "color"]
    assert counts["Fit"] == [ValueCount("Wide", 2), ValueCount("Slim", 1)]
    assert counts["color"] == [ValueCount("Red", 1)]
