"""Attributes in descriptions: appended, replaced, and separate from the text."""

import pytest

from productrecs.records.catalog.description_attributes import (
    append_attributes,
    strip_attributes,
)

ACME = {"Brand": ["Acme"], "Color": ["Blue", "Red"]}
LINE = "Attributes: Brand: Acme; Color: Blue, Red"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, LINE),
        ("", LINE),
        ("Warm.\n\nDry.", f"Warm.\n\nDry.\n\n{LINE}"),
        ("Warm.\n\nAttributes: Brand: Old", f"Warm.\n\n{LINE}"),
        ("Attributes: Brand: Old", LINE),
        ("Attributes: none.\n\nWarm.", f"Attributes: none.\n\nWarm.\n\n{LINE}"),
    ],
)
def test_attributes_are_told_once_at_the_end(before: str | None, after: str) -> None:
    once = append_attributes(before, ACME, 1_000)

    assert once == after
    assert append_attributes(once, ACME, 1_000) == once


def test_a_long_description_makes_room_for_them() -> None:
    text = append_attributes("x" * 500, ACME, 100)

    assert len(text) == 100
    assert text.endswith(LINE)
    assert strip_attributes(text) == "x" * (100 - len(LINE) - 2)


def test_shoppers_read_the_prose_alone() -> None:
    assert strip_attributes(f"Warm.\n\n{LINE}") == "Warm."
    assert strip_attributes(LINE) == ""
    assert (
        strip_attributes("Attributes: none. Really\nwarm.")
        == "Attributes: none. Really\nwarm."
    )
