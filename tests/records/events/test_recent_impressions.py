"""Recent impressions: products that a shopper was shown and ignored."""

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.records.events.shopper_histories.repository import (
    ACTION_LIMIT,
    SHOWN_LIMIT,
)
from productrecs.records.events.shopper_history_cache import RecentImpressions

NOW = 1_772_366_400_000


def shown(*items: int, at: int = NOW) -> RecentImpressions:
    showings = RecentImpressions()
    for item in items:
        showings.add(item, at)
    return showings


def test_an_item_shown_twice_is_not_fatigued() -> None:
    assert shown(1, 1, 2, 2, 2).discounted_repeat_counts(NOW) == {2: 3.0}


def test_a_week_halves_it() -> None:
    showings = shown(*[1] * 8, at=NOW - 7 * DAY_MS)

    assert showings.discounted_repeat_counts(NOW)[1] == pytest.approx(4.0)


def test_what_is_taken_up_begins_anew() -> None:
    showings = shown(1, 1, 1, 2, 2, 2)

    showings.add_action(1, is_purchase=False)
    after_a_click = showings.discounted_repeat_counts(NOW)
    for _ in range(3):
        showings.add(1, NOW)

    assert after_a_click == {2: 3.0}
    assert showings.discounted_repeat_counts(NOW) == {1: 3.0, 2: 3.0}


def test_a_purchase_takes_up_too_and_what_has_no_product_does_not() -> None:
    showings = shown(1, 1, 1, 2, 2, 2)

    showings.add_action(None, is_purchase=False)
    showings.add_action(2, is_purchase=True)

    assert showings.discounted_repeat_counts(NOW) == {1: 3.0}


def test_it_is_bounded() -> None:
    showings = shown(*range(SHOWN_LIMIT * 3))
    assert list(showings.items) == list(range(SHOWN_LIMIT * 2, SHOWN_LIMIT * 3))

    for _ in range(ACTION_LIMIT):
        showings.add_action(-5, is_purchase=False)

    assert not showings.items
    assert not showings.times
    assert not showings.actions_at
