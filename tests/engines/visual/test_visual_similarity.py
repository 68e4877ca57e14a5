"""Nearest neighbours: exact, precomputed or searched."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.visual_similarity import (
    KEPT,
    MatchCalibration,
    NeighbourTable,
    PicturedItems,
    compute_neighbours,
    fit_match_calibration,
    nearest_items,
    nearest_items_batch,
    similarity_floor,
    update_neighbours,
)

Array = npt.NDArray[Any]


def unit_vectors(count: int, length: int, seed: int = 3) -> Array:
    lot = np.random.default_rng(seed)
    vectors = lot.standard_normal((count, length)).astype(np.float32)
    vectors[:, 0] += 1.0  # so that most are somewhat alike, as pictures are
    found: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def pictured(vectors: Array, kinds: list[int] | None = None) -> PicturedItems:
    count = len(vectors)
    return PicturedItems(
        vectors,
        np.arange(count, dtype=np.int32) * 2,
        np.array(kinds if kinds is not None else [-1] * count, dtype=np.int32),
        np.full(count, np.nan, dtype=np.float32),
    )


def test_nearest_are_the_exact_nearest_of_those_that_may_be_shown() -> None:
    known = pictured(unit_vectors(96, 12))
    visible = np.zeros(2 * 96, dtype=np.bool_)
    visible[::6] = True  # every third item

    found = nearest_items(known, known.vectors[0], 10, visible)

    cosines = known.vectors @ known.vectors[0]
    order = [row for row in np.lexsort((known.items, -cosines)) if row % 3 == 0]
    assert found.items.tolist() == (np.array(order[:10]) * 2).tolist()
    assert (np.diff(found.scores) <= 0).all()
    assert not len(nearest_items(pictured(known.vectors[:0]), known.vectors[0], 10).items)
    # An item that the catalog view has not read yet is passed over.
    assert (nearest_items(known, known.vectors[0], 99, visible[:10]).items < 10).all()
    for row, one in enumerate(nearest_items_batch(known, known.vectors[:5], 10, visible)):
        assert (
            one.items.tolist()
            == nearest_items(known, known.vectors[row], 10, visible).items.tolist()
        )


def test_neighbours_known_beforehand_are_the_best_by_picture_kind_and_price() -> None:
    lot = np.random.default_rng(4)
    vectors = lot.standard_normal((200, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    kinds = lot.integers(-1, 3, 200).astype(np.int32)
    prices = np.where(lot.random(200) < 0.2, np.nan, lot.uniform(5, 90, 200))
    known = pictured(vectors)._replace(kinds=kinds, prices=prices.astype(np.float32))
    floor = 0.1

    found = compute_neighbours(known, np.arange(200), floor)

    for row in (0, 57, 199):
        scores = {}
        for other in range(200):
            cosine = float(vectors[row] @ vectors[other])
            if other == row or cosine <= floor:
                continue
            score = 0.7 * cosine + 0.2 * (kinds[row] == kinds[other] >= 0)
            if not np.isnan(prices[row]) and not np.isnan(prices[other]):
                score += 0.1 * np.exp(-abs(np.log(prices[row] / prices[other])))
            scores[other] = score
        best = sorted(scores, key=lambda other: -scores[other])[:KEPT]
        count = len(best)
        assert found.rows[row, :count].tolist() == best
        assert (found.rows[row, count:] == -1).all()
        assert found.scores[row, :count] == pytest.approx(
            [scores[o] for o in best], abs=1e-5
        )


def test_new_pictures_join_their_neighbours_lists_without_all_being_compared_again() -> (
    None
):
    lot = np.random.default_rng(5)
    vectors = lot.standard_normal((150, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    known = pictured(vectors, lot.integers(0, 2, 150).tolist())
    added = np.array([3, 70, 71, 149])
    before = np.setdiff1d(np.arange(150), added)
    part = PicturedItems(*(column[before] for column in known))
    old = compute_neighbours(part, np.arange(len(before)), 0.2)
    rows = np.full((150, KEPT), -1, np.int32)
    scores = np.zeros((150, KEPT), np.float32)
    rows[before] = np.where(old.rows >= 0, before[old.rows], -1)
    scores[before] = old.scores

    grown = update_neighbours(known, NeighbourTable(rows, scores), added, 0.2)

    whole = compute_neighbours(known, np.arange(150), 0.2)
    assert np.allclose(grown.scores, whole.scores, atol=1e-6)
    assert (grown.rows == whole.rows).mean() > 0.999


def test_a_kept_model_answers_about_items_and_vectors() -> None:
    known = pictured(unit_vectors(96, 12))
    floor = similarity_floor(known.vectors)
    neighbours = compute_neighbours(known, np.arange(96), floor)
    model = VisualModel.from_arrays(VisualModel(known, neighbours, floor).to_arrays())
    visible = np.ones(500, dtype=np.bool_)

    ready = model.similar_to_item(8)
    exact = model.similar_to_item_exhaustive(8, 300, visible)

    assert len(model) == 96
    assert 0 < floor < 0.9
    assert 8 not in ready.items
    assert 8 not in exact.items
    assert set(ready.items[:20].tolist()) <= set(exact.items.tolist())
    assert model.similar_to_vectors(known.vectors[4:5], 1)[0].items.tolist() == [8]
    assert not len(model.similar_to_item(7).items)  # no picture
    assert not len(VisualModel.empty().similar_to_item(0).items)
    assert not len(model.similar_to_item_exhaustive(7, 5, visible).items)


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
    labels: npt.NDArray[Any] = kinds if known else np.full(count, -1, np.int32)
    pictured = PicturedItems(
        vectors, np.arange(count, dtype=np.int32), labels, np.ones(count)
    )
    return VisualModel(pictured, nothing, similarity_floor(vectors))


def test_the_match_confidence_is_high_only_where_pictures_separate_kinds() -> None:
    clear, vague = fit_match_calibration(model(0.2)), fit_match_calibration(model(6.0))

    assert clear.chance_of(1.0) > 0.9
    assert vague.chance_of(1.0) < 0.6
    for one in (clear, vague):
        chances = [one.chance_of(share / 20) for share in range(21)]
        assert chances == sorted(chances)
        assert chances[0] == 0.0
        assert chances[-1] < 1.0  # nobody saw so many that it would be certain


def test_chances_are_what_happens() -> None:
    """Half of the pictures teach; of the others so many are right as was said."""
    middling = fit_match_calibration(model(2.2, 600))
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
    sureness = MatchCalibration(0.2, 0.7, np.zeros(0), np.zeros(0))

    evidence = [sureness.evidence_of(like, 0.6) for like in (0.1, 0.2, 0.4, 0.7, 0.9)]
    assert evidence == sorted(evidence)
    assert evidence[1] == 0.0
    assert sureness.evidence_of(0.5, 1.0) > sureness.evidence_of(0.5, 0.4)
    assert sureness.evidence_of(0.7, 1.0) == sureness.chance_of(1.0) == 1.0


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_few_pictures_or_no_kinds_leave_the_evidence_as_it_is(count: int) -> None:
    for one in (model(0.2, count), model(0.2, 240, known=False)):
        sureness = fit_match_calibration(one)

        assert sureness.chance_of(0.5) == 0.5
        assert 0.0 <= sureness.evidence_of(0.9, 1.0) <= 1.0
