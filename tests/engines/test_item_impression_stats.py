"""Exploration: rarely shown items are explored about as often as is optimal."""

from __future__ import annotations

import numpy as np

from productrecs.engines.item_impression_stats import NEW_ITEM_IMPRESSIONS, ItemStats

# (was clicked, item, place, how often)
FRESH, GOOD, BAD = 0, 1, 2
ROWS = [
    (False, GOOD, 1, 80),
    (True, GOOD, 1, 6),
    (False, BAD, 1, 80),
    (False, 3, 1, 5_000),
    (True, 3, 2, 100),
]
TRIALS = ItemStats().plus(ROWS)


def numbers(*items: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(items, np.int64)


def test_reading_on_equals_reading_at_once() -> None:
    split = ItemStats()
    for clicked, item, place, times in reversed(ROWS):
        for part in (times // 3, times - times // 3):
            split = split.plus([(clicked, item, place, part)])

    at_once = TRIALS.to_arrays()
    for name, array in split.to_arrays().items():
        assert np.array_equal(array, at_once[name]), name


def test_what_was_shown_often_is_no_longer_new() -> None:
    stats = ItemStats().plus([(False, 5, 3, NEW_ITEM_IMPRESSIONS - 1)])
    before = stats.are_new(numbers(5, 999)).tolist()
    after = stats.plus([(False, 5, 3, 1)]).are_new(numbers(5, 999)).tolist()

    assert before == [True, True]
    assert after == [False, True]


def test_it_is_tried_about_as_often_as_thompson_sampling_would() -> None:
    items = numbers(GOOD, BAD, *range(10, 30))  # twenty that nobody saw
    promise = TRIALS.exploration_weights(items, numbers(GOOD, BAD, 3))
    rng = np.random.default_rng(3)
    looks = np.array([80, 80, *[0] * 20])
    clicks = np.array([6, 0, *[0] * 20])
    prior = 0.02  # 107 clicks of about 5,200 looks
    drawn = rng.beta(
        20 * prior + clicks, 20 * (1 - prior) + looks - clicks, size=(20_000, len(items))
    )
    thompson = np.bincount(drawn.argmax(axis=1), minlength=len(items)) / 20_000

    ours = promise / promise.sum()

    assert abs(ours[0] - thompson[0]) < 0.1
    assert ours[1] < 0.005 > thompson[1]
    assert np.allclose(ours[2:], thompson[2:].mean(), atol=0.01)


def test_a_place_further_down_tells_less() -> None:
    far = ItemStats().plus([(False, 1, 20, 50), (False, 2, 1, 50)])

    promise = far.exploration_weights(numbers(1, 2), numbers(1, 2))

    assert promise[0] > promise[1]


def test_a_store_that_showed_nothing_finds_all_alike() -> None:
    promise = ItemStats().exploration_weights(numbers(1, 2, 3), numbers(1, 2, 3))

    assert len(set(promise.tolist())) == 1
    assert promise[0] > 0
