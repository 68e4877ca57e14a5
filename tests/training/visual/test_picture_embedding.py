"""Does a fused embedding weigh an encoder and our own descriptor alike, and learn?"""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from productrecs.engines.visual.image_descriptor import FORMAT, LENGTH
from productrecs.records.pictures.onnx_model_file import EMBEDDER, read_model_file
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.training.visual.picture_embedding import (
    BuiltInEmbedding,
    EmbeddingExamples,
    FusedEmbedding,
    choose_embedding,
)
from tests.records.pictures.test_onnx_embedder_and_detector import mean_colour
from tests.support.pictures import COLOURS, SHAPES, drawn, encoded

NO_PAIRS = np.zeros((0, 2), np.intp)


def fused(path: Path) -> Path:
    """Write a model of mean colours that asks to be fused with our own descriptor."""
    written = mean_colour(path)
    sidecar = written.with_suffix(".json")
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | {"fused": True}))
    return written


def test_a_sandboxed_decoder_gives_our_descriptor_and_the_features(tmp_path: Path) -> None:
    path = fused(tmp_path / "colours.onnx")
    with SandboxedDecoder(embedder=path) as viewer, SandboxedDecoder() as own:
        data = encoded(drawn("red", "ball"))
        whole, alone = viewer.describe(data), own.describe(data)
        seen, ours = viewer.describe_photo(data), own.describe_photo(data)
        plain = viewer.describe_photo(data, ignores_model=True)
        regions = viewer.find_regions(data)

    assert len(whole) == LENGTH + 4 * 48
    assert np.array_equal(whole[:LENGTH], alone)
    for both, one in zip(seen[:3], ours[:3], strict=True):
        assert both.shape == (len(one), len(whole))
        assert np.array_equal(both[:, :LENGTH], one)
    assert all(np.array_equal(*pair) for pair in zip(plain[:3], ours[:3], strict=True))
    assert {len(one.descriptor) for one in regions} == {len(whole)}


def test_a_model_says_whether_it_is_fused(tmp_path: Path) -> None:
    model = read_model_file(fused(tmp_path / "colours.onnx"), EMBEDDER)
    embedding = choose_embedding(model)

    assert isinstance(embedding, FusedEmbedding)
    assert embedding.name.startswith(f"{model.name}+{FORMAT}-")
    assert isinstance(choose_embedding(None), BuiltInEmbedding)


def examples(count: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.intp]]:
    """Return descriptors of which the features tell two kinds apart, and the kinds."""
    lot = np.random.default_rng(5)
    kinds = np.arange(count) % 2
    own = lot.integers(0, 255, (count, LENGTH)).astype(np.uint8)
    features = lot.normal(0, 1, (count, 80)).astype("<f4")
    features[:, 0] += 3.0 * kinds  # one direction among eighty
    return np.concatenate([own, features.view(np.uint8)], axis=1), kinds


def nearest_share(vectors: npt.NDArray[np.floating], kinds: npt.NDArray[np.intp]) -> float:
    """Return the share of the nearest five that are of the same kind."""
    likes = vectors @ vectors.T - 2 * np.eye(len(vectors))
    nearest = np.argsort(-likes, axis=1)[:, :5]
    return float((kinds[nearest] == kinds[:, None]).mean())


def test_categories_teach_the_encoders_half(tmp_path: Path) -> None:
    embedding = choose_embedding(
        read_model_file(fused(tmp_path / "colours.onnx"), EMBEDDER)
    )
    descriptors, kinds = examples(400)
    groups = [np.flatnonzero(kinds == one) for one in (0, 1)]

    shares = {}
    for name, known in (("taught", groups), ("untaught", [])):
        space, _ = embedding.fit(EmbeddingExamples(descriptors, known, NO_PAIRS))
        vectors = embedding.vectors_of(descriptors, embedding.space_arrays_in(space))
        assert vectors.shape == (400, embedding.dimensions(space))
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        shares[name] = nearest_share(vectors, kinds)

    assert shares["taught"] > shares["untaught"] + 0.02


