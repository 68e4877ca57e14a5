"""Radix sort: the same order as numpy's stable sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from productrecs.engines import radix_sort
from productrecs.engines.radix_sort import grouped_argsort, stable_argsort

ANY = np.iinfo(np.int64)


@pytest.fixture(autouse=True)
def _always_by_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radix_sort, "_FEW", 1)


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


@given(arrays.arrays(np.int64, st.integers(0, 40), elements=st.integers(ANY.min, ANY.max)))
def test_any_numbers(codes: np.ndarray) -> None:
    assert stable_argsort(codes).tolist() == np.argsort(codes, kind="stable").tolist()


def test_groups_are_in_the_order_of_time() -> None:
    rng = np.random.default_rng(1)
    groups, times = rng.integers(-9, 9, 4_000), rng.integers(0, 500, 4_000)

    assert grouped_argsort(groups, times).tolist() == np.lexsort((times, groups)).tolist()
