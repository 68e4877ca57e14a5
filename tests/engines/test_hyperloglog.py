"""HyperLogLog: distinct shoppers, exact or within its error, in any partition."""

import numpy as np
import pytest

from productrecs.engines.hyperloglog import (
    EMPTY_SKETCH,
    cardinality,
    intersection_cardinalities,
    intersection_cardinality,
    merge,
    sketch,
)


def shoppers(count: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-(2**63), 2**63 - 1, count, dtype=np.int64)


def test_a_sketch_of_no_shoppers_is_empty() -> None:
    assert sketch(shoppers(0)) == EMPTY_SKETCH
    assert cardinality(merge([EMPTY_SKETCH, EMPTY_SKETCH])) == 0


@pytest.mark.parametrize("count", [1, 7, 1_024])
def test_small_crowds_are_counted_exactly(count: int) -> None:
    assert cardinality(sketch(shoppers(count))) == count


@pytest.mark.parametrize("count", [1_025, 3_000, 11_000, 300_000])
def test_large_crowds_are_counted_nearly(count: int) -> None:
    sizes = [cardinality(sketch(shoppers(count, seed))) for seed in range(5)]

    assert all(abs(size / count - 1) < 0.08 for size in sizes)
    assert abs(float(np.mean(sizes)) / count - 1) < 0.03


@pytest.mark.parametrize("count", [900, 1_024, 1_500, 20_000])
def test_parts_that_overlap_make_the_same_bytes(count: int) -> None:
    everyone = shoppers(count)
    third = count // 3
    parts = [everyone[:third], everyone[third:], everyone[5 : 2 * third]]

    assert merge(map(sketch, parts)) == sketch(everyone)
    assert merge(map(sketch, parts[::-1])) == sketch(everyone)


@pytest.mark.parametrize("count", [0, 9, 700, 1_024, 5_000, 60_000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_who_is_in_both_is_never_more_than_one_of_them(count: int, share: float) -> None:
    everyone = shoppers(count)
    part = everyone[: int(share * count)]
    others = shoppers(count // 2, seed=2)
    one, other = sketch(everyone), merge((sketch(part), sketch(others)))

    both = intersection_cardinality(one, other)

    assert 0 <= both <= min(cardinality(one), cardinality(other))
    assert abs(both - len(part)) <= (0 if count <= 682 else 0.08 * count)


def test_many_intersections_at_once_are_those_of_each_pair() -> None:
    crowds = [sketch(shoppers(count)) for count in (0, 9, 700, 1_024, 5_000)]
    pairs = [(one, other) for one in crowds for other in crowds]

    assert intersection_cardinalities(pairs) == [
        intersection_cardinality(*pair) for pair in pairs
    ]
    assert intersection_cardinalities([]) == []
