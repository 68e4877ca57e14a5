"""Event kinds: those of the interface, under fixed numbers."""

import pytest

from productrecs.records.events.event import (
    EVENT_KINDS,
    EVENT_SUBJECTS,
    EventKind,
    NewEvent,
)


def test_the_ten_kinds_have_their_names_and_stored_numbers() -> None:
    assert {name: int(kind) for name, kind in EVENT_KINDS.items()} == {
        "detail-page-view": 1,
        "add-to-cart": 2,
        "buy": 3,
        "category-view": 4,
        "search-pref": 5,
        "search-click": 6,
        "image-search-click": 7,
        "metadata-pref": 8,
        "rec-impression": 9,
        "rec-click": 10,
    }


def test_every_kind_is_about_something() -> None:
    assert set(EVENT_SUBJECTS) == set(EventKind)


@pytest.mark.parametrize(
    ("user_id", "session_id", "shopper"),
    [("c1", None, "c1"), (None, "s_1", "s_1"), ("c1", "s_1", "c1")],
)
def test_the_customer_is_the_shopper_when_known(
    user_id: str | None, session_id: str | None, shopper: str
) -> None:
    event = NewEvent(EventKind.BUY, "a", user_id=user_id, session_id=session_id)

    assert event.shopper == shopper
