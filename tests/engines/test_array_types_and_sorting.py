"""Array functions shared by the engines: edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as array_of

from productrecs.engines import array_types_and_sorting
from productrecs.engines.array_types_and_sorting import (
    check_item_numbers,
    csr_offsets,
    grouped_argsort,
    ranks_within_runs,
    run_numbers,
    stable_argsort,
    top_score_indexes,
    unique_sorted,
)


@pytest.mark.parametrize("limit", [-2, 0, 1, 3, 7, 50])
@pytest.mark.parametrize("size", [0, 1, 8, 60])
def test_the_best_are_those_a_full_sort_would_take(limit: int, size: int) -> None:
    rng = np.random.default_rng(size)
    items = rng.permutation(200)[:size]
    scores = rng.integers(5, size=size).astype(np.float64)  # many equals

    places = top_score_indexes(items, scores, limit)

    order = sorted(range(size), key=lambda place: (-scores[place], items[place]))
    assert places.tolist() == order[: max(limit, 0)]


def test_offsets_delimit_each_run_also_the_empty_ones() -> None:
    assert csr_offsets(np.array([0, 0, 3]), 5).tolist() == [0, 2, 2, 2, 3, 3]


@pytest.mark.parametrize("codes", [[], [7], [2, 2, 2], [0, 0, 5, 9, 9, 9]])
def test_runs_and_the_elements_in_them_are_numbered(codes: list[int]) -> None:
    rising = np.array(codes, np.int64)

    different = sorted(set(codes))
    assert unique_sorted(rising[::-1]).tolist() == different
    assert run_numbers(rising).tolist() == [different.index(code) for code in codes]
    assert ranks_within_runs(rising).tolist() == [
        place - codes.index(code) for place, code in enumerate(codes)
    ]


def test_numbers_of_the_store_pass() -> None:
    check_item_numbers(np.array([0, 4]), 5)
    check_item_numbers(np.zeros(0, dtype=np.int32), 0)


@pytest.mark.parametrize("number", [-1, 5])
def test_other_numbers_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match=r"0\.\.4"):
        check_item_numbers(np.array([0, number]), 5)


ANY = np.iinfo(np.int64)


@pytest.fixture(autouse=True)
def _always_by_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_types_and_sorting, "_MIN_RADIX_SIZE", 1)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint16])
@pytest.mark.parametrize("spread", [1, 100, 2**16, 2**16 + 1, 2**31, 2**50, 2**63])
def test_equal_numbers_keep_their_order(kind: type, spread: int) -> None:
    info = np.iinfo(kind)
    rng = np.random.default_rng(spread)
    drawn = rng.integers(
        max(info.min, -spread), min(info.max, spread), 5_000, kind, endpoint=True
    )
    codes: np.ndarray = np.concatenate((drawn, drawn[::3], [info.min, info.max])).astype(
        kind
    )

    assert stable_argsort(codes).tolist() == np.argsort(codes, kind="stable").tolist()


@given(array_of(np.int64, st.integers(0, 40), elements=st.integers(ANY.min, ANY.max)))
def test_any_numbers(codes: np.ndarray) -> None:
    assert stable_argsort(codes).tolist() == np.argsort(codes, kind="stable").tolist()


def test_groups_are_in_the_order_of_time() -> None:
    rng = np.random.default_rng(1)
    groups, times = rng.integers(-9, 9, 4_000), rng.integers(0, 500, 4_000)

    assert grouped_argsort(groups, times).tolist() == np.lexsort((times, groups)).tolist()
