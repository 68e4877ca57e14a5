"""Semantic space: products near in meaning, none of them invented, in few numbers."""

import numpy as np
import pytest

from productrecs.engines.text.search_index import IndexHits, QueryRelaxation
from productrecs.engines.text.semantic_space import (
    DIMENSIONS,
    REDUCED_FROM,
    EmbeddingProjection,
    SemanticSpace,
    Vectors,
    make_pseudo_words,
    quantize,
    similarity_threshold,
)
from productrecs.training.search.store_semantic_spaces import (
    fuse_with_similar_products,
)

SIZE = 200


def unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Vectors = (rows / lengths).astype(np.float32)
    return found


def around(centres: int, each: int, seed: int = 3) -> Vectors:
    """Return vectors in groups that lie close to one another, group after group."""
    rng = np.random.default_rng(seed)
    middles = rng.standard_normal((centres, SIZE))
    noise = rng.standard_normal((centres * each, SIZE))
    return unit((np.repeat(middles, each, axis=0) + 0.3 * noise).astype(np.float32))


@pytest.mark.parametrize("count", [50, 2 * REDUCED_FROM])
def test_neighbours_stay_neighbours_in_few_numbers(count: int) -> None:
    vectors = around(count // 10, 10)
    projection = EmbeddingProjection.fit(vectors)
    space = SemanticSpace(projection, quantize(projection.reduce(vectors)), 0.5)
    visible = np.ones(count, dtype=np.bool_)

    found = [space.nearest(vectors[n], visible, 10).items for n in range(0, count, 10)]

    assert space.codes.shape == (count, DIMENSIONS if count > REDUCED_FROM else SIZE)
    expected = [set(range(n, n + 10)) for n in range(0, count, 10)]
    assert (
        np.mean([set(one) == two for one, two in zip(found, expected, strict=True)]) > 0.95
    )
    nearest, whole = space.nearest(vectors[0], visible, 10), vectors @ vectors[0]
    assert np.abs(nearest.similarities - whole[nearest.items]).max() < 0.1


def test_what_is_not_visible_or_has_no_vector_or_is_too_far_is_not_similar() -> None:
    vectors = around(5, 10)
    codes = quantize(vectors)
    codes[3] = 0
    space = SemanticSpace(EmbeddingProjection.fit(vectors), codes, 0.5)
    visible = np.ones(8, dtype=np.bool_)  # the view knows fewer products than the space
    visible[[1, 2]] = False

    found = space.nearest(vectors[0], visible, 4)

    assert set(found.items) <= {0, 4, 5, 6, 7}
    assert found.items[0] == 0
    assert len(found.items) == 4
    assert found.similarities == sorted(found.similarities, reverse=True)
    assert space.nearest(-vectors[0], np.ones(50, dtype=np.bool_), 4).items == []
    assert len(space) == 49


def test_a_large_catalog_is_searched_to_its_last_product() -> None:
    count = 24_000  # several blocks of the compiled scan, the last one not full
    codes = quantize(np.random.default_rng(8).standard_normal((count, SIZE), np.float32))
    space = SemanticSpace(
        EmbeddingProjection.fit(np.eye(3, SIZE, dtype=np.float32)), codes, 0.2
    )
    visible = np.ones(count, dtype=np.bool_)
    visible[:10] = False
    rows = unit(codes.astype(np.float32))

    for number in (5, 4_096, count - 1):
        cosines = rows @ rows[number]
        expected = {n for n in np.flatnonzero(cosines > 0.2).tolist() if n >= 10}
        found = space.nearest(rows[number], visible, count)
        assert all(cosines[n] > 0.19 for n in found.items)
        # The signs of a few leave them out.
        missed = [n for n in expected.difference(found.items) if cosines[n] > 0.21]
        assert len(missed) <= 1
        assert number < 10 or found.items[0] == number
        assert found.similarities == pytest.approx(cosines[found.items], abs=0.01)


def test_words_that_the_encoder_knows_may_be_a_little_less_similar() -> None:
    vectors = np.eye(3, SIZE, dtype=np.float32)
    query = unit(np.array([[0.47, *[0.0] * 198, 0.88]], dtype=np.float32))[0]
    space = SemanticSpace(EmbeddingProjection.fit(vectors), quantize(vectors), 0.5)
    visible = np.ones(3, dtype=np.bool_)

    assert space.nearest(query, visible, 3).items == []
    assert space.nearest(query, visible, 3, is_known=True).items == [0]


def test_the_threshold_is_above_what_invented_words_reach() -> None:
    vectors = around(20, 10)
    projection, codes = EmbeddingProjection.fit(vectors), quantize(vectors)
    invented = around(100, 1, seed=4)

    least = similarity_threshold([invented], projection, codes)

    space = SemanticSpace(projection, codes, least)
    visible = np.ones(len(vectors), dtype=np.bool_)
    assert np.mean([bool(space.nearest(one, visible, 1).items) for one in invented]) < 0.03
    assert similarity_threshold([], projection, codes) == pytest.approx(0.35)


def test_invented_words_are_halves_of_two_known_ones_and_no_known_word() -> None:
    words = ["hammer", "ladder", "drill", "sander"]

    invented = make_pseudo_words(words)

    starts = {word[: len(word) // 2] for word in words}
    ends = {word[len(word) // 2 :] for word in words}
    assert invented
    assert not set(invented) & set(words)
    assert all(any(one.startswith(start) for start in starts) for one in invented)
    assert all(any(one.endswith(end) for end in ends) for one in invented)
    assert make_pseudo_words([]) == []


def test_a_space_is_stored_as_arrays_and_others_are_refused() -> None:
    vectors = around(5, 10)
    space = SemanticSpace(EmbeddingProjection.fit(vectors), quantize(vectors), 0.5)
    arrays = space.to_arrays()

    again = SemanticSpace.from_arrays(arrays)

    visible = np.ones(50, dtype=np.bool_)
    assert again.nearest(vectors[0], visible, 50) == space.nearest(vectors[0], visible, 50)
    assert again.threshold == space.threshold
    for broken in (
        arrays | {"codes": arrays["codes"][:, :5]},
        arrays | {"codes": arrays["codes"].astype(np.int16)},
        arrays | {"mean": arrays["mean"][:5]},
    ):
        with pytest.raises(ValueError, match="do not fit"):
            SemanticSpace.from_arrays(broken)


@pytest.mark.parametrize(
    ("items", "whole", "similar", "fused", "relaxed"),
    [
        # Nothing matches by word.
        ([], 0, [4, 5], [4, 5], QueryRelaxation.MEANING),
        # What holds every word stays first and is not listed twice.
        ([7, 8], 2, [5, 8], [7, 8, 5], QueryRelaxation.WORDS),
        # Some words and meaning together count more than one of them.
        ([1, 2, 3], 0, [3, 9], [3, 1, 2, 9], QueryRelaxation.WORDS),
        ([7, 1, 2], 1, [2], [7, 2, 1], QueryRelaxation.WORDS),
        # Nothing similar changes nothing.
        ([7, 1], 1, [], [7, 1], QueryRelaxation.NOTHING),
        ([7], 1, [7], [7], QueryRelaxation.NOTHING),
    ],
)
def test_similar_products_rank_below_those_with_every_word(
    items: list[int],
    whole: int,
    similar: list[int],
    fused: list[int],
    relaxed: QueryRelaxation,
) -> None:
    scores = [9.0 - place for place in range(len(items))]
    found = IndexHits(items, scores, QueryRelaxation.NOTHING, 0, whole, whole)

    hits = fuse_with_similar_products(found, similar, 10)

    assert sorted(hits.items[:whole]) == sorted(items[:whole])
    assert (hits.items, hits.relaxed, hits.with_every_word) == (fused, relaxed, whole)
    assert hits.scores == sorted(hits.scores, reverse=True)
    assert len(hits.scores) == len(hits.items)
    limit = max(len(items), 1)
    assert fuse_with_similar_products(found, similar, limit).items == fused[:limit]


@pytest.mark.parametrize(
    ("is_meant", "fused"), [(False, [2, 1, 3, 9]), (True, [3, 2, 9, 1])]
)
def test_products_with_the_head_noun_of_a_word_pair_stay_above_similar_ones(
    *, is_meant: bool, fused: list[int]
) -> None:
    found = IndexHits([1, 2, 3], [3.0, 2.0, 1.0], same_head_noun=2)

    hits = fuse_with_similar_products(found, [3, 9, 2], 10, is_meant=is_meant)

    assert hits.items == fused
    assert hits.scores == sorted(hits.scores, reverse=True)


def test_the_scan_by_signs_finds_nearly_all_products_above_the_threshold() -> None:
    vectors = around(60, 400)
    rng = np.random.default_rng(4)
    vectors = unit(vectors + rng.normal(0, 0.06, vectors.shape).astype(np.float32))
    codes, least = quantize(vectors), 0.5
    projection = EmbeddingProjection(
        np.zeros(SIZE, np.float32), np.eye(SIZE, dtype=np.float32)
    )
    space = SemanticSpace(projection, codes, least)
    rows, visible = unit(codes.astype(np.float32)), np.ones(len(codes), np.bool_)

    found = expected = 0
    for query in vectors[::400]:
        similar = set(np.flatnonzero(rows @ query > least).tolist())
        expected += len(similar)
        found += len(similar & set(space.nearest(query, visible, len(codes)).items))

    assert expected > 1_000
    assert found >= 0.98 * expected