def test_a_likeness_is_the_mean_of_both_halves(tmp_path: Path) -> None:
    embedding = choose_embedding(
        read_model_file(fused(tmp_path / "colours.onnx"), EMBEDDER)
    )
    descriptors, _ = examples(100)
    space, _ = embedding.fit(EmbeddingExamples(descriptors, [], NO_PAIRS))
    mixed = descriptors[:2].copy()
    mixed[1, :LENGTH] = mixed[0, :LENGTH]  # the same for us, another for the encoder

    one, other = embedding.vectors_of(mixed, space)

    apart = embedding.vectors_of(descriptors[:2], space)
    assert 0.2 < one @ other < 0.8
    assert one @ other > apart[0] @ apart[1]


@pytest.mark.parametrize("is_fused", [True, False])
@pytest.mark.parametrize("is_taught", [True, False])
def test_a_query_for_a_kind_heeds_what_categories_or_the_encoder_know(
    tmp_path: Path, *, is_fused: bool, is_taught: bool
) -> None:
    path = fused(tmp_path / "colours.onnx")
    embedding = choose_embedding(read_model_file(path, EMBEDDER) if is_fused else None)
    descriptors, kinds = examples(400)
    descriptors[:, 0] = 200 * kinds  # in our descriptor one number tells
    groups = [np.flatnonzero(kinds == one) for one in (0, 1)] if is_taught else []
    shown = descriptors if is_fused else descriptors[:, :LENGTH]
    space, _ = embedding.fit(EmbeddingExamples(shown, groups, NO_PAIRS))
    vectors = embedding.vectors_of(shown, space)

    product, kind, scene = embedding.weight_queries(vectors, space)

    for queries in (product, kind, scene):
        assert np.allclose((queries * vectors).sum(axis=1), 1, atol=1e-4)
    shares = [
        float(((one @ vectors.T).argsort(axis=1)[:, -6:-1] % 2 == kinds[:, None]).mean())
        for one in (product, kind)
    ]
    # Without categories, the encoder's first axes tell kinds apart.
    assert (shares[1] > shares[0] + 0.05) == (is_taught or is_fused)


def test_a_few_pictures_have_no_kind_and_are_queried_by_looks(tmp_path: Path) -> None:
    embedding = choose_embedding(
        read_model_file(fused(tmp_path / "colours.onnx"), EMBEDDER)
    )
    descriptors, _ = examples(20)
    space, _ = embedding.fit(EmbeddingExamples(descriptors, [], NO_PAIRS))
    vectors = embedding.vectors_of(descriptors, space)

    _, kind, _ = embedding.weight_queries(vectors, space)

    assert np.allclose((kind * vectors).sum(axis=1), 1, atol=1e-4)


def test_few_pictures_have_vectors_too(tmp_path: Path) -> None:
    embedding = choose_embedding(
        read_model_file(fused(tmp_path / "colours.onnx"), EMBEDDER)
    )
    with SandboxedDecoder(embedder=tmp_path / "colours.onnx") as viewer:
        shown = [(colour, shape) for colour in COLOURS for shape in SHAPES[:2]]
        descriptors = np.stack([viewer.describe(encoded(drawn(*one))) for one in shown])
        descriptor = viewer.describe(encoded(drawn("green", "ball", seed=4)))

    space, _ = embedding.fit(EmbeddingExamples(descriptors, [], NO_PAIRS))
    likes = (
        embedding.vectors_of(descriptors, space)
        @ embedding.vectors_of(descriptor[None], space)[0]
    )

    assert shown[int(likes.argmax())][0] == "green"
    empty = embedding.fit(EmbeddingExamples(descriptors[:0], [], NO_PAIRS))[0]
    assert embedding.dimensions(empty) == embedding.dimensions(space)


def test_a_store_without_pictures_learns_an_empty_space(tmp_path: Path) -> None:
    model = read_model_file(fused(tmp_path / "colours.onnx"), EMBEDDER)
    embedding = choose_embedding(model)
    nothing = np.zeros((0, LENGTH), np.uint8)

    space, _ = embedding.fit(EmbeddingExamples(nothing, [], NO_PAIRS))

    assert embedding.vectors_of(nothing, space).shape[0] == 0
