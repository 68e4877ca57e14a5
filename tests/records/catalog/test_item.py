"""Item updates: a push changes only the fields it has."""

from __future__ import annotations

from dataclasses import fields

from productrecs.records.catalog.item import FIELD_DEFAULTS, Item, ItemPatch, new_item


def test_a_new_item_has_the_defaults_of_what_its_push_left_out() -> None:
    item = new_item(ItemPatch("a", {"price": 5.0}))

    assert item == Item("a", price=5.0)
    assert {field.name for field in fields(Item)} == {"item_id", *FIELD_DEFAULTS}
    assert new_item(ItemPatch("a", FIELD_DEFAULTS)) == Item("a")


def test_a_push_keeps_the_fields_it_does_not_carry() -> None:
    stored = Item("a", title="Tent", price=5.0, stock_qty=3)

    changed = stored.patched(ItemPatch("a", {"price": None, "stock_qty": 0}))

    assert changed == Item("a", title="Tent", price=None, stock_qty=0)
