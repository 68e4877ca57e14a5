"""Metric learning from visits: used only where it improves similarity."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from productrecs.engines.visual import describe, fit_descriptor_projection
from productrecs.engines.visual.feature_fusion import MIN_PAIRS, fit_supervised_space
from tests.support.pictures import COLOURS, SHAPES, drawn, pixels

Array = npt.NDArray[Any]

EACH, PAIRS = 6, 1_000
KINDS = [(colour, shape) for _ in range(EACH) for colour in COLOURS for shape in SHAPES]


@pytest.fixture(scope="module")
def descriptors() -> Array:
    seen = [describe(pixels(drawn(*kind, n, side=64))) for n, kind in enumerate(KINDS)]
    return np.stack(seen)


@pytest.fixture(scope="module")
def colours() -> list[Array]:
    """Return categories that say nothing of what visits look for."""
    named = np.array([colour for colour, _ in KINDS])
    return [np.flatnonzero(named == colour) for colour in COLOURS]


def pairs_of(kinds: Array | None, seed: int, count: int = PAIRS) -> Array:
    """Return pairs of one kind; of any two where there are none."""
    lot = np.random.default_rng(seed)
    drawn_pairs = lot.integers(0, len(KINDS), (40 * count, 2))
    one, other = drawn_pairs.T
    fits = one != other
    if kinds is not None:
        fits &= kinds[one] == kinds[other]
    found: Array = drawn_pairs[fits][:count]
    return found


def test_visits_teach_what_shoppers_compare(
    descriptors: Array, colours: list[Array]
) -> None:
    shapes = np.array([shape for _, shape in KINDS])
    pairs = pairs_of(shapes, 1)

    space, verdict = fit_supervised_space(descriptors, colours, pairs)

    assert verdict.teacher in {"visits", "both"}
    assert verdict.hit_shares[verdict.teacher] > 1.2 * verdict.hit_shares["categories"]
    assert same_shape(space.vectors(descriptors), shapes) > 1.1 * same_shape(
        fit_descriptor_projection(descriptors, colours).vectors(descriptors), shapes
    )
    again, _ = fit_supervised_space(descriptors, colours, pairs)
    assert np.array_equal(again.kind, space.kind)


def same_shape(vectors: Array, shapes: Array) -> float:
    likes = vectors @ vectors.T
    np.fill_diagonal(likes, -1)
    near = np.argsort(-likes, axis=1)[:, :20]
    return float((shapes[near] == shapes[:, None]).mean())


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.trust) for seed in (1, 2))]
)
def test_visits_that_teach_nothing_are_not_believed(
    descriptors: Array, colours: list[Array], seed: int
) -> None:
    space, verdict = fit_supervised_space(descriptors, colours, pairs_of(None, seed))

    assert verdict.teacher == "categories"
    assert np.array_equal(space.kind, fit_descriptor_projection(descriptors, colours).kind)


def test_few_visits_are_not_used(descriptors: Array, colours: list[Array]) -> None:
    few = pairs_of(None, 1, MIN_PAIRS - 1)

    assert fit_supervised_space(descriptors, colours, few)[1] == ("categories", {})
