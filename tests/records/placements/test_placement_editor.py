"""Placement editor: stored, versioned, validated with a remedy, and separate by store."""

from dataclasses import replace
from typing import Any

import pytest

from productrecs.records.placements import placement_editor
from productrecs.records.placements.placement import (
    PlacementContent,
    PlacementError,
    RelativeFilter,
    Strategy,
    UnknownPlacementError,
    validate_placement,
)
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.records.placements.repository import PlacementsAndBundles
from productrecs.storage.sql.database import Database
from tests.support.stores import new_store

WHOLE = PlacementContent(
    strategy=Strategy.TOP_OF_BRAND,
    title="Mehr von „{product}“",
    filters=("price:..50", "color:Blau"),
    relative=(RelativeFilter.SAME_CATEGORY, RelativeFilter.SIMILAR_PRICE),
    num=6,
    minimum=3,
    most_per_category=2,
    most_per_brand=4,
    fallback=Strategy.NEW,
)


def editor_of(database: Database, domain: str) -> PlacementEditor:
    """Return the editor of a new store."""
    store = new_store(database, domain)
    return PlacementEditor(database, store, lambda: 2_000)


def test_placements_are_stored_versioned_and_separate_by_store(database: Database) -> None:
    editor, other = (editor_of(database, f"{name}.example") for name in "ab")
    first = editor.add("cart", WHOLE)
    other.add("cart", PlacementContent())

    changed = editor.change("cart", num=7)
    editor.add("home-hero_2", PlacementContent())

    reader = database.raw_reader()
    known = PlacementsAndBundles.load(reader, editor.store.store_id, 3)
    reader.close()
    assert first.content == WHOLE
    assert changed.content == replace(WHOLE, num=7)
    assert changed.version > first.version
    assert known.find("cart") == changed
    assert [one.name for one in editor.all()] == ["cart", "home-hero_2"]
    editor.remove("cart")
    assert [one.content for one in other.all()] == [PlacementContent()]
    with pytest.raises(UnknownPlacementError, match="there are: home-hero_2"):
        editor.remove("cart")


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("", {}, "name"),
        ("Cart", {}, "name"),
        ("-cart", {}, "name"),
        ("x" * 65, {}, "name"),
        ("cart", {"title": "x" * 201}, "title"),
        ("cart", {"num": 21}, "num"),
        ("cart", {"num": 0}, "num"),
        ("cart", {"minimum": -1}, "minimum"),
        ("cart", {"num": 3, "minimum": 4}, "minimum"),
        ("cart", {"most_per_brand": 0}, "most_per_brand"),
        ("cart", {"fallback": Strategy.MIX}, "fallback"),
        ("cart", {"filters": ("colour=red",)}, "filters"),
        ("cart", {"filters": tuple(f"brand:{n}" for n in range(21))}, "filters"),
    ],
)
def test_what_cannot_be_served_is_refused(
    name: str, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(PlacementError) as refused:
        validate_placement(name, replace(PlacementContent(), **changes))

    assert refused.value.field == field


def test_a_name_is_added_once_and_only_so_many(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = editor_of(sqlite_database, "a.example")
    editor.add("cart", PlacementContent())
    with pytest.raises(PlacementError, match="already"):
        editor.add("cart", PlacementContent())

    monkeypatch.setattr(placement_editor, "MAX_PLACEMENTS", 1)

    with pytest.raises(PlacementError, match="remove one first"):
        editor.put("home", PlacementContent())
    assert editor.put("cart", WHOLE).content == WHOLE
