"""Match confidence: calibrated on the store's own pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.match_confidence import (
    MatchConfidence,
    fit_match_confidence,
)
from productrecs.engines.visual.nearest_neighbours import (
    ImageVectors,
    NeighbourTable,
    similarity_floor,
)

if TYPE_CHECKING:
    import numpy.typing as npt

KINDS = 8


def model(noise: float, count: int = 240, *, known: bool = True) -> VisualModel:
    """Return pictures of eight kinds, each around the middle of its kind."""
    lot = np.random.default_rng(1)
    middles = lot.standard_normal((KINDS, 24))
    kinds = (np.arange(count) % KINDS).astype(np.int32)
    vectors = middles[kinds] + noise * lot.standard_normal((count, 24))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    nothing = NeighbourTable(
        np.full((count, 1), -1, np.int32), np.zeros((count, 1), np.float32)
    )
    told: npt.NDArray[Any] = kinds if known else np.full(count, -1, np.int32)
    pictured = ImageVectors(vectors, np.arange(count, dtype=np.int32), told, np.ones(count))
    return VisualModel(pictured, nothing, similarity_floor(vectors))


def test_where_pictures_tell_kinds_apart_one_may_be_sure_and_elsewhere_not() -> None:
    clear, vague = fit_match_confidence(model(0.2)), fit_match_confidence(model(6.0))

    assert clear.chance_of(1.0) > 0.9
    assert vague.chance_of(1.0) < 0.6
    for one in (clear, vague):
        chances = [one.chance_of(share / 20) for share in range(21)]
        assert chances == sorted(chances)
        assert chances[0] == 0.0
        assert chances[-1] < 1.0  # nobody saw so many that it would be certain


def test_chances_are_what_happens() -> None:
    """Half of the pictures teach; of the others so many are right as was said."""
    middling = fit_match_confidence(model(2.2, 600))
    fresh = model(2.2, 900)
    vectors, kinds = fresh.pictured.vectors, fresh.pictured.kinds
    likes = vectors[600:] @ vectors[:600].T
    near = np.argsort(-likes, axis=1)[:, :5]
    said, right = [], []
    for row, found in enumerate(near):
        votes = np.bincount(kinds[found], minlength=KINDS)
        evidence = middling.evidence_of(float(likes[row, found[0]]), votes.max() / 5)
        said.append(middling.chance_of(evidence))
        right.append(votes.argmax() == kinds[600 + row])

    assert 0.2 < np.mean(right) < 0.95
    assert np.mean(said) == pytest.approx(np.mean(right), abs=0.12)


def test_more_likeness_and_more_agreement_are_more_evidence() -> None:
    sureness = MatchConfidence(0.2, 0.7, np.zeros(0), np.zeros(0))

    told = [sureness.evidence_of(like, 0.6) for like in (0.1, 0.2, 0.4, 0.7, 0.9)]
    assert told == sorted(told)
    assert told[1] == 0.0
    assert sureness.evidence_of(0.5, 1.0) > sureness.evidence_of(0.5, 0.4)
    assert sureness.evidence_of(0.7, 1.0) == sureness.chance_of(1.0) == 1.0


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_few_pictures_or_no_kinds_leave_the_evidence_as_it_is(count: int) -> None:
    for one in (model(0.2, count), model(0.2, 240, known=False)):
        sureness = fit_match_confidence(one)

        assert sureness.chance_of(0.5) == 0.5
        assert 0.0 <= sureness.evidence_of(0.9, 1.0) <= 1.0
