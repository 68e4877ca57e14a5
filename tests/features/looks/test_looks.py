"""Looks: stored unchanged, and the newest published one is found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from productrecs.features.looks.look import (
    MAX_VERSIONS,
    Hotspot,
    InvalidLookError,
    LookContent,
    LookState,
    UnknownLookError,
)
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.looks.repository import PublishedLooks
from tests.support.clock import FakeClock
from tests.support.migrated import ON_SQLITE

if TYPE_CHECKING:
    from productrecs.storage.sql.database import Database
    from productrecs.storage.sql.dialects import RawReader
    from productrecs.tenancy.accounts.store import Store

URL = "https://i.example/look.jpg"
SPOT = Hotspot("Stove", (0.1, 0.2, 0.3, 0.4), "stove")


@pytest.fixture
def looks(database: Database, store: Store) -> LookEditor:
    return LookEditor(database, store, FakeClock(1_000_000, step=1_000))


def shown(database: Database, store: Store, seq: int = 1) -> dict[str, int]:
    reader: RawReader = database.raw_reader()
    try:
        found = PublishedLooks.load(reader, store.store_id, seq).newest
    finally:
        reader.close()
    return {anchor: look.look_id for anchor, look in found.items()}


def test_the_newest_published_look_of_a_product_is_shown(
    database: Database, store: Store, looks: LookEditor
) -> None:
    one, two, draft = looks.add([LookContent("tent", URL, "One"), LookContent("tent", URL),
                                 LookContent("rope", URL)])  # fmt: skip
    assert shown(database, store) == {}

    looks.publish(two.look_id)
    looks.publish(one.look_id)
    assert shown(database, store) == {"tent": one.look_id}
    looks.archive(one.look_id)
    assert shown(database, store) == {"tent": two.look_id}
    looks.unpublish(two.look_id)
    assert shown(database, store) == {}
    looks.publish(draft.look_id)
    looks.remove(draft.look_id)
    assert shown(database, store) == {}
    assert [one.state for one in looks.all()] == [LookState.ARCHIVED, LookState.DRAFT]


def test_a_look_is_stored_as_given_and_can_be_edited(looks: LookEditor) -> None:
    content = LookContent("tent", URL, "Am See – für zwei", (SPOT, SPOT))
    (made,) = looks.add([content], publish=True)

    assert looks.all() == [made]
    assert made.content == content
    changed = looks.edit(made.look_id, LookContent("rope", URL, "", (SPOT,)))
    assert looks.all() == [changed]
    assert changed.state is LookState.PUBLISHED
    assert changed.published_at == made.published_at


@ON_SQLITE
@pytest.mark.parametrize(
    "content",
    [
        LookContent("", URL),
        LookContent("a" * 256, URL),
        LookContent("a\0", URL),
        LookContent("a", "javascript:alert(1)"),
        LookContent("a", "look.jpg"),
        LookContent("a", "https://i.example/a b"),
        LookContent("a", URL, "x" * 201),
        LookContent("a", URL, "", (SPOT,) * 21),
        LookContent("a", URL, "", (Hotspot("x" * 81, SPOT.box, "a"),)),
        LookContent("a", URL, "", (Hotspot("", SPOT.box, ""),)),
        *(
            LookContent("a", URL, "", (Hotspot("", box, "a"),))
            for box in (
                (-0.1, 0, 1, 1),
                (0, 0, 1.1, 1),
                (0.5, 0, 0.6, 1),
                (0, 0, 0, 1),
                (math.nan, 0, 1, 1),
                (0, math.inf, 1, 1),
            )
        ),
    ],
    ids=range(16),
)
def test_what_is_no_look_is_refused_and_nothing_is_kept(
    looks: LookEditor, content: LookContent
) -> None:
    with pytest.raises(InvalidLookError):
        looks.add([LookContent("tent", URL), content])

    assert looks.all() == []


def test_a_look_that_is_not_there_cannot_be_changed(looks: LookEditor) -> None:
    for change in (looks.publish, looks.unpublish, looks.archive, looks.remove):
        with pytest.raises(UnknownLookError, match="no look 7"):
            change(7)
    with pytest.raises(UnknownLookError):
        looks.edit(7, LookContent("tent", URL))


def test_what_a_look_was_is_kept_up_to_a_limit_and_restored(
    database: Database, store: Store
) -> None:
    looks = LookEditor(
        database, store, FakeClock(1_000_000, step=1_000), "anna@looks.example"
    )
    look_id = looks.add([LookContent("tent", URL, "0")])[0].look_id
    for number in range(1, MAX_VERSIONS + 3):
        looks.edit(look_id, LookContent("tent", URL, str(number), (SPOT,)))
    looks.publish(look_id)  # no other content
    looks.edit(look_id, looks.get(look_id).content)
    earlier = looks.versions(look_id)

    restored = looks.restore(look_id, earlier[-1].version)

    titles = [one.content.title for one in earlier]
    assert titles == [str(number) for number in range(MAX_VERSIONS + 1, 1, -1)]
    assert {one.updated_by for one in earlier} == {"anna@looks.example"}
    assert (restored.content.title, restored.state) == ("2", LookState.PUBLISHED)
    assert looks.versions(look_id)[0].content.title == str(MAX_VERSIONS + 2)
    with pytest.raises(UnknownLookError):
        looks.restore(look_id, earlier[-1].version)  # the oldest made room
    looks.remove(look_id)
    assert looks.versions(look_id) == []
