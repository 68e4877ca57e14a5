"""Bundle editor: stored, validated with a remedy, separate by store, and safe for two."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.placements import bundle_editor
from productrecs.records.placements.bundle import (
    BundleChangedError,
    BundleContent,
    BundleError,
    BundlePrice,
    BundleState,
    UnknownBundleError,
    bundle_price,
    validate_bundle,
)
from productrecs.records.placements.bundle_editor import BundleEditor
from productrecs.records.placements.placement import PlacementContent
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.records.placements.repository import PlacementsAndBundles
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from tests.support.stores import new_store

CAMP = BundleContent(("tent", "mat"), name="Camping  night", discount_percent=10.0)


def editor_of(database: Database, domain: str) -> BundleEditor:
    """Return the editor of a new store with four products."""
    store = new_store(database, domain)
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store.store_id)
        patches = [
            ItemPatch(one, {"price": None if one == "mug" else 20.0})
            for one in ("tent", "mat", "lamp", "mug")
        ]
        upsert_items(log, patches, 1_000)
    return BundleEditor(database, store, lambda: 2_000)


def test_bundles_are_stored_versioned_and_separate_by_store(database: Database) -> None:
    editor, other = (editor_of(database, f"{name}.example") for name in "ab")
    PlacementEditor(database, editor.store, lambda: 1_000).add("page", PlacementContent())
    first = editor.add(CAMP)
    rejected = editor.add(BundleContent(("lamp", "mat"), state=BundleState.REJECTED))
    theirs = other.add(CAMP)

    changed = editor.change(first.bundle_id, first.version, discount_amount=5.0)

    reader = database.raw_reader()
    known = PlacementsAndBundles.load(reader, editor.store.store_id, 4)
    reader.close()
    assert first.content == replace(CAMP, name="Camping night")
    assert changed.content.discount_percent is None  # one takes the other's place
    assert changed.content.discount_amount == 5.0
    assert changed.version > rejected.version > first.version
    assert editor.all() == [changed, rejected]
    assert known.bundles == {"tent": (changed,), "mat": (changed,)}
    accepted = editor.add(BundleContent(("mat", "lamp"), name="After all"))
    assert accepted.bundle_id == rejected.bundle_id
    assert [one.content.name for one in editor.all()] == ["Camping night", "After all"]
    with pytest.raises(BundleError, match="already, and is accepted"):
        editor.add(BundleContent(("lamp", "mat"), state=BundleState.REJECTED))
    assert editor.remove(rejected.bundle_id) == accepted
    assert [one.content for one in other.all()] == [theirs.content]
    with pytest.raises(UnknownBundleError, match="there is no bundle 99"):
        other.remove(99)
    assert editor.find(first.bundle_id) == changed


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"items": ("tent",)}, "items", "has 2 to 4 products; this one has 1"),
        ({"items": tuple("abcde")}, "items", "has 2 to 4"),
        ({"items": ("tent", "tent")}, "items", "twice"),
        ({"items": ("tent", "x" * 256)}, "items", "1 to 255"),
        ({"items": ("tent", "a\0b")}, "items", "1 to 255"),
        ({"items": ("tent", "")}, "items", "1 to 255"),
        ({"name": "x" * 201}, "name", "at most 200"),
        ({"name": "a\0"}, "name", "at most 200"),
        ({"discount_percent": 0.0}, "discount_percent", "above 0 and below 100"),
        ({"discount_percent": 100.0}, "discount_percent", "above 0 and below 100"),
        ({"discount_percent": float("nan")}, "discount_percent", "above 0"),
        ({"discount_amount": 1.0}, "discount_amount", "not both"),
        ({"discount_percent": None, "discount_amount": -1.0}, "discount_amount", "above 0"),
        ({"discount_percent": None, "discount_amount": float("inf")}, "discount_amount",
         "above 0"),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_refused(
    changes: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(BundleError, match=said) as refused:
        validate_bundle(replace(CAMP, **changes))

    assert refused.value.field == field


def test_a_bundle_fits_the_catalog_and_is_there_once(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = editor_of(sqlite_database, "a.example")
    stored = editor.add(CAMP)
    for refused, said in [
        (BundleContent(("mat", "tent")), f"bundle {stored.bundle_id} has these products"),
        (BundleContent(("tent", "boat")), "no product 'boat'; push it first"),
        (BundleContent(("tent", "lamp"), discount_amount=40.0), "is not below the sum"),
    ]:
        with pytest.raises(BundleError, match=said):
            editor.add(refused)
    with pytest.raises(BundleError, match="is not below the sum"):
        editor.change(stored.bundle_id, discount_amount=50.0)
    # Its price may be unknown, and what is rejected may be deleted.
    editor.add(BundleContent(("tent", "mug"), discount_amount=40.0))
    editor.add(BundleContent(("tent", "boat"), state=BundleState.REJECTED))
    assert [one.version for one in editor.all()] == [1, 2, 3]

    monkeypatch.setattr(bundle_editor, "MAX_BUNDLES", 3)

    with pytest.raises(BundleError, match="remove some"):
        editor.add(BundleContent(("lamp", "mug")))


def test_of_two_merchants_who_edit_at_once_one_reads_again(database: Database) -> None:
    editor = editor_of(database, "a.example")
    stored = editor.add(CAMP)

    def edit(name: str) -> str:
        try:
            return editor.change(stored.bundle_id, stored.version, name=name).content.name
        except BundleChangedError as error:
            return str(error)

    def accept(name: str) -> bool:
        try:
            editor.add(BundleContent(("lamp", "mug"), name=name))
        except BundleError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        edited = list(threads.map(edit, ("Anna", "Ben")))
        accepted = list(threads.map(accept, ("Anna", "Ben")))

    winner = editor.find(stored.bundle_id).content.name
    assert sorted(one == winner for one in edited) == [False, True]
    assert any("read it again" in one for one in edited)
    assert sorted(accepted) == [False, True]
    assert len(editor.all()) == 2


@pytest.mark.parametrize(
    ("prices", "discount", "expected"),
    [
        ([19.99, 5.0], {}, (24.99, 24.99)),
        ([19.99, 5.0], {"discount_percent": 10.0}, (24.99, 22.49)),
        ([0.1, 0.2], {}, (0.3, 0.3)),
        ([10.0, 10.01], {"discount_percent": 50.0}, (20.01, 10.01)),  # halves go up
        ([10.0, 10.0], {"discount_amount": 0.5}, (20.0, 19.5)),
        ([10.0, 10.0], {"discount_amount": 25.0}, (20.0, -5.0)),  # not shown
        ([10.0, None], {"discount_percent": 10.0}, (None, None)),
        ([10.0, float("nan")], {}, (None, None)),
    ],
)
def test_a_price_is_the_sum_less_the_discount(
    prices: list[float | None], discount: dict[str, Any], expected: BundlePrice
) -> None:
    assert bundle_price(prices, BundleContent((), **discount)) == expected
