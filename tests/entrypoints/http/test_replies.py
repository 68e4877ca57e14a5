"""Are kept replies dropped, written anew or made anew just when they should be?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.entrypoints.http.replies import (
    LAG_SECONDS,
    LONGEST_SECONDS,
    Moment,
    ReplyCache,
)
from productrecs.features.recommendations.request import Engine, Pick

if TYPE_CHECKING:
    from collections.abc import Sequence

LIST = [Pick(1, Engine.BUY, 0.5)]
SETTINGS, OTHER_SETTINGS = object(), object()


def moment(*shown: int, models: str = "first", settings: object = SETTINGS) -> Moment:
    return Moment(np.array(shown or (1, 1), dtype=bool), models, settings)


def kept_at(first: Moment, asked: object = "a", now: float = 100.0) -> ReplyCache:
    cache = ReplyCache()
    assert cache.get(first, asked, now, written("never"), untold) is None
    cache.put(asked, LIST, b"old", now, None)
    return cache


def untold() -> None:
    """Tell no mark."""


def written(text: str):  # type: ignore[no-untyped-def]
    def write(picks: Sequence[Pick]) -> bytes:
        assert picks == LIST
        return text.encode()

    return write


def test_the_same_moment_gives_the_same_bytes() -> None:
    now = moment()
    cache = kept_at(now)

    assert cache.get(now, "a", 10_000.0, written("new"), untold) == b"old"
    assert cache.get(now, "b", 10_000.0, written("new"), untold) is None


def test_a_changed_price_is_written_at_once() -> None:
    cache = kept_at(moment())

    assert cache.get(moment(), "a", 100.0, written("new price"), untold) == b"new price"


@pytest.mark.parametrize(
    "after",
    [
        moment(1, 0),
        moment(1, 1, 1),
        moment(settings=OTHER_SETTINGS),
    ],
)
def test_what_may_be_shown_counts_at_once(after: Moment) -> None:
    cache = kept_at(moment())

    assert cache.get(after, "a", 100.0, written("new"), untold) is None
    assert cache.size == 0


def test_new_models_reach_every_list_in_use_within_the_lag_but_not_all_at_once() -> None:
    cache, first, second = ReplyCache(), moment(), moment(models="second")
    for asked in range(8_192):
        cache.get(first, asked, 100.0, written("never"), untold)
        cache.put(asked, LIST, b"old", 100.0, None)

    left = [
        sum(
            cache.get(second, asked, 100.0 + seconds, written("old"), untold) is not None
            for asked in range(8_192)
        )
        for seconds in (0.0, LAG_SECONDS / 4, LAG_SECONDS / 2, LAG_SECONDS)
    ]

    assert left[0] > left[1] > left[2] > left[3] == 0


def test_where_few_lists_are_kept_new_models_reach_them_all_in_a_moment() -> None:
    cache, second = kept_at(moment(), asked="page", now=100.0), moment(models="second")

    assert cache.get(second, "page", 100.01, written("new"), untold) is None


def test_a_list_that_nobody_asked_for_lately_is_made_anew_at_once() -> None:
    cache = kept_at(moment(), now=100.0)

    assert cache.get(moment(models="second"), "a", 200.0, written("new"), untold) is None


def test_a_list_whose_mark_stays_outlives_new_models_for_minutes() -> None:
    cache, first = ReplyCache(), moment()
    second, third = first._replace(models="second"), first._replace(models="third")
    cache.get(first, "a", 100.0, written("never"), untold)
    cache.put("a", LIST, b"old", 100.0, 7)

    assert cache.get(second, "a", 300.0, written("never"), lambda: 7) == b"old"
    assert cache.get(third, "a", 399.0, written("never"), lambda: 7) == b"old"
    late = 100.0 + LONGEST_SECONDS
    assert cache.get(first, "a", late, written("never"), lambda: 7) is None


def test_a_list_that_the_whole_store_fills_is_made_anew_within_a_minute() -> None:
    cache, first = ReplyCache(), moment()
    cache.get(first, "a", 100.0, written("never"), untold)
    cache.put("a", [*LIST, Pick(2, Engine.CATEGORY, 0.1)], b"old", 100.0, 7)

    second = first._replace(models="second")
    assert cache.get(second, "a", 119.0, written("never"), lambda: 7) == b"old"
    third = first._replace(models="third")
    assert cache.get(third, "a", 141.0, written("never"), lambda: 7) is None


def test_a_list_whose_mark_is_another_is_made_anew_within_the_lag() -> None:
    cache, second = ReplyCache(), moment(models="second")
    cache.get(moment(), "a", 100.0, written("never"), untold)
    cache.put("a", LIST, b"old", 100.0, 7)

    assert cache.get(second, "a", 100.0 + LAG_SECONDS, written("new"), lambda: 8) is None


def test_a_list_stays_when_its_body_had_to_leave() -> None:
    cache, now = ReplyCache(limit_bytes=4_000), moment()
    for asked in "abc":
        cache.get(now, asked, 0.0, written("never"), untold)
        cache.put(asked, LIST, b"x" * 600, 0.0, None)

    assert cache.get(now, "a", 0.0, written("again"), untold) == b"again"
    assert cache.get(now, "c", 0.0, written("never"), untold) == b"x" * 600
    assert cache.size <= 4_000


def test_lists_without_products_are_made_anew_too() -> None:
    cache = ReplyCache()
    cache.get(moment(), "a", 0.0, written("never"), untold)
    cache.put("a", [], b"empty", 0.0, None)

    later = moment(models="second")
    assert cache.get(later, "a", LAG_SECONDS, written("never"), untold) is None


def test_the_least_recently_used_leave_first() -> None:
    cache, now = ReplyCache(limit_bytes=2_500), moment()
    for asked in ("a", "b", "c"):
        cache.get(now, asked, 0.0, written("never"), untold)
        cache.put(asked, LIST, b"x" * 200, 0.0, None)
    cache.get(now, "a", 0.0, written("never"), untold)
    cache.put("d", LIST, b"x" * 200, 0.0, None)

    found = [
        cache.get(now, asked, 0.0, written("x"), untold) is not None for asked in "abcd"
    ]

    assert found == [True, False, True, True]
    assert cache.size <= 2_500
